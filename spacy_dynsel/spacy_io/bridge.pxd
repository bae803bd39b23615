from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from ..core.lexicon cimport Arena, Lexicon, LexiconC
from ..core.program cimport LexemeRecC, Program
from ..core.forms.cached cimport CachedScorer
from ..core.typedefs cimport atom_t, int8_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    # Stands for an action that is none: the token keeps its annotation.
    KEEP_C = 0xFFFF
    # Stands for the tag of white space, which is no label.
    SPACE_TAG_C = 0xFFFF
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


cdef struct SequenceC:
    # A run of tokens that are looked at together: a Doc or one of its sentences.
    const void* tokens       # to be read by this module only
    int length
    int doc                  # which of the docs
    size_t offset            # of its first token among the tokens of all docs


cdef struct EntityTokenC:
    uint64_t type            # of the entity that is set
    int token
    atom_t tag
    uint8_t iob              # as TokenC has it
    uint8_t starts           # whether a sentence starts here
    uint8_t is_barred        # whether white space before it has an annotation that is set


cdef struct ParseTokenC:
    uint64_t tag
    uint64_t lower
    uint8_t pos
    int8_t sent_start        # as TokenC has it
    uint8_t is_space
    uint8_t is_blank_line    # at which a sentence ends, for the parser to say


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

    cdef int read(self, object strings, const void* lexeme, atom_t* atoms) except -1
    cdef int check(self, Lexicon lexicon) except -1
    cdef int check_program(self, Lexicon lexicon, Program program) except -1
    cdef int check_scorer(self, Lexicon lexicon, CachedScorer scorer) except -1


cdef int read_entity_words(
    const SequenceC* sequence, EntityTokenC* result
) noexcept nogil
cdef void fill_spaces(
    const SequenceC* sequence, bint keeps, uint16_t* actions, int32_t* leads
) noexcept nogil
cdef void read_parse_tokens(const SequenceC* sequence, ParseTokenC* result) noexcept nogil
cdef size_t read_docs(list docs, vector[SequenceC]& whole) except? 0
cdef int sentence_end(const SequenceC* sequence, int start) noexcept nogil
cdef int read_words(
    const SequenceC* sequence, int start, int end, uint64_t* orths, int* words
) noexcept nogil
cdef int read_neighbours(
    const SequenceC* sequence,
    int start,
    int end,
    int step,
    int most,
    uint64_t* orths,
    int* words,
) noexcept nogil
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
cdef int make_word_records(
    const SequenceC* sequence,
    const int* words,
    int n,
    LexemeRecC** records,
    object doc,
    Lexicon lexicon,
    LexemeReader reader,
    Arena scratch,
) except -1
