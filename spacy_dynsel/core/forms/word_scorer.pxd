from libcpp.vector cimport vector

from ..program cimport LexemeRecC, Program
from ..typedefs cimport feat_t, score_t, uint64_t
from .packing cimport PackedWeights

cdef enum:
    MAX_TEMPLATES = 256


cdef struct LimitC:
    # How many values of a column the tables have room for.
    int column
    uint64_t n_values


cdef class WordScorer:
    cdef readonly Program program
    cdef readonly PackedWeights weights
    cdef readonly float scale
    cdef readonly int n_labels
    cdef readonly int n_outputs
    cdef readonly object bias
    cdef readonly object pairs
    cdef vector[LimitC] lexical_limits
    cdef vector[LimitC] dynamic_limits

    cdef int set_weights(
        self, Program program, PackedWeights weights, float scale
    ) except -1
    cdef bint is_made(self) noexcept nogil
    cdef size_t count_row_bytes(self) noexcept nogil
    cdef void fill(self, LexemeRecC* record, char* rows) noexcept nogil
    cdef void add_feature(
        self, int template, feat_t key, score_t* scores
    ) noexcept nogil
