from libcpp.vector cimport vector

from .learner cimport FeatureC, Learner
from .pairs cimport MemberC, MemberTable, PairC
from .typedefs cimport uint64_t


cdef struct WaitingC:
    # A gradient of a mini-batch: the key of the feature above the output.
    uint64_t weight
    float gradient


cdef class InducingLearner(Learner):
    cdef int n_strongest
    cdef float sure_lead              # from this lead on no pairs are made
    cdef size_t max_pairs
    cdef int n_sequences              # of a mini-batch; 0 without
    cdef int n_read                   # of these
    cdef vector[WaitingC] waiting
    cdef vector[PairC] pairs
    cdef MemberTable members
    # Of one decision: its features with pairs, members of pairs among them, and those that
    # speak most for the correct label, with what they say.
    cdef vector[FeatureC] expanded
    cdef vector[MemberC] met
    cdef vector[FeatureC] strongest
    cdef vector[float] strengths

    cdef int _induce(self, int good, int bad) except -1 nogil
    cdef float _get_strength(self, const FeatureC* feature) noexcept nogil
    cdef int _join(self, const FeatureC* one, const FeatureC* other) except -1 nogil
