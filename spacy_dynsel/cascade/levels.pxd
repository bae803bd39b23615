from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from ..core.cascade cimport CascadeScratch, GramWeights, LatticeC, Positions


cdef class Sequences:
    cdef const uint32_t[::1] features
    cdef const int64_t[::1] offsets
    cdef const int32_t[::1] labels
    cdef const uint8_t[:, ::1] allowed
    cdef vector[int64_t] starts       # the first position of each, and the end
    cdef readonly int n_labels        # that there have to be for these labels
    cdef int n_allowed                # the labels of which it is said, or 0
    cdef uint32_t nothing             # what pointers show that have nothing to show

    cdef int length(self, Py_ssize_t i) noexcept nogil
    cdef Positions positions(self, Py_ssize_t i) noexcept nogil
    cdef const int32_t* gold(self, Py_ssize_t i) noexcept nogil
    cdef bint fits(self, int n_labels) noexcept nogil


cdef class Lattices:
    cdef vector[LatticeC] items
    cdef readonly int n_labels
    cdef int first_order              # of those that are not made yet, or 0
    cdef Sequences started            # for which they are

    cdef const LatticeC* get(self, int64_t i, CascadeScratch& at) except NULL nogil
    cdef bint has(self, int64_t i, int length) noexcept nogil


cdef class Level:
    cdef GramWeights weights
    cdef readonly bint by_state

    cdef int _check(
        self, Sequences sequences, Lattices lattices, const int64_t[::1] ids
    ) except -1


cdef int check(bint fits, str what) except -1
