"""What is known about chunks of text: the pieces that they are divided into."""
from libcpp.algorithm cimport fill

cdef enum:
    FIRST_SIZE = 1024


cdef class ChunkTable:
    """Chunks by their characters, however Python stores these. A table only grows; its
    owner clears it."""

    def __cinit__(self):
        self.arena = Arena()
        self.places.resize(FIRST_SIZE)

    def __len__(self) -> int:
        return self.n_chunks

    cdef ChunkC* find(self, const char_t* chars, size_t n, uint64_t hash) noexcept:
        """The chunk with these characters, or NULL. It lives until the next clear()."""
        cdef size_t mask = self.places.size() - 1
        cdef size_t place = hash & mask
        cdef ChunkC* chunk
        while True:
            chunk = self.places[place]
            if chunk == NULL:
                return NULL
            if chunk.hash == hash and chunk.n_chars == n and has_chars(chunk, chars):
                return chunk
            place = (place + 1) & mask

    cdef ChunkC* add(
        self, const char_t* chars, size_t n, uint64_t hash, size_t n_pieces
    ) except NULL:
        """Add a chunk that is not there yet; its pieces are left to be written."""
        cdef ChunkC* chunk = <ChunkC*>self.arena.alloc(
            sizeof(ChunkC) + n_pieces * sizeof(PieceC) + n * sizeof(uint32_t)
        )
        cdef size_t i
        chunk.hash = hash
        chunk.n_chars = n
        chunk.n_pieces = n_pieces
        for i in range(n):
            get_chars(chunk)[i] = chars[i]
        if 2 * (self.n_chunks + 1) > self.places.size():
            self._grow()
        put(self.places, chunk)
        self.n_chunks += 1
        return chunk

    cdef int _grow(self) except -1:
        cdef vector[ChunkC*] places
        places.resize(2 * self.places.size())
        for chunk in self.places:
            if chunk != NULL:
                put(places, chunk)
        self.places.swap(places)
        return 0

    cdef int clear(self) noexcept:
        """Forget all chunks. Needs no memory: what a zone leaves behind must go."""
        if self.n_chunks:
            # A table that becomes smaller stays where it is.
            self.places.resize(FIRST_SIZE)
            fill(self.places.begin(), self.places.end(), <ChunkC*>NULL)
            self.arena.clear()
            self.n_chunks = 0
        return 0


cdef inline bint has_chars(ChunkC* chunk, const char_t* chars) noexcept nogil:
    cdef const uint32_t* own = get_chars(chunk)
    cdef size_t i
    for i in range(chunk.n_chars):
        if own[i] != chars[i]:
            return False
    return True


cdef void put(vector[ChunkC*]& places, ChunkC* chunk) noexcept nogil:
    cdef size_t mask = places.size() - 1
    cdef size_t place = chunk.hash & mask
    while places[place] != NULL:
        place = (place + 1) & mask
    places[place] = chunk
