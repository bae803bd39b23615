"""Learning to recognize entities, guessing on the way, and explaining."""
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from ...core.forms.cached cimport CachedScorer
from ...core.forms.packing cimport add_weights
from ...core.learner cimport CORRECT, INVALID, WRONG, Learner, StepC
from ...core.lexicon cimport Lexicon
from ...core.program cimport ContextC, LexemeRecC, get_key
from ...core.typedefs cimport feat_t, score_t, uint8_t, uint16_t
from ...spacy_io.lexemes cimport LexemeReader
from ...spacy_io.tokens cimport SequenceC, read_entity_words
from ..examples cimport Examples
from .actions cimport (
    BEGIN,
    ENDS,
    IN,
    IS_FIXED,
    IS_LAST,
    KEEP_C,
    LAST,
    NONE,
    UNIT,
    count_actions,
    fill_spaces,
    get_action,
    is_valid,
    kind_of,
    mirror,
    open_after,
)
from .decode cimport act, add_support, arrange, drop_spaces, look, prepare_counts
from .scratch cimport Scratch
from .task cimport N_PLACES, Task, TaskC

cdef enum:
    MISSING_C = -1

MISSING = MISSING_C


cdef cppclass Reading:
    # A doc that is read.
    Scratch s
    const SequenceC* doc
    int n_steps
    bint alone               # whether each sentence knows nothing of the others
    int open_type            # of the entity that is open, or NONE
    LexemeRecC* places[N_PLACES]
    ContextC context         # what the step sees


cdef extern from "kernels.hpp" namespace "dynsel" nogil:
    bint call_guarded(
        void (*function)(void*, int, Reading*) noexcept nogil,
        void* readings,
        int i,
        Reading* r,
    )


cdef void call_lay_out(void* readings, int i, Reading* r) noexcept nogil:
    (<Readings>readings).lay_out(i, r)


cdef class Readings(Examples):
    """Docs that are read one after the other while learning or explaining.

    docs (list[Doc]): The docs.
    starts (array): For each token of all docs whether a sentence starts there, a word;
        None for what the docs themselves say.
    """
    cdef const uint8_t[::1] starts
    cdef bint has_starts
    cdef Task task

    def __init__(
        self,
        list docs not None,
        starts,
        Task task not None,
        Lexicon lexicon not None,
        LexemeReader reader not None,
    ):
        task.check(lexicon, reader)
        self.read(docs, lexicon, reader, False)
        self.task = task
        if starts is not None:
            self.starts = starts
            if <size_t>self.starts.shape[0] != self.n_tokens:
                raise ValueError(
                    Errors.DS216.format(what="docs and the starts of sentences")
                )
            self.has_starts = True

    cdef int open_doc(self, int i, Reading* r) except -1 nogil:
        """Start to read a doc."""
        if not call_guarded(call_lay_out, <void*>self, i, r):
            with gil:
                raise MemoryError()
        return 0

    cdef void lay_out(self, int i, Reading* r) noexcept nogil:
        cdef const SequenceC* doc = &self.sequences[i]
        cdef Scratch* s = &r.s
        cdef int j
        r.doc = doc
        r.open_type = NONE
        prepare_counts(&self.task.c, s)
        s.tokens.resize(doc.length)
        s.token_records.resize(doc.length)
        for j in range(doc.length):
            s.token_records[j] = self.records[doc.offset + j]
        drop_spaces(s, read_entity_words(doc, s.tokens.data()))
        r.n_steps = <int>s.tokens.size()
        if self.has_starts:
            for j in range(r.n_steps):
                s.tokens[j].starts = self.starts[doc.offset + s.tokens[j].token]
        arrange(
            &self.task.c, s, self.lexicon.before_start, self.lexicon.after_end, r.alone
        )

    cdef void see(self, Reading* r, int step) noexcept nogil:
        """See what there is to see at a step."""
        look(&self.task.c, &r.s, step, self.lexicon.absent, r.places, &r.context)

    cdef bint keep(self, Reading* r, int step) noexcept nogil:
        """Take the action of a step that is not to be decided. RETURNS: Whether it is
        one."""
        if not r.s.flags[step] & IS_FIXED:
            return False
        act(&self.task.c, &r.s, step, r.s.actions[step])
        r.open_type = NONE
        return True

    cdef void take(self, Reading* r, int step, int action) noexcept nogil:
        """Take an action."""
        act(&self.task.c, &r.s, step, action)
        r.open_type = open_after(action)

    cdef int check_learner(self, Learner learner) except -1:
        """Raise an error unless a learner sees what is read, and labels are actions."""
        self.check_read()
        self.task.check_program(learner.program, learner.n_labels)
        return 0


cdef class EntityExamples(Readings):
    """Docs with what is known about their entities.

    gold (array): For each token of all docs its action, in the order of the text, or
        MISSING.
    negatives (array): Spans that are known not to be entities: their first token, the
        token after their last, and their type.
    """
    cdef const int32_t[::1] gold
    cdef const int64_t[:, ::1] negatives
    # The negatives that start or end at a token: from where to where they are listed.
    cdef const int64_t[::1] listed
    cdef const int64_t[::1] bounds

    def __init__(
        self,
        list docs not None,
        starts,
        Task task not None,
        Lexicon lexicon not None,
        LexemeReader reader not None,
        const int32_t[::1] gold not None,
        const int64_t[:, ::1] negatives not None,
    ):
        cdef int64_t n_tokens
        cdef Py_ssize_t i
        cdef bint fits
        Readings.__init__(self, docs, starts, task, lexicon, reader)
        n_tokens = self.n_tokens
        fits = gold.shape[0] == n_tokens and negatives.shape[1] == 3
        if fits:
            for i in range(n_tokens):
                fits &= -1 <= gold[i] < count_actions(task.c.n_types)
            for i in range(negatives.shape[0]):
                fits &= 0 <= negatives[i, 0] < negatives[i, 1] <= n_tokens
                fits &= 0 <= negatives[i, 2] < task.c.n_types
        if not fits:
            raise ValueError(Errors.DS216.format(what="docs, actions and negatives"))
        self.gold = gold
        self.negatives = negatives
        ends = np.asarray(negatives)[:, :2] - [0, 1]
        order = np.argsort(ends.ravel(), kind="stable")
        self.listed = order // 2
        self.bounds = np.searchsorted(ends.ravel()[order], np.arange(self.n_tokens + 1))

    cdef int gold_action(self, const Reading* r, int step) noexcept nogil:
        """The gold action of a step, in reading order."""
        gold = self.gold[r.doc.offset + r.s.token_of[step]]
        return mirror(gold) if self.task.c.backwards else gold

    cdef int fill_costs(self, Reading* r, int step, int opened) noexcept nogil:
        """Say which actions are correct, wrong and not valid.

        opened: The step at which the open entity was begun.
        RETURNS: The only correct action, or NONE if there is no one or several.
        """
        cdef const TaskC* task = &self.task.c
        cdef uint8_t* costs = r.s.costs.data()
        cdef uint8_t flags = r.s.flags[step]
        cdef int open_type = r.open_type
        cdef int gold = self.gold_action(r, step)
        cdef int t, label, after
        cdef uint8_t cost = WRONG
        cdef int n_correct = 0
        cdef int correct = NONE
        if gold == MISSING_C:
            cost = CORRECT
        for label in range(count_actions(task.n_types)):
            costs[label] = INVALID
        if open_type == NONE:
            costs[0] = cost
            for t in range(task.n_types):
                if not flags & IS_LAST:
                    costs[get_action(t, BEGIN)] = cost
                costs[get_action(t, UNIT)] = cost
            if gold != MISSING_C:
                # Inside of an entity whose beginning was missed, nothing is left to do.
                if gold == 0 or kind_of(gold) == IN or kind_of(gold) == LAST:
                    costs[0] = CORRECT
                elif costs[gold] == WRONG:
                    costs[gold] = CORRECT
        else:
            if not flags & IS_LAST:
                costs[get_action(open_type, IN)] = cost
            costs[get_action(open_type, LAST)] = cost
            if gold != MISSING_C:
                after = self.gold_action(r, opened)
                if (after == MISSING_C or after == get_action(open_type, BEGIN)) and (
                    gold == get_action(open_type, IN)
                    or gold == get_action(open_type, LAST)
                ):
                    if costs[gold] == WRONG:
                        costs[gold] = CORRECT
                else:
                    # The entity is wrong already: it must only not get in the way of
                    # the next one.
                    after = 0
                    if not flags & ENDS:
                        after = self.gold_action(r, step + 1)
                    if costs[get_action(open_type, LAST)] == WRONG:
                        costs[get_action(open_type, LAST)] = CORRECT
                    if costs[get_action(open_type, IN)] == WRONG and not (
                        after > 0 and (kind_of(after) == BEGIN or kind_of(after) == UNIT)
                    ):
                        costs[get_action(open_type, IN)] = CORRECT
        self.exclude_negatives(r, step, opened)
        for label in range(count_actions(task.n_types)):
            if costs[label] == CORRECT:
                n_correct += 1
                correct = label
        return correct if n_correct == 1 else NONE

    cdef void exclude_negatives(self, Reading* r, int step, int opened) noexcept nogil:
        """Actions that complete a span which is no entity are wrong."""
        cdef int64_t first, last
        cdef int64_t token = r.doc.offset + r.s.token_of[step]
        cdef int64_t place, i
        cdef int type_
        for place in range(self.bounds[token], self.bounds[token + 1]):
            i = self.listed[place]
            first = self.negatives[i, 0]
            last = self.negatives[i, 1] - 1
            type_ = <int>self.negatives[i, 2]
            if self.task.c.backwards:
                first, last = last, first
            if first == last:
                if (
                    token == first
                    and r.open_type == NONE
                    and r.s.costs[get_action(type_, UNIT)] == CORRECT
                ):
                    r.s.costs[get_action(type_, UNIT)] = WRONG
            elif token == last and r.open_type == type_:
                if (
                    <int64_t>r.doc.offset + r.s.token_of[opened] == first
                    and r.s.costs[get_action(type_, LAST)] == CORRECT
                ):
                    r.s.costs[get_action(type_, LAST)] = WRONG
            elif (
                token == first
                and r.open_type == NONE
                and r.s.costs[get_action(type_, BEGIN)] == CORRECT
            ):
                # Where the entity could only end with the span, it must not begin.
                if not r.s.flags[step] & IS_LAST and r.s.flags[step + 1] & IS_LAST:
                    r.s.costs[get_action(type_, BEGIN)] = WRONG

    def count(self, Learner learner not None) -> None:
        """Count features, with the true actions as history."""
        self._read(learner, 0, 0, 0, True)

    def update(
        self,
        Learner learner not None,
        float drop,
        float predicted_history,
        float lone_sentences=0,
    ) -> float:
        """Learn. RETURNS: The summed loss.

        drop (float): The probability with which a template is left out.
        predicted_history (float): How often later decisions see the predicted action
            in place of the true one.
        lone_sentences (float): How often the sentences of a doc know nothing of each
            other.
        """
        return self._read(learner, drop, predicted_history, lone_sentences, False)

    cdef double _read(
        self,
        Learner learner,
        float drop,
        float predicted_history,
        float lone_sentences,
        bint only_count,
    ) except? -1:
        cdef Reading reading
        cdef Reading* r = &reading
        cdef uint8_t* costs
        cdef StepC result
        cdef int i, step, opened, truth, action
        cdef double loss = 0
        self.check_learner(learner)
        if <size_t>self.bounds.shape[0] != self.n_tokens + 1:
            raise ValueError(Errors.DS216.format(what="a batch without actions"))
        r.s.epoch = 0
        r.alone = False
        with nogil:
            for i in range(<int>self.sequences.size()):
                r.alone = lone_sentences and learner.random() < lone_sentences
                self.open_doc(i, r)
                costs = r.s.costs.data()
                opened = NONE
                for step in range(r.n_steps):
                    self.see(r, step)
                    truth = self.fill_costs(r, step, opened)
                    if only_count:
                        learner.count(&r.context)
                        action = max(0, self.gold_action(r, step))
                    elif truth == NONE and not self.can_learn(&r.s):
                        action = learner.guess(&r.context, costs)
                    else:
                        learner.step(&r.context, costs, drop, &result)
                        loss += result.loss
                        action = result.guess
                        if truth != NONE and not (
                            predicted_history and learner.random() < predicted_history
                        ):
                            action = truth
                    # Actions to count may go on with what was never begun.
                    if r.open_type == NONE or (action > 0 and kind_of(action) == BEGIN):
                        opened = step
                    self.take(r, step, action)
                learner.end_sequence(i + 1 == <int>self.sequences.size())
        return loss

    cdef bint can_learn(self, const Scratch* s) noexcept nogil:
        """Whether there are both correct and wrong actions."""
        cdef bint correct = False
        cdef bint wrong = False
        cdef size_t label
        for label in range(s.costs.size()):
            correct |= s.costs[label] == CORRECT
            wrong |= s.costs[label] == WRONG
        return correct and wrong


cdef class Guessing(Readings):
    """Predicts with the weights as they are while they are learned."""

    def guess(self, Learner learner not None):
        """RETURNS (array): The actions of all tokens, in the order of the text."""
        cdef Reading reading
        cdef Reading* r = &reading
        cdef const TaskC* task
        cdef uint8_t* costs
        cdef size_t token
        cdef int i, step, action
        self.check_learner(learner)
        task = &self.task.c
        actions = np.zeros(self.n_tokens, dtype="uint16")
        cdef uint16_t[::1] view = actions
        r.s.epoch = 0
        r.alone = False
        with nogil:
            for i in range(<int>self.sequences.size()):
                self.open_doc(i, r)
                costs = r.s.costs.data()
                for step in range(r.n_steps):
                    self.see(r, step)
                    token = r.doc.offset + r.s.token_of[step]
                    if self.keep(r, step):
                        view[token] = KEEP_C
                        continue
                    for action in range(count_actions(task.n_types)):
                        costs[action] = INVALID
                        if is_valid(r.s.flags[step], r.open_type, action):
                            costs[action] = CORRECT
                    action = learner.guess(&r.context, costs)
                    self.take(r, step, action)
                    if task.backwards:
                        action = mirror(action)
                    view[token] = <uint16_t>action
                if r.doc.length:
                    fill_spaces(
                        r.doc, r.s.tokens.data(), r.n_steps, task.keeps,
                        &view[r.doc.offset], NULL,
                    )
        return actions


cdef class Explaining(Readings):
    """Says what each template contributes."""

    def explain(
        self, CachedScorer scorer not None, const uint16_t[::1] actions not None, first=None
    ):
        """What each template adds to the score of each action, given the actions that
        were predicted for the tokens before.

        actions (array): The predicted actions, or KEEP.
        first (EntityBatch): What a first pass found, with its support.
        RETURNS (tuple): Integer scores, of shape (tokens, templates, actions); whether
            each action was valid; the actions as read; and what the first pass adds,
            of shape (tokens, actions); and for each token what pairs add, see
            WordScorer.find_pairs. Zeros stand for white space.
        """
        cdef Reading reading
        cdef Reading* r = &reading
        cdef const TaskC* task
        cdef int i, t, step, action, token, n_actions
        self.check_read()
        if scorer.c.stages == NULL:
            raise ValueError(Errors.DS216.format(what="a scorer that was never made"))
        self.task.check_program(scorer.program, scorer.c.n_labels)
        task = &self.task.c
        if <size_t>actions.shape[0] != self.n_tokens:
            raise ValueError(Errors.DS216.format(what="docs and actions"))
        n_actions = count_actions(task.n_types)
        parts = np.zeros(
            (self.n_tokens, scorer.c.program.n_templates, scorer.c.width), dtype="int16"
        )
        valid = np.zeros((self.n_tokens, n_actions), dtype="uint8")
        read = np.zeros(self.n_tokens, dtype="int32")
        given = np.zeros((self.n_tokens, scorer.c.width), dtype="int16")
        cdef score_t[:, ::1] given_view = given
        cdef const uint16_t[::1] first_view
        cdef const score_t[::1] support_view
        if first is not None:
            first_view = first.actions
            support_view = first.support
            self.task.check_first(first_view, support_view, self.n_tokens)
        cdef score_t[:, :, ::1] part_view = parts
        cdef uint8_t[:, ::1] valid_view = valid
        cdef int32_t[::1] read_view = read
        cdef vector[feat_t] keys = vector[feat_t](scorer.c.program.n_templates)
        pairs = [[]] * <Py_ssize_t>self.n_tokens
        r.s.epoch = 0
        r.alone = False
        for i in range(<int>self.sequences.size()):
            self.open_doc(i, r)
            for step in range(r.n_steps):
                self.see(r, step)
                token = r.doc.offset + r.s.token_of[step]
                if self.keep(r, step):
                    read_view[token] = r.s.actions[step]
                    continue
                for action in range(n_actions):
                    valid_view[token, action] = is_valid(
                        r.s.flags[step], r.open_type, action
                    )
                for t in range(scorer.c.program.n_templates):
                    keys[t] = get_key(&scorer.c.program.templates[t], &r.context)
                    add_weights(&scorer.weights.c, keys[t], &part_view[token, t, 0])
                pairs[token] = scorer.find_pairs(keys)
                if first is not None:
                    add_support(
                        task, first_view[token], support_view[token],
                        &given_view[token, 0],
                    )
                action = actions[token]
                if action >= n_actions:
                    raise ValueError(Errors.DS216.format(what="docs and actions"))
                if task.backwards:
                    action = mirror(action)
                read_view[token] = action
                self.take(r, step, action)
        return (
            parts[:, :, :n_actions],
            valid.astype(bool),
            read,
            given[:, :n_actions],
            pairs,
        )
