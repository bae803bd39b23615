"""The compiled form of a classifier over slots with many labels.

A feature has a code. Most have weights for one or two labels, and the code holds them:
two entries of a label (7 bits) and a weight (8). For others it is the number of a list of
four entries, or of a row with a weight for each label."""
from .line_table cimport Lines, LinesC, find_value
from ..program cimport Program, ProgramC
from .cached cimport Kernels
from ..typedefs cimport feat_t, int8_t, score_t, uint32_t

cdef extern from "kernels.hpp" nogil:
    void DYNSEL_PREFETCH(const void* address)

cdef enum:
    # Lists have this length, filled up with weights of 0.
    LIST_SIZE = 4
    MAX_STAGE = 256
    # Labels from here on do not fit into a code.
    PAIR_LABELS = 128
    ENTRY_BITS = 15
    # In a code: the rest is a number; of a row, not of a list.
    IS_FAR = 0x80000000
    IS_ROW = 0x40000000
    NUMBER = 0x3FFFFFFF


cdef struct RowsC:
    const ProgramC* program
    const Kernels* kernels
    int n_labels
    int width                # labels, padded
    LinesC codes
    const int8_t* rows       # [row][width]
    const uint32_t* lists    # [list][LIST_SIZE] label << 8 | weight


cdef struct FarC:
    # The lists and rows that were asked for.
    int n_rows
    int n_lists
    const int8_t* rows[MAX_STAGE]
    const uint32_t* lists[MAX_STAGE]


cdef inline uint32_t get_first_label(uint32_t code) noexcept nogil:
    return code >> 8 & 0x7F


cdef inline uint32_t get_second_label(uint32_t code) noexcept nogil:
    return code >> (ENTRY_BITS + 8) & 0x7F


cdef inline bint add_near(
    const RowsC* rows, const feat_t* keys, int n_keys, score_t* scores, FarC* far
) noexcept nogil:
    """Add the weights of features, which were asked for, as far as their codes hold them,
    and ask for the others. RETURNS: Whether there are any."""
    cdef uint32_t code, number
    cdef int t
    far.n_rows = 0
    far.n_lists = 0
    for t in range(n_keys):
        code = find_value(rows.codes, keys[t])
        if code & <uint32_t>IS_FAR:
            number = code & <uint32_t>NUMBER
            if code & <uint32_t>IS_ROW:
                far.rows[far.n_rows] = rows.rows + <size_t>number * rows.width
                DYNSEL_PREFETCH(far.rows[far.n_rows])
                far.n_rows += 1
            else:
                far.lists[far.n_lists] = rows.lists + <size_t>number * LIST_SIZE
                DYNSEL_PREFETCH(far.lists[far.n_lists])
                far.n_lists += 1
        else:
            # Without a branch for features that are not there: their code is 0.
            scores[get_first_label(code)] += <int8_t>(code & 0xFF)
            scores[get_second_label(code)] += <int8_t>(code >> ENTRY_BITS & 0xFF)
    return far.n_rows + far.n_lists > 0


cdef inline void add_far(const RowsC* rows, FarC* far, score_t* scores) noexcept nogil:
    """Add what add_near asked for."""
    cdef const uint32_t* entries
    cdef int i, j
    rows.kernels.add_bytes(scores, <const int8_t**>far.rows, far.n_rows, rows.width)
    for i in range(far.n_lists):
        entries = far.lists[i]
        for j in range(LIST_SIZE):
            scores[entries[j] >> 8] += <int8_t>(entries[j] & 0xFF)


cdef class RowScorer:
    cdef readonly Program program
    cdef readonly int n_labels
    cdef readonly float scale
    cdef Lines _codes
    cdef object _rows
    cdef object _lists
    cdef RowsC c
