from .typedefs cimport uint64_t


cdef inline Py_ssize_t find_place(const uint64_t[::1] keys, uint64_t key) noexcept nogil:
    """Where a key is among sorted ones, or -1."""
    cdef Py_ssize_t low = 0
    cdef Py_ssize_t high = keys.shape[0]
    cdef Py_ssize_t middle
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < keys.shape[0] and keys[low] == key else -1
