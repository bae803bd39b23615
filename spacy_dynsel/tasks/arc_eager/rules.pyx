"""Links that a tree must have, and links that it must not have, in the eyes of the
transition system."""
cimport cython

import numpy as np

from ...base.errors import Errors

from .system cimport LEFT, NONE, REDUCE, RIGHT, SHIFT, get_front


@cython.auto_pickle(False)
cdef class Rules:
    """What is set for the tree of a doc.

    heads (array): For each token the index of its head, its own for a root, -1 where
        nothing is set (int32).
    forbidden (array): Links that must not be there, as child * n_tokens + head, in order
        (int64).
    """
    def __init__(self, const int32_t[::1] heads not None, const int64_t[::1] forbidden not None):
        cdef Py_ssize_t i
        cdef Py_ssize_t n = heads.shape[0]
        for i in range(n):
            if not NONE <= heads[i] < n:
                raise ValueError(Errors.DS216.format(what="heads within the doc"))
        for i in range(1, forbidden.shape[0]):
            if forbidden[i] < forbidden[i - 1]:
                raise ValueError(Errors.DS216.format(what="links in order"))
        cdef const uint8_t[::1] joined = find_joined(np.asarray(heads))
        self._arrays = (heads, joined, forbidden)
        self.c.n_tokens = n
        self.c.n_forbidden = forbidden.shape[0]
        if n:
            self.c.heads = &heads[0]
            self.c.joined = &joined[0]
        if self.c.n_forbidden:
            self.c.forbidden = &forbidden[0]


def find_joined(heads) -> object:
    """Where links forbid that a sentence starts. RETURNS (array): By token (uint8)."""
    children = np.flatnonzero(heads >= 0)
    ends = heads[children]
    steps = np.zeros(len(heads) + 1, dtype="int64")
    np.add.at(steps, np.minimum(children, ends) + 1, 1)
    np.add.at(steps, np.maximum(children, ends) + 1, -1)
    return (np.cumsum(steps)[: len(heads)] > 0).astype("uint8")


cdef bint is_forbidden(const RulesC* rules, int child, int head) noexcept nogil:
    cdef int64_t link = child * rules.n_tokens + head
    cdef size_t first = 0
    cdef size_t end = rules.n_forbidden
    cdef size_t middle
    while first < end:
        middle = (first + end) // 2
        if rules.forbidden[middle] < link:
            first = middle + 1
        else:
            end = middle
    return first < rules.n_forbidden and rules.forbidden[first] == link


cdef int restrict(const SentenceC* s, const RulesC* rules, int valid) noexcept nogil:
    """Of the actions that are possible, those that make no link which is forbidden and
    put none out of reach that is set. Links that are set are in reach together if each of
    them is (Goldberg and Nivre 2013); those that are forbidden may leave no action, and
    then all that are possible come back."""
    cdef int top = s.tokens[s.stack[s.top - 1]]
    cdef int front = s.tokens[get_front(s)]
    cdef int top_head = rules.heads[top]
    cdef int front_head = rules.heads[front]
    cdef int allowed = valid
    cdef int i, token
    # S0 gets no dependents any more, or another head.
    if front_head == top:
        allowed &= ~(1 << LEFT | 1 << REDUCE)
    for i in range(s.front, s.n):
        if rules.heads[s.tokens[i]] == top:
            allowed &= ~(1 << LEFT | 1 << REDUCE)
    if (top_head != NONE and top_head != front) or is_forbidden(rules, top, front):
        allowed &= ~(1 << LEFT)
    # N0 gets neither dependents nor a head from the stack any more, or another head.
    for i in range(s.top):
        token = s.tokens[s.stack[i]]
        if s.heads[s.stack[i]] == NONE and rules.heads[token] == front:
            allowed &= ~(1 << SHIFT | 1 << RIGHT)
        if token == front_head:
            allowed &= ~(1 << SHIFT)
    if (front_head != NONE and front_head != top) or is_forbidden(rules, front, top):
        allowed &= ~(1 << RIGHT)
    return allowed if allowed else valid
