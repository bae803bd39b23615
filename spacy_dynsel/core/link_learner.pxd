"""Weights of links between words, while they are learned."""
from libcpp.vector cimport vector

from .typedefs cimport feat_t, uint32_t
from .weight_table cimport LargePages


cdef extern from "link_weights.hpp" namespace "dynsel" nogil:
    cdef struct LinkWeightC "dynsel::LinkWeight":
        feat_t key
        uint32_t last
        float value
        float squares
        double drift

    cdef cppclass LinkWeights:
        vector[LinkWeightC, LargePages[LinkWeightC]] entries
        size_t n_used
        float eta
        float delta
        float l1
        uint32_t now
        void make_room(size_t n) except +
        void prefetch_all(const feat_t* keys, size_t n)
        float score(const feat_t* keys, size_t n)
        # Where memory runs out, it unwinds as in C++: see vectors.pxd.
        void move(const feat_t* keys, size_t n, float gradient)
        float value_of(const LinkWeightC& weight)
        float mean_of(const LinkWeightC& weight)
        LinkWeightC* find(feat_t key)


cdef class LinkLearner:
    cdef LinkWeights c
    cdef readonly bint averages
