"""Integer weights, and the form in which a file and a cached scorer have them.

Weights are integers in [-127, 127] with one scale. They are stored once, in slots
sorted by key:

    bucket = the high bits of the key; index[bucket] : index[bucket + 1] are its slots
    slot = check (the low 16 bits of the key), label, weight

With at least 2**16 buckets, bucket and check give back the whole key, so that no
feature is ever mistaken for another that has a different key.
"""
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

cdef enum:
    MIN_BUCKET_BITS = 16
    MAX_BUCKET_BITS = 22
    # How many features to prefetch before the first one is used.
    AHEAD = 16

MAX_LABELS = LABEL_LIMIT
# The largest integer weight.
MAX_WEIGHT = 127


def compile_weights(keys, labels, values, int n_labels, float smallest) -> tuple:
    """Weights as integers: the largest becomes MAX_WEIGHT.

    keys (array), labels (array), values (array): See Learner.get_weights.
    n_labels (int): The number of labels. Weights of others are dropped.
    smallest (float): Weights up to this size are dropped.
    RETURNS (tuple): The keys, labels and weights (int8) that are left, and the scale.
    """
    scale = MAX_WEIGHT / max(1e-6, float(np.abs(values).max(initial=0.0)))
    weights = quantize(values, scale)
    weights[(np.abs(values) <= smallest) | (labels >= n_labels)] = 0
    kept = np.flatnonzero(weights)
    return keys[kept], labels[kept], weights[kept], scale


def quantize(values, float scale):
    """Weights as integers."""
    return np.clip(np.rint(values * scale), -MAX_WEIGHT, MAX_WEIGHT).astype("int8")


def pack_weights(keys, labels, weights, int n_labels):
    """Bring integer weights into the form of a file.

    keys (array), labels (array), weights (array): Sorted by key and label.
    n_labels (int): The number of labels.
    RETURNS (tuple): The index and the slots.
    """
    kept = np.flatnonzero(weights)
    keys, labels, weights = keys[kept], labels[kept], weights[kept]
    bits = MIN_BUCKET_BITS
    while bits < MAX_BUCKET_BITS and len(keys) > 8 << bits:
        bits += 1
    counts = np.bincount(keys >> (32 - bits), minlength=1 << bits)
    index = np.zeros(len(counts) + 1, dtype="uint32")
    np.cumsum(counts, out=index[1:])
    checks = keys & 0xFFFF
    if n_labels <= NARROW_LABELS:
        slots = checks << 16 | labels.astype("uint32") << 8 | weights.view("uint8")
        return index, slots.astype("uint32")
    slots = (
        checks.astype("uint64") << 48
        | labels.astype("uint64") << 8
        | weights.view("uint8")
    )
    return index, slots.astype("uint64")


def unpack_weights(const uint32_t[::1] index not None, const slot_t[::1] slots not None):
    """The inverse of pack_weights: arrays of keys, labels and weights."""
    check_index(index, slots.shape[0])
    cdef int shift = 32 - get_bucket_bits(index.shape[0])
    cdef Py_ssize_t bucket
    cdef uint32_t i
    keys = np.empty(slots.shape[0], dtype="uint32")
    labels = np.empty(slots.shape[0], dtype="uint32")
    weights = np.empty(slots.shape[0], dtype="int8")
    cdef uint32_t[::1] key_view = keys
    cdef uint32_t[::1] label_view = labels
    cdef int8_t[::1] weight_view = weights
    with nogil:
        for bucket in range(index.shape[0] - 1):
            for i in range(index[bucket], index[bucket + 1]):
                # Where bucket and check share bits they agree.
                key_view[i] = <uint32_t>bucket << shift | get_check(slots[i])
                label_view[i] = get_label(slots[i])
                weight_view[i] = <int8_t>(slots[i] & 0xFF)
    return keys, labels, weights


def check_weights(index, slots, int n_labels) -> None:
    """Raise an error unless arrays from a file can be read without harm."""
    dtype = "uint32" if n_labels <= NARROW_LABELS else "uint64"
    if index.dtype != "uint32" or slots.dtype != dtype:
        raise ValueError(Errors.DS035.format(what="its weights have the wrong type"))
    bits = check_index_length(len(index))
    if n_labels <= NARROW_LABELS:
        fault = find_fault[uint32_t](index, slots, bits, n_labels)
    else:
        fault = find_fault[uint64_t](index, slots, bits, n_labels)
    if fault is not None:
        raise ValueError(Errors.DS035.format(what=fault))


cdef int check_index_length(Py_ssize_t length) except -1:
    """Raise an error unless an index can have some length. RETURNS: The bits of a
    bucket."""
    cdef int bits = get_bucket_bits(length)
    if not MIN_BUCKET_BITS <= bits <= MAX_BUCKET_BITS or length != (1 << bits) + 1:
        raise ValueError(Errors.DS035.format(what="its index has the wrong length"))
    return bits


cdef int check_index(const uint32_t[::1] index, Py_ssize_t n_slots) except -1:
    """Raise an error unless an index points into slots."""
    cdef Py_ssize_t i
    cdef bint fits
    check_index_length(index.shape[0])
    fits = index[0] == 0 and index[index.shape[0] - 1] == n_slots
    for i in range(index.shape[0] - 1):
        fits &= index[i] <= index[i + 1]
    if not fits:
        raise ValueError(Errors.DS035.format(what="its index does not fit its slots"))
    return 0


cdef object find_fault(
    const uint32_t[::1] index, const slot_t[::1] slots, int bits, uint32_t n_labels
):
    """What is wrong with weights, or None."""
    cdef uint32_t n_buckets = 1 << bits
    cdef uint32_t shared = (1 << (bits - MIN_BUCKET_BITS)) - 1
    cdef uint32_t i, bucket
    cdef bint fits = index[0] == 0 and index[n_buckets] == slots.shape[0]
    cdef bint is_known = True
    cdef bint agrees = True
    # How often slots do not ascend, and how often they start a bucket there.
    cdef uint32_t n_steps = 0
    cdef uint32_t n_starts = 0
    with nogil:
        for bucket in range(n_buckets):
            fits &= index[bucket] <= index[bucket + 1]
        if fits:
            for i in range(<uint32_t>slots.shape[0]):
                # No "and": without branches, the loop takes several slots at once.
                is_known &= (get_label(slots[i]) < n_labels) & (slots[i] & 0xFF != 0)
            for i in range(1, <uint32_t>slots.shape[0]):
                n_steps += slots[i] >> 8 <= slots[i - 1] >> 8
            for bucket in range(n_buckets):
                i = index[bucket]
                if i < index[bucket + 1]:
                    n_starts += i > 0 and slots[i] >> 8 <= slots[i - 1] >> 8
                    # First and last share bits with the bucket, so that all others do.
                    agrees &= get_check(slots[i]) >> (32 - bits) == bucket & shared
                    i = index[bucket + 1] - 1
                    agrees &= get_check(slots[i]) >> (32 - bits) == bucket & shared
    if not fits:
        return "its index does not fit its slots"
    if not is_known:
        return "a weight is zero or has an unknown label"
    return None if agrees and n_steps == n_starts else "its weights are not in order"


def find_labels(slots, int n_labels) -> list:
    """The labels that have weights, in order, by slots that check_weights accepted."""
    if n_labels <= NARROW_LABELS:
        return mark_labels[uint32_t](slots, n_labels)
    return mark_labels[uint64_t](slots, n_labels)


cdef list mark_labels(const slot_t[::1] slots, int n_labels):
    cdef vector[char] found = vector[char](max(n_labels, 0))
    cdef Py_ssize_t i
    cdef int label
    for i in range(slots.shape[0]):
        if get_label(slots[i]) < <uint32_t>n_labels:
            found[get_label(slots[i])] = True
    return [label for label in range(n_labels) if found[label]]


cdef class PackedWeights:
    """Weights of a file, checked and ready to be looked up.

    index (array), slots (array): See pack_weights.
    n_labels (int): How many labels there are.
    """

    def __init__(self, const uint32_t[::1] index not None, slots, int n_labels):
        cdef const uint32_t[::1] narrow
        cdef const uint64_t[::1] wide
        if self.index is not None or not 0 <= n_labels <= LABEL_LIMIT:
            raise ValueError(Errors.DS216.format(what=f"weights of {n_labels} labels"))
        check_weights(np.asarray(index), slots, n_labels)
        # At least one element, so that there is an address.
        self._slots = slots if len(slots) else np.zeros(1, dtype=slots.dtype)
        self.c.index = &index[0]
        self.c.narrow = NULL
        self.c.wide = NULL
        if n_labels <= NARROW_LABELS:
            narrow = self._slots
            self.c.narrow = &narrow[0]
        else:
            wide = self._slots
            self.c.wide = &wide[0]
        self.c.shift = 32 - get_bucket_bits(index.shape[0])
        self.n_labels = n_labels
        self.slots = slots
        self.index = np.asarray(index)


cdef void add_features(
    const PackedC* packed, const feat_t* keys, size_t n, score_t* scores, size_t step
) noexcept nogil:
    """Add the weights of many features, without waiting for each.

    scores: Where those of the first go; those of the next one go a step further.
    """
    cdef size_t i
    for i in range(min(n, <size_t>(2 * AHEAD))):
        prefetch_index(packed, keys[i])
    for i in range(min(n, <size_t>AHEAD)):
        prefetch_weights(packed, keys[i])
    for i in range(n):
        if i + 2 * AHEAD < n:
            prefetch_index(packed, keys[i + 2 * AHEAD])
        if i + AHEAD < n:
            prefetch_weights(packed, keys[i + AHEAD])
        add_weights(packed, keys[i], scores + i * step)


cdef int get_bucket_bits(Py_ssize_t n_index) noexcept:
    """The number of bits of a bucket, for the length of an index."""
    cdef int bits = 0
    while bits < 62 and (<Py_ssize_t>2 << bits) <= n_index - 1:
        bits += 1
    return bits
