"""A compiled classifier for labels that are made of parts, of which there may be
thousands.

The first stage reads nothing but the word itself. What it says depends on the word
alone, so that the lexicon keeps it: the best labels, with their scores; of a frequent
word, those that it was seen with. These are all that later stages look at. They score
parts, of which there are few, as a cached scorer does; templates that have something to
say about whole labels as well are looked up by key, and say both at once. Both are added
up only for labels that are left: after each checkpoint those within the margin of the
best. One that is left alone has won.
"""
from libc.string cimport memset

import numpy as np

from ...base.errors import Errors

from ..leads cimport NEVER, NO_RIVAL, get_margin
from ..program cimport MAX_PLACES, Program
from ..search cimport find_place
from ..typedefs cimport feat_t, uint32_t
from .cached cimport LANES, StageC, add_stage, sum_fused
from .packing cimport add_some_weights

N_CANDIDATES = MAX_CANDIDATES

cdef enum:
    LINE = 64
    # Below any score.
    LOWEST = -(1 << 30)


cdef class FactoredScorer(WordScorer):
    """Scores labels that are made of parts.

    program (Program): The templates. Those of the first stage read the word alone.
    parts (LabelParts): The parts of labels.
    index (array), slots (array): The weights of parts and, after these, of whole labels,
        see packing.pyx.
    has_wholes (Sequence[bool]): For each template whether it has weights for whole labels.
    seen (SeenLabels): The labels that frequent words were seen with.
    scale (float): The integer that stands for a weight of 1.
    cardinalities (dict), pairs (array): See CachedScorer. Pairs have weights of parts.
    """

    def __init__(
        self,
        Program program not None,
        LabelParts parts not None,
        const uint32_t[::1] index not None,
        slots,
        has_wholes,
        seen,
        float scale,
        dict cardinalities not None,
        pairs=None,
    ):
        cdef int i, t
        if parts.starts is None or len(has_wholes) != program.c.n_templates:
            raise ValueError(Errors.DS216.format(what="the parts of labels"))
        for t in range(program.c.stage_ends[0]):
            for i in range(program.c.templates[t].n_atoms):
                if program.c.templates[t].atoms[i].place != program.places.index("0"):
                    raise ValueError(Errors.DS216.format(what="templates of a first stage"))
        context = CachedScorer(
            program, parts.n_parts, index, slots, scale, cardinalities, pairs=pairs,
            n_outputs=parts.n_outputs,
            by_key=[t for t in range(program.c.n_templates) if has_wholes[t]],
        )
        self.pairs = pairs
        self.set_weights(program, context.weights, scale)
        self.n_labels = parts.n_labels
        self.n_outputs = parts.n_outputs
        self._seen_keys = seen.keys
        self._seen_starts = seen.starts
        self._seen_labels = seen.labels
        check_seen(self._seen_keys, self._seen_starts, self._seen_labels, parts.n_labels)
        self.parts = parts
        self.context = context
        self.lexical_limits = self.context.lexical_limits
        self.dynamic_limits = self.context.dynamic_limits
        self.c.context = &self.context.c
        self.c.parts = parts.c
        self.c.n_stages = program.c.n_stages
        # Those by key may add to whole labels even without weights for these: others may
        # have the same key by chance.
        self._is_by_key.assign(program.c.n_templates, False)
        for i in range(<int>self.context._hashed.size()):
            self._is_by_key[self.context._hashed[i]] = True
        self.c.n_sums = max(self.context.c.width, parts.n_outputs)
        self.c.n_sums = (self.c.n_sums + LANES - 1) // LANES * LANES
        self.c.offset = (self.context.count_row_bytes() + LINE - 1) // LINE * LINE
        # Records are made one at a time, by whoever holds the GIL.
        self._sums.resize(self.c.n_sums)
        self._scores.resize(parts.n_labels)

    cdef bint is_made(self) noexcept nogil:
        return self.c.context != NULL

    cdef size_t count_row_bytes(self) noexcept nogil:
        return self.c.offset + sizeof(CandidatesC)

    cdef void fill(self, LexemeRecC* record, char* rows) noexcept nogil:
        """Fill the rows of a word, and find its candidates."""
        cdef CandidatesC* found = <CandidatesC*>(rows + self.c.offset)
        cdef const int32_t* scores = self._scores.data()
        cdef Py_ssize_t place = find_place(self._seen_keys, record.orth)
        cdef int label, i
        self.context.fill(record, rows)
        score_word(&self.c, record, self._sums.data(), self._scores.data())
        found.n = 0
        if place >= 0:
            for i in range(self._seen_starts[place], self._seen_starts[place + 1]):
                add_candidate(found, self._seen_labels[i], scores[self._seen_labels[i]])
        else:
            for label in range(self.c.parts.n_labels):
                add_candidate(found, label, scores[label])

    cdef void add_feature(
        self, int template, feat_t key, score_t* scores
    ) noexcept nogil:
        cdef int n = self.n_outputs if self._is_by_key[template] else self.c.parts.n_parts
        add_some_weights(&self.weights.c, key, 0, n, scores)

    def find_seen(self, uint64_t orth):
        """The labels that a word was seen with, or None for a rare one."""
        cdef Py_ssize_t place = -1
        if self.parts is not None:
            place = find_place(self._seen_keys, orth)
        if place < 0:
            return None
        labels = self._seen_labels[self._seen_starts[place] : self._seen_starts[place + 1]]
        return np.asarray(labels)

    def find_pairs(self, vector[feat_t] keys) -> list:
        if self.parts is None:
            raise ValueError(Errors.DS216.format(what="a scorer that was never made"))
        found = self.context.find_pairs(keys)
        wholes = np.zeros(self.n_labels, dtype="int16")
        return [
            (i, j, np.concatenate([row[: self.parts.n_parts], wholes]))
            for i, j, row in found
        ]

    def combine(self, outputs):
        if self.parts is None:
            raise ValueError(Errors.DS216.format(what="a scorer that was never made"))
        return self.parts.combine(outputs)


cdef void score_word(
    const FactoredScorerC* scorer, LexemeRecC* record, score_t* sums, int32_t* scores
) noexcept nogil:
    """What the first stage says about all labels of a word.

    record: The word, with the rows of the scorer of parts.
    sums: [n_sums]
    scores: [n_labels]
    """
    cdef const PartsC* parts = &scorer.parts
    cdef LexemeRecC* places[MAX_PLACES]
    cdef ContextC context
    cdef const score_t* wholes = sums + parts.n_parts
    cdef int i, label
    cdef int32_t total
    for i in range(MAX_PLACES):
        places[i] = record
    context.lexemes = places
    context.dynamic = NULL
    memset(sums, 0, scorer.n_sums * sizeof(score_t))
    sum_fused(scorer.context, 0, &context, sums)
    add_stage(scorer.context, 0, &context, sums)
    for label in range(parts.n_labels):
        total = wholes[label]
        for i in range(parts.starts[label], parts.starts[label + 1]):
            total += sums[parts.ids[i]]
        scores[label] = total


cdef inline void add_candidate(
    CandidatesC* found, int label, int32_t score
) noexcept nogil:
    """Sort a label in, if it is one of the best. Call in the order of labels: ties go to
    the lower one."""
    cdef int place
    if found.n == MAX_CANDIDATES:
        if score <= found.scores[MAX_CANDIDATES - 1]:
            return
        found.n -= 1
    place = found.n
    while place > 0 and found.scores[place - 1] < score:
        found.scores[place] = found.scores[place - 1]
        found.labels[place] = found.labels[place - 1]
        place -= 1
    found.scores[place] = score
    found.labels[place] = <uint16_t>label
    found.n += 1


cdef int check_seen(
    const uint64_t[::1] keys,
    const int32_t[::1] starts,
    const uint16_t[::1] labels,
    int n_labels,
) except -1:
    """Raise an error unless the lists of labels can be read without harm: each has some,
    in order."""
    cdef Py_ssize_t i, j
    cdef bint fits = (
        starts.shape[0] == keys.shape[0] + 1
        and starts[0] == 0
        and starts[keys.shape[0]] == labels.shape[0]
    )
    if fits:
        for i in range(keys.shape[0]):
            fits &= starts[i] < starts[i + 1] and (i == 0 or keys[i - 1] < keys[i])
    if fits:
        for i in range(keys.shape[0]):
            for j in range(starts[i], starts[i + 1]):
                fits &= labels[j] < n_labels and (
                    j == starts[i] or labels[j - 1] < labels[j]
                )
    if not fits:
        raise ValueError(Errors.DS035.format(what="its labels of words are malformed"))
    return 0


cdef inline int measure_lead(int32_t best, int32_t second) noexcept nogil:
    """By how much a label leads. Labels of many parts may win by any score, but no lead is
    as large as a margin that is never reached."""
    return min(best - second, <int32_t>NEVER - 1)


cdef void begin_choice(
    const FactoredScorerC* scorer, const LexemeRecC* record, const int* margins,
    ChoiceC* choice,
) noexcept nogil:
    """Score the first stage of a decision: read what the lexicon keeps.

    margins: [n_stages - 1] The lead that ends each stage but the last.
    choice: With room for MAX_CANDIDATES labels.
    """
    cdef const CandidatesC* found = <const CandidatesC*>(
        <const char*>record.rows + scorer.offset
    )
    cdef int margin = get_margin(margins, 0, scorer.n_stages)
    cdef int i = 1
    choice.label = found.labels[0]
    choice.lead = NO_RIVAL
    if found.n > 1:
        choice.lead = measure_lead(found.scores[0], found.scores[1])
    choice.stage = 0
    choice.has_sums = choice.has_wholes = False
    choice.is_made = margin == 0 or choice.lead >= margin
    if choice.is_made:
        return
    choice.scores[0] = found.scores[0]
    choice.labels[0] = found.labels[0]
    while i < found.n and found.scores[i] > found.scores[0] - margin:
        choice.scores[i] = found.scores[i]
        choice.labels[i] = found.labels[i]
        i += 1
    choice.n = i


cdef void begin_with_all(
    const FactoredScorerC* scorer, LexemeRecC* record, ChoiceC* choice
) noexcept nogil:
    """The same where the first stage rules out nothing.

    choice: With room for all labels.
    """
    cdef int label
    cdef int best = 0
    choice.n = scorer.parts.n_labels
    score_word(scorer, record, choice.sums, choice.scores)
    for label in range(choice.n):
        choice.labels[label] = <uint16_t>label
        if choice.scores[label] > choice.scores[best]:
            best = label
    choice.label = best
    choice.lead = 0
    choice.stage = 0
    choice.has_sums = choice.has_wholes = False
    choice.is_made = False


cdef void go_on(
    const FactoredScorerC* scorer, const ContextC* context, const int* margins,
    ChoiceC* choice,
) noexcept nogil:
    """Score the next stage of a decision that is not made yet."""
    cdef const PartsC* parts = &scorer.parts
    cdef score_t* sums = choice.sums
    cdef score_t* wholes = sums + parts.n_parts
    cdef const StageC* stage
    cdef int32_t* totals = choice.totals
    cdef int32_t best = LOWEST
    cdef int32_t second = LOWEST
    cdef int32_t total
    cdef int i, j, label, margin
    cdef int n = 0
    choice.stage += 1
    if not choice.has_sums:
        memset(sums, 0, scorer.context.width * sizeof(score_t))
        choice.has_sums = True
    stage = &scorer.context.stages[choice.stage]
    if stage.first_hashed < stage.end_hashed and not choice.has_wholes:
        memset(wholes, 0, parts.n_labels * sizeof(score_t))
        choice.has_wholes = True
    add_stage(scorer.context, choice.stage, context, sums)
    for i in range(choice.n):
        label = choice.labels[i]
        total = choice.scores[i]
        for j in range(parts.starts[label], parts.starts[label + 1]):
            total += sums[parts.ids[j]]
        if choice.has_wholes:
            total += wholes[label]
        totals[i] = total
        if total > best or (total == best and label < choice.label):
            choice.label = label
            second = best
            best = total
        elif total > second:
            second = total
    choice.lead = measure_lead(best, second) if choice.n > 1 else NO_RIVAL
    margin = get_margin(margins, choice.stage, scorer.n_stages)
    choice.is_made = margin == 0 or choice.lead >= margin
    if choice.is_made:
        return
    for i in range(choice.n):
        if margin >= NEVER or totals[i] > best - margin:
            choice.scores[n] = choice.scores[i]
            choice.labels[n] = choice.labels[i]
            n += 1
    choice.n = n
