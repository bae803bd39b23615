"""The compiled form of a classifier over slots with up to four labels."""
from ..program cimport ProgramC
from .line_table cimport AddValues, LineTableC
from .slot_scorer cimport SlotScorer

cdef enum:
    MAX_NARROW_LABELS = 4


cdef struct NarrowScorerC:
    const ProgramC* program
    LineTableC weights       # the four weights of a feature, as bytes
    AddValues add_values     # for this machine


cdef class NarrowScorer(SlotScorer):
    cdef NarrowScorerC c
