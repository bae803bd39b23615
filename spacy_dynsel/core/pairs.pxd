"""Pairs of features that induction has found."""
from libcpp.vector cimport vector

from .typedefs cimport feat_t, uint32_t, uint64_t
from .weight_table cimport KeyTable

cdef extern from "pairs.hpp" namespace "dynsel" nogil:
    cdef struct MemberC "dynsel::Member":
        feat_t key
        uint64_t partners

    feat_t pair_key(feat_t one, feat_t other)
    bint may_pair(const MemberC& one, const MemberC& other)
    int meet(const MemberC* others, int n, const MemberC& member, feat_t* keys)

    cdef cppclass MemberTable(KeyTable[MemberC]):
        MemberC look_up(feat_t key)
        void join(feat_t one, feat_t other)


cdef struct PairC:
    # The keys of two features, and the ranks of their templates.
    feat_t one
    feat_t other
    uint32_t one_rank
    uint32_t other_rank


cdef int read_pairs(
    object pairs, int n_templates, vector[PairC]& found, MemberTable& members
) except -1
cdef object list_pairs(const vector[PairC]& pairs)
