from libcpp.vector cimport vector

from ...core.typedefs cimport uint32_t, uint64_t
from .scratch cimport Scratch

cdef enum:
    MAX_LISTS_C = 24
    MAX_ENTRY_TOKENS_C = 32
    N_CODES_C = 9


cdef struct PhraseC:
    uint64_t key             # 0 for an empty place
    uint32_t lists           # those of which the phrase is an entry


cdef struct PhraseTableC:
    const PhraseC* places
    size_t mask


cdef struct GazetteerC:
    # Beginnings of entries and whole entries, by the lower-case forms of their words;
    # and whole entries by their words as they are written.
    PhraseTableC folded
    PhraseTableC exact
    int n_lists
    int lower_column
    int word_column


cdef class Gazetteer:
    cdef vector[PhraseC] _folded
    cdef vector[PhraseC] _exact
    cdef GazetteerC c


cdef void look_up_lists(
    const GazetteerC* gazetteer, Scratch* s, int n_dynamic, bint backwards
) noexcept nogil
