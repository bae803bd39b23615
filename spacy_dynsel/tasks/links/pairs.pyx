"""Learning links by themselves, and what trees make of them."""
from libc.math cimport exp, llrint
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from ...core.hashing cimport mix
from ...core.link_learner cimport LinkLearner
from ...core.typedefs cimport feat_t, uint64_t
from ...core.vectors cimport bare_vector
from ..arc_eager.system cimport NONE, UNKNOWN_HEAD, SentenceC, start
from .model cimport LinkModel
from .search cimport SCALE, LinkC, find_keys, prepare, score_links
from .train cimport LEAST_GRADIENT, LinkExamples

cdef extern from "kernels.hpp" namespace "dynsel" nogil:
    bint call_guarded(void (*function)(void*) noexcept nogil, void* job)

cdef enum:
    # In longer sentences, a link knows nothing of the one in the other direction.
    MAX_GRID = 1000


cdef class PairExamples(LinkExamples):
    """Docs with their gold trees, see TransitionExamples."""
    cdef bare_vector[feat_t] sibling_keys    # by link
    cdef bare_vector[int] grid               # by child and head: the link, or NONE
    cdef const uint64_t[::1] raised          # see fit_pairs
    cdef const float[::1] raised_weights
    cdef float base_weight

    def teach_filters(
        self,
        LinkModel model not None,
        LinkLearner filter_learner not None,
    ):
        """Learn which links are worth a look."""
        cdef int number
        self.check_read()
        model.check(self.lexicon.n_columns)
        model.bind_learners(&self.model, filter_learner, filter_learner)
        self.model_places = model
        self.filter_learner = filter_learner
        with nogil:
            for number in range(<int>self.ends.size()):
                self._load(number)
                start(&self.sentence)
                filter_learner.c.now += 1
                if not call_guarded(call_teach_filter, <void*>self):
                    with gil:
                        raise MemoryError()

    def fit_pairs(
        self,
        LinkModel model not None,
        LinkLearner filter_learner not None,
        LinkLearner learner not None,
        int n_passes,
        const uint64_t[::1] raised not None,
        const float[::1] weights not None,
        float base_weight,
        unsigned int seed,
    ):
        """Learn links by themselves: whether there is none between two words, or to the
        left, or to the right. Siblings are those of the gold tree.

        n_passes (int): How often the data is seen.
        raised (array), weights (array): Links that have a weight of their own, in order, as
            child << 32 | head + 1, by their places among all tokens, 0 for the root.
        base_weight (float): The weight of the others.
        """
        cdef vector[int] order
        cdef uint64_t state = seed
        cdef int i, j, n_sentences, _pass
        self.check_read()
        model.check(self.lexicon.n_columns)
        if raised.shape[0] != weights.shape[0]:
            raise ValueError(Errors.DS216.format(what="links and their weights"))
        model.bind_learners(&self.model, filter_learner, learner)
        self.filter_learner = filter_learner
        self.learner = learner
        self.raised = raised
        self.raised_weights = weights
        self.base_weight = base_weight
        prepare(&self.work, False)
        n_sentences = <int>self.ends.size()
        for i in range(n_sentences):
            order.push_back(i)
        with nogil:
            for _pass in range(n_passes):
                for i in range(n_sentences - 1, 0, -1):
                    state = mix(state, i + 1)
                    j = <int>(state % <uint64_t>(i + 1))
                    order[i], order[j] = order[j], order[i]
                for i in range(n_sentences):
                    self._load(order[i])
                    if self.sentence.n == 0:
                        continue
                    start(&self.sentence)
                    if not call_guarded(call_learn_pairs, <void*>self):
                        with gil:
                            raise MemoryError()

    def find_heads(
        self,
        LinkModel model not None,
        LinkLearner filter_learner not None,
        LinkLearner learner not None,
    ):
        """The heads of the best trees, and the gold ones.

        RETURNS (tuple): For each token its head as an index into all tokens, -1 for roots,
            -2 for white space; the same for gold heads, -2 where they are not known; and
            how many links were looked at.
        """
        cdef SentenceC* s = &self.sentence
        cdef int number, i, head
        cdef size_t n_links = 0
        self.check_read()
        model.check(self.lexicon.n_columns)
        model.bind_learners(&self.model, filter_learner, learner)
        prepare(&self.work, False)
        found = np.full(self.tokens.size(), -2, dtype="int32")
        gold = np.full(self.tokens.size(), -2, dtype="int32")
        cdef int32_t[::1] found_view = found
        cdef int32_t[::1] gold_view = gold
        with nogil:
            for number in range(<int>self.ends.size()):
                self._load(number)
                if s.n == 0:
                    continue
                start(s)
                if not call_guarded(call_find, <void*>self):
                    with gil:
                        raise MemoryError()
                n_links += self.work.links.size()
                for i in range(s.n):
                    head = self.work.heads[i]
                    found_view[s.tokens[i]] = s.tokens[head] if head != NONE else -1
                    if self.gold.heads[i] != UNKNOWN_HEAD:
                        head = self.get_gold(i)
                        gold_view[s.tokens[i]] = s.tokens[head] if head != NONE else -1
        return found, gold, n_links

    cdef float get_weight(self, int head, int child) noexcept nogil:
        """The weight of a link."""
        cdef const int* tokens = self.sentence.tokens
        cdef uint64_t key = <uint64_t>tokens[child] << 32
        cdef Py_ssize_t first = 0
        cdef Py_ssize_t end = self.raised.shape[0]
        cdef Py_ssize_t middle
        if head != NONE:
            key |= <uint64_t>tokens[head] + 1
        while first < end:
            middle = (first + end) // 2
            if self.raised[middle] < key:
                first = middle + 1
            else:
                end = middle
        if first < self.raised.shape[0] and self.raised[first] == key:
            return self.raised_weights[first]
        return self.base_weight

    cdef int find_previous(self, int head, int child) noexcept nogil:
        """The gold child of a head that comes before another word, seen from the head."""
        cdef int step = 1 if child < head else -1
        cdef int i = child + step
        while i != head:
            if self.gold.heads[i] == head:
                return i
            i += step
        return NONE

    cdef void score_pairs(self) noexcept nogil:
        """Score links with the siblings of the gold tree."""
        cdef SentenceC* s = &self.sentence
        cdef size_t n = self.model.n_sibling_keys
        cdef size_t i
        cdef LinkC* link
        score_links(&self.model, s, &self.work)
        if self.model.siblings == NULL:
            return
        self.sibling_keys.resize(self.work.links.size() * n + 1)
        for i in range(self.work.links.size()):
            link = &self.work.links[i]
            if link.head != NONE:
                find_keys(
                    &self.model, self.model.siblings, s, link.head, link.child,
                    self.find_previous(link.head, link.child), &self.work,
                    self.sibling_keys.data() + i * n,
                )
        for i in range(self.work.links.size()):
            link = &self.work.links[i]
            if link.head != NONE:
                link.score += llrint(
                    SCALE * self.model.weights.score(self.sibling_keys.data() + i * n, n)
                )

    cdef void learn_pairs(self) noexcept nogil:
        cdef SentenceC* s = &self.sentence
        cdef size_t n = s.n
        cdef size_t n_keys = self.model.n_pair_keys
        cdef size_t n_sibling_keys = self.model.n_sibling_keys
        cdef LinkC* link
        cdef double own, other, g
        cdef size_t i
        cdef int back
        self.learner.c.now += 1
        self.find_gold_links()
        self.score_pairs()
        self.grid.assign(n * n if n <= MAX_GRID else 0, NONE)
        for i in range(self.work.links.size()):
            link = &self.work.links[i]
            if link.head != NONE and n <= MAX_GRID:
                self.grid[link.child * n + link.head] = <int>i
        for i in range(self.work.links.size()):
            link = &self.work.links[i]
            if self.gold.heads[link.child] == UNKNOWN_HEAD:
                continue
            # No link at all has the score 0.
            own = exp(min(<double>30, <double>link.score / SCALE))
            other = 0
            back = NONE
            if link.head != NONE and n <= MAX_GRID:
                back = self.grid[link.head * n + link.child]
            if back != NONE:
                other = exp(min(<double>30, <double>self.work.links[back].score / SCALE))
            g = own / (1 + own + other) - (link.head == self.get_gold(link.child))
            g *= self.get_weight(link.head, link.child)
            if g > LEAST_GRADIENT or g < -LEAST_GRADIENT:
                self.learner.c.move(self.work.keys.data() + i * n_keys, n_keys, <float>g)
                if n_sibling_keys and link.head != NONE:
                    self.learner.c.move(
                        self.sibling_keys.data() + i * n_sibling_keys, n_sibling_keys,
                        <float>g,
                    )


cdef void call_teach_filter(void* job) noexcept nogil:
    (<PairExamples>job).teach_filter()


cdef void call_learn_pairs(void* job) noexcept nogil:
    (<PairExamples>job).learn_pairs()


cdef void call_find(void* job) noexcept nogil:
    (<PairExamples>job).parse()
