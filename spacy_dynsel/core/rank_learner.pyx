"""Learns to choose between two structures: a logistic regression over the features in
which they differ, by AdaGrad."""
from libc.math cimport exp, log1p

import numpy as np

from ..base.errors import Errors

from .adagrad cimport take_step
from .typedefs cimport uint32_t


cdef class RankLearner:
    """Weights of features, one each.

    eta (float): The step size.
    delta (float): Added to the root of the summed squared gradients.
    """

    def __init__(self, float eta, float delta):
        self.eta = eta
        self.delta = delta
        self.table.make_room(0)

    def get_weights(self, unsigned int cutoff) -> tuple:
        """The weights of features that were looked at often enough, sorted by key."""
        state = self.get_state()
        values = state["values"].view("float32")
        kept = (state["counts"] >= cutoff) & (values != 0)
        return state["keys"][kept], values[kept]

    def get_state(self) -> dict:
        """All that learning depends on, as arrays, in the order of the keys."""
        cdef const RankWeightC* weight
        cdef size_t i, n = 0
        keys = np.empty(self.table.n_used, dtype="uint32")
        counts = np.empty(self.table.n_used, dtype="uint32")
        values = np.empty(self.table.n_used, dtype="float32")
        squares = np.empty(self.table.n_used, dtype="float32")
        cdef uint32_t[::1] key_view = keys
        cdef uint32_t[::1] count_view = counts
        cdef float[::1] value_view = values
        cdef float[::1] square_view = squares
        for i in range(self.table.entries.size()):
            weight = &self.table.entries[i]
            if weight.n:
                key_view[n] = weight.key
                count_view[n] = weight.n
                value_view[n] = weight.value
                square_view[n] = weight.squares
                n += 1
        order = np.argsort(keys)
        return {
            "keys": keys[order],
            "counts": counts[order],
            "values": values[order].view("uint32"),
            "squares": squares[order].view("uint32"),
        }

    def set_state(self, state: dict) -> None:
        """Go on from what get_state gave, with a learner that is new otherwise."""
        cdef const uint32_t[::1] key_view = state["keys"]
        cdef const uint32_t[::1] count_view = state["counts"]
        cdef const float[::1] value_view = state["values"].view("float32")
        cdef const float[::1] square_view = state["squares"].view("float32")
        cdef RankWeightC* weight
        cdef Py_ssize_t i
        if len({len(array) for array in state.values()}) > 1:
            raise ValueError(Errors.DS216.format(what="the weights of a reranker"))
        self.table.make_room(key_view.shape[0])
        for i in range(key_view.shape[0]):
            weight = self.table.claim(key_view[i])
            weight.n = count_view[i]
            weight.value = value_view[i]
            weight.squares = square_view[i]

    cdef int _find_all(self) except -1 nogil:
        """Find the weights of all features at hand."""
        cdef size_t i
        self.table.make_room(self.keys.size())
        self.found.resize(self.keys.size())
        for i in range(self.keys.size()):
            self.table.prefetch(self.keys[i])
        for i in range(self.keys.size()):
            self.found[i] = self.table.claim(self.keys[i])
        return 0

    cdef float score(self) noexcept nogil:
        """How much speaks for the second structure, by the weights that were found."""
        cdef float score = 0
        cdef size_t i
        for i in range(self.keys.size()):
            score += self.signs[i] * self.found[i].value
        return score

    cdef float learn(self, float gain) except? -1 nogil:
        """Learn from one choice. RETURNS: The loss.

        gain: By how much the second structure is better.
        """
        cdef double score
        cdef double importance = gain if gain > 0 else -gain
        cdef double loss, gradient, g
        cdef RankWeightC* weight
        cdef size_t i
        self._find_all()
        score = max(-30.0, min(30.0, self.score()))
        if gain > 0:
            loss = log1p(exp(-score)) * importance
            gradient = -importance / (1 + exp(score))
        else:
            loss = log1p(exp(score)) * importance
            gradient = importance / (1 + exp(-score))
        for i in range(self.keys.size()):
            weight = self.found[i]
            weight.n += 1
            g = gradient * self.signs[i]
            take_step(&weight.value, &weight.squares, g, self.eta, self.delta)
        return <float>loss
