# cython: infer_types=True
"""A learner that induces pairs of features: Choi (2016), Dynamic Feature Induction."""
from libcpp.algorithm cimport sort

from ..base.errors import Errors

from .learner cimport FeatureC, Learner, StepC
from .pairs cimport MemberC, PairC, list_pairs, may_pair, pair_key, read_pairs
from .typedefs cimport feat_t, uint32_t, uint64_t
from .weight_table cimport EntryC


cdef bint comes_before(const WaitingC& one, const WaitingC& other) noexcept nogil:
    return one.weight < other.weight


cdef class InducingLearner(Learner):
    """Learns weights, and which pairs of features to have weights for as well.

    A pair has the stage of its later member, so that a decision that ends early never
    needs it. Members are features of templates: no pair has a pair as a member.
    """

    def __init__(self, program, int n_labels, settings, *others):
        Learner.__init__(self, program, n_labels, settings, *others)
        cdef int n = self.program.c.n_templates
        self.n_strongest = settings.induction.strongest
        self.sure_lead = settings.induction.sure_lead * self.margins.back()
        self.max_pairs = settings.induction.max_pairs
        self.n_sequences = settings.induction.mini_batch
        self.n_read = 0
        self.met.resize(n)
        self.strongest.resize(self.n_strongest)
        self.strengths.resize(self.n_strongest)
        self.features.resize(n + n * (n - 1) // 2)
        self.expanded.resize(self.features.size())

    def get_pairs(self):
        """The pairs so far, as an array; see pairs.pyx."""
        return list_pairs(self.pairs)

    def set_pairs(self, pairs) -> None:
        """Start with some pairs."""
        if self.program is None or self.pairs.size():
            raise ValueError(Errors.DS216.format(what="a learner and its pairs"))
        read_pairs(pairs, self.program.c.n_templates, self.pairs, self.members)

    def get_state(self) -> dict:
        return {**Learner.get_state(self), "pairs": self.get_pairs()}

    def set_state(self, state: dict) -> None:
        Learner.set_state(self, state)
        self.set_pairs(state["pairs"])

    cdef void _expand(self) noexcept nogil:
        """Algorithm 2 of Choi (2016): put those pairs of features that were induced among
        the features, each after its later member and in its stage."""
        cdef MemberC member
        cdef FeatureC* feature
        cdef FeatureC* found = self.expanded.data()
        cdef EntryC* row
        cdef feat_t key
        cdef int i, j
        cdef int n_met = 0
        cdef int n = 0
        if self.pairs.empty():
            return
        for j in range(self.n_features):
            feature = &self.features[j]
            found[n] = feature[0]
            n += 1
            member = self.members.look_up(feature.key)
            if member.partners == 0:
                continue
            for i in range(n_met):
                if not may_pair(self.met[i], member):
                    continue
                key = pair_key(self.met[i].key, member.key)
                row = self.table.find_row(key)
                if row != NULL:
                    found[n].key = key
                    found[n].template = -1
                    found[n].stage = feature.stage
                    # Where labels have parts, a pair speaks of these alone.
                    found[n].n_outputs = self.c_parts.n_parts or self.n_outputs
                    found[n].row = row
                    n += 1
            self.met[n_met] = member
            n_met += 1
        self.n_features = n
        self.features.swap(self.expanded)

    cdef int _move_row(self, FeatureC* feature) except -1 nogil:
        """Move the weights of one feature, or wait for the end of the mini-batch."""
        cdef WaitingC waiting
        cdef int output
        if self.n_sequences == 0:
            return Learner._move_row(self, feature)
        for output in self.touched:
            if self.gradient[output] != 0 and output < feature.n_outputs:
                waiting.weight = <uint64_t>feature.key << 32 | <uint64_t>output
                waiting.gradient = self.gradient[output]
                self.waiting.push_back(waiting)
        return 0

    cdef int end_sequence(self, bint is_last) except -1 nogil:
        """Learn from a mini-batch when it is complete."""
        cdef size_t i = 0
        cdef uint64_t place
        cdef float gradient
        self.n_read += 1
        if self.n_read < self.n_sequences and not is_last:
            return 0
        self.n_read = 0
        self.table.make_room(self.waiting.size())
        sort(self.waiting.begin(), self.waiting.end(), &comes_before)
        while i < self.waiting.size():
            place = self.waiting[i].weight
            gradient = 0
            while i < self.waiting.size() and self.waiting[i].weight == place:
                gradient += self.waiting[i].gradient
                i += 1
            if gradient != 0:
                row = self.table.see(<feat_t>(place >> 32))
                row.make_row()
                weight = self.table.find_weight(row, <uint32_t>place)
                self._move_weight(weight.value, weight.squares, gradient)
        self.waiting.clear()
        return 0

    cdef int _end_step(self, const StepC* result) except -1 nogil:
        if result.best_correct == -1 or result.best_wrong == -1:
            return 0
        return self._induce(result.best_correct, result.best_wrong)

    cdef int _induce(self, int good, int bad) except -1 nogil:
        """Algorithm 1 of Choi (2016), lines 10 to 13: join the feature that speaks most
        for the correct label and against the wrong one with the next strongest ones."""
        cdef int i, place
        cdef int n = 0
        cdef float strength
        if (
            self.scores[good] - self.scores[bad] >= self.sure_lead
            or self.pairs.size() >= self.max_pairs
        ):
            return 0
        self._clear_touched()
        self._touch_label(good, 1)
        self._touch_label(bad, -1)
        for i in range(self.n_features):
            if self.features[i].template < 0:
                continue
            strength = self._get_strength(&self.features[i])
            if strength <= 0:
                continue
            place = n
            while place > 0 and self.strengths[place - 1] < strength:
                place -= 1
            if place == self.n_strongest:
                continue
            n = min(n + 1, self.n_strongest)
            for j in range(n - 1, place, -1):
                self.strengths[j] = self.strengths[j - 1]
                self.strongest[j] = self.strongest[j - 1]
            self.strengths[place] = strength
            self.strongest[place] = self.features[i]
        self._clear_touched()
        for i in range(1, n):
            self._join(&self.strongest[0], &self.strongest[i])
        return 0

    cdef float _get_strength(self, const FeatureC* feature) noexcept nogil:
        """What a feature adds to the lead that the gradient describes."""
        cdef float strength = 0
        row = self.table.get_row(feature.row)
        for i in range(row.n):
            strength += self.gradient[row.labels[i]] * self._value(
                row.values[i], row.squares[i]
            )
        return strength

    cdef int _join(self, const FeatureC* one, const FeatureC* other) except -1 nogil:
        """Make a pair of two features, with a row of its own. Rows may move."""
        cdef PairC pair
        cdef feat_t key = pair_key(one.key, other.key)
        self.table.make_room(1)
        self.members.make_room(2)
        entry = self.table.see(key)
        if entry.is_row():
            return 0
        if one.key > other.key:
            one, other = other, one
        pair.one = one.key
        pair.other = other.key
        pair.one_rank = one.template
        pair.other_rank = other.template
        self.pairs.push_back(pair)
        entry.make_row()
        self.members.join(pair.one, pair.other)
        return 0
