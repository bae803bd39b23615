from libc.stdint cimport int32_t
from spacy.tokens.doc cimport Doc

from ..core.typedefs cimport uint8_t, uint64_t

cdef enum:
    # Stands for the tag of white space, which is no label.
    SPACE_TAG_C = 0xFFFF


cdef int set_entities(
    list docs, const uint8_t[::1] iobs, const uint64_t[::1] types
) except -1
cdef int move_arcs(
    Doc doc, list moved, const int32_t[::1] heads, const uint64_t[::1] deps
) except -1
