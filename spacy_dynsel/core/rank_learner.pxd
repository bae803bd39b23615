from libcpp.vector cimport vector

from .typedefs cimport feat_t, int16_t
from .weight_table cimport RankTable, RankWeightC


cdef class RankLearner:
    cdef float eta
    cdef float delta
    cdef RankTable table
    # The features of the choice at hand, each with the sign of what it speaks for.
    cdef vector[feat_t] keys
    cdef vector[int16_t] signs
    cdef vector[RankWeightC*] found

    cdef int _find_all(self) except -1 nogil
    cdef float score(self) noexcept nogil
    cdef float learn(self, float gain) except? -1 nogil
