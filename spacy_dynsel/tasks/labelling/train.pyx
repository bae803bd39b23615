"""Learning to label words, and what each template adds to a decision."""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from ...core.forms.word_scorer cimport WordScorer
from ...core.learner cimport CORRECT, WRONG, Learner, StepC
from ...core.lexicon cimport Lexicon
from ...core.program cimport ContextC, LexemeRecC, Program, get_key
from ...core.typedefs cimport atom_t, feat_t, score_t, uint8_t, uint16_t, uint64_t
from ...spacy_io.lexemes cimport LexemeReader
from ..examples cimport Examples
from ..run cimport REACH_C
from .history cimport History, count_free_templates, looks_ahead, write_label

cdef enum:
    NOT_C = -2

MISSING = -1
NOT = NOT_C


cdef class WordExamples(Examples):
    """The words of docs laid end to end, with what is known about their labels.

    docs (list[Doc]): The docs.
    gold (array): For each word a label, MISSING, or NOT - label for a label that is
        known to be wrong.
    ranges (array): The sequences to learn from: pairs of start and end, counted in
        words. They may overlap and reach over several docs.
    history (History): What templates read of labels.
    n_early (int): The number of stages that guess the labels of words to come, as far
        as they read no labels themselves.
    """
    cdef History history
    cdef int n_early
    cdef const int32_t[::1] gold
    cdef const int64_t[:, ::1] ranges
    cdef int highest         # of the labels
    cdef int lowest

    def __init__(
        self,
        list docs not None,
        const int32_t[::1] gold not None,
        const int64_t[:, ::1] ranges not None,
        Lexicon lexicon not None,
        LexemeReader reader not None,
        History history not None,
        int n_early,
    ):
        self.read(docs, lexicon, reader, True)
        self.history = history
        self.n_early = n_early
        self.gold = gold
        self.ranges = ranges
        self._check_sizes()

    cdef int _check_sizes(self) except -1:
        """Raise an error unless there is a label for each word, and ranges are within
        the words."""
        cdef int64_t n = self.records.size()
        cdef bint fits = self.gold.shape[0] == n and self.ranges.shape[1] == 2
        cdef Py_ssize_t i
        self.highest = -1
        self.lowest = 0
        if fits:
            for i in range(self.ranges.shape[0]):
                fits &= 0 <= self.ranges[i, 0] <= self.ranges[i, 1] <= n
            for i in range(n):
                self.highest = max(self.highest, self.gold[i])
                self.lowest = min(self.lowest, self.gold[i])
        if not fits:
            raise ValueError(Errors.DS216.format(what="docs, labels and sentences"))
        return 0

    cdef int _check_learner(self, Learner learner) except -1:
        """Raise an error unless a learner knows the labels, and sees such records."""
        self._check_program(learner.program, learner.n_labels)
        if self.highest >= learner.n_labels or (
            <int64_t>NOT_C - self.lowest >= learner.n_labels
        ):
            raise ValueError(Errors.DS216.format(what="a learner and its labels"))
        return 0

    cdef int _check_program(self, Program program, int n_labels) except -1:
        self.check_read()
        if program is None or program.c.n_columns > self.lexicon.n_columns:
            raise ValueError(Errors.DS216.format(what="templates and a lexicon"))
        self.history.check(&program.c, n_labels)
        if looks_ahead(&program.c, self.history.c.n_columns) and (
            count_free_templates(&program.c, self.n_early) == 0
        ):
            raise ValueError(Errors.DS216.format(what="templates and labels"))
        return 0

    cdef int _lay_out(
        self, int64_t start, int64_t end, vector[LexemeRecC*]& records, vector[atom_t]& tags
    ) except -1 nogil:
        """Bring a sequence into arrays with room at both ends."""
        cdef int64_t i
        cdef int j
        records.resize(end - start + 2 * REACH_C)
        tags.assign((end - start + 2 * REACH_C) * self.history.c.n_columns, <atom_t>0)
        for j in range(REACH_C):
            records[j] = self.lexicon.before_start
            records[end - start + REACH_C + j] = self.lexicon.after_end
        for i in range(start, end):
            records[i - start + REACH_C] = self.records[i]
        return 0

    cdef void _write(self, vector[atom_t]& tags, int64_t word, int label) noexcept nogil:
        """Say what the label of a word is, or is thought to be."""
        write_label(
            &self.history.c,
            tags.data() + (word + REACH_C) * self.history.c.n_columns,
            label,
        )

    cdef void _set_context(
        self,
        ContextC* context,
        vector[LexemeRecC*]& records,
        vector[atom_t]& tags,
        int64_t word,
    ) noexcept nogil:
        context.lexemes = records.data() + word
        context.dynamic = tags.data() + word * self.history.c.n_columns

    cdef void _look_ahead(
        self,
        Learner learner,
        const uint8_t* costs,
        vector[LexemeRecC*]& records,
        vector[atom_t]& tags,
        int* guesses,
    ) noexcept nogil:
        """Put what the early stages say where labels will be.

        guesses: What they said about these words before, or -1.
        """
        cdef ContextC context
        cdef size_t i
        cdef int n_free
        if not looks_ahead(&learner.program.c, self.history.c.n_columns):
            return
        n_free = count_free_templates(&learner.program.c, self.n_early)
        for i in range(records.size() - 2 * REACH_C):
            if guesses[i] < 0:
                self._set_context(&context, records, tags, i)
                guesses[i] = learner.guess_early(&context, costs, n_free)
            self._write(tags, i, guesses[i])

    def count(self, Learner learner not None) -> None:
        """Count features, with the true labels for all words."""
        cdef vector[LexemeRecC*] records
        cdef vector[atom_t] tags
        cdef ContextC context
        cdef int64_t i, r, start
        self._check_learner(learner)
        with nogil:
            for r in range(self.ranges.shape[0]):
                start = self.ranges[r, 0]
                self._lay_out(start, self.ranges[r, 1], records, tags)
                for i in range(self.ranges[r, 1] - start):
                    self._write(tags, i, max(self.gold[start + i], -1))
                for i in range(self.ranges[r, 1] - start):
                    self._set_context(&context, records, tags, i)
                    learner.count(&context)

    cdef int _hide_words(
        self,
        Learner learner,
        float word_dropout,
        vector[LexemeRecC*]& records,
        vector[uint64_t]& hidden,
    ) except -1 nogil:
        """Replace some records by copies that do not tell which word it is."""
        cdef size_t size = sizeof(LexemeRecC) + self.lexicon.n_columns * sizeof(atom_t)
        cdef size_t stride = (size + sizeof(uint64_t) - 1) // sizeof(uint64_t)
        cdef LexemeRecC* copy
        cdef size_t i
        hidden.resize(records.size() * stride)
        for i in range(REACH_C, records.size() - REACH_C):
            if learner.random() < word_dropout:
                copy = <LexemeRecC*>(hidden.data() + i * stride)
                memcpy(copy, records[i], size)
                self.hide_word(copy.atoms)
                records[i] = copy
        return 0

    def update(
        self,
        Learner learner not None,
        float drop,
        float word_dropout,
        float predicted_history,
    ) -> float:
        """Learn. RETURNS: The summed loss.

        drop (float): The probability with which a template is left out.
        word_dropout (float): The probability with which a word is treated as unknown.
        predicted_history (float): How often later decisions see the predicted label
            in place of the true one.
        """
        cdef vector[uint64_t] hidden
        cdef vector[LexemeRecC*] records
        cdef vector[atom_t] tags
        cdef vector[uint8_t] one_correct
        cdef vector[uint8_t] one_wrong
        cdef vector[int] guesses
        cdef ContextC context
        cdef StepC step
        cdef int64_t i, r, start
        cdef int gold, label
        cdef double loss = 0
        self._check_learner(learner)
        one_correct.resize(learner.n_labels, <uint8_t>WRONG)
        one_wrong.resize(learner.n_labels, <uint8_t>CORRECT)
        # Words that come again in another range are not guessed again: that would take
        # time, and what has learned from them knows them too well.
        guesses.resize(self.records.size(), -1)
        with nogil:
            for r in range(self.ranges.shape[0]):
                start = self.ranges[r, 0]
                self._lay_out(start, self.ranges[r, 1], records, tags)
                if word_dropout:
                    self._hide_words(learner, word_dropout, records, hidden)
                self._look_ahead(
                    learner, one_wrong.data(), records, tags, guesses.data() + start
                )
                for i in range(self.ranges[r, 1] - start):
                    self._set_context(&context, records, tags, i)
                    gold = self.gold[start + i]
                    if gold >= 0:
                        one_correct[gold] = CORRECT
                        learner.step(&context, one_correct.data(), drop, &step)
                        one_correct[gold] = WRONG
                        loss += step.loss
                        label = gold
                        if predicted_history and learner.random() < predicted_history:
                            label = step.guess
                    elif gold == -1:
                        label = learner.guess(&context, one_wrong.data())
                    else:
                        one_wrong[-2 - gold] = WRONG
                        learner.step(&context, one_wrong.data(), drop, &step)
                        one_wrong[-2 - gold] = CORRECT
                        loss += step.loss
                        label = step.guess
                    self._write(tags, i, label)
                learner.end_sequence(r + 1 == self.ranges.shape[0])
        return loss

    def guess(self, Learner learner not None):
        """Predict with the weights as they are. RETURNS (array): The labels of the
        words."""
        cdef vector[LexemeRecC*] records
        cdef vector[atom_t] tags
        cdef vector[uint8_t] costs
        cdef vector[int] guesses
        cdef ContextC context
        cdef int64_t i, r, start
        self._check_learner(learner)
        labels = np.zeros(self.records.size(), dtype="uint16")
        cdef uint16_t[::1] view = labels
        costs.resize(learner.n_labels, <uint8_t>CORRECT)
        with nogil:
            for r in range(self.ranges.shape[0]):
                start = self.ranges[r, 0]
                self._lay_out(start, self.ranges[r, 1], records, tags)
                guesses.assign(self.ranges[r, 1] - start, -1)
                self._look_ahead(learner, costs.data(), records, tags, guesses.data())
                for i in range(self.ranges[r, 1] - start):
                    self._set_context(&context, records, tags, i)
                    view[start + i] = <uint16_t>learner.guess(&context, costs.data())
                    self._write(tags, i, view[start + i])
        return labels

    def explain(
        self,
        WordScorer scorer not None,
        const uint16_t[::1] labels not None,
        const uint16_t[::1] guesses not None,
    ):
        """What each template adds to the score of each output.

        labels (array): The predicted labels of the words.
        guesses (array): What the early stages said about the words.
        RETURNS (tuple): Integer scores, of shape (words, templates, outputs); and for each
            word what pairs add, see WordScorer.find_pairs.
        """
        cdef vector[LexemeRecC*] records
        cdef vector[atom_t] tags
        cdef ContextC context
        cdef int64_t i, r, start
        cdef int t
        cdef Program program = scorer.program
        self._check_program(program, scorer.n_labels)
        if (
            <size_t>labels.shape[0] != self.records.size()
            or <size_t>guesses.shape[0] != self.records.size()
            or max(labels, default=0) >= scorer.n_labels
            or max(guesses, default=0) >= scorer.n_labels
        ):
            raise ValueError(Errors.DS216.format(what="words and their labels"))
        scores = np.zeros(
            (self.records.size(), program.c.n_templates, scorer.n_outputs), dtype="int16"
        )
        cdef score_t[:, :, ::1] view = scores
        cdef vector[feat_t] keys = vector[feat_t](program.c.n_templates)
        pairs = [[]] * <Py_ssize_t>self.records.size()
        for r in range(self.ranges.shape[0]):
            start = self.ranges[r, 0]
            self._lay_out(start, self.ranges[r, 1], records, tags)
            if looks_ahead(&program.c, self.history.c.n_columns):
                for i in range(self.ranges[r, 1] - start):
                    self._write(tags, i, guesses[start + i])
            for i in range(self.ranges[r, 1] - start):
                self._set_context(&context, records, tags, i)
                for t in range(program.c.n_templates):
                    keys[t] = get_key(&program.c.templates[t], &context)
                    scorer.add_feature(t, keys[t], &view[start + i, t, 0])
                pairs[start + i] = scorer.find_pairs(keys)
                self._write(tags, i, labels[start + i])
        return scores, pairs
