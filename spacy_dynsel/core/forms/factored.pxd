from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from ..label_parts cimport LabelParts, PartsC
from ..program cimport ContextC, LexemeRecC
from ..typedefs cimport score_t, uint16_t, uint64_t
from .cached cimport CachedScorer, CachedScorerC
from .packing cimport PackedC, PackedWeights
from .word_scorer cimport WordScorer

cdef enum:
    MAX_CANDIDATES = 32


cdef struct CandidatesC:
    # The labels that a word alone makes likely, best first.
    int32_t n
    int32_t[MAX_CANDIDATES] scores
    uint16_t[MAX_CANDIDATES] labels


cdef struct FactoredScorerC:
    const CachedScorerC* context      # what parts get, by all templates
    PackedC wholes                    # what whole labels get
    const int* whole_templates        # those that have something to say about them
    const int* whole_starts           # [n_stages + 1] into these
    PartsC parts
    int n_stages
    size_t offset                     # of the candidates, within the rows of a word


cdef struct ChoiceC:
    # A decision on its way.
    int32_t* scores          # [n] what the first stage says
    int32_t* totals          # [n] what all stages so far say
    uint16_t* labels         # [n] the labels that are left
    score_t* wholes          # [n_labels] what whole labels got after the first stage
    bint has_wholes          # whether they got anything yet
    int n
    int label                # the best one so far
    int lead                 # over the second
    int stage                # the last one that was scored
    bint is_made


cdef size_t count_sums(const FactoredScorerC* scorer) noexcept nogil
cdef void begin_choice(
    const FactoredScorerC* scorer, const LexemeRecC* record, const int* margins,
    ChoiceC* choice,
) noexcept nogil
cdef void begin_with_all(
    const FactoredScorerC* scorer, LexemeRecC* record, score_t* sums, ChoiceC* choice
) noexcept nogil
cdef void go_on(
    const FactoredScorerC* scorer, const ContextC* context, const int* margins,
    score_t* sums, ChoiceC* choice,
) noexcept nogil


cdef class FactoredScorer(WordScorer):
    cdef readonly LabelParts parts
    cdef readonly CachedScorer context
    cdef readonly PackedWeights wholes
    cdef const uint64_t[::1] _seen_keys
    cdef const int32_t[::1] _seen_starts
    cdef const uint16_t[::1] _seen_labels
    cdef vector[int] _whole_templates
    cdef vector[int] _whole_starts
    cdef vector[char] _has_wholes     # by template
    cdef vector[score_t] _sums
    cdef vector[int32_t] _scores
    cdef FactoredScorerC c
