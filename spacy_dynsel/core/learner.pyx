# cython: infer_types=True
"""Trainable weights: AdaGrad on hinge losses at the checkpoints of a template list.

A decision takes these steps, which can be used apart:

    gather, hide, claim_rows   fill the list of its features, each with its stage
    score                      add up the weights of the features up to a stage
    add_gradient               say how the score of a label should move after a stage
    apply_gradient             move the weights of all features, stage by stage
"""
from libc.math cimport rint, sqrtf
from libcpp.algorithm cimport fill

import numpy as np

from ..base.errors import Errors
from ..base.settings import OBJECTIVES, OPTIMIZERS
from .forms.packing import MAX_WEIGHT

from .adagrad cimport take_step
from .program cimport ProgramC, get_key, is_hidden
from .random cimport next_random, start_random
from .typedefs cimport uint32_t
from .weight_state cimport list_weights, load_table, save_table
from .weight_table cimport EntryC, check_weights, get_rate

cdef enum:
    # How many wrong labels a correction puts in their place, one after the other.
    MAX_TURNS = 8

# The lead of a corrected decision, well above what rounding can change; and the lead, as
# a part of the margin, up to which a prefix may be wrong.
cdef float CORRECTED_LEAD = 1
cdef float HARMLESS_LEAD = 0.5
# What compiling makes of the largest weight.
cdef float LARGEST_INTEGER = MAX_WEIGHT
# How many margins behind the best a label of parts is given up: predictions give it up
# there as well, and hundreds of labels are not added up for each prefix.
cdef float LOST = 3

cdef class Learner:
    """Learns the weights of one classifier, online.

    program (Program): The templates.
    n_labels (int): The number of labels.
    settings (LearnerSettings): See there.
    parts (LabelParts): What labels are made of, if they are not just wholes.
    wholes (Sequence[bool]): With parts: for each template whether it has weights for
        whole labels, and not just for parts.
    """

    def __init__(
        self,
        Program program not None,
        int n_labels,
        settings,
        LabelParts parts=None,
        wholes=(),
    ):
        if (
            self.program is not None
            or n_labels < 0
            or program.c.n_templates == 0
            or (parts is not None and parts.c.n_labels != n_labels)
            or (parts is not None and len(wholes) != program.c.n_templates)
        ):
            raise ValueError(Errors.DS216.format(what=f"a learner of {n_labels} labels"))
        self.program = program
        self.n_labels = n_labels
        self.parts = parts
        self.c_parts.n_parts = 0
        if parts is not None:
            self.c_parts = parts.c
            self.reach = [
                parts.n_outputs if is_whole else parts.n_parts for is_whole in wholes
            ]
        self.objective = OBJECTIVES.index(settings.objective)
        self.optimizer = OPTIMIZERS.index(settings.optimizer)
        self.eta = settings.eta
        self.delta = settings.delta
        self.l1 = settings.l1
        self.l2 = settings.l2
        self.cutoff = settings.cutoff
        self.random_state = start_random(settings.seed)
        self.n_steps = 0
        self.corrects = False
        self.largest = 0
        self.row_stamp = 0
        self.margins = settings.stage_margins(program.c.n_stages)
        self.table.make_room(program.c.n_templates)
        self.features.resize(program.c.n_templates)
        self._resize(n_labels)

    def resize(self, int n_labels) -> None:
        """Make room for more labels, which have no weights yet."""
        if n_labels < self.n_labels or (
            self.parts is not None and n_labels != self.n_labels
        ):
            raise ValueError(Errors.DS218.format(old=self.n_labels, new=n_labels))
        self._resize(n_labels)

    cdef int _resize(self, int n_labels) except -1:
        cdef int n_outputs = self.c_parts.n_parts + n_labels
        if n_outputs > 0xFFFF:
            raise ValueError(Errors.DS216.format(what=f"a learner of {n_labels} labels"))
        self.scores.resize(n_labels)
        if self.c_parts.n_parts:
            self.sums.resize(n_outputs)
            self.all_labels = range(n_labels)
        else:
            self.reach.assign(self.program.c.n_templates, n_outputs)
        self.gradient.resize(n_outputs)
        self.is_touched.resize(n_outputs)
        self.stamps.resize(n_outputs)
        self.n_labels = n_labels
        self.n_outputs = n_outputs
        return 0

    def reject_rare(self) -> None:
        """End the counting: features seen less often than the cutoff get no row, now
        or later; the others get one. Without this, a feature gets its row when it has
        been seen often enough during training."""
        for i in range(self.table.entries.size()):
            entry = &self.table.entries[i]
            if entry.is_pending():
                if entry.get_count() >= <uint32_t>self.cutoff:
                    entry.make_row()
                else:
                    entry.reject()

    def get_weights(self) -> tuple:
        """All weights that are not zero, sorted by key and label.

        RETURNS (tuple): Arrays of keys (uint32), labels (uint32) and values (float32).
            If labels have parts, outputs take the place of labels.
        """
        keys, labels, values, squares = list_weights(&self.table)
        cdef float[::1] value_view = values
        cdef const float[::1] square_view = squares
        cdef Py_ssize_t i
        if self.optimizer != ADAGRAD:
            for i in range(value_view.shape[0]):
                value_view[i] = self._value(value_view[i], square_view[i])
        kept = values != 0
        return keys[kept], labels[kept], values[kept]

    def correct_from(self, keys, labels, values) -> None:
        """Go on from weights that are finished. From here on the learner takes what it
        is shown as corrections: see _correct."""
        cdef const uint32_t[::1] key_view = keys
        cdef const uint32_t[::1] label_view = labels
        cdef const float[::1] value_view = values
        check_weights([keys, labels, values], label_view, self.n_outputs)
        self.table.make_room(key_view.shape[0])
        self.corrects = True
        self.optimizer = ADAGRAD
        self.largest = max(1, float(np.abs(values).max(initial=0.0)))
        for i in range(key_view.shape[0]):
            entry = self.table.see(key_view[i])
            entry.make_row()
            self.table.find_weight(entry, label_view[i]).value[0] = value_view[i]

    def get_state(self) -> dict:
        """All that learning depends on, as arrays, in the order of the keys.

        RETURNS (dict): What save_table gives; and numbers.
        """
        return {
            **save_table(&self.table),
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
        random_state, n_steps, corrects, largest = state["numbers"].tolist()
        load_table(&self.table, state, self.n_outputs)
        self.random_state = random_state
        self.n_steps = n_steps
        self.largest = np.uint32(largest).view("float32")
        if corrects:
            self.corrects = True
            self.optimizer = ADAGRAD

    cdef int count(self, const ContextC* context) except -1 nogil:
        """Count the features of one decision, before training."""
        self.table.make_room(self.program.c.n_templates)
        for t in range(self.program.c.n_templates):
            self.table.see(get_key(&self.program.c.templates[t], context))
        return 0

    cdef float random(self) noexcept nogil:
        """A number in [0, 1)."""
        return <float>next_random(&self.random_state) * <float>(1.0 / (1 << 24))

    cdef int end_sequence(self, bint is_last) except -1 nogil:
        """Say that a sequence of decisions ends here.

        is_last: Whether nothing follows for now.
        """
        return 0

    cdef int guess(self, const ContextC* context, const uint8_t* costs) noexcept nogil:
        """The best valid label by all templates, without learning."""
        return self.guess_early(context, costs, self.program.c.n_templates)

    cdef int guess_early(
        self, const ContextC* context, const uint8_t* costs, int n_templates
    ) noexcept nogil:
        """The best valid label by the first templates, without learning."""
        cdef int best = 0
        self.gather(context, n_templates)
        self._find_rows(False)
        self.score(self.program.c.n_stages)
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
        result.loss = 0
        result.guess = 0
        result.best_correct = -1
        result.best_wrong = -1
        self.n_steps += 1
        self.gather(context, self.program.c.n_templates)
        self.hide(context, drop)
        self.claim_rows()
        if self.corrects:
            return self._correct(costs, result)
        self._find_moves(costs, result)
        self.apply_gradient()
        return self._end_step(result)

    cdef void gather(self, const ContextC* context, int n_templates) noexcept nogil:
        """Start a decision: list the features that the first templates find."""
        cdef const ProgramC* program = &self.program.c
        cdef FeatureC* feature = self.features.data()
        cdef int t, stage = 0
        for t in range(n_templates):
            stage += t == program.stage_ends[stage]
            feature[t].key = get_key(&program.templates[t], context)
            feature[t].template = t
            feature[t].stage = stage
            feature[t].n_outputs = self.reach[t]
            self.table.prefetch(feature[t].key)
        self.n_features = n_templates

    cdef void hide(self, const ContextC* context, float drop) noexcept nogil:
        """Leave out the features of hidden words, and others by chance. The list has one
        for each template."""
        cdef int t, n = 0
        for t in range(self.n_features):
            if is_hidden(&self.program.c.templates[t], context):
                continue
            if drop == 0 or self.random() >= drop:
                self.features[n] = self.features[t]
                n += 1
        self.n_features = n

    cdef int claim_rows(self) except -1 nogil:
        """Count the features, and keep those that are frequent enough to have a row."""
        self.table.make_room(self.n_features)
        self._find_rows(True)
        return 0

    cdef void _find_rows(self, bint counts) noexcept nogil:
        """Keep the features that have a row, and start to add them up."""
        cdef FeatureC* feature = self.features.data()
        cdef EntryC* row
        cdef int i, n = 0
        for i in range(self.n_features):
            if counts:
                row = self.table.claim_row(feature[i].key, self.cutoff)
            else:
                row = self.table.find_row(feature[i].key)
            if row != NULL:
                self.table.prefetch_row(row)
                feature[n] = feature[i]
                feature[n].row = row
                n += 1
        self.n_features = n
        self._expand()
        self.n_scored = 0
        fill(self.scores.begin(), self.scores.end(), <float>0)
        fill(self.sums.begin(), self.sums.end(), <float>0)
        self.left.assign(self.all_labels.begin(), self.all_labels.end())
        self._clear_touched()
        self.moves.clear()

    cdef void _expand(self) noexcept nogil:
        """Add to the features what others make of them."""

    cdef int _end_step(self, const StepC* result) except -1 nogil:
        """Learn what is not weights."""
        return 0

    cdef void score(self, int stage) noexcept nogil:
        """Add the weights of all features up to a stage to the scores."""
        cdef float* scores = self.scores.data()
        if self.c_parts.n_parts:
            scores = self.sums.data()
        while (
            self.n_scored < self.n_features
            and self.features[self.n_scored].stage <= stage
        ):
            row = self.table.get_row(self.features[self.n_scored].row)
            if self.optimizer == ADAGRAD:
                for i in range(row.n):
                    scores[row.labels[i]] += row.values[i]
            else:
                for i in range(row.n):
                    scores[row.labels[i]] += self._value(row.values[i], row.squares[i])
            self.n_scored += 1
        if self.c_parts.n_parts:
            self._combine()

    cdef void _combine(self) noexcept nogil:
        """Add up the scores of labels from those of their parts."""
        cdef const float* sums = self.sums.data()
        cdef const PartsC* parts = &self.c_parts
        cdef float total
        for label in self.left:
            total = sums[parts.n_parts + label]
            for i in range(parts.starts[label], parts.starts[label + 1]):
                total += sums[parts.ids[i]]
            self.scores[label] = total

    cdef void _rule_out(self, const uint8_t* costs, float limit) noexcept nogil:
        """Give up wrong labels whose scores are below a limit."""
        cdef size_t n = 0
        for label in self.left:
            if self.scores[label] >= limit or costs[label] == CORRECT:
                self.left[n] = label
                n += 1
        self.left.resize(n)

    cdef int _find_moves(self, const uint8_t* costs, StepC* result) except -1 nogil:
        """Add the gradient of the hinge losses of the prefixes."""
        cdef int stage, good, bad
        cdef int n_stages = self.program.c.n_stages
        cdef float loss
        for stage in range(n_stages):
            self.score(stage)
            if self.c_parts.n_parts:
                find_best_left(
                    self.scores.data(), costs, self.left.data(), self.left.size(),
                    &good, &bad,
                )
            else:
                find_best(self.scores.data(), costs, self.n_labels, &good, &bad)
            result.best_correct = good
            result.best_wrong = bad
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
            if self.objective == FULL and stage + 1 < n_stages:
                continue
            loss = self.scores[bad] - self.scores[good] + self.margins[stage]
            if loss > 0:
                result.loss += loss
                self.add_gradient(stage, good, -1)
                self.add_gradient(stage, bad, 1)
            elif self.objective == FIRST_SATISFIED:
                break
            if self.c_parts.n_parts:
                self._rule_out(costs, self.scores[result.guess] - LOST * self.margins[stage])
        return 0

    cdef int add_gradient(self, int stage, int label, float gradient) except -1 nogil:
        """Say how the loss changes with the score of a label after a stage. Call in the
        order of the stages."""
        cdef MoveC move
        move.stage = stage
        move.label = label
        move.gradient = gradient
        self.moves.push_back(move)
        return 0

    cdef int apply_gradient(self) except -1 nogil:
        """Move the weights of all features. A feature takes part in the prefix of its own
        stage and in all later ones, so that gradients add up from the last stage to the
        first."""
        cdef int stage, i
        cdef int first = self.n_features
        cdef int end
        cdef size_t move = self.moves.size()
        cdef size_t end_move
        for stage in range(self.program.c.n_stages - 1, -1, -1):
            end = first
            while first > 0 and self.features[first - 1].stage == stage:
                first -= 1
            end_move = move
            while move > 0 and self.moves[move - 1].stage == stage:
                move -= 1
            self._touch(move, end_move)
            if self.touched.empty():
                continue
            for i in range(first, end):
                self._move_row(&self.features[i])
        return 0

    cdef int _move_row(self, FeatureC* feature) except -1 nogil:
        """Move the weights of one feature: in one pass those that it has, then those that
        are new. Rows can be long, so that none is searched twice."""
        cdef int output
        cdef float g
        self.row_stamp += 1
        row = self.table.get_row(feature.row)
        for i in range(row.n):
            g = self.gradient[row.labels[i]]
            if g != 0:
                self._move_weight(&row.values[i], &row.squares[i], g)
                self.stamps[row.labels[i]] = self.row_stamp
        for output in self.touched:
            g = self.gradient[output]
            if (
                g != 0
                and output < feature.n_outputs
                and self.stamps[output] != self.row_stamp
            ):
                if row.n == 0:
                    # The row may be that of all features without weights.
                    feature.row = self.table.see(feature.key)
                    feature.row.make_row()
                weight = self.table.add_weight(feature.row, output)
                self._move_weight(weight.value, weight.squares, g)
        return 0

    cdef inline void _move_weight(
        self, float* value, float* squares, float g
    ) noexcept nogil:
        if self.optimizer == ADAGRAD:
            take_step(value, squares, g, self.eta, self.delta)
        else:
            squares[0] += g * g
            value[0] += g

    cdef int _touch(self, size_t first, size_t end) except -1 nogil:
        """Add some moves to the gradient."""
        cdef size_t i
        for i in range(first, end):
            self._touch_label(self.moves[i].label, self.moves[i].gradient)
        return 0

    cdef int _touch_label(self, int label, float gradient) except -1 nogil:
        """Add to the gradient of all outputs that a label is made of."""
        cdef const PartsC* parts = &self.c_parts
        if parts.n_parts:
            for i in range(parts.starts[label], parts.starts[label + 1]):
                self._touch_output(parts.ids[i], gradient)
        return self._touch_output(parts.n_parts + label, gradient)

    cdef int _touch_output(self, int output, float gradient) except -1 nogil:
        if not self.is_touched[output]:
            self.touched.push_back(output)
            self.is_touched[output] = True
        self.gradient[output] += gradient
        return 0

    cdef void _clear_touched(self) noexcept nogil:
        for output in self.touched:
            self.gradient[output] = 0
            self.is_touched[output] = False
        self.touched.clear()

    cdef int _correct(self, const uint8_t* costs, StepC* result) except -1 nogil:
        """Learn from one decision and spoil nothing else: if it is right, nothing
        changes, and if not, weights change by just as much as is needed, those of rare
        features more than those of frequent ones. A prefix that is not sure enough to
        end the decision need not be right."""
        cdef int stage, good, bad, _turn
        cdef int n_stages = self.program.c.n_stages
        cdef float missing
        for stage in range(n_stages):
            self.score(stage)
            for _turn in range(MAX_TURNS):
                find_best(self.scores.data(), costs, self.n_labels, &good, &bad)
                result.best_correct = good
                if good == -1 or bad == -1:
                    result.guess = good if bad == -1 else bad
                    break
                missing = self.scores[bad] - self.scores[good]
                if stage + 1 == n_stages:
                    missing += CORRECTED_LEAD
                else:
                    missing -= HARMLESS_LEAD * self.margins[stage]
                result.guess = good
                if missing <= 0:
                    break
                result.loss += missing
                self._raise_lead(good, bad, missing)
        return 0

    cdef int _raise_lead(self, int good, int bad, float missing) except -1 nogil:
        """Add to the lead of a label over another, by the features scored so far."""
        cdef float total = 0
        # The smallest change that compiling keeps. What is less goes on to the next
        # feature, and the end is rounded up.
        cdef float least = self.largest / LARGEST_INTEGER
        cdef float due = least / 2
        cdef float change
        cdef int i, output
        cdef uint32_t n
        # What the two share is left alone.
        self._clear_touched()
        self._touch_label(good, 1)
        self._touch_label(bad, -1)
        for i in range(self.n_scored):
            n = self.table.get_row(self.features[i].row).n
            for output in self.touched:
                if self.gradient[output] != 0 and output < self.features[i].n_outputs:
                    total += get_rate(n)
        for i in range(self.n_scored):
            n = self.table.get_row(self.features[i].row).n
            if n == 0:
                self.features[i].row = self.table.see(self.features[i].key)
                self.features[i].row.make_row()
            for output in self.touched:
                if self.gradient[output] != 0 and output < self.features[i].n_outputs:
                    due += missing * get_rate(n) / total
                    change = least * rint(due / least)
                    if change > 0:
                        due -= change
                        self._change(
                            self.features[i].row, output, change * self.gradient[output]
                        )
        if self.c_parts.n_parts:
            self._combine()
        return 0

    cdef int _change(self, EntryC* row, int output, float change) except -1 nogil:
        """Change a weight. None becomes the largest of all: compiling would round the
        others."""
        weight = self.table.find_weight(row, output)
        change += weight.value[0]
        change = max(-self.largest, min(self.largest, change)) - weight.value[0]
        weight.value[0] += change
        if self.c_parts.n_parts:
            self.sums[output] += change
        else:
            self.scores[output] += change
        return 0

    cdef float _value(self, float value, float squares) noexcept nogil:
        """A weight as prediction uses it. Regularised dual averaging keeps the summed
        gradient and solves for the weight when it is needed."""
        cdef float pull, t
        if self.optimizer == ADAGRAD:
            return value
        t = <float>self.n_steps
        pull = value if value > 0 else -value
        pull -= self.l1 * t
        if pull <= 0:
            return 0
        pull *= self.eta / (
            self.delta + sqrtf(squares) + self.eta * self.l2 * t
        )
        return -pull if value > 0 else pull
