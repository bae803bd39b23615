"""Learning to parse: decisions about transitions and about the labels of arcs."""
from libc.stdint cimport int8_t, int32_t
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from ...core.learner cimport CORRECT, INVALID, WRONG, Learner, StepC
from ...core.lexicon cimport Lexicon
from ...core.program cimport ContextC
from ...core.rank_learner cimport RankLearner
from ...core.typedefs cimport atom_t, uint8_t, uint64_t
from ...spacy_io.lexemes cimport LexemeReader
from ...spacy_io.tokens cimport SequenceC, read_parse_tokens
from ..examples cimport Examples
from .features cimport (
    MAX_SLOTS,
    Features,
    RankFeatures,
    TagMap,
    add_branch_keys,
    add_tree_keys,
    count_tree_keys,
    fill_token,
    find_action_places,
    find_boundary_places,
    find_changes,
    find_label_places,
    read_slots,
)
from .places cimport (
    BOUNDARY_REACH, MAX_PLACES, N_ACTION_PLACES, N_BOUNDARY_PLACES, N_LABEL_PLACES,
)
from .system cimport (
    LEFT,
    N_ACTIONS,
    NONE,
    NO_TOKEN_ROW,
    RIGHT,
    LoggedC,
    SentenceC,
    UNKNOWN_HEAD,
    apply,
    choose_branches,
    copy_sentence,
    free_sentence,
    get_costs,
    get_front,
    get_state_key,
    get_valid,
    is_back,
    link_dependents,
    new_sentence,
    replay,
    row_of,
    settle,
    start,
)


cdef class TransitionExamples(Examples):
    """Docs with their gold trees.

    docs (list[Doc]): The docs, of which the words, tags and parts of speech are read.
    heads (array): For each token of all docs the index of its head within the doc, its
        own index for a root, or -1 where it is not known.
    labels (array): For each token the label of its arc, or -1.
    starts (array): For each token whether a sentence starts there.
    """
    def __init__(
        self,
        list docs not None,
        const int32_t[::1] heads not None,
        const int32_t[::1] labels not None,
        const uint8_t[::1] starts not None,
        Lexicon lexicon not None,
        LexemeReader reader not None,
        TagMap tags not None,
    ):
        cdef const SequenceC* doc
        cdef size_t i
        cdef int j, offset
        if tags.places.size() == 0:
            raise ValueError(Errors.DS216.format(what="tables that were never filled"))
        self.read(docs, lexicon, reader, False)
        self.heads = heads
        self.labels = labels
        self.tags = tags
        self._check_sizes(self.n_tokens, starts)
        self.tokens.resize(self.n_tokens)
        for i in range(self.sequences.size()):
            doc = &self.sequences[i]
            offset = <int>doc.offset
            read_parse_tokens(doc, self.tokens.data() + offset)
            for j in range(1, doc.length + 1):
                if j == doc.length or starts[offset + j]:
                    self.ends.push_back(offset + j)
                    self.docs_of.push_back(offset)
        self.local_of.resize(self.n_tokens)

    def __dealloc__(self):
        free_sentence(&self.sentence)
        free_sentence(&self.branch)

    cdef int _check_sizes(self, Py_ssize_t n, const uint8_t[::1] starts) except -1:
        """Raise an error unless there are a head, a label and a start for each token."""
        cdef bint fits
        cdef Py_ssize_t i
        fits = self.heads.shape[0] == n and self.labels.shape[0] == n and (
            starts.shape[0] == n and n < 1 << 30
        )
        self.highest = -1
        if fits:
            for i in range(n):
                fits &= -1 <= self.labels[i] and self.heads[i] < n
                self.highest = max(self.highest, self.labels[i])
        if not fits:
            raise ValueError(Errors.DS216.format(what="docs and their trees"))
        return 0

    cdef int _check_learners(
        self, Features actions, Features labels, Learner action_learner, Learner label_learner
    ) except -1:
        """Raise an error unless learners see these features, and know the labels."""
        self.check_read()
        actions.check(N_ACTION_PLACES, self.lexicon.n_columns)
        labels.check(N_LABEL_PLACES, self.lexicon.n_columns)
        actions.check_learner(action_learner, N_ACTIONS)
        labels.check_learner(label_learner, label_learner.n_labels)
        if self.highest >= label_learner.n_labels:
            raise ValueError(Errors.DS216.format(what="a learner and its labels"))
        return 0

    cdef int _check_boundaries(
        self, Features features, Learner learner, Py_ssize_t n_starts
    ) except -1:
        """Raise an error unless a learner sees these features, and there is a start for
        each token."""
        self.check_read()
        features.check(N_BOUNDARY_PLACES, self.lexicon.n_columns)
        features.check_learner(learner, 2)
        if <size_t>n_starts != self.tokens.size():
            raise ValueError(Errors.DS216.format(what="docs and starts of sentences"))
        return 0

    cdef int _load_all(self) except -1 nogil:
        """Lay all docs end to end, as one sequence of tokens that are not white space."""
        cdef SentenceC* s = &self.sentence
        cdef int i, n
        n = 0
        for i in range(<int>self.tokens.size()):
            n += not self.tokens[i].is_space
        if not new_sentence(s, n, self.lexicon.n_columns):
            with gil:
                raise MemoryError()
        n = 0
        for i in range(<int>self.tokens.size()):
            if not self.tokens[i].is_space:
                s.tokens[n] = i
                fill_token(s, n, self.records[i], &self.tokens[i], self.tags)
                n += 1
        start(s)
        return 0

    def update_boundaries(
        self,
        Features features not None,
        Learner learner not None,
        const int8_t[::1] starts not None,
        float drop,
        float word_dropout,
    ) -> float:
        """Learn where sentences start. RETURNS: The summed loss.

        starts (array): For each token 1 if a sentence starts there, 0 if not, and -1
            where that is not known or not to be learned.
        """
        cdef SentenceC* s = &self.sentence
        cdef int[MAX_PLACES] places
        cdef atom_t[MAX_SLOTS] values
        cdef uint8_t[2] costs
        cdef ContextC context
        cdef StepC step
        cdef double loss = 0
        cdef int i, j, gold, last = 0
        cdef int number = 0          # of a sentence, for the start of its doc
        cdef int doc = -1            # the first token of the doc
        cdef int first = 0           # the first token that can be seen
        self._check_boundaries(features, learner, starts.shape[0])
        for i in range(<int>starts.shape[0]):
            if not -1 <= starts[i] <= 1:
                raise ValueError(Errors.DS216.format(what="docs and starts of sentences"))
        context.lexemes = NULL
        context.dynamic = values
        with nogil:
            self._load_all()
            if word_dropout:
                self._hide_words(learner, word_dropout)
            for i in range(s.n):
                while self.ends[number] <= s.tokens[i]:
                    number += 1
                gold = starts[s.tokens[i]] if i else -1
                if gold != -1:
                    find_boundary_places(s, i, last, places)
                    for j in range(1, BOUNDARY_REACH + 1):
                        if i + j - BOUNDARY_REACH - 1 < first:
                            places[j] = NO_TOKEN_ROW * s.stride
                    read_slots(s, &features.c, 0, features.c.n_slots, places, values)
                    costs[gold] = CORRECT
                    costs[1 - gold] = WRONG
                    learner.step(&context, costs, drop, &step)
                    loss += step.loss
                if gold == 1:
                    last = i
                if self.docs_of[number] != doc:
                    doc = self.docs_of[number]
                    last = i
                    # The tokens of some docs see what comes before the doc, those of
                    # others see that nothing does.
                    if learner.random() < 0.5:
                        first = i
        return loss

    def guess_boundaries(self, Features features not None, Learner learner not None, known):
        """Find where sentences start, with the weights as they are.

        known (array): For each token whether a sentence starts there (1), does not
            (-1), or is to be found out (0).
        RETURNS (array): For each token whether a sentence starts there.
        """
        cdef SentenceC* s = &self.sentence
        cdef int[MAX_PLACES] places
        cdef atom_t[MAX_SLOTS] values
        cdef uint8_t[2] costs
        cdef ContextC context
        cdef const int32_t[::1] known_view = known
        cdef int i, last = 0
        self._check_boundaries(features, learner, known_view.shape[0])
        context.lexemes = NULL
        context.dynamic = values
        costs[0] = costs[1] = CORRECT
        starts = np.zeros(self.tokens.size(), dtype="uint8")
        cdef uint8_t[::1] view = starts
        with nogil:
            self._load_all()
            for i in range(s.n):
                if known_view[s.tokens[i]]:
                    view[s.tokens[i]] = known_view[s.tokens[i]] == 1
                else:
                    find_boundary_places(s, i, last, places)
                    read_slots(s, &features.c, 0, features.c.n_slots, places, values)
                    view[s.tokens[i]] = learner.guess(&context, costs)
                if view[s.tokens[i]]:
                    last = i
        return starts

    cdef int _load(self, int number) except -1 nogil:
        """Bring a sentence into the first state."""
        cdef SentenceC* s = &self.sentence
        cdef int begin = self.ends[number - 1] if number else 0
        cdef int end = self.ends[number]
        cdef int offset = self.docs_of[number]
        cdef int i, n, head
        n = 0
        for i in range(begin, end):
            self.local_of[i] = NONE
            if not self.tokens[i].is_space:
                self.local_of[i] = n
                n += 1
        if not new_sentence(s, n, self.lexicon.n_columns):
            with gil:
                raise MemoryError()
        self.gold.heads.assign(n, UNKNOWN_HEAD)
        self.local_labels.assign(n, NONE)
        for i in range(begin, end):
            n = self.local_of[i]
            if n == NONE:
                continue
            s.tokens[n] = i
            fill_token(s, n, self.records[i], &self.tokens[i], self.tags)
            head = self.heads[i] + offset
            if self.heads[i] < 0 or head < begin or head >= end:
                continue
            head = self.local_of[head] if head != i else s.n
            if head == NONE:
                continue
            self.gold.heads[n] = head
            self.local_labels[n] = self.labels[i]
        link_dependents(&self.gold)
        return 0

    cdef void _hide_words(self, Learner learner, float word_dropout) noexcept nogil:
        """Make some words look unknown."""
        cdef int i
        for i in range(self.sentence.n):
            if learner.random() < word_dropout:
                self.hide_word(row_of(&self.sentence, i))

    def update(
        self,
        Features actions not None,
        Features labels not None,
        Learner action_learner not None,
        Learner label_learner not None,
        float drop,
        float word_dropout,
        float exploration,
    ) -> float:
        """Learn. RETURNS: The summed loss.

        drop (float): The probability with which a template is left out.
        word_dropout (float): The probability with which a word is treated as unknown.
        exploration (float): How often the parser goes on from the state that its own
            decision leads to, in place of one that the gold tree asks for.
        """
        cdef SentenceC* s = &self.sentence
        cdef int[MAX_PLACES] places
        cdef atom_t[MAX_SLOTS] values
        cdef int[N_ACTIONS] lost
        cdef uint8_t[N_ACTIONS] costs
        cdef vector[uint8_t] label_costs
        cdef ContextC context
        cdef StepC step
        cdef double loss = 0
        cdef int number, action, label, valid, least, head, dependent, i
        self._check_learners(actions, labels, action_learner, label_learner)
        label_costs.assign(label_learner.n_labels, <uint8_t>WRONG)
        context.lexemes = NULL
        context.dynamic = values
        with nogil:
            for number in range(<int>self.ends.size()):
                self._load(number)
                if word_dropout:
                    self._hide_words(action_learner, word_dropout)
                start(s)
                while settle(s):
                    valid = get_valid(s)
                    get_costs(s, &self.gold, lost)
                    least = 1 << 30
                    for i in range(N_ACTIONS):
                        if valid >> i & 1:
                            least = min(least, lost[i])
                    for i in range(N_ACTIONS):
                        costs[i] = INVALID
                        if valid >> i & 1:
                            costs[i] = CORRECT if lost[i] == least else WRONG
                    find_action_places(s, places)
                    read_slots(
                        s, &actions.c, 0, actions.c.n_slots, places, values
                    )
                    action_learner.step(&context, costs, drop, &step)
                    loss += step.loss
                    action = step.guess
                    if costs[action] != CORRECT and action_learner.random() >= exploration:
                        action = step.best_correct
                    label = 0
                    if action == LEFT or action == RIGHT:
                        head = get_front(s) if action == LEFT else s.stack[s.top - 1]
                        dependent = s.stack[s.top - 1] if action == LEFT else get_front(s)
                        find_label_places(s, head, dependent, places)
                        read_slots(
                            s, &labels.c, 0, labels.c.n_slots, places, values
                        )
                        label = self.local_labels[dependent]
                        if self.gold.heads[dependent] == head and label != NONE:
                            label_costs[label] = CORRECT
                            label_learner.step(&context, label_costs.data(), drop, &step)
                            label_costs[label] = WRONG
                            loss += step.loss
                            if label_learner.random() < exploration:
                                label = step.guess
                        else:
                            label = label_learner.guess(&context, label_costs.data())
                    apply(s, action, label)
        return loss

    def guess(
        self,
        Features actions not None,
        Features labels not None,
        Learner action_learner not None,
        Learner label_learner not None,
    ):
        """Parse with the weights as they are.

        RETURNS (tuple): For each token its head as an index into all tokens, or -1 for
            roots and white space; and the label of its arc, or -1.
        """
        cdef SentenceC* s = &self.sentence
        cdef LoggedC logged
        cdef int number, i
        self._check_learners(actions, labels, action_learner, label_learner)
        all_heads = np.full(self.tokens.size(), -1, dtype="int32")
        all_labels = np.full(self.tokens.size(), -1, dtype="int32")
        cdef int32_t[::1] head_view = all_heads
        cdef int32_t[::1] label_view = all_labels
        self.all_labels.assign(label_learner.n_labels, <uint8_t>CORRECT)
        with nogil:
            for number in range(<int>self.ends.size()):
                self._load(number)
                start(s)
                while settle(s):
                    logged = self._decide(
                        s, actions, labels, action_learner, label_learner, NONE
                    )
                    apply(s, logged.action, logged.label)
                for i in range(s.n):
                    if s.heads[i] != NONE:
                        head_view[s.tokens[i]] = s.tokens[s.heads[i]]
                        label_view[s.tokens[i]] = s.labels[i]
        return all_heads, all_labels

    def update_ranker(
        self,
        Features actions not None,
        Features labels not None,
        RankFeatures features not None,
        Learner action_learner not None,
        Learner label_learner not None,
        RankLearner ranker not None,
        int n_branches,
        float max_lead,
    ):
        """Parse docs that the learners have not seen, branch where they are unsure, and
        learn which branches lead to better trees.

        n_branches (int): How many branches to try for a sentence.
        max_lead (float): The lead from which on a decision counts as sure.
        RETURNS (float): The summed loss.
        """
        cdef SentenceC* s = &self.sentence
        cdef SentenceC* branch = &self.branch
        cdef vector[LoggedC] log
        cdef vector[uint64_t] state_keys
        cdef vector[int] chosen
        cdef vector[uint8_t] changes
        cdef LoggedC logged
        cdef double loss = 0
        cdef int number, i, j, k, gain, n_steps, n_chosen
        cdef size_t n_keys, n_branch_keys
        self._check_learners(actions, labels, action_learner, label_learner)
        features.check(self.lexicon.n_columns)
        if ranker.table.entries.size() == 0:
            raise ValueError(Errors.DS216.format(what="a reranker that was never made"))
        n_branch_keys = features.n_branch_keys()
        self.all_labels.assign(label_learner.n_labels, <uint8_t>CORRECT)
        with nogil:
            for number in range(<int>self.ends.size()):
                self._load(number)
                start(s)
                log.clear()
                state_keys.clear()
                while settle(s):
                    logged = self._decide(s, actions, labels, action_learner, label_learner, NONE)
                    state_keys.resize(s.step + 1)
                    state_keys[s.step] = get_state_key(s)
                    log.push_back(logged)
                    apply(s, logged.action, logged.label)
                n_steps = <int>log.size()
                chosen.resize(max(0, min(n_branches, n_steps)))
                n_chosen = choose_branches(
                    log.data(), n_steps, <int>chosen.size(), max_lead, chosen.data()
                )
                for k in range(n_chosen):
                    i = chosen[k]
                    if not copy_sentence(branch, s):
                        with gil:
                            raise MemoryError()
                    replay(branch, log.data(), 0, i, 0)
                    ranker.keys.resize(n_branch_keys)
                    ranker.signs.resize(n_branch_keys)
                    add_branch_keys(
                        features, branch, log[i].action, log[i].second,
                        <int>(8 * log[i].lead), ranker.keys.data(), ranker.signs.data(),
                    )
                    logged = self._decide(
                        branch, actions, labels, action_learner, label_learner, log[i].second
                    )
                    apply(branch, logged.action, logged.label)
                    while settle(branch):
                        if is_back(branch, state_keys.data(), state_keys.size()):
                            # From here on, all goes as before.
                            replay(branch, log.data(), i, n_steps, branch.step)
                            break
                        logged = self._decide(
                            branch, actions, labels, action_learner, label_learner, NONE
                        )
                        apply(branch, logged.action, logged.label)
                    changes.resize(s.n)
                    if not find_changes(s, branch, changes.data()):
                        continue
                    gain = 0
                    for j in range(s.n):
                        gain += self._is_right(branch, j) - self._is_right(s, j)
                    if gain == 0:
                        continue
                    n_keys = n_branch_keys + count_tree_keys(features, changes.data(), s.n)
                    ranker.keys.resize(n_keys)
                    ranker.signs.resize(n_keys)
                    n_keys = n_branch_keys + add_tree_keys(
                        features, s, branch, changes.data(),
                        ranker.keys.data() + n_branch_keys,
                        ranker.signs.data() + n_branch_keys,
                    )
                    ranker.keys.resize(n_keys)
                    ranker.signs.resize(n_keys)
                    loss += ranker.learn(gain)
        return loss

    cdef int _is_right(self, const SentenceC* s, int token) noexcept nogil:
        if self.gold.heads[token] == UNKNOWN_HEAD:
            return 0
        if s.heads[token] == NONE:
            return self.gold.heads[token] == s.n
        return s.heads[token] == self.gold.heads[token] and (
            s.labels[token] == self.local_labels[token]
        )

    cdef LoggedC _decide(
        self,
        SentenceC* s,
        Features actions,
        Features labels,
        Learner action_learner,
        Learner label_learner,
        int action,
    ) noexcept nogil:
        """Make one decision, or take the given action."""
        cdef int[MAX_PLACES] places
        cdef atom_t[MAX_SLOTS] values
        cdef uint8_t[N_ACTIONS] costs
        cdef ContextC context
        cdef LoggedC logged
        cdef int i, valid, head, dependent
        context.lexemes = NULL
        context.dynamic = values
        logged.step = s.step
        logged.action = action
        logged.second = NONE
        logged.label = 0
        logged.lead = 0
        if action == NONE:
            valid = get_valid(s)
            for i in range(N_ACTIONS):
                costs[i] = CORRECT if valid >> i & 1 else INVALID
            find_action_places(s, places)
            read_slots(s, &actions.c, 0, actions.c.n_slots, places, values)
            logged.action = action_learner.guess(&context, costs)
            for i in range(N_ACTIONS):
                if i != logged.action and valid >> i & 1 and (
                    logged.second == NONE
                    or action_learner.scores[i] > action_learner.scores[logged.second]
                ):
                    logged.second = i
            if logged.second != NONE:
                logged.lead = (
                    action_learner.scores[logged.action] - action_learner.scores[logged.second]
                )
        if logged.action == LEFT or logged.action == RIGHT:
            head = get_front(s) if logged.action == LEFT else s.stack[s.top - 1]
            dependent = s.stack[s.top - 1] if logged.action == LEFT else get_front(s)
            find_label_places(s, head, dependent, places)
            read_slots(s, &labels.c, 0, labels.c.n_slots, places, values)
            logged.label = label_learner.guess(&context, self.all_labels.data())
        return logged
