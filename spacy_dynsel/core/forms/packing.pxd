from ..typedefs cimport feat_t, int8_t, score_t, uint16_t, uint32_t

cdef extern from "kernels.hpp" nogil:
    void DYNSEL_PREFETCH(const void* address)
    uint32_t DYNSEL_HIGH_BYTE_FIRST

cdef enum:
    # With more labels, the weights of a key stand in a group.
    NARROW_LABELS = 256
    LABEL_LIMIT = 32000


cdef inline uint32_t get_check(uint32_t slot) noexcept nogil:
    return slot >> 16


cdef inline uint32_t get_label(uint32_t slot) noexcept nogil:
    return slot >> 8 & 0xFF


cdef inline uint32_t get_group_size(const uint16_t* group) noexcept nogil:
    """How many slots a group has: check, n, labels, weights."""
    cdef uint32_t n = group[1]
    return 2 + n + ((n + 1) >> 1)


cdef inline int8_t get_group_weight(const uint16_t* group, uint32_t i) noexcept nogil:
    # Two in a slot, the first in its low bits: on most machines these are bytes in order.
    return (<const int8_t*>(group + 2 + group[1]))[i ^ DYNSEL_HIGH_BYTE_FIRST]


cdef struct PackedC:
    # Weights in the form of a file, to be looked up by key.
    const uint32_t* index    # [buckets + 1] into slots
    const uint32_t* narrow   # slots, for up to 256 labels, or NULL
    const uint16_t* groups   # slots, for more
    int shift                # a key's bucket is key >> shift


cdef class PackedWeights:
    cdef readonly object index
    cdef readonly object slots
    cdef readonly int n_labels
    cdef object _slots       # with an element at least
    cdef PackedC c


cdef inline const uint16_t* find_group(
    const PackedC* packed, uint32_t bucket, uint32_t check
) noexcept nogil:
    """The group of a key, or NULL. Groups of a bucket stand in order."""
    cdef const uint16_t* group = &packed.groups[packed.index[bucket]]
    cdef const uint16_t* end = &packed.groups[packed.index[bucket + 1]]
    while group < end and group[0] < check:
        group += get_group_size(group)
    return group if group < end and group[0] == check else NULL


cdef inline void add_weights(
    const PackedC* packed, feat_t key, score_t* scores
) noexcept nogil:
    """Add the weights of one feature to the scores."""
    cdef uint32_t bucket = key >> packed.shift
    cdef uint32_t check = key & 0xFFFF
    cdef uint32_t i, j, n, slot
    cdef const uint16_t* group
    if packed.narrow != NULL:
        for i in range(packed.index[bucket], packed.index[bucket + 1]):
            slot = packed.narrow[i]
            if slot >> 16 == check:
                scores[(slot >> 8) & 0xFF] += <int8_t>(slot & 0xFF)
    else:
        group = find_group(packed, bucket, check)
        if group != NULL:
            n = group[1]
            for j in range(n):
                scores[group[2 + j]] += get_group_weight(group, j)


cdef inline void add_some_weights(
    const PackedC* packed, feat_t key, uint32_t first, uint32_t end, score_t* scores
) noexcept nogil:
    """The same for labels from one to before another."""
    cdef uint32_t bucket = key >> packed.shift
    cdef uint32_t check = key & 0xFFFF
    cdef uint32_t i, j, slot
    cdef const uint16_t* group
    if packed.narrow != NULL:
        for i in range(packed.index[bucket], packed.index[bucket + 1]):
            slot = packed.narrow[i]
            if slot >> 16 == check and first <= get_label(slot) < end:
                scores[get_label(slot)] += <int8_t>(slot & 0xFF)
    else:
        group = find_group(packed, bucket, check)
        if group != NULL:
            for j in range(group[1]):
                if first <= group[2 + j] < end:
                    scores[group[2 + j]] += get_group_weight(group, j)


cdef inline void prefetch_index(const PackedC* packed, feat_t key) noexcept nogil:
    DYNSEL_PREFETCH(&packed.index[key >> packed.shift])


cdef inline void prefetch_weights(const PackedC* packed, feat_t key) noexcept nogil:
    cdef uint32_t first = packed.index[key >> packed.shift]
    if packed.narrow != NULL:
        DYNSEL_PREFETCH(&packed.narrow[first])
    else:
        DYNSEL_PREFETCH(&packed.groups[first])


cdef void add_features(
    const PackedC* packed, const feat_t* keys, size_t n, uint32_t n_labels,
    score_t* scores, size_t step,
) noexcept nogil
cdef int get_bucket_bits(Py_ssize_t n_index) noexcept
