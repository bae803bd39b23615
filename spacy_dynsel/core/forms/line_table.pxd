"""Hash tables from features to numbers: one cache line a lookup."""
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from ..typedefs cimport (
    atom_t, feat_t, int8_t, int16_t, score_t, uint16_t, uint32_t, uint64_t,
)
from .cached cimport Kernels

cdef extern from "line_table.hpp" namespace "dynsel" nogil:
    cdef cppclass Others:
        vector[uint32_t] keys
        vector[uint32_t] values

    ctypedef struct LineTableC "dynsel::LineTable":
        const void* lines

    ctypedef struct ShortLineTableC "dynsel::ShortLineTable":
        const void* lines

    cdef struct Sums:
        int16_t* of

    ctypedef void (*AddValues)(Sums*, const LineTableC&, const feat_t*, int) noexcept nogil

    int ENTRY_BITS
    int PAIR_LABELS
    int LIST_SIZE
    int MAX_STAGE
    uint32_t IS_FAR
    uint32_t IS_ROW
    uint32_t NUMBER

    ctypedef struct WideWeightsC "dynsel::WideWeights":
        const Kernels* kernels
        int width
        LineTableC codes
        const int8_t* rows
        const uint32_t* lists

    ctypedef struct FarC "dynsel::Far":
        pass

    cdef struct SlotTemplateC "dynsel::SlotTemplate":
        uint64_t seed
        uint16_t* slots

    cdef struct SlotStageC "dynsel::SlotStage":
        const SlotTemplateC* templates
        int* ends

    LineTableC make_line_table "dynsel::make_table<dynsel::Line>"(
        void* memory, uint32_t n_lines, const feat_t* keys, const uint32_t* values,
        size_t n, Others* others,
    ) except +
    ShortLineTableC make_short_table "dynsel::make_table<dynsel::ShortLine>"(
        void* memory, uint32_t n_lines, const feat_t* keys, const int16_t* values,
        size_t n, Others* others,
    ) except +
    void list_lines[Table](const Table& table, Others* all) except +
    AddValues get_add_values(int kind)
    uint32_t get_first_label(uint32_t code)
    uint32_t get_second_label(uint32_t code)
    bint add_near(
        const WideWeightsC& weights, const feat_t* keys, int n, score_t* scores, FarC* far
    )
    void add_far(const WideWeightsC& weights, FarC* far, score_t* scores)
    int64_t sum_values(
        ShortLineTableC table, const feat_t* keys, const int16_t* signs, size_t n
    )
    void prefetch(ShortLineTableC table, feat_t key)
    int ask_lines(SlotStageC stage, LineTableC table, const atom_t* values, feat_t* keys)
    int ask_short_lines "dynsel::ask_lines"(
        SlotStageC stage, ShortLineTableC table, const atom_t* values, feat_t* keys
    )


cdef class AnyTable:
    cdef object _memory      # one of these two
    cdef void* _block
    cdef void* _start
    cdef uint32_t _n_lines
    cdef Others _others

    cdef size_t _allocate(self, size_t n, size_t n_values, size_t mean_keys) except? 0


cdef class LineTable(AnyTable):
    cdef LineTableC c


cdef class ShortLineTable(AnyTable):
    cdef ShortLineTableC c
