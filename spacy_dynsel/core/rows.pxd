"""The compiled form of a classifier over slots with many labels: features that say
something about many labels have a row of weights, the others a short list."""
from libc.stdint cimport uintptr_t

from .lines cimport Lines, LinesC, find_value
from .program cimport Program, ProgramC
from .scorer cimport Kernels
from .typedefs cimport feat_t, int8_t, score_t, uint32_t

cdef extern from "kernels.hpp" nogil:
    void DYNSEL_PREFETCH(const void* address)

cdef enum:
    # Lists have this length, filled up with weights of 0.
    LIST_SIZE = 4
    MAX_STAGE = 256
    # In a value of the table: the rest is the number of a row, not of a list.
    IS_ROW = 0x80000000


cdef struct RowsC:
    const ProgramC* program
    const Kernels* kernels
    int n_labels
    int width                # labels, padded
    LinesC places            # the list or the row of a feature; list 0 is empty
    const int8_t* rows       # [row][width]
    const uint32_t* lists    # [list][LIST_SIZE] label << 8 | weight


cdef struct AskedC:
    # The weights that were asked for.
    int n_rows
    int n_lists
    const int8_t* rows[MAX_STAGE]
    const uint32_t* lists[MAX_STAGE]


cdef inline void ask_weights(
    const RowsC* rows, const feat_t* keys, int n_keys, AskedC* asked
) noexcept nogil:
    """Ask for the weights of features whose places were asked for."""
    cdef const int8_t* row
    cdef const uint32_t* weights
    cdef uint32_t place, number
    cdef uintptr_t is_row
    cdef int n_rows = 0
    cdef int n_lists = 0
    cdef int t
    for t in range(n_keys):
        place = find_value(rows.places, keys[t])
        number = place & ~<uint32_t>IS_ROW
        row = rows.rows + <size_t>number * rows.width
        weights = rows.lists + <size_t>number * LIST_SIZE
        # No branch: which of them it is cannot be foretold.
        is_row = place >> 31
        asked.rows[n_rows] = row
        asked.lists[n_lists] = weights
        n_rows += <int>is_row
        n_lists += 1 - <int>is_row
        DYNSEL_PREFETCH(
            <const void*>(
                <uintptr_t>weights ^ (<uintptr_t>weights ^ <uintptr_t>row) & -is_row
            )
        )
    asked.n_rows = n_rows
    asked.n_lists = n_lists


cdef inline void add_weights(
    const RowsC* rows, const AskedC* asked, score_t* scores
) noexcept nogil:
    """Add what ask_weights asked for."""
    cdef const uint32_t* weights
    cdef int i, j
    rows.kernels.add_bytes(
        scores, <const int8_t**>asked.rows, asked.n_rows, rows.width
    )
    for i in range(asked.n_lists):
        weights = asked.lists[i]
        for j in range(LIST_SIZE):
            scores[weights[j] >> 8] += <int8_t>(weights[j] & 0xFF)


cdef class RowScorer:
    cdef readonly Program program
    cdef readonly int n_labels
    cdef readonly float scale
    cdef Lines _places
    cdef object _rows
    cdef object _lists
    cdef RowsC c
