"""The only driver of threads over Docs."""
from cpython.ref cimport PyObject
from libcpp.vector cimport vector

from ..core.lexicon cimport Lexicon
from ..core.program cimport LexemeRecC
from ..core.typedefs cimport uint64_t
from ..core.workers cimport atomic_int
from ..spacy_io.lexemes cimport LexemeReader
from ..spacy_io.tokens cimport SequenceC


cdef class DocRun:
    cdef Lexicon lexicon
    cdef LexemeReader reader
    cdef list docs
    cdef vector[SequenceC] sequences  # the docs
    cdef size_t n_tokens
    cdef object ends                  # the number of tokens up to the end of each doc
    cdef object error                 # what a thread raised
    cdef uint64_t* counts             # [threads][counts], or NULL without tokens
    cdef int n_counts
    cdef object _counts
    cdef int n_threads                # that work
    cdef vector[int] _shares          # [shares + 1] into docs
    cdef atomic_int _next_share
    cdef vector[PyObject*] _scratch   # by thread: an Arena, or NULL
    cdef list _arenas                 # what keeps those alive

    cdef int read(
        self, list docs, Lexicon lexicon, LexemeReader reader, int n_threads, int n_counts
    ) except -1
    cdef int start(self) except -1
    cdef void work(self, int thread) noexcept nogil
    cdef bint take(self, int* first, int* end) noexcept nogil
    cdef bint find(
        self, int thread, const SequenceC* doc, LexemeRecC** records
    ) noexcept nogil
    cdef bint complete(
        self, int thread, const SequenceC* doc, const int* words, int n,
        LexemeRecC** records,
    ) noexcept nogil
    cdef void clear_scratch(self, int thread) noexcept nogil
    cdef object sum_counts(self)
