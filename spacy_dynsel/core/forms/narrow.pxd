"""The compiled form of a classifier over slots with up to four labels."""
from .line_table cimport AddValues, Lines, LinesC
from ..program cimport Program, ProgramC

cdef enum:
    MAX_SMALL_LABELS = 4


cdef struct SmallC:
    const ProgramC* program
    LinesC weights           # the four weights of a feature, as bytes
    AddValues add_values     # for this machine


cdef class SmallScorer:
    cdef readonly Program program
    cdef readonly int n_labels
    cdef readonly float scale
    cdef Lines _weights
    cdef SmallC c
