from libcpp.vector cimport vector
from spacy.attrs cimport IS_SPACE
from spacy.strings cimport StringStore
from spacy.structs cimport LexemeC
from spacy.typedefs cimport attr_t

from ..core.forms.word_scorer cimport WordScorer
from ..core.lexicon cimport Arena, Lexicon
from ..core.program cimport LexemeRecC, Program
from ..core.typedefs cimport atom_t, uint32_t, uint64_t

cdef enum:
    # The first atom of a record of white space that holds a blank line; see make_record.
    BLANK_LINE = 1


cdef enum Case:
    # Values of the column "case".
    LOWER_CASE
    TITLE_CASE
    UPPER_CASE
    INITIAL
    MIXED_FROM_UPPER
    MIXED_FROM_LOWER
    CASELESS
    NUMBER
    SYMBOLS
    SPACE
    N_CASES_C


cdef struct ColumnC:
    int kind
    int size                 # of an affix, or of a cluster's path; else 0


cdef class LexemeReader:
    cdef readonly list columns
    cdef readonly object class_keys
    cdef readonly object class_values
    cdef readonly object cluster_keys
    cdef readonly object cluster_values
    cdef vector[ColumnC] _columns
    cdef vector[uint64_t] _limits     # more than the values of each column, or 0
    cdef const uint64_t[::1] _class_keys
    cdef const uint32_t[::1] _class_values
    cdef const uint64_t[::1] _cluster_keys
    cdef const uint32_t[::1] _cluster_values

    cdef int read(
        self, object strings, const LexemeC* lexeme, atom_t* atoms
    ) except -1
    cdef int check(self, Lexicon lexicon) except -1
    cdef int check_program(self, Lexicon lexicon, Program program) except -1
    cdef int check_scorer(self, Lexicon lexicon, WordScorer scorer) except -1


cdef bint is_common_space(uint64_t orth) noexcept nogil
cdef LexemeRecC* make_record(
    const LexemeC* lexeme,
    StringStore strings,
    Lexicon lexicon,
    LexemeReader reader,
    Arena scratch,
) except NULL


cdef inline bint is_space(const LexemeC* lex) noexcept nogil:
    if lex.flags:
        return lex.flags >> IS_SPACE & 1
    return is_common_space(lex.orth)
