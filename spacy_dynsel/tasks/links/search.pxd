"""From the words of a sentence to its best tree: which links are worth a look, what they
score, and exact search."""
from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool

from ...core.forms.line_table cimport ShortLineTableC
from ...core.link_learner cimport LinkWeights
from ...core.typedefs cimport atom_t, feat_t, int16_t, uint8_t, uint32_t, uint64_t
from ...core.vectors cimport bare_vector
from ..arc_eager.features cimport MAX_SLOTS, FeaturesC
from ..arc_eager.rules cimport RulesC
from ..arc_eager.system cimport SentenceC

cdef extern from "eisner.hpp" namespace "dynsel" nogil:
    cdef cppclass LinkC "dynsel::Link":
        int32_t head
        int32_t child
        int64_t score

    # Without Cython's own treatment of C++ exceptions, see vectors.pxd.
    cdef cppclass BareForest "dynsel::TreeForest":
        bare_vector[LinkC] links
        bare_vector[uint32_t] given
        bare_vector[uint32_t] sibling_starts
        bare_vector[int64_t] sibling_scores
        void set_links(int n_words, const LinkC* first, size_t n_links, bool with_siblings)
        uint32_t rank(uint32_t link)
        bool search()
        int64_t best_score()
        void find_heads(int32_t* heads)
        bool find_marginals(double scale, double* marginals)
        bool find_kth(size_t k)
        int64_t kth_score(size_t k)
        void find_kth_heads(size_t k, int32_t* heads)

cdef extern from "link_weights.hpp" namespace "dynsel" nogil:
    cdef cppclass Candidate:
        int32_t head
        float score

    void keep_heads(bare_vector[Candidate]& found, double alpha, size_t most)

cdef enum:
    # The integer that stands for a weight of 1.
    SCALE = 512
    # How far from a word its head is looked for.
    REACH = 250
    # Up to this many words, all links are tried if those that the filter leaves make no
    # tree.
    MAX_WORDS_FOR_ALL = 300
    N_FILTER_KEYS = 4
    MAX_LINK_KEYS = 256


cdef struct LinkModelC:
    # Weights are compiled, or else those of learners.
    const ShortLineTableC* filter_lines
    const ShortLineTableC* lines
    LinkWeights* filter_weights
    LinkWeights* weights
    const FeaturesC* pairs
    const FeaturesC* siblings         # or NULL
    int n_pair_keys
    int n_sibling_keys
    int max_heads
    double alpha


cdef struct FilteredC:
    # What the filter says about two tags at a distance.
    uint64_t key
    float score


cdef cppclass LinkWork:
    # What a thread needs for a sentence.
    bare_vector[LinkC] links          # by child
    bare_vector[Candidate] candidates
    bare_vector[FilteredC] filtered   # by key; empty while weights change
    bare_vector[feat_t] keys
    bare_vector[int32_t] heads        # of the best tree
    bare_vector[double] marginals     # by link
    bare_vector[int] order
    bare_vector[int] todo
    bare_vector[int] first_left       # by word: its nearest child on each side, and for
    bare_vector[int] first_right      # a child the next one
    bare_vector[int] next_child
    bare_vector[uint8_t] flags
    BareForest forest
    int16_t signs[MAX_LINK_KEYS]
    atom_t values[MAX_SLOTS]


cdef void prepare(LinkWork* work, bint caches) noexcept nogil
cdef int find_filter_keys(
    const SentenceC* s, int head, int child, feat_t* keys
) noexcept nogil
cdef void find_links(const LinkModelC* model, SentenceC* s, LinkWork* work) noexcept nogil
cdef int find_keys(
    const LinkModelC* model, const FeaturesC* features, SentenceC* s, int head, int child,
    int sibling, LinkWork* work, feat_t* keys,
) noexcept nogil
cdef void score_links(const LinkModelC* model, SentenceC* s, LinkWork* work) noexcept nogil
cdef bint find_tree(const LinkModelC* model, SentenceC* s, LinkWork* work) noexcept nogil
cdef bint parse_links(
    const LinkModelC* model, SentenceC* s, const RulesC* rules, LinkWork* work
) noexcept nogil
cdef void order_arcs(int n, LinkWork* work) noexcept nogil
