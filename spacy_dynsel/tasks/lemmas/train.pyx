"""Learning to lemmatize, and what each template adds to a decision."""
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from ...core.forms.cached cimport CachedScorer
from ...core.forms.packing cimport add_weights
from ...core.learner cimport CORRECT, INVALID, WRONG, Learner, StepC
from ...core.program cimport ContextC, Program, get_key
from ...core.typedefs cimport atom_t, feat_t, score_t, uint8_t, uint16_t, uint64_t
from ...spacy_io.lemmas cimport NO_LEMMA_C
from ...spacy_io.lexemes cimport LexemeReader
from ...spacy_io.tokens cimport SequenceC, read_docs
from .decode cimport check_scorer, fill_atoms
from .script_set cimport ScriptSet

cdef struct ItemC:
    # A word to learn from: where its labels are, first the correct ones.
    size_t first
    int n_correct
    int n_valid


cdef class LemmaItems:
    """Words to learn from, each of them once, however often it occurs.

    scripts (ScriptSet): The labels.
    reader (LexemeReader): Reads the atoms of lexemes.
    reads_pos (bool): Whether parts of speech and features are looked at.
    """
    cdef readonly ScriptSet scripts
    cdef LexemeReader reader
    cdef dict known          # numbers of items by form, part of speech, features, lemma
    cdef vector[ItemC] items
    cdef vector[int] labels  # those that apply to an item
    cdef vector[atom_t] atoms  # [items][width]
    cdef int width
    cdef bint reads_pos

    def __init__(
        self, ScriptSet scripts not None, LexemeReader reader not None, bint reads_pos
    ):
        if self.scripts is not None or scripts.labels is None or reader.columns is None:
            raise ValueError(Errors.DS216.format(what="scripts and a lexeme reader"))
        self.width = len(reader.columns) + 2
        self.known = {}
        self.reads_pos = reads_pos
        self.reader = reader
        self.scripts = scripts

    def __len__(self) -> int:
        return self.items.size()

    def add(
        self,
        doc,
        const Py_ssize_t[::1] words not None,
        const uint8_t[::1] pos not None,
        const uint64_t[::1] morphs not None,
        list lemmas not None,
    ):
        """Add words of a doc.

        words (array): Which tokens these are.
        pos (array), morphs (array): Their parts of speech and their features.
        lemmas (list[str]): Their lemmas, None where one is not known.
        RETURNS (array): The numbers of their items.
        """
        cdef vector[SequenceC] sequences
        cdef Py_ssize_t i
        n_tokens = read_docs([doc], sequences)
        if (
            self.scripts is None
            or pos.shape[0] != words.shape[0]
            or morphs.shape[0] != words.shape[0]
            or len(lemmas) != words.shape[0]
        ):
            raise ValueError(Errors.DS216.format(what="words and their lemmas"))
        numbers = np.empty(words.shape[0], dtype="int32")
        cdef int32_t[::1] view = numbers
        for i in range(words.shape[0]):
            if not 0 <= words[i] < <Py_ssize_t>n_tokens:
                raise ValueError(Errors.DS216.format(what="words and their doc"))
            key = (doc[words[i]].text, pos[i], morphs[i], lemmas[i])
            number = self.known.get(key)
            if number is None:
                number = self._add(&sequences[0], words[i], doc, key)
                self.known[key] = number
            view[i] = number
        return numbers

    cdef int _add(
        self, const SequenceC* doc, int token, object owner, tuple key
    ) except -1:
        cdef vector[int] valid
        cdef vector[int] wrong
        cdef ItemC item
        cdef int label
        cdef size_t n_atoms = self.atoms.size()
        form, pos, morph, lemma = key
        self.scripts.find(form, valid)
        item.first = self.labels.size()
        item.n_correct = 0
        item.n_valid = valid.size()
        for label in sorted(valid):
            if lemma is not None and self.scripts.apply(label, form) == lemma:
                self.labels.push_back(label)
                item.n_correct += 1
            else:
                wrong.push_back(label)
        for label in wrong:
            self.labels.push_back(label)
        self.atoms.resize(n_atoms + self.width)
        if not self.reads_pos:
            pos = morph = 0
        fill_atoms(doc, token, owner, self.reader, pos, morph, self.atoms.data() + n_atoms)
        self.items.push_back(item)
        return <int>self.items.size() - 1

    cdef int _check(self, Program program, const int32_t[::1] numbers) except -1:
        """Raise an error unless there are such items, and templates read their atoms."""
        cdef Py_ssize_t i
        cdef bint fits = (
            self.scripts is not None
            and program is not None
            and program.c.n_places == 0
            and program.c.n_values <= self.width
        )
        for i in range(numbers.shape[0]):
            fits &= 0 <= numbers[i] < <Py_ssize_t>self.items.size()
        if not fits:
            raise ValueError(Errors.DS216.format(what="words to learn from"))
        return 0

    cdef int _check_learner(self, Learner learner, const int32_t[::1] numbers) except -1:
        self._check(learner.program, numbers)
        if learner.n_labels != len(self.scripts.labels):
            raise ValueError(Errors.DS216.format(what="a learner and its scripts"))
        return 0

    cdef void _set_costs(self, const ItemC* item, uint8_t* costs) noexcept nogil:
        """Say which labels are correct and which are wrong."""
        cdef int i
        for i in range(item.n_valid):
            costs[self.labels[item.first + i]] = CORRECT if i < item.n_correct else WRONG

    cdef void _clear_costs(self, const ItemC* item, uint8_t* costs) noexcept nogil:
        cdef int i
        for i in range(item.n_valid):
            costs[self.labels[item.first + i]] = INVALID

    def is_reachable(self, const int32_t[::1] numbers not None):
        """For each item whether a script makes its lemma."""
        cdef Py_ssize_t i
        result = np.zeros(numbers.shape[0], dtype=bool)
        for i in range(numbers.shape[0]):
            if not 0 <= numbers[i] < <Py_ssize_t>self.items.size():
                raise ValueError(Errors.DS216.format(what="words to learn from"))
            result[i] = self.items[numbers[i]].n_correct > 0
        return result

    def count(self, Learner learner not None, const int32_t[::1] numbers not None) -> None:
        """Count the features of items."""
        cdef ContextC context
        cdef Py_ssize_t i
        self._check_learner(learner, numbers)
        context.lexemes = NULL
        with nogil:
            for i in range(numbers.shape[0]):
                context.dynamic = self.atoms.data() + <size_t>numbers[i] * self.width
                learner.count(&context)

    def update(
        self,
        Learner learner not None,
        const int32_t[::1] numbers not None,
        float drop,
    ) -> float:
        """Learn. RETURNS: The summed loss.

        numbers (array): The items. Those whose lemma is not known, or made by no script,
            are left out.
        drop (float): The probability with which a template is left out.
        """
        cdef vector[uint8_t] costs
        cdef ContextC context
        cdef StepC step
        cdef const ItemC* item
        cdef Py_ssize_t i
        cdef double loss = 0
        self._check_learner(learner, numbers)
        costs.resize(learner.n_labels, <uint8_t>INVALID)
        context.lexemes = NULL
        with nogil:
            for i in range(numbers.shape[0]):
                item = &self.items[numbers[i]]
                if item.n_correct == 0:
                    continue
                context.dynamic = self.atoms.data() + <size_t>numbers[i] * self.width
                self._set_costs(item, costs.data())
                learner.step(&context, costs.data(), drop, &step)
                self._clear_costs(item, costs.data())
                loss += step.loss
            learner.end_sequence(True)
        return loss

    def guess(self, Learner learner not None, const int32_t[::1] numbers not None):
        """Predict with the weights as they are. RETURNS (array): The labels."""
        cdef vector[uint8_t] costs
        cdef ContextC context
        cdef const ItemC* item
        cdef Py_ssize_t i
        self._check_learner(learner, numbers)
        labels = np.full(numbers.shape[0], NO_LEMMA_C, dtype="uint16")
        cdef uint16_t[::1] view = labels
        costs.resize(learner.n_labels, <uint8_t>INVALID)
        context.lexemes = NULL
        with nogil:
            for i in range(numbers.shape[0]):
                item = &self.items[numbers[i]]
                if item.n_valid == 0:
                    continue
                context.dynamic = self.atoms.data() + <size_t>numbers[i] * self.width
                self._set_costs(item, costs.data())
                view[i] = <uint16_t>learner.guess(&context, costs.data())
                self._clear_costs(item, costs.data())
        return labels

    def explain(self, CachedScorer scorer not None, const int32_t[::1] numbers not None):
        """What each template adds to the score of each label.

        RETURNS (tuple): Integer scores, of shape (items, templates, labels), and which
            labels apply, of shape (items, labels); and for each item what pairs add, see
            WordScorer.find_pairs.
        """
        cdef ContextC context
        cdef const ItemC* item
        cdef Py_ssize_t i
        cdef int j, t
        cdef int n_templates
        self._check(scorer.program, numbers)
        check_scorer(scorer, self.reader, self.scripts)
        n_templates = scorer.c.program.n_templates
        shape = (numbers.shape[0], n_templates, scorer.c.width)
        scores = np.zeros(shape, dtype="int16")
        valid = np.zeros((numbers.shape[0], scorer.c.width), dtype="uint8")
        cdef score_t[:, :, ::1] view = scores
        cdef uint8_t[:, ::1] valid_view = valid
        cdef vector[feat_t] keys = vector[feat_t](n_templates)
        pairs = []
        context.lexemes = NULL
        for i in range(numbers.shape[0]):
            item = &self.items[numbers[i]]
            for j in range(item.n_valid):
                valid_view[i, self.labels[item.first + j]] = 1
            context.dynamic = self.atoms.data() + <size_t>numbers[i] * self.width
            for t in range(n_templates):
                keys[t] = get_key(&scorer.c.program.templates[t], &context)
                add_weights(&scorer.weights.c, keys[t], &view[i, t, 0])
            pairs.append(scorer.find_pairs(keys))
        n_labels = scorer.c.n_labels
        return scores[:, :, :n_labels], valid[:, :n_labels], pairs
