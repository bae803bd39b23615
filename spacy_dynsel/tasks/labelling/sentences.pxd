from libc.stdint cimport int32_t

from ...core.program cimport LexemeRecC
from ...core.typedefs cimport uint8_t, uint16_t, uint64_t
from ...core.vectors cimport bare_vector
from ...spacy_io.tokens cimport SequenceC
from ..run cimport DocRun
from .history cimport REACH_C

cdef enum:
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
