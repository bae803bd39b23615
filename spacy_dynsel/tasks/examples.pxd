"""Docs whose records are kept while a task learns from them."""
from libcpp.vector cimport vector

from ..core.lexicon cimport Arena, Lexicon
from ..core.program cimport LexemeRecC
from ..core.typedefs cimport atom_t
from ..spacy_io.lexemes cimport LexemeReader
from ..spacy_io.tokens cimport SequenceC


cdef class Examples:
    cdef list docs
    cdef Lexicon lexicon              # None before docs are read
    cdef vector[SequenceC] sequences  # the docs
    cdef size_t n_tokens
    cdef vector[LexemeRecC*] records  # of all tokens, or of all words
    cdef Arena _scratch
    cdef vector[int] _word_columns
    cdef vector[int] _class_columns

    cdef int read(
        self, list docs, Lexicon lexicon, LexemeReader reader, bint only_words
    ) except -1
    cdef int check_read(self) except -1
    cdef void hide_word(self, atom_t* atoms) noexcept nogil
