import numpy as np

cdef enum:
    LINE_BYTES = 64
    MIN_LINES = 16
    # So that the low half of a key says which one it is of those in its line.
    MIN_SHORT_LINES = 1 << 16


cdef tuple new_lines(size_t n_lines):
    """Lines of zeros. RETURNS (tuple): An array that owns them, and where they start."""
    # Numpy asks for large pages, and finding a page would take longer than the line.
    memory = np.zeros((n_lines + 1) * LINE_BYTES, dtype="uint8")
    return memory, memory.ctypes.data + -memory.ctypes.data % LINE_BYTES


cdef class Lines:
    """A table that is filled once, by put, in the order of the keys, in which they stand
    in memory, too.

    n_keys (int): How many there will be.
    """

    def __init__(self, size_t n_keys):
        cdef size_t n_lines = max(<size_t>MIN_LINES, 5 * n_keys // (2 * LINE_SIZE) + 1)
        cdef size_t address
        # So few on average that nearly none is full, which takes a second look; and room
        # for all that moves on from the last line.
        self._memory, address = new_lines(n_lines + n_keys // LINE_SIZE + 2)
        self._n_keys = n_keys
        self.filling.lines = <Line*>address
        self.filling.n_lines = <uint32_t>n_lines
        # Before the first one: put adds 1.
        self.filling.place = <size_t>-1
        self.c.lines = self.filling.lines
        self.c.n_lines = self.filling.n_lines

    def to_arrays(self) -> tuple:
        """The keys, in order, and their values."""
        keys = np.empty(self._n_keys, dtype="uint32")
        values = np.empty(self._n_keys, dtype="uint32")
        cdef uint32_t[::1] key_view = keys
        cdef uint32_t[::1] value_view = values
        cdef const Line* line
        cdef size_t place
        cdef size_t n = 0
        for place in range(self.filling.place + 1):
            line = &self.c.lines[place // LINE_SIZE]
            if line.values[place % LINE_SIZE]:
                key_view[n] = line.keys[place % LINE_SIZE]
                value_view[n] = line.values[place % LINE_SIZE]
                n += 1
        return keys[:n], values[:n]


cdef class ShortLines:
    """A table of numbers of 16 bits.

    keys (array): The keys, in order, each once.
    values (array): Their values, which are not 0.
    """

    def __init__(
        self, const uint32_t[::1] keys not None, const int16_t[::1] values not None
    ):
        cdef size_t n_lines = max(
            <size_t>MIN_SHORT_LINES, 2 * keys.shape[0] // SHORT_LINE_SIZE + 1
        )
        cdef vector[size_t] others
        cdef size_t address, i, line
        cdef size_t last = n_lines
        cdef int place = 0
        cdef ShortLine* lines
        self._memory, address = new_lines(n_lines)
        lines = <ShortLine*>address
        for i in range(<size_t>keys.shape[0]):
            line = <uint64_t>keys[i] * n_lines >> 32
            place = place + 1 if line == last else 0
            last = line
            if place >= SHORT_LINE_SIZE:
                others.push_back(i)
                continue
            lines[line].checks[place] = <uint16_t>keys[i]
            lines[line].values[place] = values[i]
        self._elsewhere = Lines(others.size())
        for i in others:
            put(&self._elsewhere.filling, keys[i], <uint32_t><int>values[i], True)
        self._n_keys = keys.shape[0]
        self.c.lines = lines
        self.c.n_lines = <uint32_t>n_lines
        self.c.elsewhere = self._elsewhere.c

    def sum(self, vector[feat_t] keys, vector[int16_t] signs) -> int:
        """The sum of the values of some keys, each times its sign, 1 or -1."""
        if keys.size() != signs.size():
            raise ValueError(keys.size(), signs.size())
        return sum_values(self.c, keys.data(), signs.data(), keys.size())

    def to_arrays(self) -> tuple:
        """The keys, in order, and their values."""
        other_keys, other_values = self._elsewhere.to_arrays()
        cdef size_t n_here = self._n_keys - len(other_keys)
        keys = np.empty(n_here, dtype="uint32")
        values = np.empty(n_here, dtype="int16")
        cdef uint32_t[::1] key_view = keys
        cdef int16_t[::1] value_view = values
        cdef size_t line
        cdef size_t n = 0
        cdef uint32_t first
        cdef int place
        for line in range(self.c.n_lines):
            # The smallest key of the line.
            first = <uint32_t>(((<uint64_t>line << 32) + self.c.n_lines - 1) // self.c.n_lines)
            for place in range(SHORT_LINE_SIZE):
                if self.c.lines[line].values[place]:
                    key_view[n] = first + <uint16_t>(self.c.lines[line].checks[place] - first)
                    value_view[n] = self.c.lines[line].values[place]
                    n += 1
        keys = np.concatenate([keys, other_keys])
        order = np.argsort(keys)
        values = np.concatenate([values, other_values.view("int32").astype("int16")])
        return keys[order], values[order]
