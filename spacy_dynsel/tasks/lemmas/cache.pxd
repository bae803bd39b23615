from libc.stdint cimport int32_t

from ...core.hashing cimport mix
from ...core.typedefs cimport uint8_t, uint16_t, uint64_t

cdef extern from "kernels.hpp" nogil:
    void DYNSEL_PREFETCH(const void* address)

cdef extern from "kernels.hpp" namespace "dynsel" nogil:
    void* load_pointer(void* const* place)
    void store_pointer(void** place, void* value)


cdef struct LemmaC:
    # What was found for a word: 32 bytes, two in a cache line.
    void* orth               # NULL for an empty place; set last, when the rest is there
    uint64_t morph
    uint64_t lemma           # a string ID
    int32_t lead
    uint16_t label
    uint8_t pos
    uint8_t stage


cdef class LemmaCache:
    cdef LemmaC* table       # [mask + 1]
    cdef size_t mask
    cdef size_t n_lemmas
    cdef readonly size_t max_lemmas
    cdef readonly object margins

    cdef void add(self, uint64_t orth, uint64_t morph, uint8_t pos, LemmaC found) noexcept


cdef inline size_t get_place(
    size_t mask, uint64_t orth, uint64_t morph, uint8_t pos
) noexcept nogil:
    """Where to look for a word first."""
    return mix(orth ^ morph, pos) & mask


cdef inline const LemmaC* find_lemma(
    const LemmaC* table, size_t mask, uint64_t orth, uint64_t morph, uint8_t pos
) noexcept nogil:
    """What was found for a word, or NULL. Safe while another thread adds."""
    cdef size_t place = get_place(mask, orth, morph, pos)
    cdef const LemmaC* found
    cdef uint64_t key
    while True:
        found = &table[place]
        key = <uint64_t>load_pointer(<void* const*>&found.orth)
        if key == 0:
            return NULL
        if key == orth and found.morph == morph and found.pos == pos:
            return found
        place = (place + 1) & mask
