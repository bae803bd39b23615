from libcpp.vector cimport vector

from .typedefs cimport feat_t, int16_t, uint32_t


cdef struct RankWeightC:
    feat_t key
    uint32_t n               # how often it was looked at; 0 for an empty place
    float value
    float squares


cdef class RankLearner:
    cdef float eta
    cdef float delta
    cdef vector[RankWeightC] places
    cdef size_t n_weights
    # The features of the choice at hand, each with the sign of what it speaks for.
    cdef vector[feat_t] keys
    cdef vector[int16_t] signs
    cdef vector[RankWeightC*] found

    cdef void _find_all(self) noexcept nogil
    cdef float score(self) noexcept nogil
    cdef float learn(self, float gain) noexcept nogil
    cdef RankWeightC* _find(self, feat_t key) noexcept nogil
    cdef void _grow(self) noexcept nogil
