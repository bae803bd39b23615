"""The compiled forms of classifiers over slots: each feature has a code of 32 bits."""
from ..program cimport Program, ProgramC
from .line_table cimport AddValues, LineTable, LineTableC, WideWeightsC

cdef enum:
    MAX_NARROW_LABELS = 4


cdef struct NarrowScorerC:
    const ProgramC* program
    LineTableC weights       # the four weights of a feature, as bytes
    AddValues add_values     # for this machine


cdef struct WideScorerC:
    const ProgramC* program
    int n_labels
    WideWeightsC weights


cdef class SlotScorer:
    cdef readonly Program program
    cdef readonly int n_labels
    cdef readonly float scale
    cdef LineTable _codes


cdef class NarrowScorer(SlotScorer):
    cdef NarrowScorerC c


cdef class WideScorer(SlotScorer):
    cdef object _rows
    cdef object _lists
    cdef WideScorerC c
