from .typedefs cimport atom_t, feat_t, uint64_t

cdef extern from "hashing.hpp" namespace "dynsel" nogil:
    uint64_t mix(uint64_t state, uint64_t value)
    feat_t finish(uint64_t state)
    atom_t fold(uint64_t value)
    uint64_t hash_bytes(const unsigned char* data, size_t n)
