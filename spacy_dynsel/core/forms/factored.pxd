from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from ..label_parts cimport LabelParts, PartsC
from ..program cimport ContextC, LexemeRecC
from ..typedefs cimport score_t, uint16_t, uint64_t
from .cached cimport CachedScorer, CachedScorerC
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
    PartsC parts
    size_t n_sums                     # what parts and whole labels get, padded
    int n_stages
    size_t offset                     # of the candidates, within the rows of a word


cdef struct ChoiceC:
    # A decision on its way.
    int32_t* scores          # [n] what the first stage says
    int32_t* totals          # [n] what all stages so far say
    uint16_t* labels         # [n] the labels that are left
    score_t* sums            # [n_sums] what parts and whole labels got after it
    bint has_sums            # whether parts got anything yet
    bint has_wholes          # whether whole labels did
    int n
    int label                # the best one so far
    int lead                 # over the second
    int stage                # the last one that was scored
    bint is_made


cdef void begin_choice(
    const FactoredScorerC* scorer, const LexemeRecC* record, const int* margins,
    ChoiceC* choice,
) noexcept nogil
cdef void begin_with_all(
    const FactoredScorerC* scorer, LexemeRecC* record, ChoiceC* choice
) noexcept nogil
cdef void go_on(
    const FactoredScorerC* scorer, const ContextC* context, const int* margins,
    ChoiceC* choice,
) noexcept nogil


cdef class FactoredScorer(WordScorer):
    cdef readonly LabelParts parts
    cdef readonly CachedScorer context
    cdef const uint64_t[::1] _seen_keys
    cdef const int32_t[::1] _seen_starts
    cdef const uint16_t[::1] _seen_labels
    cdef vector[char] _is_by_key      # by template
    cdef vector[score_t] _sums
    cdef vector[int32_t] _scores
    cdef FactoredScorerC c
