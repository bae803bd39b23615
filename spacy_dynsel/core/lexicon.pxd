from libcpp.vector cimport vector

from .program cimport LexemeRecC
from .forms.word_scorer cimport WordScorer
from .typedefs cimport atom_t, score_t, uint64_t

cdef extern from "kernels.hpp" namespace "dynsel" nogil:
    void* load_pointer(void* const* place)
    void store_pointer(void** place, void* value)


cdef enum Boundary:
    # Values of atoms before the start and after the end. Columns of small numbers never
    # use them for anything else.
    UNKNOWN = 0
    BEFORE_START = 1
    AFTER_END = 2
    FIRST_VALUE = 3


cdef struct LexiconC:
    void** table             # [mask + 1] records by hash of their orth
    size_t mask
    size_t n_records


cdef inline LexemeRecC* find_record(const LexiconC* lexicon, uint64_t orth) noexcept nogil:
    """The record of a lexeme, or NULL. Safe while another thread adds records."""
    # The orth is a hash already.
    cdef size_t place = orth & lexicon.mask
    cdef LexemeRecC* record
    while True:
        record = <LexemeRecC*>load_pointer(&lexicon.table[place])
        if record == NULL or record.orth == orth:
            return record
        place = (place + 1) & lexicon.mask


cdef inline bint look_up(
    const LexiconC* lexicon, const uint64_t* orths, int n, LexemeRecC** records
) noexcept nogil:
    """Look up many records. The loop is short, so that the processor waits for many of
    them at once. RETURNS: Whether all were found; the others are NULL."""
    cdef bint complete = True
    cdef int i
    for i in range(n):
        records[i] = find_record(lexicon, orths[i])
        complete &= records[i] != NULL
    return complete


cdef class Arena:
    """Memory for records that are freed together."""
    cdef vector[void*] chunks
    cdef char* free
    cdef size_t n_free
    cdef readonly size_t n_bytes

    cdef void* alloc(self, size_t n_bytes) except NULL
    cdef void clear(self) noexcept nogil


cdef class Lexicon:
    cdef readonly int n_columns
    cdef readonly size_t max_records
    cdef list scorers
    cdef Arena arena
    cdef LexemeRecC* before_start
    cdef LexemeRecC* after_end
    cdef LexemeRecC* absent
    cdef LexiconC c

    cdef LexemeRecC* _new_boundary(self, atom_t value) except NULL
    cdef bint is_full(self) noexcept
    cdef bint has_rows(self, WordScorer scorer)
    cdef LexemeRecC* new_record(self, uint64_t orth, Arena arena) except NULL
    cdef void finish_record(self, LexemeRecC* record) noexcept
    cdef void publish(self, LexemeRecC* record) noexcept
