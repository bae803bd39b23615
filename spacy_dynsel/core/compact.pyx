"""Arrays in fewer bytes, for files: most are sorted, or have many zeros.

A form is a letter. All numbers are little-endian; "bits" has the bit of the first element
in the lowest place.

    s  sorted numbers: n, n_counts, low_bytes, count_bytes (u64 each), the low bytes of the
       n numbers, and how many of them there are of each value of what is left of them
    r  numbers of 32 bits: n, n_uppers (u64 each), bits that say where the upper half
       changes, the upper halves there, the third bytes, the fourth bytes
    b  any numbers: n bytes, and how many are not 0 (u64 each), bits for these, these
    z  numbers of 16 bits with a sign: 2 n for n >= 0, -2 n - 1 for others; then as b

No form expands to more than eight times its bytes.
"""
import numpy as np

from .large_pages import allocate

from .typedefs cimport uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "compact.hpp" namespace "dynsel" nogil:
    bint expand_sorted[Number](
        const uint8_t* lows, size_t n, int low_bytes,
        const uint8_t* counts, size_t n_counts, int count_bytes, Number* numbers,
    )
    bint expand_runs(
        const uint8_t* bits, size_t n, const uint8_t* uppers, size_t n_uppers,
        const uint8_t* middles, const uint8_t* lows, uint32_t* numbers,
    )
    bint expand_bytes(
        const uint8_t* bits, size_t n, const uint8_t* bytes, size_t n_bytes, uint8_t* out
    )
    void restore_signs(uint16_t* numbers, size_t n)

ctypedef fused number_t:
    uint32_t
    uint64_t

# The letters that each type of numbers can have.
FORMS = {
    "uint8": ["b"],
    "uint16": ["b", "z"],
    "uint32": ["s", "r", "b"],
    "uint64": ["s", "b"],
}
# Smaller arrays stay as they are, and those that would hardly become smaller.
SMALLEST = 1024
LEAST_GAIN = 0.05


def compact(array) -> tuple:
    """The smallest form of an array, which is unsigned. RETURNS (tuple): Its letter and
    its bytes; the letter is empty for the array itself."""
    array = np.ascontiguousarray(array)
    plain = array.tobytes()
    best = "", plain
    if len(plain) >= SMALLEST:
        most = int((1 - LEAST_GAIN) * len(plain))
        for letter in FORMS[array.dtype.name]:
            data = WRITERS[letter](array)
            if data is not None and len(data) < min(most, len(best[1])):
                best = letter, data
    return best


def expand(str letter not None, data, str dtype not None):
    """The inverse of compact.

    data (array): Bytes.
    dtype (str): The type of the array.
    RETURNS (array): Or None if the bytes are no such array.
    """
    if letter not in FORMS[dtype]:
        return None
    return READERS[letter](data, dtype)


def _join(numbers, *arrays) -> bytes:
    head = np.array(numbers, dtype="<u8")
    return b"".join([head.tobytes(), *(array.tobytes() for array in arrays)])


def _split(data, *sizes):
    """The parts of some bytes, if that is their size. RETURNS (list): Or None."""
    if len(data) != sum(sizes):
        return None
    ends = np.cumsum(sizes)
    return [data[end - size : end] for end, size in zip(ends, sizes)]


def _read_head(data, int n):
    """RETURNS (tuple): Numbers that a form starts with, and what comes after them; the
    numbers are None if there are not as many, or if they are larger than any array is."""
    if len(data) < 8 * n:
        return [None] * n, data
    numbers = [int(number) for number in data[: 8 * n].copy().view("<u8")]
    if max(numbers) > 8 * len(data):
        return [None] * n, data
    return numbers, data[8 * n :]


def write_sorted(array):
    if (array[1:] < array[:-1]).any():
        return None
    largest, width = int(array[-1]), array.dtype.itemsize
    options = [
        (len(array) * n + (largest >> 8 * n), n)
        for n in range(1, width)
        if largest >> 8 * n < 2 * len(array) + 256
    ]
    if not options:
        return None
    low_bytes = min(options)[1]
    counts = np.bincount(array >> np.array(8 * low_bytes, dtype=array.dtype))
    count_bytes = next(n for n in (1, 2, 4) if counts.max() < 1 << 8 * n)
    parts = array.view("uint8").reshape(-1, width)[:, :low_bytes]
    head = len(array), len(counts), low_bytes, count_bytes
    return _join(head, parts, counts.astype(f"<u{count_bytes}"))


def read_sorted(data, dtype):
    (n, n_counts, low_bytes, count_bytes), rest = _read_head(data, 4)
    if n is None or not 1 <= low_bytes <= 7 or count_bytes not in (1, 2, 4):
        return None
    parts = _split(rest, n * low_bytes, n_counts * count_bytes)
    if parts is None:
        return None
    array = allocate(n * np.dtype(dtype).itemsize, np.empty).view(dtype)
    if dtype == "uint32":
        fits = fill_sorted[uint32_t](parts[0], parts[1], low_bytes, count_bytes, array)
    else:
        fits = fill_sorted[uint64_t](parts[0], parts[1], low_bytes, count_bytes, array)
    return array if fits else None


cdef bint fill_sorted(
    const uint8_t[::1] lows,
    const uint8_t[::1] counts,
    int low_bytes,
    int count_bytes,
    number_t[::1] array,
):
    cdef size_t n = array.shape[0]
    cdef size_t n_counts = counts.shape[0] // count_bytes
    if n == 0 or n_counts == 0:
        return False
    with nogil:
        return expand_sorted(
            &lows[0], n, low_bytes, &counts[0], n_counts, count_bytes, &array[0]
        )


def write_runs(array):
    uppers = (array >> 16).astype("<u2")
    is_new = np.diff(uppers, prepend=~uppers[:1]) != 0
    lows = array.view("uint8").reshape(-1, 4)
    bits = np.packbits(is_new, bitorder="little")
    head = len(array), np.count_nonzero(is_new)
    return _join(head, bits, uppers[is_new], lows[:, 1], lows[:, 0])


def read_runs(data, dtype):
    (n, n_uppers), rest = _read_head(data, 2)
    if n is None:
        return None
    parts = _split(rest, (n + 7) // 8, 2 * n_uppers, n, n)
    if parts is None or n == 0 or n_uppers == 0:
        return None
    array = allocate(4 * n, np.empty).view(dtype)
    return array if fill_runs(parts[0], parts[1], parts[2], parts[3], array) else None


cdef bint fill_runs(
    const uint8_t[::1] bits,
    const uint8_t[::1] uppers,
    const uint8_t[::1] middles,
    const uint8_t[::1] lows,
    uint32_t[::1] array,
):
    with nogil:
        return expand_runs(
            &bits[0], array.shape[0], &uppers[0], uppers.shape[0] // 2,
            &middles[0], &lows[0], &array[0],
        )


def write_bytes(array):
    data = array.view("uint8")
    is_set = data != 0
    bits = np.packbits(is_set, bitorder="little")
    return _join((len(data), np.count_nonzero(is_set)), bits, data[is_set])


def read_bytes(data, dtype):
    (n, n_set), rest = _read_head(data, 2)
    if n is None or n % np.dtype(dtype).itemsize:
        return None
    parts = _split(rest, (n + 7) // 8, n_set)
    if parts is None:
        return None
    array = allocate(n, np.empty)
    return array.view(dtype) if fill_bytes(parts[0], parts[1], array) else None


cdef bint fill_bytes(
    const uint8_t[::1] bits, const uint8_t[::1] bytes, uint8_t[::1] array
):
    cdef size_t n_set = bytes.shape[0]
    if array.shape[0] == 0:
        return False
    with nogil:
        return expand_bytes(
            &bits[0], array.shape[0], &bytes[0] if n_set else NULL, n_set, &array[0]
        )


def write_signed(array):
    values = array.view("int16")
    return write_bytes((values << 1 ^ values >> 15).view("uint16"))


def read_signed(data, dtype):
    array = read_bytes(data, dtype)
    if array is None:
        return None
    unfold(array)
    return array


cdef int unfold(uint16_t[::1] array) except -1:
    with nogil:
        restore_signs(&array[0], array.shape[0])
    return 0


WRITERS = {"s": write_sorted, "r": write_runs, "b": write_bytes, "z": write_signed}
READERS = {"s": read_sorted, "r": read_runs, "b": read_bytes, "z": read_signed}
