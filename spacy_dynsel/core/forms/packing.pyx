"""Integer weights, and the form in which a file and a cached scorer have them.

Weights are integers in [-127, 127] with one scale. They are stored once, in slots
sorted by key:

    bucket = the high bits of the key; index[bucket] : index[bucket + 1] are its slots
    slot = check (the low 16 bits of the key), label, weight: 32 bits

Labels of more than 8 bits would need longer slots. There the weights of a key stand
together, in a group of slots of 16 bits:

    check, n, n labels, n weights (two in a slot, the first in its low bits)

With at least 2**16 buckets, bucket and check give back the whole key, so that no
feature is ever mistaken for another that has a different key.
"""
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors
from ..pairs import find_pair_keys

cdef enum:
    MIN_BUCKET_BITS = 16
    MAX_BUCKET_BITS = 22
    # How many slots a bucket may have on average. Of groups, which may fill a line of the
    # cache, just the heads are read.
    BUCKET_SLOTS = 8
    BUCKET_GROUP_SLOTS = 32
    # How many features to prefetch before the first one is used.
    AHEAD = 16

MAX_LABELS = LABEL_LIMIT
# The largest integer weight.
MAX_WEIGHT = 127
# The largest sum of weights, with something to spare for biases.
MAX_SUM = 256 * MAX_WEIGHT


def compile_weights(
    keys, labels, values, int n_labels, float smallest, scale=None
) -> tuple:
    """Weights as integers: the largest becomes MAX_WEIGHT, unless there is a scale.

    keys (array), labels (array), values (array): See Learner.get_weights.
    n_labels (int): The number of labels. Weights of others are dropped.
    smallest (float): Weights up to this size are dropped.
    scale (float): The integer that stands for a weight of 1.
    RETURNS (tuple): The keys, labels and weights (int8) that are left, and the scale.
    """
    if scale is None:
        scale = find_scale(values)
    weights = quantize(values, scale)
    weights[(np.abs(values) <= smallest) | (labels >= n_labels)] = 0
    kept = np.flatnonzero(weights)
    return keys[kept], labels[kept], weights[kept], scale


def find_scale(values) -> float:
    """The scale by which the largest of some weights becomes MAX_WEIGHT."""
    return MAX_WEIGHT / max(1e-6, float(np.abs(values).max(initial=0.0)))


def find_pair_scale(keys, values, pairs, int n_templates) -> float:
    """The same where pairs of features have weights as well, but small enough for any sum
    to fit: a decision has one feature of each template, and one pair of each two.

    pairs (array): See core/pairs.pyx.
    """
    pair_keys = find_pair_keys(pairs)
    ranks = pairs.reshape(-1, 4)[:, 2:].astype("int64")
    groups = ranks.min(axis=1) * n_templates + ranks.max(axis=1)
    order = np.argsort(pair_keys, kind="stable")
    places = np.searchsorted(pair_keys[order], keys).clip(max=max(0, len(order) - 1))
    sizes = np.abs(values)
    largest = np.zeros(n_templates**2)
    is_pair = np.zeros(len(keys), dtype=bool)
    if len(order):
        is_pair = pair_keys[order][places] == keys
        np.maximum.at(largest, groups[order][places[is_pair]], sizes[is_pair])
    total = n_templates * float(sizes[~is_pair].max(initial=0.0)) + largest.sum()
    n_features = n_templates + np.count_nonzero(largest)
    # Each of them is rounded.
    most = max(1.0, MAX_SUM - 0.5 * n_features)
    return min(find_scale(values), most / max(1e-6, total))


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
    if n_labels > NARROW_LABELS:
        return pack_groups(keys, labels, weights)
    slots = (keys & 0xFFFF) << 16 | labels.astype("uint32") << 8 | weights.view("uint8")
    return make_index(keys, 1, BUCKET_SLOTS), slots.astype("uint32")


def pack_groups(keys, labels, weights) -> tuple:
    """The same, with the weights of each key in a group."""
    firsts = np.flatnonzero(np.diff(keys.astype("int64"), prepend=-1))
    counts = np.diff(firsts, append=len(keys))
    sizes = 2 + counts + (counts + 1) // 2
    heads = np.cumsum(sizes) - sizes
    slots = np.zeros(sizes.sum(), dtype="uint16")
    slots[heads] = keys[firsts] & 0xFFFF
    slots[heads + 1] = counts
    ranks = np.arange(len(keys)) - np.repeat(firsts, counts)
    slots[np.repeat(heads + 2, counts) + ranks] = labels
    places = np.repeat(heads + 2 + counts, counts) + ranks // 2
    values = weights.view("uint8").astype("uint16")
    is_high = ranks % 2 == 1
    slots[places[~is_high]] = values[~is_high]
    slots[places[is_high]] |= values[is_high] << 8
    return make_index(keys[firsts], sizes, BUCKET_GROUP_SLOTS), slots


def make_index(keys, n_slots, int most):
    """Where the slots of each bucket start, and where the last ones end.

    keys (array): Sorted.
    n_slots (int or array): How many slots each key has.
    most (int): How many slots a bucket may have on average.
    """
    sizes = np.broadcast_to(n_slots, len(keys))
    bits = MIN_BUCKET_BITS
    while bits < MAX_BUCKET_BITS and sizes.sum() > most << bits:
        bits += 1
    counts = np.bincount(keys >> (32 - bits), weights=sizes, minlength=1 << bits)
    index = np.zeros(len(counts) + 1, dtype="uint32")
    np.cumsum(counts.astype("uint32"), out=index[1:])
    return index


def unpack_weights(index, slots) -> tuple:
    """The inverse of pack_weights: arrays of keys, labels and weights."""
    check_index(index, len(slots))
    if slots.dtype == "uint16":
        return unpack_groups(index, slots)
    return unpack_slots(index, slots)


cdef tuple unpack_slots(const uint32_t[::1] index, const uint32_t[::1] slots):
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


cdef tuple unpack_groups(const uint32_t[::1] index, const uint16_t[::1] slots):
    cdef int bits = get_bucket_bits(index.shape[0])
    cdef vector[uint32_t] keys
    cdef vector[uint32_t] labels
    cdef vector[int8_t] weights
    cdef uint32_t bucket, i, j
    fault = find_group_fault(index, slots, bits, LABEL_LIMIT)
    if fault is not None:
        raise ValueError(Errors.DS035.format(what=fault))
    for bucket in range(<uint32_t>1 << bits):
        i = index[bucket]
        while i < index[bucket + 1]:
            for j in range(slots[i + 1]):
                keys.push_back(bucket << (32 - bits) | slots[i])
                labels.push_back(slots[i + 2 + j])
                weights.push_back(get_group_weight(&slots[i], j))
            i += get_group_size(&slots[i])
    return (
        np.array(keys, dtype="uint32"),
        np.array(labels, dtype="uint32"),
        np.array(weights, dtype="int8"),
    )


def check_weights(index, slots, int n_labels) -> None:
    """Raise an error unless arrays from a file can be read without harm."""
    dtype = "uint32" if n_labels <= NARROW_LABELS else "uint16"
    if index.dtype != "uint32" or slots.dtype != dtype:
        raise ValueError(Errors.DS035.format(what="its weights have the wrong type"))
    bits = check_index_length(len(index))
    if n_labels <= NARROW_LABELS:
        fault = find_fault(index, slots, bits, n_labels)
    else:
        fault = find_group_fault(index, slots, bits, n_labels)
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
    const uint32_t[::1] index, const uint32_t[::1] slots, int bits, uint32_t n_labels
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


cdef object find_group_fault(
    const uint32_t[::1] index, const uint16_t[::1] slots, int bits, uint32_t n_labels
):
    """The same for groups."""
    cdef uint32_t shared = (1 << (bits - MIN_BUCKET_BITS)) - 1
    cdef uint32_t n_buckets = 1 << bits
    cdef uint32_t bucket, i, j, n, end
    cdef int last_check
    cdef bint fits = index[0] == 0 and index[n_buckets] == slots.shape[0]
    cdef bint is_known = True
    cdef bint agrees = True
    with nogil:
        for bucket in range(n_buckets):
            fits &= index[bucket] <= index[bucket + 1]
        if not fits:
            n_buckets = 0
        for bucket in range(n_buckets):
            i = index[bucket]
            end = index[bucket + 1]
            last_check = -1
            while i < end and fits:
                fits = end - i >= 2 and slots[i + 1] > 0
                fits = fits and get_group_size(&slots[i]) <= end - i
                if not fits:
                    break
                n = slots[i + 1]
                agrees &= slots[i] > last_check
                agrees &= <uint32_t>slots[i] >> (32 - bits) == bucket & shared
                last_check = slots[i]
                for j in range(n):
                    is_known &= slots[i + 2 + j] < n_labels
                    is_known &= get_group_weight(&slots[i], j) != 0
                    agrees &= j == 0 or slots[i + 1 + j] < slots[i + 2 + j]
                if n % 2:
                    is_known &= slots[i + 1 + n + (n + 1) // 2] >> 8 == 0
                i += get_group_size(&slots[i])
    if not fits:
        return "its index does not fit its slots"
    if not is_known:
        return "a weight is zero or has an unknown label"
    return None if agrees else "its weights are not in order"


def find_labels(slots, int n_labels) -> list:
    """The labels that have weights, in order, by slots that check_weights accepted."""
    cdef vector[char] found = vector[char](max(n_labels, 0))
    cdef int label
    if n_labels <= NARROW_LABELS:
        mark_labels(slots, found)
    else:
        mark_group_labels(slots, found)
    return [label for label in range(n_labels) if found[label]]


cdef int mark_labels(const uint32_t[::1] slots, vector[char]& found) except -1:
    cdef Py_ssize_t i
    for i in range(slots.shape[0]):
        if get_label(slots[i]) < found.size():
            found[get_label(slots[i])] = True
    return 0


cdef int mark_group_labels(const uint16_t[::1] slots, vector[char]& found) except -1:
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t j
    while i + 1 < slots.shape[0]:
        for j in range(i + 2, min(i + 2 + slots[i + 1], slots.shape[0])):
            if slots[j] < found.size():
                found[slots[j]] = True
        i += get_group_size(&slots[i])
    return 0


cdef class PackedWeights:
    """Weights of a file, checked and ready to be looked up.

    index (array), slots (array): See pack_weights.
    n_labels (int): How many labels there are.
    """

    def __init__(self, const uint32_t[::1] index not None, slots, int n_labels):
        cdef const uint32_t[::1] narrow
        cdef const uint16_t[::1] groups
        if self.index is not None or not 0 <= n_labels <= LABEL_LIMIT:
            raise ValueError(Errors.DS216.format(what=f"weights of {n_labels} labels"))
        check_weights(np.asarray(index), slots, n_labels)
        # At least one element, so that there is an address.
        self._slots = slots if len(slots) else np.zeros(1, dtype=slots.dtype)
        self.c.index = &index[0]
        self.c.narrow = NULL
        self.c.groups = NULL
        if n_labels <= NARROW_LABELS:
            narrow = self._slots
            self.c.narrow = &narrow[0]
        else:
            groups = self._slots
            self.c.groups = &groups[0]
        self.c.shift = 32 - get_bucket_bits(index.shape[0])
        self.n_labels = n_labels
        self.slots = slots
        self.index = np.asarray(index)


cdef void add_features(
    const PackedC* packed, const feat_t* keys, size_t n, uint32_t n_labels,
    score_t* scores, size_t step,
) noexcept nogil:
    """Add the weights of many features, without waiting for each.

    n_labels: Weights of other labels are left out.
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
        add_some_weights(packed, keys[i], 0, n_labels, scores + i * step)


cdef int get_bucket_bits(Py_ssize_t n_index) noexcept:
    """The number of bits of a bucket, for the length of an index."""
    cdef int bits = 0
    while bits < 62 and (<Py_ssize_t>2 << bits) <= n_index - 1:
        bits += 1
    return bits
