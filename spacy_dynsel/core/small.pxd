"""The compiled form of a classifier over slots with up to four labels."""
from .lines cimport Lines, LinesC, Sums, add_value, ask_lines, find_value
from .program cimport ContextC, Program, ProgramC
from .typedefs cimport feat_t

cdef enum:
    MAX_SMALL_LABELS = 4


cdef struct SmallC:
    const ProgramC* program
    LinesC weights           # the four weights of a feature, as bytes


cdef inline void ask_stage(
    const SmallC* small, int stage, const ContextC* context, feat_t* keys
) noexcept nogil:
    """Work out the keys of a stage and ask for their weights."""
    ask_lines(&small.weights, small.program, stage, context, keys)


cdef inline void add_stage(
    const SmallC* small, int stage, const feat_t* keys, Sums* sums
) noexcept nogil:
    """Add what ask_stage asked for."""
    cdef int first = small.program.stage_ends[stage - 1] if stage else 0
    cdef int t
    for t in range(first, small.program.stage_ends[stage]):
        add_value(
            sums,
            find_value(&small.weights.lines[keys[t] >> small.weights.shift], keys[t]),
        )


cdef class SmallScorer:
    cdef readonly Program program
    cdef readonly int n_labels
    cdef readonly object index
    cdef readonly object slots
    cdef readonly float scale
    cdef Lines _weights
    cdef SmallC c
