# cython: infer_types=True
"""A learner that learns nothing and writes down what it is shown."""
from libc.string cimport memcpy
from libcpp.vector cimport vector

import numpy as np

from ..base.errors import Errors

from .learner cimport CORRECT, INVALID, WRONG, Learner, StepC
from .program cimport ContextC, get_key
from .typedefs cimport feat_t, uint8_t, uint32_t

cdef extern from "<chrono>" nogil:
    """
    #include <atomic>
    #include <chrono>
    static inline double dynsel_now() {
        return std::chrono::duration<double, std::nano>(
            std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    // What was read before has to be read again.
    static inline void dynsel_fence() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    """
    double dynsel_now()
    void dynsel_fence()

cdef enum:
    # Every so many decisions the keys are timed, each so often in a row.
    TIMED_EVERY = 16
    REPEATS = 16

# Longer than this, the machine did something else.
cdef double MOST_NANOSECONDS = 5000


cdef class Recorder(Learner):
    """Stands in for a learner, so that a task's own training shows it all decisions
    of some data in which something can go wrong: their features, and what is correct.

    program (Program), n_labels (int), settings (LearnerSettings): See Learner.
    guide (Learner): Whose guesses are the predicted history; without it, the first
        correct label is.
    """
    cdef Learner guide
    cdef vector[feat_t] all_keys
    cdef vector[uint8_t] all_costs
    cdef vector[double] nanoseconds
    cdef size_t n_decisions
    cdef size_t n_timed
    cdef feat_t sink

    def __init__(self, program, int n_labels, settings, Learner guide=None):
        Learner.__init__(self, program, n_labels, settings)
        if guide is not None and (
            guide.n_labels != n_labels
            or guide.program is None
            or guide.program.c.n_values > self.program.c.n_values
            or guide.program.c.n_columns > self.program.c.n_columns
            or guide.program.c.n_places > self.program.c.n_places
        ):
            raise ValueError(Errors.DS216.format(what="a recorder and its guide"))
        self.guide = guide
        self.nanoseconds.resize(self.program.c.n_templates)
        self.n_decisions = 0
        self.n_timed = 0
        self.sink = 0

    def get_decisions(self) -> tuple:
        """What was recorded.

        RETURNS (tuple): The keys of each decision's features (uint32, decisions by
            templates), and what each label costs (uint8, decisions by labels).
        """
        n_templates = self.program.c.n_templates
        keys = np.empty((self.n_decisions, n_templates), dtype="uint32")
        costs = np.empty((self.n_decisions, self.n_labels), dtype="uint8")
        cdef uint32_t[:, ::1] key_view = keys
        cdef uint8_t[:, ::1] cost_view = costs
        if self.n_decisions:
            memcpy(&key_view[0, 0], self.all_keys.data(), keys.nbytes)
            memcpy(&cost_view[0, 0], self.all_costs.data(), costs.nbytes)
        return keys, costs

    def get_key_times(self):
        """The nanoseconds that it took to find each template's key."""
        times = np.array(self.nanoseconds, dtype="float64")
        return times / max(1, self.n_timed * REPEATS)

    def resize(self, int n_labels) -> None:
        if self.n_decisions and n_labels != self.n_labels:
            raise ValueError(Errors.DS216.format(what="decisions with other labels"))
        Learner.resize(self, n_labels)

    cdef bint _has_guide(self) noexcept nogil:
        """Whether there is a guide, which may have got other labels since."""
        return self.guide is not None and self.guide.n_labels == self.n_labels

    cdef int _judge(self, const ContextC* context, const uint8_t* costs, int* good) noexcept nogil:
        """The best valid label by the guide, and the best correct one."""
        cdef int label, best = -1
        good[0] = -1
        if self._has_guide():
            best = self.guide.guess(context, costs)
        for label in range(self.n_labels):
            if costs[label] == CORRECT and (
                good[0] == -1
                or (
                    self._has_guide()
                    and self.guide.scores[label] > self.guide.scores[good[0]]
                )
            ):
                good[0] = label
        return good[0] if best == -1 else best

    cdef int guess(self, const ContextC* context, const uint8_t* costs) noexcept nogil:
        cdef int good, label
        best = self._judge(context, costs, &good)
        if best == -1:
            for label in range(self.n_labels):
                if costs[label] != INVALID:
                    return label
        return max(best, 0)

    cdef int guess_early(
        self, const ContextC* context, const uint8_t* costs, int n_templates
    ) noexcept nogil:
        if self._has_guide():
            return self.guide.guess_early(context, costs, n_templates)
        return self.guess(context, costs)

    cdef int step(
        self, const ContextC* context, const uint8_t* costs, float drop, StepC* result
    ) except -1 nogil:
        cdef int n_templates = self.program.c.n_templates
        cdef int t, _repeat
        result.loss = 0
        result.guess = self._judge(context, costs, &result.best_correct)
        if result.best_correct == -1 or not self._has_wrong(costs):
            return 0
        # They are as long as the decisions are many, even if there was no memory for
        # one of them.
        self.all_keys.resize((self.n_decisions + 1) * n_templates)
        self.all_costs.resize((self.n_decisions + 1) * self.n_labels)
        self.gather(context, n_templates)
        for t in range(n_templates):
            self.all_keys[self.n_decisions * n_templates + t] = self.features[t].key
        memcpy(
            self.all_costs.data() + self.n_decisions * self.n_labels, costs, self.n_labels
        )
        if self.n_decisions % TIMED_EVERY == 0:
            self.n_timed += 1
            for t in range(n_templates):
                start = dynsel_now()
                for _repeat in range(REPEATS):
                    self.sink ^= get_key(&self.program.c.templates[t], context)
                    dynsel_fence()
                self.nanoseconds[t] += min(dynsel_now() - start, MOST_NANOSECONDS)
        self.n_decisions += 1
        return 0

    cdef bint _has_wrong(self, const uint8_t* costs) noexcept nogil:
        cdef int label
        for label in range(self.n_labels):
            if costs[label] == WRONG:
                return True
        return False
