"""A compiled classifier for labels that are made of parts, of which there may be
thousands.

The first stage reads nothing but the word itself. What it says depends on the word
alone, so that the lexicon keeps it: the best labels, with their scores; of a frequent
word, those that it was seen with. These are all that later stages look at. They score
parts, of which there are few, by rows, tables and features as a cached scorer does; what
they say about whole labels is looked up by key. Both are added up only for labels that
are left: after each checkpoint those within the margin of the best. One that is left
alone has won.
"""
from libc.string cimport memset

import numpy as np

from ...base.errors import Errors

from ..leads cimport NEVER, NO_RIVAL, get_margin
from ..program cimport MAX_PLACES, Program, get_key
from ..search cimport find_place
from ..typedefs cimport feat_t, uint32_t
from .cached cimport add_stage, sum_fused
from .packing cimport PackedWeights, add_weights, prefetch_index, prefetch_weights
from .word_scorer cimport MAX_TEMPLATES

N_CANDIDATES = MAX_CANDIDATES

cdef enum:
    LINE = 64
    # Below any score.
    LOWEST = -(1 << 30)


cdef class FactoredScorer(WordScorer):
    """Scores labels that are made of parts.

    program (Program): The templates. Those of the first stage read the word alone.
    parts (LabelParts): The parts of labels.
    index (array), slots (array): The weights of parts, see packing.pyx.
    whole_index (array), whole_slots (array): The weights of whole labels.
    has_wholes (Sequence[bool]): For each template whether it has weights for these.
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
        const uint32_t[::1] whole_index not None,
        whole_slots,
        has_wholes,
        seen,
        float scale,
        dict cardinalities not None,
        pairs=None,
    ):
        cdef int i, t, stage
        if parts.starts is None or len(has_wholes) != program.c.n_templates:
            raise ValueError(Errors.DS216.format(what="the parts of labels"))
        for t in range(program.c.stage_ends[0]):
            for i in range(program.c.templates[t].n_atoms):
                if program.c.templates[t].atoms[i].place != program.places.index("0"):
                    raise ValueError(Errors.DS216.format(what="templates of a first stage"))
        context = CachedScorer(
            program, parts.n_parts, index, slots, scale, cardinalities, pairs=pairs
        )
        self.pairs = pairs
        self.set_weights(program, context.weights, scale)
        self.n_labels = parts.n_labels
        self.n_outputs = parts.n_outputs
        self.wholes = PackedWeights(whole_index, whole_slots, parts.n_labels)
        self._seen_keys = seen.keys
        self._seen_starts = seen.starts
        self._seen_labels = seen.labels
        check_seen(self._seen_keys, self._seen_starts, self._seen_labels, parts.n_labels)
        self.parts = parts
        self.context = context
        self.lexical_limits = self.context.lexical_limits
        self.dynamic_limits = self.context.dynamic_limits
        self.c.context = &self.context.c
        self.c.wholes = self.wholes.c
        self.c.parts = parts.c
        self.c.n_stages = program.c.n_stages
        t = 0
        for stage in range(program.c.n_stages):
            self._whole_starts.push_back(self._whole_templates.size())
            while t < program.c.stage_ends[stage]:
                self._has_wholes.push_back(bool(has_wholes[t]))
                if self._has_wholes[t]:
                    self._whole_templates.push_back(t)
                t += 1
        self._whole_starts.push_back(self._whole_templates.size())
        self.c.whole_starts = self._whole_starts.data()
        self.c.whole_templates = self._whole_templates.data()
        self.c.offset = (self.context.count_row_bytes() + LINE - 1) // LINE * LINE
        # Records are made one at a time, by whoever holds the GIL.
        self._sums.resize(count_sums(&self.c))
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
        add_weights(&self.weights.c, key, scores)
        # Others may have the same key by chance.
        if self._has_wholes[template]:
            add_weights(&self.wholes.c, key, scores + self.c.parts.n_parts)

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


cdef size_t count_sums(const FactoredScorerC* scorer) noexcept nogil:
    """How many sums score_word needs."""
    return <size_t>scorer.context.width + scorer.parts.n_labels


cdef int ask_for_wholes(
    const FactoredScorerC* scorer, int stage, const ContextC* context, feat_t* keys
) noexcept nogil:
    """Find the features of a stage that say something about whole labels, and ask for
    their weights. RETURNS: How many there are."""
    cdef int first = scorer.whole_starts[stage]
    cdef int n = scorer.whole_starts[stage + 1] - first
    cdef int i
    for i in range(n):
        keys[i] = get_key(
            &scorer.context.program.templates[scorer.whole_templates[first + i]], context
        )
        prefetch_index(&scorer.wholes, keys[i])
    for i in range(n):
        prefetch_weights(&scorer.wholes, keys[i])
    return n


cdef void score_word(
    const FactoredScorerC* scorer, LexemeRecC* record, score_t* sums, int32_t* scores
) noexcept nogil:
    """What the first stage says about all labels of a word.

    record: The word, with the rows of the scorer of parts.
    sums: See count_sums.
    scores: [n_labels]
    """
    cdef const PartsC* parts = &scorer.parts
    cdef LexemeRecC* places[MAX_PLACES]
    cdef feat_t[MAX_TEMPLATES] keys
    cdef ContextC context
    cdef score_t* wholes = sums + scorer.context.width
    cdef int i, label, n_keys
    cdef int32_t total
    for i in range(MAX_PLACES):
        places[i] = record
    context.lexemes = places
    context.dynamic = NULL
    n_keys = ask_for_wholes(scorer, 0, &context, keys)
    sum_fused(scorer.context, 0, &context, sums)
    add_stage(scorer.context, 0, &context, sums)
    memset(wholes, 0, parts.n_labels * sizeof(score_t))
    for i in range(n_keys):
        add_weights(&scorer.wholes, keys[i], wholes)
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
    choice.has_wholes = False
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
    const FactoredScorerC* scorer, LexemeRecC* record, score_t* sums, ChoiceC* choice
) noexcept nogil:
    """The same where the first stage rules out nothing.

    sums: See count_sums.
    choice: With room for all labels.
    """
    cdef int label
    cdef int best = 0
    choice.n = scorer.parts.n_labels
    score_word(scorer, record, sums, choice.scores)
    for label in range(choice.n):
        choice.labels[label] = <uint16_t>label
        if choice.scores[label] > choice.scores[best]:
            best = label
    choice.label = best
    choice.lead = 0
    choice.stage = 0
    choice.has_wholes = False
    choice.is_made = False


cdef void go_on(
    const FactoredScorerC* scorer, const ContextC* context, const int* margins,
    score_t* sums, ChoiceC* choice,
) noexcept nogil:
    """Score the next stage of a decision that is not made yet.

    sums: [width] What parts got after the first stage; zeros before the second.
    """
    cdef const PartsC* parts = &scorer.parts
    cdef feat_t[MAX_TEMPLATES] keys
    cdef int32_t* totals = choice.totals
    cdef int32_t best = LOWEST
    cdef int32_t second = LOWEST
    cdef int32_t total
    cdef int i, j, label, margin, n_keys
    cdef int n = 0
    choice.stage += 1
    # While these weights are on their way, those of parts are added up.
    n_keys = ask_for_wholes(scorer, choice.stage, context, keys)
    add_stage(scorer.context, choice.stage, context, sums)
    if n_keys:
        if not choice.has_wholes:
            memset(choice.wholes, 0, parts.n_labels * sizeof(score_t))
            choice.has_wholes = True
        for i in range(n_keys):
            add_weights(&scorer.wholes, keys[i], choice.wholes)
    for i in range(choice.n):
        label = choice.labels[i]
        total = choice.scores[i]
        for j in range(parts.starts[label], parts.starts[label + 1]):
            total += sums[parts.ids[j]]
        if choice.has_wholes:
            total += choice.wholes[label]
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
