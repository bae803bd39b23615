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

    cdef int _find_all(self) except -1 nogil
    cdef float score(self) noexcept nogil
    cdef float learn(self, float gain) except? -1 nogil
    cdef RankWeightC* _find(self, feat_t key) noexcept nogil
    cdef int _make_room(self, size_t n) except -1 nogil
