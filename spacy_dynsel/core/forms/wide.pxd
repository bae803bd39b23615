"""The compiled form of a classifier over slots with many labels.

Each feature has a code. Most features have weights for one or two labels, which the code
holds: two entries of a label (7 bits) and a weight (8). The code of others is the number
of a list of four entries, or of a row with a weight for each label."""
from ..program cimport ProgramC
from .cached cimport Kernels
from .line_table cimport LineTableC, find_value
from .slot_scorer cimport SlotScorer
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
    # Bits of a code: its number is that of a list or a row; of a row; the number.
    IS_FAR = 0x80000000
    IS_ROW = 0x40000000
    NUMBER = 0x3FFFFFFF


cdef struct WideScorerC:
    const ProgramC* program
    const Kernels* kernels
    int n_labels
    int width                # labels, padded
    LineTableC codes
    const int8_t* rows       # [row][width]
    const uint32_t* lists    # [list][LIST_SIZE] label << 8 | weight


cdef struct FarC:
    # The lists and rows that were prefetched.
    int n_rows
    int n_lists
    const int8_t* rows[MAX_STAGE]
    const uint32_t* lists[MAX_STAGE]


cdef inline uint32_t get_first_label(uint32_t code) noexcept nogil:
    return code >> 8 & 0x7F


cdef inline uint32_t get_second_label(uint32_t code) noexcept nogil:
    return code >> (ENTRY_BITS + 8) & 0x7F


cdef inline bint add_near(
    const WideScorerC* rows, const feat_t* keys, int n_keys, score_t* scores, FarC* far
) noexcept nogil:
    """Add the weights that the codes of features hold, and prefetch the others. RETURNS:
    Whether there are others."""
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


cdef inline void add_far(const WideScorerC* rows, FarC* far, score_t* scores) noexcept nogil:
    """Add what add_near prefetched."""
    cdef const uint32_t* entries
    cdef int i, j
    rows.kernels.add_bytes(scores, <const int8_t**>far.rows, far.n_rows, rows.width)
    for i in range(far.n_lists):
        entries = far.lists[i]
        for j in range(LIST_SIZE):
            scores[entries[j] >> 8] += <int8_t>(entries[j] & 0xFF)


cdef class WideScorer(SlotScorer):
    cdef object _rows
    cdef object _lists
    cdef WideScorerC c
