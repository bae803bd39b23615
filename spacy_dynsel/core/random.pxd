"""Random numbers by xorshift64*."""
from .typedefs cimport uint64_t


cdef inline uint64_t start_random(uint64_t seed) noexcept nogil:
    """The first state. It is not 0."""
    return (seed + 1) * <uint64_t>0x9E3779B97F4A7C15


cdef inline uint64_t next_random(uint64_t* state) noexcept nogil:
    """A number of 24 bits."""
    state[0] ^= state[0] >> 12
    state[0] ^= state[0] << 25
    state[0] ^= state[0] >> 27
    return (state[0] * <uint64_t>0x2545F4914F6CDD1D) >> 40
