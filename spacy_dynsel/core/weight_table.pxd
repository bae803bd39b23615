"""The weights of learners, by the keys of features."""
from libcpp.vector cimport vector

from .typedefs cimport feat_t, uint16_t, uint32_t

from ..base.errors import Errors

cdef extern from "large_pages.hpp" namespace "dynsel" nogil:
    cdef cppclass LargePages[T]:
        pass


cdef extern from "weight_table.hpp" namespace "dynsel" nogil:
    cdef cppclass KeyTable[Entry]:
        vector[Entry, LargePages[Entry]] entries
        size_t n_used

        void prefetch(feat_t key)
        void make_room(size_t n) except +

    cdef cppclass EntryC "dynsel::Entry":
        feat_t key
        bint is_empty()
        bint is_row()
        bint is_rejected()
        bint is_pending()
        uint32_t get_count()
        void set_count(uint32_t n)
        void reject()
        void make_row()

    cdef struct WeightC "dynsel::Weight":
        float* value
        float* squares

    cdef struct RowC "dynsel::Row":
        uint32_t n
        uint16_t* labels
        float* values
        float* squares

    cdef cppclass WeightTable(KeyTable[EntryC]):
        EntryC* see(feat_t key)
        EntryC* find_row(feat_t key)
        EntryC* claim_row(feat_t key, uint32_t cutoff)
        void prefetch_row(const EntryC* entry)
        RowC get_row(const EntryC* entry)
        WeightC find_weight(EntryC* entry, uint32_t label) except +
        WeightC add_weight(EntryC* entry, uint32_t label) except +

    cdef struct RankWeightC "dynsel::RankWeight":
        feat_t key
        uint32_t n
        float value
        float squares

    cdef cppclass RankTable(KeyTable[RankWeightC]):
        RankWeightC* claim(feat_t key)


cdef inline int check_weights(
    list arrays, const uint32_t[::1] labels, uint32_t n_labels
) except -1:
    """Raise an error unless arrays have one length, and all labels are known."""
    cdef bint fits = True
    cdef Py_ssize_t i
    for i in range(labels.shape[0]):
        fits &= labels[i] < n_labels
    for array in arrays:
        fits &= len(array) == labels.shape[0]
    if not fits:
        raise ValueError(Errors.DS216.format(what="the weights of a learner"))
    return 0


cdef inline float get_rate(uint32_t n_weights) noexcept nogil:
    """How readily the weights of a feature change. One that has to do with many labels
    is frequent."""
    cdef float n = <float>n_weights
    return 1 / (1 + n * n)
