from .typedefs cimport int16_t, uint16_t, uint32_t, uint64_t

import numpy as np

cdef enum:
    LINE_BYTES = 64
    # So that the low half of a key says which one it is of those in its line.
    MIN_LINES = 1 << 16
    # How many keys a line holds on average. More would be elsewhere too often.
    MEAN_KEYS = 4
    MEAN_SHORT_KEYS = 8


cdef tuple new_lines(size_t n_keys, size_t mean_keys):
    """Lines of zeros. RETURNS (tuple): An array that owns them, where they start, and
    their number."""
    cdef size_t n_lines = max(<size_t>MIN_LINES, n_keys // mean_keys + 1)
    # Numpy asks for large pages, and finding a page would take longer than the line.
    memory = np.zeros((n_lines + 1) * LINE_BYTES, dtype="uint8")
    return memory, memory.ctypes.data + -memory.ctypes.data % LINE_BYTES, n_lines


cdef inline uint32_t get_key(uint64_t n_lines, uint64_t line, uint16_t check) noexcept:
    """The key of a check in a line, of which there are enough."""
    cdef uint32_t first = <uint32_t>(((line << 32) + n_lines - 1) // n_lines)
    return first + <uint16_t>(check - first)


cdef class Lines:
    """A table that is filled once, by put, in the order of the keys, in which they stand
    in memory, too.

    n_keys (int): How many there will be.
    """

    def __init__(self, size_t n_keys):
        cdef size_t address, n_lines
        self._memory, address, n_lines = new_lines(n_keys, MEAN_KEYS)
        self.filling.lines = <Line*>address
        self.filling.n_lines = <uint32_t>n_lines
        self.filling.others = &self._others
        self.filling.line = 0
        self.filling.n = 0
        self.c.lines = self.filling.lines
        self.c.n_lines = self.filling.n_lines
        self.c.others = &self._others

    def to_arrays(self) -> tuple:
        """The keys, in order, and their values."""
        cdef vector[uint32_t] keys = self._others.keys
        cdef vector[uint32_t] values = self._others.values
        cdef const Line* line
        cdef uint32_t number
        cdef int i
        for number in range(self.c.n_lines):
            line = &self.c.lines[number]
            for i in range(LINE_SIZE):
                if line.values[i]:
                    keys.push_back(get_key(self.c.n_lines, number, line.checks[i]))
                    values.push_back(line.values[i])
        return sort_by_keys(keys, values)


cdef class ShortLines:
    """A table of numbers of 16 bits.

    keys (array): The keys, in order, each once.
    values (array): Their values, which are not 0.
    """

    def __init__(
        self, const uint32_t[::1] keys not None, const int16_t[::1] values not None
    ):
        cdef size_t address, n_lines, i, number
        cdef size_t last = 0
        cdef int place = -1
        cdef ShortLine* lines
        self._memory, address, n_lines = new_lines(keys.shape[0], MEAN_SHORT_KEYS)
        lines = <ShortLine*>address
        with nogil:
            for i in range(<size_t>keys.shape[0]):
                number = <uint64_t>keys[i] * n_lines >> 32
                place = place + 1 if number == last else 0
                last = number
                if place < SHORT_LINE_SIZE:
                    lines[number].checks[place] = <uint16_t>keys[i]
                    lines[number].values[place] = values[i]
                else:
                    self._others.keys.push_back(keys[i])
                    self._others.values.push_back(<uint32_t><int>values[i])
        self.c.lines = lines
        self.c.n_lines = <uint32_t>n_lines
        self.c.others = &self._others

    def sum(self, vector[feat_t] keys, vector[int16_t] signs) -> int:
        """The sum of the values of some keys, each times its sign, 1 or -1."""
        if keys.size() != signs.size():
            raise ValueError(keys.size(), signs.size())
        return sum_values(self.c, keys.data(), signs.data(), keys.size())

    def to_arrays(self) -> tuple:
        """The keys, in order, and their values."""
        cdef vector[uint32_t] keys = self._others.keys
        cdef vector[uint32_t] values = self._others.values
        cdef const ShortLine* line
        cdef uint32_t number
        cdef int i
        for number in range(self.c.n_lines):
            line = &self.c.lines[number]
            for i in range(SHORT_LINE_SIZE):
                if line.values[i]:
                    keys.push_back(get_key(self.c.n_lines, number, line.checks[i]))
                    values.push_back(<uint32_t><int>line.values[i])
        found_keys, found = sort_by_keys(keys, values)
        return found_keys, found.view("int32").astype("int16")


cdef tuple sort_by_keys(const vector[uint32_t]& keys, const vector[uint32_t]& values):
    """RETURNS (tuple): The same as arrays, in the order of the keys."""
    cdef size_t n = keys.size()
    pairs = np.empty(n, dtype="uint64")
    cdef uint64_t[::1] view = pairs
    cdef size_t i
    for i in range(n):
        view[i] = <uint64_t>keys[i] << 32 | values[i]
    # Nearly in order: only those from elsewhere are not.
    pairs.sort(kind="stable")
    return (pairs >> 32).astype("uint32"), pairs.astype("uint32")
