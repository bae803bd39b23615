from ..core.lexicon cimport Arena
from libcpp.vector cimport vector

from ..core.typedefs cimport uint8_t, uint16_t, uint32_t, uint64_t

ctypedef fused char_t:
    # The three ways in which Python stores the characters of a string.
    uint8_t
    uint16_t
    uint32_t


cdef struct PieceC:
    # A token of a chunk.
    const void* lexeme       # to be read by the owner of the table only
    uint64_t norm            # where it is not the lexeme's, else 0
    uint64_t length          # in characters


cdef struct ChunkC:
    # Followed by the pieces, and then by the characters, of 4 bytes each.
    uint64_t hash
    uint32_t n_chars
    uint32_t n_pieces


cdef inline PieceC* get_pieces(ChunkC* chunk) noexcept nogil:
    return <PieceC*>(chunk + 1)


cdef inline uint32_t* get_chars(ChunkC* chunk) noexcept nogil:
    return <uint32_t*>(get_pieces(chunk) + chunk.n_pieces)


cdef class ChunkTable:
    cdef Arena arena
    cdef vector[ChunkC*] places
    cdef size_t n_chunks

    cdef int _grow(self) except -1

    cdef ChunkC* find(self, const char_t* chars, size_t n, uint64_t hash) noexcept
    cdef ChunkC* add(
        self, const char_t* chars, size_t n, uint64_t hash, size_t n_pieces
    ) except NULL
    cdef int clear(self) noexcept
