"""What speaks for one tree in place of another that differs in a few arcs."""
from libcpp.vector cimport vector

from ..core.program cimport ContextC, Program, get_key
from ..core.typedefs cimport atom_t, feat_t, int16_t, uint8_t
from .arc_eager cimport SentenceC
from .parse_features cimport Features

cdef enum:
    # What can have changed for a token: its arc, that of its head, its dependents.
    ARC = 1
    GRANDPARENT = 2
    FRAME = 4


cdef class RankFeatures:
    cdef readonly Features branches
    cdef readonly Features trees
    cdef vector[uint8_t] masks        # for each template of trees, what it looks at


cdef int find_changes(
    const SentenceC* old, const SentenceC* new, vector[uint8_t]& changes
) noexcept nogil
cdef void add_branch_keys(
    RankFeatures features, SentenceC* s, int action, int second, int lead,
    vector[feat_t]& keys, vector[int16_t]& signs,
) noexcept nogil
cdef void add_tree_keys(
    RankFeatures features, SentenceC* old, SentenceC* new, const uint8_t* changes,
    vector[feat_t]& keys, vector[int16_t]& signs,
) noexcept nogil
