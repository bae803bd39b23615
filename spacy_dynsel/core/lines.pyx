import numpy as np

cdef enum:
    LINE_BYTES = 64
    MIN_BITS = 4


cdef class Lines:
    """A table that is filled once.

    keys (array): The keys, each once.
    values (array): Their values, which are not 0.
    """

    def __init__(self, const uint32_t[::1] keys not None, const uint32_t[::1] values not None):
        cdef unsigned char[::1] memory
        cdef Line* lines
        cdef Py_ssize_t i, bucket
        cdef int bits = MIN_BITS
        cdef int place
        # Half full on average, and room for all that moves on from the last bucket.
        while (LINE_SIZE << bits) < 2 * keys.shape[0]:
            bits += 1
        n_lines = (1 << bits) + keys.shape[0] // LINE_SIZE + 2
        # Numpy asks for large pages, and finding a page would take longer than the line.
        self._memory = np.zeros((n_lines + 1) * LINE_BYTES, dtype="uint8")
        memory = self._memory
        offset = -self._memory.ctypes.data % LINE_BYTES
        lines = <Line*>&memory[offset]
        self.c.lines = lines
        self.c.shift = 32 - bits
        for i in range(keys.shape[0]):
            bucket = keys[i] >> self.c.shift
            place = 0
            while lines[bucket].values[place]:
                place += 1
                if place == LINE_SIZE:
                    bucket += 1
                    place = 0
            lines[bucket].keys[place] = keys[i]
            lines[bucket].values[place] = values[i]
