# cython: infer_types=True
"""Trainable weights: AdaGrad on hinge losses at the checkpoints of a template list.

Weights are label-sparse. A feature's key leads to a row, a row to the weights of just
the labels that ever took part in an error with that feature:

    entries (hash table: key -> row)  ->  weights (one pool)

Rows have room for as many weights as the next power of two says.
"""
from libc.math cimport sqrtf
from libcpp.algorithm cimport fill

import numpy as np

from ..base.errors import Errors

from .program cimport get_key, is_hidden

cdef extern from "kernels.hpp" nogil:
    void DYNSEL_PREFETCH(const void* address)

cdef enum:
    # Kinds of entries.
    EMPTY
    PENDING                  # seen, too rarely yet
    REJECTED                 # rare in the data that were counted before training
    ROW

cdef enum:
    # In saved states: how often a feature was seen that has no row, or REJECTED.
    SAVED_PENDING = 0x80000000
    SAVED_REJECTED = 0xFFFFFFFF

cdef enum:
    # How many wrong labels a correction puts in their place, one after the other.
    MAX_TURNS = 8
    MAX_SEEN = 0x7FFFFFFE
    # What an entry can tell apart.
    MAX_WEIGHTS = 0xFFFFFFFF

# The lead of a corrected decision, well above what rounding can change; and the lead, as
# a part of the margin, up to which a prefix may be wrong.
cdef float CORRECTED_LEAD = 1
cdef float HARMLESS_LEAD = 0.5

OBJECTIVES = ("all_prefixes", "first_satisfied", "full")
OPTIMIZERS = ("adagrad", "rda")

cdef enum Objective:
    ALL_PREFIXES = 0
    FIRST_SATISFIED = 1
    FULL = 2

cdef enum Optimizer:
    ADAGRAD = 0
    RDA = 1


cdef class Learner:
    """Learns the weights of one classifier, online.

    program (Program): The templates.
    n_labels (int): The number of labels.
    settings (LearnerSettings): See there.
    """

    def __init__(self, Program program not None, int n_labels, settings):
        if self.program is not None or n_labels < 0 or program.c.n_templates == 0:
            raise ValueError(Errors.DS216.format(what=f"a learner of {n_labels} labels"))
        self.program = program
        self.n_labels = n_labels
        self.objective = OBJECTIVES.index(settings.objective)
        self.optimizer = OPTIMIZERS.index(settings.optimizer)
        self.eta = settings.eta
        self.delta = settings.delta
        self.l1 = settings.l1
        self.l2 = settings.l2
        self.cutoff = settings.cutoff
        self.random_state = (<uint64_t>settings.seed + 1) * <uint64_t>0x9E3779B97F4A7C15
        self.n_steps = 0
        self.corrects = False
        self.largest = 0
        self.margins = settings.stage_margins(program.c.n_stages)
        self.entries.resize(1 << 16)
        self.n_entries = 0
        self.free_blocks.resize(20)
        self.scores.resize(n_labels)
        self.gradient.resize(n_labels)
        self.touched.reserve(2 * program.c.n_stages)
        self.active.resize(program.c.n_templates)
        self.keys.resize(program.c.n_templates)
        self.good.resize(program.c.n_stages)
        self.bad.resize(program.c.n_stages)

    def resize(self, int n_labels) -> None:
        """Make room for more labels, which have no weights yet."""
        if n_labels < self.n_labels:
            raise ValueError(Errors.DS218.format(old=self.n_labels, new=n_labels))
        self.scores.resize(n_labels)
        self.gradient.resize(n_labels)
        self.n_labels = n_labels

    def reject_rare(self) -> None:
        """End the counting: features seen less often than the cutoff get no row, now
        or later; the others get one. Without this, a feature gets its row when it has
        been seen often enough during training."""
        for i in range(self.entries.size()):
            entry = &self.entries[i]
            if entry.kind == PENDING:
                entry.kind = ROW if entry.start >= <uint32_t>self.cutoff else REJECTED

    def get_weights(self) -> tuple:
        """All weights that are not zero, sorted by key and label.

        RETURNS (tuple): Arrays of keys (uint32), labels (uint32) and values (float32).
        """
        cdef size_t n = 0
        for i in range(self.entries.size()):
            n += self.entries[i].n
        ids = np.empty(n, dtype="uint64")
        values = np.empty(n, dtype="float32")
        cdef uint64_t[::1] id_view = ids
        cdef float[::1] value_view = values
        n = 0
        for i in range(self.entries.size()):
            entry = &self.entries[i]
            for j in range(entry.n):
                weight = &self.weights[entry.start + j]
                id_view[n] = (<uint64_t>entry.key << 32) | weight.label
                value_view[n] = self._value(weight)
                n += 1
        order = np.flatnonzero(values)
        order = order[np.argsort(ids[order])]
        ids = ids[order]
        return (
            (ids >> 32).astype("uint32"),
            (ids & 0xFFFFFFFF).astype("uint32"),
            values[order],
        )

    def correct_from(self, keys, labels, values) -> None:
        """Go on from weights that are finished. From here on the learner takes what it
        is shown as corrections: see _correct."""
        cdef const uint32_t[::1] key_view = keys
        cdef const uint32_t[::1] label_view = labels
        cdef const float[::1] value_view = values
        cdef WeightC* weight
        check_weights([keys, labels, values], label_view, self.n_labels)
        self._make_room(key_view.shape[0])
        self.corrects = True
        self.optimizer = ADAGRAD
        self.largest = max(1, float(np.abs(values).max(initial=0.0)))
        for i in range(key_view.shape[0]):
            entry = self._see(key_view[i])
            entry.kind = ROW
            weight = self._find_weight(entry, label_view[i])
            weight.value = value_view[i]

    def get_state(self) -> dict:
        """All that learning depends on, as arrays, in the order of the keys.

        RETURNS (dict): The keys of features; for each the number of its weights, or how
            often it was seen if it has no row (see above); the labels, values and
            squares of the weights; numbers.
        """
        cdef size_t i, n = 0
        cdef int j
        keys = np.empty(self.n_entries, dtype="uint32")
        places = np.empty(self.n_entries, dtype="uint64")
        cdef uint32_t[::1] key_view = keys
        cdef uint64_t[::1] place_view = places
        for i in range(self.entries.size()):
            if self.entries[i].kind != EMPTY:
                key_view[n] = self.entries[i].key
                place_view[n] = i
                n += 1
        order = np.argsort(keys)
        keys = keys[order]
        places = places[order]
        place_view = places
        states = np.empty(self.n_entries, dtype="uint32")
        cdef uint32_t[::1] state_view = states
        cdef size_t n_weights = 0
        for i in range(self.n_entries):
            entry = &self.entries[place_view[i]]
            if entry.kind == ROW:
                state_view[i] = entry.n
            elif entry.kind == REJECTED:
                state_view[i] = SAVED_REJECTED
            else:
                state_view[i] = SAVED_PENDING | entry.start
            n_weights += entry.n
        labels = np.empty(n_weights, dtype="uint32")
        values = np.empty(n_weights, dtype="float32")
        squares = np.empty(n_weights, dtype="float32")
        cdef uint32_t[::1] label_view = labels
        cdef float[::1] value_view = values
        cdef float[::1] square_view = squares
        n = 0
        for i in range(self.n_entries):
            entry = &self.entries[place_view[i]]
            for j in range(entry.n):
                weight = &self.weights[entry.start + j]
                label_view[n] = weight.label
                value_view[n] = weight.value
                square_view[n] = weight.squares
                n += 1
        return {
            "keys": keys,
            "states": states,
            "labels": labels,
            "values": values.view("uint32"),
            "squares": squares.view("uint32"),
            "numbers": np.array(
                [
                    self.random_state,
                    self.n_steps,
                    self.corrects,
                    int(np.float32(self.largest).view("uint32")),
                ],
                dtype="uint64",
            ),
        }

    def set_state(self, state: dict) -> None:
        """Go on from what get_state gave, with a learner that is new otherwise."""
        cdef const uint32_t[::1] key_view = state["keys"]
        cdef const uint32_t[::1] state_view = state["states"]
        cdef const uint32_t[::1] label_view = state["labels"]
        cdef const float[::1] value_view = state["values"].view("float32")
        cdef const float[::1] square_view = state["squares"].view("float32")
        cdef WeightC* weight
        cdef size_t n = 0
        cdef uint64_t n_weights = 0
        cdef uint32_t _j
        random_state, n_steps, corrects, largest = state["numbers"].tolist()
        check_weights(
            [state["labels"], state["values"], state["squares"]], label_view, self.n_labels
        )
        for i in range(state_view.shape[0]):
            if not state_view[i] & SAVED_PENDING:
                n_weights += state_view[i]
        if (
            n_weights != <uint64_t>label_view.shape[0]
            or len(state["keys"]) != len(state["states"])
        ):
            raise ValueError(Errors.DS216.format(what="the weights of a learner"))
        self._make_room(key_view.shape[0])
        self.random_state = random_state
        self.n_steps = n_steps
        self.largest = np.uint32(largest).view("float32")
        if corrects:
            self.corrects = True
            self.optimizer = ADAGRAD
        for i in range(key_view.shape[0]):
            entry = self._see(key_view[i])
            if state_view[i] & SAVED_PENDING:
                entry.kind = REJECTED if state_view[i] == SAVED_REJECTED else PENDING
                entry.start = state_view[i] & ~<uint32_t>SAVED_PENDING
                continue
            entry.kind = ROW
            for _j in range(state_view[i]):
                weight = self._find_weight(entry, label_view[n])
                weight.value = value_view[n]
                weight.squares = square_view[n]
                n += 1

    cdef int count(self, const ContextC* context) except -1 nogil:
        """Count the features of one decision, before training."""
        self._make_room(self.program.c.n_templates)
        for t in range(self.program.c.n_templates):
            self._see(get_key(&self.program.c.templates[t], context))
        return 0

    cdef float random(self) noexcept nogil:
        """A number in [0, 1), by xorshift64*."""
        cdef uint64_t x = self.random_state
        x ^= x >> 12
        x ^= x << 25
        x ^= x >> 27
        self.random_state = x
        return <float>((x * <uint64_t>0x2545F4914F6CDD1D) >> 40) * <float>(1.0 / (1 << 24))

    cdef int guess(self, const ContextC* context, const uint8_t* costs) noexcept nogil:
        """The best valid label by all templates, without learning."""
        return self.guess_early(context, costs, self.program.c.n_templates)

    cdef int guess_early(
        self, const ContextC* context, const uint8_t* costs, int n_templates
    ) noexcept nogil:
        """The best valid label by the first templates, without learning."""
        cdef int best = 0
        cdef int t
        fill(self.scores.begin(), self.scores.end(), <float>0)
        mask = self.entries.size() - 1
        for t in range(n_templates):
            self.keys[t] = get_key(&self.program.c.templates[t], context)
            DYNSEL_PREFETCH(&self.entries[self.keys[t] & mask])
        for t in range(n_templates):
            self.active[t] = self._find_row(self.keys[t])
            if self.active[t] != NULL:
                DYNSEL_PREFETCH(self.weights.data() + self.active[t].start)
        for t in range(n_templates):
            if self.active[t] != NULL:
                self._add_scores(self.active[t])
        for label in range(self.n_labels):
            if costs[label] != INVALID and (
                costs[best] == INVALID or self.scores[label] > self.scores[best]
            ):
                best = label
        return best

    cdef int step(
        self, const ContextC* context, const uint8_t* costs, float drop, StepC* result
    ) except -1 nogil:
        """Learn from one decision. Where memory runs out, a part of its features may
        have learned.

        context: What the decision sees.
        costs: CORRECT, WRONG or INVALID for each label. Several may be correct: then
            the best of them has to win.
        drop: The probability for each template of being left out.
        """
        cdef const ProgramC* program = &self.program.c
        cdef int stage, label, good, bad, n_stages
        cdef int first = 0
        cdef float loss
        cdef WeightC* weight
        result.loss = 0
        result.guess = 0
        result.best_correct = -1
        self.n_steps += 1
        self._activate(context, drop)
        if self.corrects:
            return self._correct(costs, result)
        n_stages = 0
        for stage in range(program.n_stages):
            n_stages += 1
            for t in range(first, program.stage_ends[stage]):
                if self.active[t] != NULL:
                    self._add_scores(self.active[t])
            first = program.stage_ends[stage]
            self._find_best(costs, &good, &bad)
            self.good[stage] = -1
            result.best_correct = good
            if good == -1 or bad == -1:
                result.guess = good if bad == -1 else bad
                continue
            # Ties go to the lower label, as in the scorer.
            if self.scores[good] > self.scores[bad]:
                result.guess = good
            elif self.scores[good] < self.scores[bad]:
                result.guess = bad
            else:
                result.guess = min(good, bad)
            if self.objective == FULL and stage + 1 < program.n_stages:
                continue
            loss = self.scores[bad] - self.scores[good] + self.margins[stage]
            if loss > 0:
                result.loss += loss
                self.good[stage] = good
                self.bad[stage] = bad
            elif self.objective == FIRST_SATISFIED:
                break
        # A template takes part in its own prefix and in all later ones, so that the
        # gradient grows from the last stage to the first.
        for label in self.touched:
            self.gradient[label] = 0
        self.touched.clear()
        for stage in range(n_stages - 1, -1, -1):
            if self.good[stage] != -1:
                # A label is correct or wrong for the whole step, so that parts of its
                # gradient never cancel out: 0 means that it was not touched yet.
                if self.gradient[self.good[stage]] == 0:
                    self.touched.push_back(self.good[stage])
                if self.gradient[self.bad[stage]] == 0:
                    self.touched.push_back(self.bad[stage])
                self.gradient[self.good[stage]] -= 1
                self.gradient[self.bad[stage]] += 1
            if self.touched.empty():
                continue
            first = program.stage_ends[stage - 1] if stage else 0
            for t in range(first, program.stage_ends[stage]):
                if self.active[t] == NULL:
                    continue
                for label in self.touched:
                    g = self.gradient[label]
                    if g == 0:
                        continue
                    weight = self._find_weight(self.active[t], label)
                    weight.squares += g * g
                    if self.optimizer == ADAGRAD:
                        weight.value -= self.eta * g / (self.delta + sqrtf(weight.squares))
                    else:
                        weight.value += g
        return 0

    cdef int _activate(self, const ContextC* context, float drop) except -1 nogil:
        """Find the rows of a decision's features."""
        cdef const ProgramC* program = &self.program.c
        cdef int t
        fill(self.scores.begin(), self.scores.end(), <float>0)
        # Entries stay where they are, as long as a step lasts.
        self._make_room(program.n_templates)
        # Keys first, then rows, then weights: what one pass needs is on its way from
        # memory while the one before works.
        mask = self.entries.size() - 1
        for t in range(program.n_templates):
            self.keys[t] = get_key(&program.templates[t], context)
            DYNSEL_PREFETCH(&self.entries[self.keys[t] & mask])
        for t in range(program.n_templates):
            self.active[t] = NULL
            if is_hidden(&program.templates[t], context):
                continue
            if drop == 0 or self.random() >= drop:
                self.active[t] = self._claim_row(self.keys[t])
                if self.active[t] != NULL:
                    DYNSEL_PREFETCH(self.weights.data() + self.active[t].start)
        return 0

    cdef void _find_best(self, const uint8_t* costs, int* good, int* bad) noexcept nogil:
        """The best of the correct labels and the best of the wrong ones, or -1."""
        cdef int label
        good[0] = -1
        bad[0] = -1
        for label in range(self.n_labels):
            if costs[label] == CORRECT:
                if good[0] == -1 or self.scores[label] > self.scores[good[0]]:
                    good[0] = label
            elif costs[label] == WRONG:
                if bad[0] == -1 or self.scores[label] > self.scores[bad[0]]:
                    bad[0] = label

    cdef int _correct(self, const uint8_t* costs, StepC* result) except -1 nogil:
        """Learn from one decision whose features are active, and spoil nothing else: if
        it is right, nothing changes, and if not, weights change by just as much as is
        needed, those of rare features more than those of frequent ones. A prefix that
        is not sure enough to end the decision need not be right."""
        cdef const ProgramC* program = &self.program.c
        cdef int t, stage, good, bad, _turn
        cdef int first = 0
        cdef float missing
        result.loss = 0
        result.guess = 0
        result.best_correct = -1
        for stage in range(program.n_stages):
            for t in range(first, program.stage_ends[stage]):
                if self.active[t] != NULL:
                    self._add_scores(self.active[t])
            first = program.stage_ends[stage]
            for _turn in range(MAX_TURNS):
                self._find_best(costs, &good, &bad)
                result.best_correct = good
                if good == -1 or bad == -1:
                    result.guess = good if bad == -1 else bad
                    break
                missing = self.scores[bad] - self.scores[good]
                if stage + 1 == program.n_stages:
                    missing += CORRECTED_LEAD
                else:
                    missing -= HARMLESS_LEAD * self.margins[stage]
                result.guess = good
                if missing <= 0:
                    break
                result.loss += missing
                self._move(first, good, bad, missing)
        return 0

    cdef int _move(self, int n_templates, int good, int bad, float missing) except -1 nogil:
        """Add to the lead of a label over another, by the first templates."""
        cdef float total = 0
        cdef float part
        cdef int t
        for t in range(n_templates):
            if self.active[t] != NULL:
                total += 2 * get_rate(self.active[t])
        for t in range(n_templates):
            if self.active[t] != NULL:
                part = missing * get_rate(self.active[t]) / total
                self._change(self.active[t], good, part)
                self._change(self.active[t], bad, -part)
        return 0

    cdef int _change(self, EntryC* entry, int label, float change) except -1 nogil:
        """Change a weight. None becomes the largest of all: compiling would round the
        others."""
        weight = self._find_weight(entry, label)
        change = max(-self.largest, min(self.largest, weight.value + change)) - weight.value
        weight.value += change
        self.scores[label] += change
        return 0

    cdef float _value(self, const WeightC* weight) noexcept nogil:
        """A weight as prediction uses it. Regularised dual averaging keeps the summed
        gradient and solves for the weight when it is needed."""
        cdef float pull, t
        if self.optimizer == ADAGRAD:
            return weight.value
        t = <float>self.n_steps
        pull = weight.value if weight.value > 0 else -weight.value
        pull -= self.l1 * t
        if pull <= 0:
            return 0
        pull *= self.eta / (
            self.delta + sqrtf(weight.squares) + self.eta * self.l2 * t
        )
        return -pull if weight.value > 0 else pull

    cdef void _add_scores(self, const EntryC* entry) noexcept nogil:
        cdef const WeightC* weight = self.weights.data() + entry.start
        for i in range(entry.n):
            self.scores[weight[i].label] += self._value(&weight[i])

    cdef size_t _find_place(self, feat_t key) noexcept nogil:
        """The place of a key: its entry, or the empty one where it belongs."""
        mask = self.entries.size() - 1
        place = key & mask
        while self.entries[place].kind != EMPTY and self.entries[place].key != key:
            place = (place + 1) & mask
        return place

    cdef EntryC* _see(self, feat_t key) noexcept nogil:
        """The entry of a feature, after counting one occurrence if it has no row. There
        is room for it, see _make_room."""
        entry = &self.entries[self._find_place(key)]
        if entry.kind == EMPTY:
            entry.key = key
            entry.kind = PENDING
            self.n_entries += 1
        if entry.kind == PENDING:
            entry.start += entry.start < MAX_SEEN
        return entry

    cdef EntryC* _find_row(self, feat_t key) noexcept nogil:
        """The entry of a feature that has a row, or NULL."""
        entry = &self.entries[self._find_place(key)]
        return entry if entry.kind == ROW else NULL

    cdef EntryC* _claim_row(self, feat_t key) noexcept nogil:
        """The entry of a feature, which gets a row when it was seen often enough, or
        NULL."""
        entry = self._see(key)
        if entry.kind == PENDING and entry.start >= <uint32_t>self.cutoff:
            entry.kind = ROW
        return entry if entry.kind == ROW else NULL

    cdef int _make_room(self, size_t n) except -1 nogil:
        """Make sure that so many new entries have room and do not move the others."""
        size = self.entries.size()
        while 3 * (self.n_entries + n) > 2 * size:
            size *= 2
        if size > self.entries.size():
            self._grow(size)
        return 0

    cdef int _grow(self, size_t size) except -1 nogil:
        cdef vector[EntryC, LargePages[EntryC]] old
        # If there is no memory for it, the table stays as it is.
        old.resize(size)
        old.swap(self.entries)
        for i in range(old.size()):
            if old[i].kind != EMPTY:
                self.entries[self._find_place(old[i].key)] = old[i]
        return 0

    cdef WeightC* _find_weight(self, EntryC* entry, int label) except NULL nogil:
        """The weight of a label in a row, made if it is not there."""
        cdef WeightC* weight = self.weights.data() + entry.start
        for i in range(entry.n):
            if weight[i].label == <uint32_t>label:
                return &weight[i]
        if entry.n & (entry.n - 1) == 0:
            self._move_row(entry)
        weight = self.weights.data() + entry.start + entry.n
        weight.value = 0
        weight.squares = 0
        weight.label = label
        entry.n += 1
        return weight

    cdef int _move_row(self, EntryC* entry) except -1 nogil:
        """Move a row that is full to a block of twice the size; the old one is kept for
        reuse. Nothing changes before there is memory for all of it."""
        cdef vector[uint32_t]* freed = NULL
        cdef int size_class = 0
        cdef size_t end
        cdef uint32_t start
        while (1 << size_class) <= entry.n:
            size_class += 1
        if entry.n:
            freed = &self.free_blocks[size_class - 1]
            if freed.size() == freed.capacity():
                freed.reserve(2 * freed.size() + 1)
        if self.free_blocks[size_class].empty():
            start = <uint32_t>self.weights.size()
            end = self.weights.size() + (<size_t>1 << size_class)
            if end > <size_t>MAX_WEIGHTS:
                with gil:
                    raise MemoryError()
            self.weights.resize(end)
        else:
            start = self.free_blocks[size_class].back()
            self.free_blocks[size_class].pop_back()
        for i in range(entry.n):
            self.weights[start + i] = self.weights[entry.start + i]
        if entry.n:
            freed.push_back(entry.start)
        entry.start = start
        return 0


cdef int check_weights(
    list arrays, const uint32_t[::1] labels, uint32_t n_labels
) except -1:
    """Raise an error unless arrays have one length, and all labels are known."""
    cdef uint32_t highest = 0
    cdef Py_ssize_t i
    for i in range(labels.shape[0]):
        highest = max(highest, labels[i])
    if any(len(array) != labels.shape[0] for array in arrays) or (
        labels.shape[0] and highest >= n_labels
    ):
        raise ValueError(Errors.DS216.format(what="the weights of a learner"))
    return 0


cdef inline float get_rate(const EntryC* entry) noexcept nogil:
    """How readily the weights of a feature change. One that has to do with many labels
    is frequent."""
    cdef float n = <float>entry.n
    return 1 / (1 + n * n)
