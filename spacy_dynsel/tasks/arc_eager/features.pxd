from libcpp.vector cimport vector

from ...core.forms.line_table cimport SlotStageC, SlotTemplateC
from ...core.learner cimport Learner
from ...core.program cimport MAX_ATOMS, LexemeRecC, Program
from ...core.typedefs cimport atom_t, feat_t, int16_t, uint8_t, uint32_t, uint64_t
from ...spacy_io.tokens cimport ParseTokenC
from . cimport places as at
from .system cimport FIRST_ROW, NONE, STATE_ROW, SentenceC

cdef enum:
    MAX_SLOTS = 256
    MAX_BETWEEN = 12

cdef enum:
    # What can have changed for a token: its arc, that of its head, its dependents.
    ARC = 1
    GRANDPARENT = 2
    FRAME = 4
    ANY_CHANGE = 8

cdef struct SlotC:
    int place
    int column


cdef struct FeaturesC:
    const SlotC* slots
    const int* stage_ends    # the number of slots up to the end of each stage
    int n_slots
    int n_places             # from how many places, and with how many columns of
    int n_lexical            # lexemes
    const SlotStageC* stages     # the templates of each stage


cdef class Features:
    cdef readonly Program program
    cdef vector[SlotC] _slots
    cdef vector[int] _stage_ends
    cdef vector[SlotTemplateC] _templates
    cdef vector[SlotStageC] _stages
    cdef FeaturesC c

    cdef int _plan_stages(self) except -1
    cdef int check(self, int n_places, int n_lexical) except -1
    cdef int check_learner(self, Learner learner, int n_labels) except -1


cdef struct TreeTemplateC:
    uint64_t seed
    int slots[MAX_ATOMS]
    int n_slots


cdef class RankFeatures:
    cdef readonly Features branches
    cdef readonly Features trees
    cdef vector[TreeTemplateC] templates     # of trees
    # Sets of these, of n_words words each: word by word, those that read a slot; and
    # those that can change if this, a sum of ARC, GRANDPARENT and FRAME, has changed.
    cdef vector[uint32_t] readers
    cdef vector[uint32_t] concerned
    cdef int n_words

    cdef int check(self, int n_lexical) except -1
    cdef int n_branch_keys(self) noexcept nogil


cdef class TagMap:
    cdef readonly object keys
    cdef readonly object values
    cdef vector[uint64_t] places
    cdef vector[uint8_t] found
    cdef size_t mask

    cdef int _find(self, uint64_t key) noexcept nogil
    cdef int get(self, uint64_t tag, uint64_t lower) noexcept nogil


cdef inline int get_neighbour(const SentenceC* s, int token, int offset) noexcept nogil:
    if token == NONE or token + offset < 0 or token + offset >= s.n:
        return NONE
    return token + offset


cdef inline void find_rows(const SentenceC* s, int n_places, int* places) noexcept nogil:
    """Put the rows of tokens in the place of tokens."""
    cdef int i
    places[at.STATE] = STATE_ROW
    for i in range(1, n_places):
        places[i] = (places[i] + FIRST_ROW) * s.stride


cdef inline int get_link(const int* links, int token) noexcept nogil:
    return links[token] if token != NONE else NONE


cdef inline atom_t get_distance(int distance) noexcept nogil:
    if distance <= 4:
        return distance
    if distance <= 6:
        return 5
    return 6 if distance <= 10 else 7


cdef inline uint64_t get_between(const SentenceC* s, int left, int right) noexcept nogil:
    """The parts of speech between two tokens, as far as a limit from the right one."""
    cdef uint64_t bits = 0
    cdef int i
    for i in range(max(left + 1, right - MAX_BETWEEN), right):
        bits |= s.pos_bits[i]
    return bits


cdef inline void read_slots(
    const SentenceC* s, const FeaturesC* features, int first, int end, const int* places,
    atom_t* values,
) noexcept nogil:
    cdef int i
    for i in range(first, end):
        values[i] = s.rows[places[features.slots[i].place] + features.slots[i].column]


cdef void find_action_places(SentenceC* s, int* places) noexcept nogil
cdef void find_label_places(
    SentenceC* s, int head, int dependent, int* places
) noexcept nogil
cdef void find_boundary_places(SentenceC* s, int token, int start, int* places) noexcept nogil
cdef void fill_token(
    SentenceC* s, int i, const LexemeRecC* record, const ParseTokenC* token, TagMap tags
) noexcept nogil
cdef int find_changes(
    const SentenceC* old, const SentenceC* new, uint8_t* changes
) noexcept nogil
cdef void add_branch_keys(
    RankFeatures features, SentenceC* s, int action, int second, int lead,
    feat_t* keys, int16_t* signs,
) noexcept nogil
cdef size_t count_tree_keys(
    RankFeatures features, const uint8_t* changes, int n
) noexcept nogil
cdef size_t add_tree_keys(
    RankFeatures features, SentenceC* old, SentenceC* new, const uint8_t* changes,
    feat_t* keys, int16_t* signs,
) noexcept nogil
