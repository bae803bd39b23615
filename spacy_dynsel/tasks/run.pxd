"""The only driver of threads over Docs."""
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from ..core.lexicon cimport Lexicon
from ..core.program cimport LexemeRecC
from ..core.typedefs cimport uint8_t, uint16_t, uint64_t
from ..core.vectors cimport bare_vector
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


cdef enum:
    # How far templates over words look to either side.
    REACH_C = 3
    # The early stages of a word to come look at as many words again.
    REACH_AFTER = 2 * REACH_C


cdef struct PieceC:
    # A part of a sentence, and where its first word is in the arrays of a worker.
    const SequenceC* doc
    int n                    # words
    int place
    int before               # how many of its neighbours on either side are words of
    int after                # its sentence: none, unless a sentence is cut


cdef struct WorkerC:
    # The words that a thread has gathered.
    bare_vector[PieceC] pieces
    bare_vector[uint64_t] orths
    bare_vector[int] words   # which tokens of their docs they are
    bare_vector[LexemeRecC*] records
    int room                 # for words in the arrays
    int n                    # words in them, with what stands between sentences
    int thread
    uint64_t* counts


cdef class SentenceRun(DocRun):
    cdef uint16_t* labels
    cdef int32_t* leads      # or NULL
    cdef uint8_t* stages     # or NULL
    cdef uint16_t* guesses   # what early stages say, or NULL

    cdef object label(self, bint with_leads, bint with_guesses)
    cdef void prepare(self, const WorkerC* worker) noexcept nogil
    cdef void label_piece(self, WorkerC* worker, const PieceC* piece) noexcept nogil
