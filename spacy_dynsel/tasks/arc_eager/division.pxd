"""Docs that are divided into sentences, for all parsers."""
from libc.stdint cimport int32_t

from ...core.program cimport LexemeRecC
from ...core.typedefs cimport uint8_t, uint16_t
from ...core.vectors cimport bare_vector
from ...spacy_io.tokens cimport ParseTokenC, SequenceC
from ..run cimport DocRun
from .features cimport TagMap
from .steps cimport ParserC
from .system cimport SentenceC


cdef cppclass DividedC:
    # A doc that a thread has divided.
    bare_vector[ParseTokenC] tokens
    bare_vector[LexemeRecC*] records
    bare_vector[uint8_t] starts       # by token that is not white space
    SentenceC whole                   # for the rows of its tokens
    int thread


cdef class DividingRun(DocRun):
    cdef ParserC parser
    cdef TagMap tags
    cdef int32_t* heads
    cdef uint16_t* labels
    cdef uint8_t* starts

    cdef bint divide(self, DividedC* worker, const SequenceC* doc) noexcept nogil
