from ..typedefs cimport feat_t, int8_t, score_t, uint32_t, uint64_t

cdef extern from "kernels.hpp" nogil:
    void DYNSEL_PREFETCH(const void* address)

cdef enum:
    # Up to this many labels a slot has 32 bits.
    NARROW_LABELS = 256
    LABEL_LIMIT = 32000


ctypedef fused slot_t:
    uint32_t
    uint64_t


cdef inline uint32_t get_check(slot_t slot) noexcept nogil:
    return <uint32_t>(slot >> (16 if sizeof(slot_t) == 4 else 48))


cdef inline uint32_t get_label(slot_t slot) noexcept nogil:
    return <uint32_t>(slot >> 8 & (0xFF if sizeof(slot_t) == 4 else 0xFFFF))


cdef struct PackedC:
    # Weights in the form of a file, to be looked up by key.
    const uint32_t* index    # [buckets + 1] into slots
    const uint32_t* narrow   # slots, for up to 256 labels, or NULL
    const uint64_t* wide     # slots, for more
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
    cdef uint32_t i, slot
    cdef uint64_t slot_wide
    if packed.narrow != NULL:
        for i in range(packed.index[bucket], packed.index[bucket + 1]):
            slot = packed.narrow[i]
            if slot >> 16 == check:
                scores[(slot >> 8) & 0xFF] += <int8_t>(slot & 0xFF)
    else:
        for i in range(packed.index[bucket], packed.index[bucket + 1]):
            slot_wide = packed.wide[i]
            if slot_wide >> 48 == check:
                scores[(slot_wide >> 8) & 0xFFFF] += <int8_t>(slot_wide & 0xFF)


cdef inline void prefetch_index(const PackedC* packed, feat_t key) noexcept nogil:
    DYNSEL_PREFETCH(&packed.index[key >> packed.shift])


cdef inline void prefetch_weights(const PackedC* packed, feat_t key) noexcept nogil:
    cdef uint32_t first = packed.index[key >> packed.shift]
    if packed.narrow != NULL:
        DYNSEL_PREFETCH(&packed.narrow[first])
    else:
        DYNSEL_PREFETCH(&packed.wide[first])


cdef void add_features(
    const PackedC* packed, const feat_t* keys, size_t n, score_t* scores, size_t step
) noexcept nogil
cdef int get_bucket_bits(Py_ssize_t n_index) noexcept
