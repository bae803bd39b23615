"""Hash tables from features to numbers: one cache line a lookup."""
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from ..typedefs cimport atom_t, feat_t, int16_t, uint16_t, uint32_t, uint64_t

cdef extern from "lines.hpp" namespace "dynsel" nogil:
    int LINE_SIZE
    int SHORT_LINE_SIZE

    cdef cppclass Others:
        vector[uint32_t] keys
        vector[uint32_t] values

    cdef struct Line:
        uint16_t* checks
        uint32_t* values

    cdef struct LinesC "dynsel::Lines":
        const Line* lines
        uint32_t n_lines
        const Others* others

    cdef struct ShortLine:
        uint16_t* checks
        int16_t* values

    cdef struct ShortLinesC "dynsel::ShortLines":
        const ShortLine* lines
        uint32_t n_lines
        const Others* others

    cdef struct Sums:
        int16_t* of

    ctypedef void (*AddValues)(Sums*, const LinesC&, const feat_t*, int) noexcept nogil

    cdef struct SlotTemplateC "dynsel::SlotTemplate":
        uint64_t seed
        uint16_t* slots

    cdef struct SlotStageC "dynsel::SlotStage":
        const SlotTemplateC* templates
        int* ends

    void fill_lines(
        Line* lines, uint32_t n_lines, const feat_t* keys, const uint32_t* values,
        size_t n, Others* others,
    ) except +
    uint32_t find_value(LinesC lines, feat_t key)
    AddValues get_add_values(int kind)
    int64_t sum_values(
        ShortLinesC lines, const feat_t* keys, const int16_t* signs, size_t n
    )
    void prefetch(ShortLinesC lines, feat_t key)
    int ask_lines(SlotStageC stage, LinesC lines, const atom_t* values, feat_t* keys)


cdef class Zeros:
    cdef object _memory      # one of these two
    cdef void* _block
    cdef void* start
    cdef size_t n_lines


cdef class Lines:
    cdef Zeros _memory
    cdef Others _others
    cdef LinesC c


cdef class ShortLines:
    cdef Zeros _memory
    cdef Others _others
    cdef ShortLinesC c
