from libcpp.vector cimport vector

from .core.lexicon cimport Arena, Lexicon, LexiconC
from .core.program cimport LexemeRecC
from .core.typedefs cimport atom_t, uint16_t, uint32_t, uint64_t


cdef struct ColumnC:
    int kind
    int size                 # of an affix, or of a cluster's path; else 0


cdef struct SequenceC:
    # A run of tokens that are looked at together: a Doc or one of its sentences.
    const void* tokens       # to be read by this module only
    int length
    int doc                  # which of the docs
    size_t offset            # of its first token among the tokens of all docs


cdef class LexemeReader:
    cdef readonly list columns
    cdef readonly object class_keys
    cdef readonly object class_values
    cdef readonly object cluster_keys
    cdef readonly object cluster_values
    cdef vector[ColumnC] _columns
    cdef const uint64_t[::1] _class_keys
    cdef const uint32_t[::1] _class_values
    cdef const uint64_t[::1] _cluster_keys
    cdef const uint32_t[::1] _cluster_values

    cdef int read(self, object strings, const void* lexeme, atom_t* atoms) except -1


cdef size_t read_docs(list docs, vector[SequenceC]& whole) except? 0
cdef int sentence_end(const SequenceC* sequence, int start) noexcept nogil
cdef void read_orths(
    const SequenceC* sequence, int start, int n, uint64_t* orths
) noexcept nogil
cdef size_t split_docs(list docs, vector[SequenceC]& sequences) except? 0
cdef bint find_records(
    const SequenceC* sequence,
    int start,
    int n,
    const LexiconC* lexicon,
    LexemeRecC* before_start,
    LexemeRecC* after_end,
    LexemeRecC** records,
) noexcept nogil
cdef int make_records(
    const SequenceC* sequence,
    int start,
    int n,
    LexemeRecC** records,
    object doc,
    Lexicon lexicon,
    LexemeReader reader,
    Arena scratch,
) except -1
