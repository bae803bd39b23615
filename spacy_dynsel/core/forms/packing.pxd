from ..typedefs cimport int8_t, uint32_t, uint64_t

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


cdef int get_bucket_bits(Py_ssize_t n_index) noexcept
