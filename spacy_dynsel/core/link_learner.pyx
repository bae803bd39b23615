"""Weights of links between words, while they are learned."""
import numpy as np

from ..base.errors import Errors

from .typedefs cimport uint64_t


cdef class LinkLearner:
    """Weights of features, one each.

    eta (float): The step size.
    delta (float): Added to the root of the summed squared gradients.
    l1 (float): The penalty of a weight's size, at each step.
    averages (bool): Whether the weights to use are means over all steps.
    """

    def __init__(self, float eta, float delta, float l1=0, bint averages=False):
        if averages and l1:
            raise ValueError(Errors.DS216.format(what="means, or a penalty"))
        self.c.eta = eta
        self.c.delta = delta
        self.c.l1 = l1
        self.averages = averages
        self.c.make_room(0)

    def get_weights(self) -> tuple:
        """The keys, in order, and the weights that are not 0."""
        cdef const LinkWeightC* weight
        cdef size_t i, n = 0
        keys = np.empty(self.c.n_used, dtype="uint32")
        values = np.empty(self.c.n_used, dtype="float32")
        cdef uint32_t[::1] key_view = keys
        cdef float[::1] value_view = values
        with nogil:
            for i in range(self.c.entries.size()):
                weight = &self.c.entries[i]
                if weight.last:
                    key_view[n] = weight.key
                    value_view[n] = (
                        self.c.mean_of(weight[0]) if self.averages
                        else self.c.value_of(weight[0])
                    )
                    n += 1
        order = np.argsort(keys, kind="stable")
        keys, values = keys[order], values[order]
        return keys[values != 0], values[values != 0]

    def correct_from(
        self, const uint32_t[::1] keys not None, const float[::1] values not None
    ):
        """Go on from weights as if they had been learned for long."""
        cdef LinkWeightC* weight
        cdef Py_ssize_t i
        if keys.shape[0] != values.shape[0] or self.c.n_used:
            raise ValueError(Errors.DS216.format(what="keys and weights"))
        self.c.make_room(keys.shape[0])
        for i in range(keys.shape[0]):
            weight = self.c.find(keys[i])
            if not weight.last:
                self.c.n_used += 1
            weight.key = keys[i]
            weight.last = 1
            weight.value = values[i]
            weight.squares = 1

    def get_state(self) -> dict:
        """All that learning depends on, as arrays, in the order of the keys."""
        cdef const LinkWeightC* weight
        cdef size_t i, n = 0
        found = np.empty((4, self.c.n_used), dtype="uint32")
        drifts = np.empty(self.c.n_used, dtype="float64")
        cdef uint32_t[:, ::1] view = found
        cdef double[::1] drift_view = drifts
        for i in range(self.c.entries.size()):
            weight = &self.c.entries[i]
            if weight.last:
                view[0, n] = weight.key
                view[1, n] = weight.last
                view[2, n] = (<const uint32_t*>&weight.value)[0]
                view[3, n] = (<const uint32_t*>&weight.squares)[0]
                drift_view[n] = weight.drift
                n += 1
        order = np.argsort(found[0], kind="stable")
        return {
            "keys": found[0][order],
            "steps": found[1][order],
            "values": found[2][order],
            "squares": found[3][order],
            "drifts": drifts[order].view("uint32"),
            "numbers": np.array([self.c.now], dtype="uint64"),
        }

    def set_state(self, state: dict) -> None:
        """Go on from what get_state gave, with a learner that is new otherwise."""
        cdef const uint32_t[::1] keys = state["keys"]
        cdef const uint32_t[::1] steps = state["steps"]
        cdef const float[::1] values = state["values"].view("float32")
        cdef const float[::1] squares = state["squares"].view("float32")
        cdef const double[::1] drifts = state["drifts"].view("float64")
        cdef const uint64_t[::1] numbers = state["numbers"]
        cdef LinkWeightC* weight
        cdef Py_ssize_t i
        cdef Py_ssize_t n = keys.shape[0]
        if (
            steps.shape[0] != n
            or values.shape[0] != n
            or squares.shape[0] != n
            or drifts.shape[0] != n
            or numbers.shape[0] != 1
            or self.c.n_used
        ):
            raise ValueError(Errors.DS216.format(what="the weights of links"))
        self.c.make_room(n)
        for i in range(n):
            weight = self.c.find(keys[i])
            if not weight.last:
                self.c.n_used += 1
            weight.key = keys[i]
            weight.last = max(<uint32_t>1, steps[i])
            weight.value = values[i]
            weight.squares = squares[i]
            weight.drift = drifts[i]
        self.c.now = max(<uint32_t>1, <uint32_t>numbers[0])
