from libcpp.vector cimport vector

from ...core.forms.word_scorer cimport WordScorer
from ...core.program cimport ProgramC
from ...core.typedefs cimport atom_t
from ..run cimport REACH_C

cdef struct HistoryC:
    int n_columns
    int n_labels
    int carried              # the column that is handed on, or -1
    const atom_t* values     # [n_labels + 1][n_columns], first what no label says


cdef inline void copy_values(
    const HistoryC* history, atom_t* place, int label
) noexcept nogil:
    """Write down what a label says, whatever is handed on.

    place: [n_columns] Where that of the word stands.
    """
    cdef const atom_t* values = history.values + (label + 1) * history.n_columns
    cdef int i
    for i in range(history.n_columns):
        place[i] = values[i]


cdef inline void write_label(
    const HistoryC* history, atom_t* place, int label
) noexcept nogil:
    """Write down what templates read of a word's label.

    place: [n_columns] Where that of the word stands, after that of the word before.
    """
    copy_values(history, place, label)
    if history.carried >= 0 and place[history.carried] == 0:
        place[history.carried] = place[history.carried - history.n_columns]


cdef class History:
    cdef readonly list columns
    cdef readonly object values
    cdef vector[atom_t] _highest      # by column
    cdef HistoryC c

    cdef int check(self, const ProgramC* program, int n_labels) except -1
    cdef int check_scorer(self, WordScorer scorer) except -1


cdef int count_free_templates(const ProgramC* program, int n_stages) noexcept nogil
cdef bint looks_ahead(const ProgramC* program, int n_columns) noexcept nogil
