"""Learns to choose between two structures: a logistic regression over the features in
which they differ, by AdaGrad."""
from libc.math cimport exp, log1p, sqrtf

import numpy as np

from ..base.errors import Errors

cdef extern from "kernels.hpp" nogil:
    void DYNSEL_PREFETCH(const void* address)


cdef class RankLearner:
    """Weights of features, one each.

    eta (float): The step size.
    delta (float): Added to the root of the summed squared gradients.
    """

    def __init__(self, float eta, float delta):
        self.eta = eta
        self.delta = delta
        self.places.resize(1 << 16)
        self.n_weights = 0

    def get_weights(self, unsigned int cutoff) -> tuple:
        """The weights of features that were looked at often enough, sorted by key."""
        cdef size_t i, n = 0
        for i in range(self.places.size()):
            n += self.places[i].n >= cutoff and self.places[i].value != 0
        keys = np.empty(n, dtype="uint32")
        values = np.empty(n, dtype="float32")
        cdef uint32_t[::1] key_view = keys
        cdef float[::1] value_view = values
        n = 0
        for i in range(self.places.size()):
            if self.places[i].n >= cutoff and self.places[i].value != 0:
                key_view[n] = self.places[i].key
                value_view[n] = self.places[i].value
                n += 1
        order = np.argsort(keys)
        return keys[order], values[order]

    def get_state(self) -> dict:
        """All that learning depends on, as arrays, in the order of the keys."""
        cdef size_t i, n = 0
        keys = np.empty(self.n_weights, dtype="uint32")
        counts = np.empty(self.n_weights, dtype="uint32")
        values = np.empty(self.n_weights, dtype="float32")
        squares = np.empty(self.n_weights, dtype="float32")
        cdef uint32_t[::1] key_view = keys
        cdef uint32_t[::1] count_view = counts
        cdef float[::1] value_view = values
        cdef float[::1] square_view = squares
        for i in range(self.places.size()):
            if self.places[i].n:
                key_view[n] = self.places[i].key
                count_view[n] = self.places[i].n
                value_view[n] = self.places[i].value
                square_view[n] = self.places[i].squares
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
        cdef RankWeightC* place
        cdef Py_ssize_t i
        if len({len(array) for array in state.values()}) > 1:
            raise ValueError(Errors.DS216.format(what="the weights of a reranker"))
        self._make_room(key_view.shape[0])
        for i in range(key_view.shape[0]):
            place = self._find(key_view[i])
            place.n = count_view[i]
            place.value = value_view[i]
            place.squares = square_view[i]

    cdef int _find_all(self) except -1 nogil:
        """Find the weights of all features at hand: first asked for, then used."""
        cdef size_t i, mask
        self._make_room(self.keys.size())
        self.found.resize(self.keys.size())
        mask = self.places.size() - 1
        for i in range(self.keys.size()):
            DYNSEL_PREFETCH(&self.places[self.keys[i] & mask])
        for i in range(self.keys.size()):
            self.found[i] = self._find(self.keys[i])
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
        cdef double weight = gain if gain > 0 else -gain
        cdef double loss, gradient, g
        cdef RankWeightC* place
        cdef size_t i
        self._find_all()
        score = max(-30.0, min(30.0, self.score()))
        if gain > 0:
            loss = log1p(exp(-score)) * weight
            gradient = -weight / (1 + exp(score))
        else:
            loss = log1p(exp(score)) * weight
            gradient = weight / (1 + exp(-score))
        for i in range(self.keys.size()):
            place = self.found[i]
            place.n += 1
            g = gradient * self.signs[i]
            place.squares += <float>(g * g)
            place.value -= <float>(self.eta * g / (self.delta + sqrtf(place.squares)))
        return <float>loss

    cdef RankWeightC* _find(self, feat_t key) noexcept nogil:
        """The weight of a feature, made if it is not there."""
        cdef size_t mask
        cdef size_t place
        mask = self.places.size() - 1
        place = key & mask
        while self.places[place].n and self.places[place].key != key:
            place = (place + 1) & mask
        if not self.places[place].n:
            self.places[place].key = key
            self.places[place].n = 1
            self.n_weights += 1
        return &self.places[place]

    cdef int _make_room(self, size_t n) except -1 nogil:
        """Make sure that there is room for so many new weights."""
        cdef vector[RankWeightC] old
        cdef size_t i, place, mask
        cdef size_t size = self.places.size()
        while 2 * (self.n_weights + n) > size:
            size *= 2
        if size == self.places.size():
            return 0
        # If there is no memory for it, the table stays as it is.
        old.resize(size)
        old.swap(self.places)
        mask = self.places.size() - 1
        for i in range(old.size()):
            if old[i].n:
                place = old[i].key & mask
                while self.places[place].n:
                    place = (place + 1) & mask
                self.places[place] = old[i]
        return 0
