"""The only definition of how values become keys; training and prediction share it.

Model files depend on every line: a change here needs a new format version.
"""
from .typedefs cimport atom_t, feat_t, uint64_t

cdef inline uint64_t mix(uint64_t state, uint64_t value) noexcept nogil:
    state = (state ^ value) * <uint64_t>0x9E3779B97F4A7C15
    return state ^ (state >> 32)


cdef inline feat_t finish(uint64_t state) noexcept nogil:
    return <feat_t>((state * <uint64_t>0xD6E8FEB86659FD93) >> 32)


cdef inline atom_t fold(uint64_t value) noexcept nogil:
    return <atom_t>((value * <uint64_t>0x9E3779B97F4A7C15) >> 32)


cdef inline uint64_t hash_bytes(const unsigned char* data, size_t n) noexcept nogil:
    """FNV-1a: made for the few bytes of an affix or an atom's name."""
    cdef uint64_t state = <uint64_t>0xCBF29CE484222325
    cdef size_t i
    for i in range(n):
        state = (state ^ data[i]) * <uint64_t>0x100000001B3
    return state
