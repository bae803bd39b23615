from ..typedefs cimport feat_t, int8_t, score_t, uint16_t, uint32_t

cdef extern from "kernels.hpp" nogil:
    void DYNSEL_PREFETCH(const void* address)

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
    return <int8_t>(group[2 + group[1] + (i >> 1)] >> 8 * (i & 1))


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


cdef inline void add_weights(
    const PackedC* packed, feat_t key, score_t* scores
) noexcept nogil:
    """Add the weights of one feature to the scores."""
    cdef uint32_t bucket = key >> packed.shift
    cdef uint32_t check = key & 0xFFFF
    cdef uint32_t i, j, slot
    cdef const uint16_t* group
    if packed.narrow != NULL:
        for i in range(packed.index[bucket], packed.index[bucket + 1]):
            slot = packed.narrow[i]
            if slot >> 16 == check:
                scores[(slot >> 8) & 0xFF] += <int8_t>(slot & 0xFF)
    else:
        i = packed.index[bucket]
        while i < packed.index[bucket + 1]:
            group = &packed.groups[i]
            if group[0] == check:
                for j in range(group[1]):
                    scores[group[2 + j]] += get_group_weight(group, j)
                break
            i += get_group_size(group)


cdef inline void prefetch_index(const PackedC* packed, feat_t key) noexcept nogil:
    DYNSEL_PREFETCH(&packed.index[key >> packed.shift])


cdef inline void prefetch_weights(const PackedC* packed, feat_t key) noexcept nogil:
    cdef uint32_t first = packed.index[key >> packed.shift]
    if packed.narrow != NULL:
        DYNSEL_PREFETCH(&packed.narrow[first])
    else:
        DYNSEL_PREFETCH(&packed.groups[first])


cdef void add_features(
    const PackedC* packed, const feat_t* keys, size_t n, score_t* scores, size_t step
) noexcept nogil
cdef int get_bucket_bits(Py_ssize_t n_index) noexcept
