"""Links that a tree must have, and links that it must not have."""
from libc.stdint cimport int32_t, int64_t

from ...core.typedefs cimport uint8_t
from .system cimport SentenceC


cdef struct RulesC:
    const int32_t* heads     # by token: its head, its own index for a root, or NONE
    const uint8_t* joined    # by token: whether a link that is set spans the gap before it
    const int64_t* forbidden  # child * n_tokens + head, in order
    size_t n_forbidden
    int64_t n_tokens


cdef class Rules:
    cdef RulesC c
    cdef object _arrays


cdef int restrict(const SentenceC* s, const RulesC* rules, int valid) noexcept nogil
cdef bint is_forbidden(const RulesC* rules, int child, int head) noexcept nogil
