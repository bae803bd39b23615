from libc.stdint cimport int32_t

from .typedefs cimport uint16_t


cdef struct PartsC:
    int n_labels
    int n_parts              # 0 if labels are wholes only
    const int32_t* starts    # [n_labels + 1] into ids
    const uint16_t* ids      # the parts of each label


cdef class LabelParts:
    cdef readonly object starts
    cdef readonly object ids
    cdef PartsC c
