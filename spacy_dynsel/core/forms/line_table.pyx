from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free

import numpy as np

from ...base.errors import Errors

from ..large_pages import allocate

cdef enum:
    LINE_BYTES = 64
    SMALL_PAGE = 4096
    # Then the low half of a key tells the keys of a line apart.
    MIN_LINES = 1 << 16
    # How many keys a line holds on average. With more, too many lines would overflow.
    MEAN_KEYS = 5
    MEAN_SHORT_KEYS = 8


def find_starts(keys):
    """The first index of each key in a sorted array."""
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


cdef class AnyTable:
    """The memory of a table: lines of zeros, and what finds no place in them."""

    cdef size_t _allocate(self, size_t n, size_t n_values, size_t mean_keys) except? 0:
        """Make room for keys. RETURNS: Their number.

        mean_keys: How many of them a line holds on average.
        """
        cdef size_t n_lines = max(<size_t>MIN_LINES, n // mean_keys + 1)
        cdef size_t n_bytes = n_lines * LINE_BYTES
        if self._start != NULL or n != n_values:
            raise ValueError(Errors.DS216.format(what="the keys and values of a table"))
        if n > n_bytes // SMALL_PAGE:
            self._memory = allocate(n_bytes)
            self._start = <void*><uintptr_t>self._memory.ctypes.data
        else:
            # Most small pages will have no key: they are never touched.
            self._block = calloc(n_bytes + LINE_BYTES, 1)
            if self._block == NULL:
                raise MemoryError()
            self._start = <void*>(
                (<uintptr_t>self._block + LINE_BYTES - 1) // LINE_BYTES * LINE_BYTES
            )
        self._n_lines = <uint32_t>n_lines
        return n

    def __dealloc__(self):
        free(self._block)


cdef class LineTable(AnyTable):
    """A table of numbers of 32 bits.

    keys (array): The keys, in order, each once.
    values (array): Their values, which are not 0.
    """

    def __init__(
        self, const uint32_t[::1] keys not None, const uint32_t[::1] values not None
    ):
        cdef size_t n = self._allocate(keys.shape[0], values.shape[0], MEAN_KEYS)
        cdef const uint32_t* first = &values[0] if n else NULL
        with nogil:
            self.c = make_line_table(
                self._start, self._n_lines, &keys[0] if n else NULL, first, n, &self._others
            )

    def to_arrays(self) -> tuple:
        """The keys, in order, and their values."""
        cdef Others all = self._others
        list_lines(self.c, &all)
        return sort_by_keys(all)


cdef class ShortLineTable(AnyTable):
    """A table of numbers of 16 bits, see LineTable."""

    def __init__(
        self, const uint32_t[::1] keys not None, const int16_t[::1] values not None
    ):
        cdef size_t n = self._allocate(keys.shape[0], values.shape[0], MEAN_SHORT_KEYS)
        cdef const int16_t* first = &values[0] if n else NULL
        with nogil:
            self.c = make_short_table(
                self._start, self._n_lines, &keys[0] if n else NULL, first, n, &self._others
            )

    def to_arrays(self) -> tuple:
        """The keys, in order, and their values."""
        cdef Others all = self._others
        list_lines(self.c, &all)
        keys, values = sort_by_keys(all)
        return keys, values.view("int32").astype("int16")

    def sum(self, vector[feat_t] keys, vector[int16_t] signs) -> int:
        """The sum of the values of some keys, each times its sign, 1 or -1."""
        if keys.size() != signs.size() or self.c.lines == NULL:
            raise ValueError(Errors.DS216.format(what="keys and signs"))
        return sum_values(self.c, keys.data(), signs.data(), keys.size())


cdef tuple sort_by_keys(const Others& all):
    """RETURNS (tuple): The keys in order and their values, as arrays."""
    cdef size_t n = all.keys.size()
    pairs = np.empty(n, dtype="uint64")
    cdef uint64_t[::1] view = pairs
    cdef size_t i
    for i in range(n):
        view[i] = <uint64_t>all.keys[i] << 32 | all.values[i]
    # Most of them are in order already.
    pairs.sort(kind="stable")
    return (pairs >> 32).astype("uint32"), pairs.astype("uint32")
