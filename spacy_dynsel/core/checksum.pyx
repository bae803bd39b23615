"""A fast checksum for model files, to find damage and not attacks."""
from libc.string cimport memcpy

from .hashing cimport mix
from .typedefs cimport uint64_t


def checksum(const unsigned char[::1] data not None) -> int:
    """The checksum of some bytes.

    Four independent lanes keep the multiplier busy. Each step maps the state of a
    lane one to one for a given word and each word one to one for a given state, so
    that a change within one word always changes the result.
    """
    cdef const unsigned char* p = &data[0] if data.shape[0] else NULL
    cdef size_t n = data.shape[0]
    cdef size_t i = 0
    cdef int lane
    cdef uint64_t word
    cdef uint64_t[4] lanes
    cdef uint64_t state = n
    with nogil:
        for lane in range(4):
            lanes[lane] = lane
        while i + 32 <= n:
            for lane in range(4):
                memcpy(&word, p + i + 8 * lane, 8)
                lanes[lane] = mix(lanes[lane], word)
            i += 32
        while i < n:
            word = 0
            memcpy(&word, p + i, min(<size_t>8, n - i))
            lanes[0] = mix(lanes[0], word)
            i += 8
        for lane in range(4):
            state = mix(state, lanes[lane])
    return state
