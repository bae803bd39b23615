from ..program cimport Program
from .line_table cimport LineTable


cdef class SlotScorer:
    cdef readonly Program program
    cdef readonly int n_labels
    cdef readonly float scale
    cdef LineTable _codes
