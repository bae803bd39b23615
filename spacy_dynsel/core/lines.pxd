"""A hash table from features to values of 32 bits: one cache line a lookup."""
from .program cimport ContextC, ProgramC, TemplateC, get_key
from .typedefs cimport feat_t, int8_t, score_t, uint32_t

cdef extern from "kernels.hpp" nogil:
    void DYNSEL_PREFETCH(const void* address)

cdef extern from "kernels.hpp" namespace "dynsel" nogil:
    int LINE_SIZE

    cdef struct Line:
        uint32_t* keys
        uint32_t* values

    cdef struct Sums:
        score_t* of

    uint32_t find_value(const Line* line, uint32_t key)
    void add_value(Sums* sums, uint32_t value)


cdef struct LinesC:
    const Line* lines
    int shift                # a key's bucket is key >> shift


cdef inline void ask_lines(
    const LinesC* lines, const ProgramC* program, int stage, const ContextC* context,
    feat_t* keys,
) noexcept nogil:
    """Work out the keys of a stage and ask for their lines."""
    cdef int first = program.stage_ends[stage - 1] if stage else 0
    cdef int t
    for t in range(first, program.stage_ends[stage]):
        keys[t] = get_key(&program.templates[t], context)
        DYNSEL_PREFETCH(&lines.lines[keys[t] >> lines.shift])


cdef class Lines:
    cdef object _memory
    cdef LinesC c
