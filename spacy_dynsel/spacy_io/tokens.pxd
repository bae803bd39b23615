from libcpp.vector cimport vector

from ..core.lexicon cimport Arena, Lexicon, LexiconC
from ..core.program cimport LexemeRecC
from ..core.typedefs cimport atom_t, int8_t, uint8_t, uint64_t
from .lexemes cimport LexemeReader


cdef struct SequenceC:
    # A run of tokens that are looked at together: a Doc or one of its sentences.
    const void* tokens       # to be read by tokens.pyx only
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


cdef size_t read_docs(list docs, vector[SequenceC]& whole) except? 0
cdef size_t count_tokens(list docs) except? 0
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
cdef int read_entity_words(
    const SequenceC* sequence, EntityTokenC* result
) noexcept nogil
cdef bint has_entity(const SequenceC* sequence, int token) noexcept nogil
cdef void read_parse_tokens(const SequenceC* sequence, ParseTokenC* result) noexcept nogil
cdef bint find_records(
    const SequenceC* sequence, const LexiconC* lexicon, LexemeRecC** records
) noexcept nogil
cdef int make_records(
    const SequenceC* sequence,
    const int* words,
    int n,
    LexemeRecC** records,
    object doc,
    Lexicon lexicon,
    LexemeReader reader,
    Arena scratch,
) except -1
