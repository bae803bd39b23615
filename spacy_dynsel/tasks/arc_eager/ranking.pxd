"""What speaks for one tree in place of another that differs in a few arcs."""
from libcpp.vector cimport vector

from ...core.program cimport MAX_ATOMS, ContextC, get_key
from ...core.typedefs cimport atom_t, feat_t, int16_t, uint8_t, uint64_t
from .system cimport SentenceC
from .features cimport MAX_SLOTS, Features

cdef enum:
    SLOT_WORDS = MAX_SLOTS // 64

cdef enum:
    # What can have changed for a token: its arc, that of its head, its dependents.
    ARC = 1
    GRANDPARENT = 2
    FRAME = 4


cdef struct TreeTemplateC:
    uint64_t seed
    uint64_t bits[SLOT_WORDS]    # the slots that it reads, as a set
    int slots[MAX_ATOMS]
    int n_slots
    uint8_t mask                 # what has to have changed for it to change


cdef class RankFeatures:
    cdef readonly Features branches
    cdef readonly Features trees
    cdef vector[TreeTemplateC] templates     # of trees

    cdef int check(self, int n_lexical) except -1
    cdef int n_branch_keys(self) noexcept nogil


cdef int find_changes(
    const SentenceC* old, const SentenceC* new, uint8_t* changes
) noexcept nogil
cdef void add_branch_keys(
    RankFeatures features, SentenceC* s, int action, int second, int lead,
    feat_t* keys, int16_t* signs,
) noexcept nogil
cdef size_t count_tree_keys(
    RankFeatures features, const uint8_t* changes, int n
) noexcept nogil
cdef size_t add_tree_keys(
    RankFeatures features, SentenceC* old, SentenceC* new, const uint8_t* changes,
    feat_t* keys, int16_t* signs,
) noexcept nogil
