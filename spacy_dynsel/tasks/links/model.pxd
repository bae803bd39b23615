"""What a parser of links looks at, bound to its weights."""
from ...core.forms.line_table cimport ShortLineTable
from ...core.link_learner cimport LinkLearner
from ..arc_eager.features cimport Features
from .search cimport LinkModelC


cdef enum:
    # How finely thresholds are told apart, and from where on.
    N_PLACES = 512
    LOWEST = -4


cdef class LinkModel:
    cdef readonly Features pairs
    cdef readonly Features siblings       # or None
    cdef readonly int max_heads
    cdef readonly double epsilon
    cdef public double alpha
    cdef long[N_PLACES] _places           # see note
    cdef long _n_noted

    cdef int check(self, int n_lexical) except -1
    cdef int _bind(self, LinkModelC* model) except -1
    cdef void note(self, double score, double best, double mean) noexcept nogil
    cdef int bind_learners(
        self, LinkModelC* model, LinkLearner filter_learner, LinkLearner learner
    ) except -1
    cdef int bind_lines(
        self, LinkModelC* model, ShortLineTable filter_lines, ShortLineTable lines
    ) except -1
