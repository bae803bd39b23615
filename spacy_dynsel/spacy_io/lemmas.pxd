from ..core.typedefs cimport atom_t, uint8_t, uint64_t
from .lexemes cimport LexemeReader
from .tokens cimport SequenceC

cdef enum:
    # Stand for what is no label: white space, which is its own lemma; a word to which no
    # label applies; one whose lemma a table says.
    SPACE_LEMMA_C = 0xFFFF
    NO_LEMMA_C = 0xFFFE
    TABLE_LEMMA_C = 0xFFFD


cdef struct LemmaTokenC:
    uint64_t orth
    uint64_t morph           # 0 if there are no features
    uint8_t pos
    uint8_t is_space


cdef void read_lemma_tokens(
    const SequenceC* sequence, int start, int end, LemmaTokenC* result
) noexcept nogil
cdef str read_form(const SequenceC* sequence, int token, object doc)
cdef int read_atoms(
    const SequenceC* sequence, int token, object doc, LexemeReader reader, atom_t* atoms
) except -1
