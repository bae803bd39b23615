"""Exact search among projective trees: arrays in, arrays out."""
cimport cython
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint32_t
from libcpp.vector cimport vector

import numpy as np

from ..base.atomic import new_lock
from ..base.errors import Errors

from .eisner cimport ROOT_HEAD, LinkC, TreeForest

cdef enum:
    MAX_WORDS = 1 << 16
    MAX_TREES = 1 << 16

# With these, sums over a tree of the most words stay far from overflow.
cdef int64_t MAX_SCORE = <int64_t>1 << 40

ROOT = ROOT_HEAD
MOST_WORDS = MAX_WORDS
MOST_TREES = MAX_TREES
LARGEST_SCORE = MAX_SCORE


cdef int check(bint fits, str what) except -1:
    """Raise an error unless arguments fit each other."""
    if not fits:
        raise ValueError(Errors.DS216.format(what=what))
    return 0


cdef int check_scores(const int64_t[::1] scores) except -1:
    cdef Py_ssize_t i
    for i in range(scores.shape[0]):
        check(-MAX_SCORE <= scores[i] <= MAX_SCORE, "scores between -2^40 and 2^40")
    return 0


@cython.auto_pickle(False)
cdef class LinkForest:
    """All projective trees with one root that some links make.

    n_words (int): The number of words of the sentence.
    heads (array), children (array): The links (int32); the head of the root is -1. No
        link may come twice.
    scores (array): What each link adds to the score of a tree (int64).
    with_siblings (bool): Whether there are scores for two neighbouring children of a
        head, too, see set_sibling_scores.
    """
    cdef TreeForest forest
    cdef readonly int n_words
    cdef readonly bint with_siblings
    # Questions take turns: they share memory.
    cdef readonly object lock

    def __cinit__(self):
        self.lock = new_lock()

    def __init__(
        self,
        int n_words,
        const int32_t[::1] heads not None,
        const int32_t[::1] children not None,
        const int64_t[::1] scores not None,
        bint with_siblings=False,
    ):
        cdef vector[LinkC] links
        cdef LinkC link
        cdef Py_ssize_t i
        cdef Py_ssize_t n_links = heads.shape[0]
        check(0 < n_words <= MAX_WORDS, "a number of words between 1 and 65,536")
        check(children.shape[0] == n_links == scores.shape[0], "links and their scores")
        check_scores(scores)
        links.reserve(n_links)
        for i in range(n_links):
            link.head = heads[i]
            link.child = children[i]
            link.score = scores[i]
            check(
                ROOT_HEAD <= link.head < n_words
                and 0 <= link.child < n_words
                and link.head != link.child,
                "links between words of the sentence",
            )
            links.push_back(link)
        self.n_words = n_words
        self.with_siblings = with_siblings
        self.forest.set_links(n_words, links.data(), n_links, with_siblings)
        for i in range(1, n_links):
            check(
                self.forest.links[i].head != self.forest.links[i - 1].head
                or self.forest.links[i].child != self.forest.links[i - 1].child,
                "links that are all different",
            )

    cdef int check_made(self) except -1:
        return check(self.n_words > 0, "a forest that was never filled")

    def get_siblings(self):
        """What has a sibling score. RETURNS (array): For each score the head, the child
        nearer to the head (-1 for none) and the child (int32)."""
        self.check_made()
        found = np.empty((self.forest.sibling_scores.size(), 3), dtype="int32")
        cdef int32_t[:, ::1] view = found
        cdef uint32_t link, first, nearer
        cdef size_t at = 0
        if not self.with_siblings:
            return found
        for link in range(<uint32_t>self.forest.links.size()):
            if self.forest.links[link].head == ROOT_HEAD:
                continue
            first = link - self.forest.rank(link)
            for nearer in range(first, link + 1):
                view[at, 0] = self.forest.links[link].head
                view[at, 1] = self.forest.links[nearer - 1].child if nearer > first else -1
                view[at, 2] = self.forest.links[link].child
                at += 1
        return found

    def set_sibling_scores(self, const int64_t[::1] scores not None):
        """Say what neighbouring children of a head add to the score of a tree.

        scores (array): In the order of get_siblings (int64).
        """
        cdef size_t i
        self.check_made()
        check(
            scores.shape[0] == <Py_ssize_t>self.forest.sibling_scores.size(),
            "siblings and their scores",
        )
        check_scores(scores)
        with self.lock:
            for i in range(self.forest.sibling_scores.size()):
                self.forest.sibling_scores[i] = scores[i]

    def find_best(self):
        """RETURNS (tuple): For each word its head, -1 for the root, and the score of
        the tree; None if the links make no tree."""
        self.check_made()
        heads = np.empty(self.n_words, dtype="int32")
        cdef int32_t[::1] view = heads
        cdef bint found
        cdef int64_t score = 0
        with self.lock:
            with nogil:
                found = self.forest.search()
                if found:
                    self.forest.find_heads(&view[0])
                    score = self.forest.best_score()
        return (heads, score) if found else None

    def find_k_best(self, int k):
        """The trees of the highest scores, from the best on, or all if there are fewer.

        RETURNS (tuple): For each tree the heads of the words, and its score.
        """
        self.check_made()
        check(0 < k <= MAX_TREES, "a number of trees between 1 and 65,536")
        cdef int i
        cdef int n = 0
        cdef vector[int32_t] heads
        cdef vector[int64_t] scores
        with self.lock:
            with nogil:
                if self.forest.search():
                    for i in range(k):
                        if not self.forest.find_kth(i):
                            break
                        n += 1
                        heads.resize(<size_t>n * self.n_words)
                        self.forest.find_kth_heads(
                            i, heads.data() + <size_t>i * self.n_words
                        )
                        scores.push_back(self.forest.kth_score(i))
        found = np.empty((n, self.n_words), dtype="int32")
        found_scores = np.empty(n, dtype="int64")
        cdef int32_t[:, ::1] view = found
        cdef int64_t[::1] score_view = found_scores
        cdef int word
        for i in range(n):
            score_view[i] = scores[i]
            for word in range(self.n_words):
                view[i, word] = heads[<size_t>i * self.n_words + word]
        return found, found_scores

    def find_gaps(self):
        """By how much the best tree that has a link is worse than the best of all.

        RETURNS (array): In the order in which links were given (int64), -1 for those that
            no tree has; None if they make no tree.
        """
        self.check_made()
        n_links = self.forest.links.size()
        # One more, so that there is something to point to.
        gaps = np.zeros(n_links + 1, dtype="int64")
        cdef int64_t[::1] view = gaps
        cdef bint found
        with self.lock:
            with nogil:
                found = self.forest.search()
                if found:
                    self.forest.find_gaps(&view[0])
        return gaps[:n_links] if found else None

    def find_marginals(self, double scale):
        """How probable each link is, if the probability of a tree is in proportion to
        exp(score / scale).

        RETURNS (array): In the order in which links were given (float64); None if they
            make no tree.
        """
        self.check_made()
        check(scale > 0 and isfinite(scale), "a scale above 0")
        n_links = self.forest.links.size()
        # One more, so that there is something to point to.
        marginals = np.zeros(n_links + 1)
        cdef double[::1] view = marginals
        cdef bint found
        with self.lock:
            with nogil:
                found = self.forest.find_marginals(scale, &view[0])
        return marginals[:n_links] if found else None
