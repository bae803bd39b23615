from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free

from ..typedefs cimport int16_t, uint16_t, uint32_t, uint64_t

import numpy as np

from ...base.errors import Errors

from ..large_pages import allocate

cdef enum:
    LINE_BYTES = 64
    SMALL_PAGE = 4096
    # So that the low half of a key says which one it is of those in its line.
    MIN_LINES = 1 << 16
    # How many keys a line holds on average. More would be elsewhere too often.
    MEAN_KEYS = 5
    MEAN_SHORT_KEYS = 8


def find_starts(keys):
    """Where each key is for the first time, in an array in order."""
    is_start = np.ones(len(keys), dtype=bool)
    is_start[1:] = np.diff(keys) != 0
    return np.flatnonzero(is_start)


def check_table(keys, values, str dtype) -> None:
    """Raise an error unless arrays from a file can become a table.

    dtype (str): The type of the values.
    """
    if keys.dtype != "uint32" or values.dtype != dtype:
        raise ValueError(Errors.DS035.format(what="its weights have the wrong type"))
    if len(keys) != len(values):
        raise ValueError(Errors.DS035.format(what="it has not one key for each weight"))
    if not ascends(keys):
        raise ValueError(Errors.DS035.format(what="its weights are not in order"))
    if int(values.min(initial=1)) == 0:
        raise ValueError(Errors.DS035.format(what="a weight is zero"))


cdef bint ascends(const uint32_t[::1] keys):
    cdef size_t n_steps = 0
    cdef Py_ssize_t i
    with nogil:
        for i in range(1, keys.shape[0]):
            n_steps += keys[i] <= keys[i - 1]
    return n_steps == 0


cdef class Zeros:
    """Lines of zeros.

    n_keys (int): For how many keys.
    mean_keys (int): How many of them a line gets on average.
    """

    def __init__(self, size_t n_keys, size_t mean_keys):
        if self.start != NULL or mean_keys == 0:
            raise ValueError(Errors.DS216.format(what="lines"))
        self.n_lines = max(<size_t>MIN_LINES, n_keys // mean_keys + 1)
        cdef size_t n_bytes = self.n_lines * LINE_BYTES
        if n_keys > n_bytes // SMALL_PAGE:
            self._memory = allocate(n_bytes)
            self.start = <void*><uintptr_t>self._memory.ctypes.data
        else:
            # Most small pages will have no key, and never be there.
            self._block = calloc(n_bytes + LINE_BYTES, 1)
            if self._block == NULL:
                raise MemoryError()
            self.start = <void*>(
                (<uintptr_t>self._block + LINE_BYTES - 1) // LINE_BYTES * LINE_BYTES
            )

    def __dealloc__(self):
        free(self._block)


cdef inline uint32_t get_key(uint64_t n_lines, uint64_t line, uint16_t check) noexcept:
    """The key of a check in a line, of which there are enough."""
    cdef uint32_t first = <uint32_t>(((line << 32) + n_lines - 1) // n_lines)
    return first + <uint16_t>(check - first)


cdef class Lines:
    """A table of numbers of 32 bits.

    keys (array): The keys, in order, each once.
    values (array): Their values, which are not 0.
    """

    def __init__(
        self, const uint32_t[::1] keys not None, const uint32_t[::1] values not None
    ):
        cdef size_t n = keys.shape[0]
        if <size_t>values.shape[0] != n or self._memory is not None:
            raise ValueError(Errors.DS216.format(what="the keys and values of a table"))
        self._memory = Zeros(n, MEAN_KEYS)
        cdef Line* lines = <Line*>self._memory.start
        self.c.lines = lines
        self.c.n_lines = <uint32_t>self._memory.n_lines
        self.c.others = &self._others
        if n:
            with nogil:
                fill_lines(
                    lines, self.c.n_lines, &keys[0], &values[0], n, &self._others
                )

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
        cdef size_t i, number
        cdef size_t last = 0
        cdef int place = -1
        if values.shape[0] != keys.shape[0] or self._memory is not None:
            raise ValueError(Errors.DS216.format(what="the keys and values of a table"))
        self._memory = Zeros(keys.shape[0], MEAN_SHORT_KEYS)
        cdef ShortLine* lines = <ShortLine*>self._memory.start
        cdef size_t n_lines = self._memory.n_lines
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
        if keys.size() != signs.size() or self.c.lines == NULL:
            raise ValueError(Errors.DS216.format(what="keys and signs"))
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
