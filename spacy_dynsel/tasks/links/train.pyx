"""Learning which links make trees, and what their labels are."""
from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t

import numpy as np

from ...base.errors import Errors

from ...core.learner cimport CORRECT, WRONG, Learner, StepC
from ...core.link_learner cimport LinkLearner
from ...core.program cimport ContextC
from ...core.typedefs cimport atom_t, feat_t, uint8_t
from ...core.vectors cimport bare_vector
from ..arc_eager.features cimport MAX_SLOTS, Features, find_label_places, read_slots
from ..arc_eager.places cimport MAX_PLACES, N_LABEL_PLACES
from ..arc_eager.system cimport NONE, UNKNOWN_HEAD, SentenceC, add_arc, start
from ..arc_eager.train cimport TransitionExamples
from ..arc_eager.trees cimport CLASSIFY_ROOM, PROJECTIVE, classify
from .model cimport LinkModel
from .search cimport (
    MAX_LINK_KEYS,
    N_FILTER_KEYS,
    REACH,
    SCALE,
    LinkC,
    find_filter_keys,
    find_keys,
    find_links,
    find_tree,
    order_arcs,
    parse_links,
    prepare,
    score_links,
)

cdef extern from "kernels.hpp" namespace "dynsel" nogil:
    bint call_guarded(void (*function)(void*) noexcept nogil, void* job)

cdef enum:
    # A link that no tree leaves out, or takes, for its score.
    FAR = 1 << 26

# What moves by less is left alone.
cdef double LEAST_GRADIENT = 0.005


cdef class LinkExamples(TransitionExamples):
    """Docs with their gold trees, see TransitionExamples."""

    cdef int _check_model(self, LinkModel model, Features labels, Learner learner) except -1:
        """Raise an error unless learners see these features, and know the labels."""
        self.check_read()
        model.check(self.lexicon.n_columns)
        labels.check(N_LABEL_PLACES, self.lexicon.n_columns)
        labels.check_learner(learner, learner.n_labels)
        if self.highest >= learner.n_labels:
            raise ValueError(Errors.DS216.format(what="a learner and its labels"))
        return 0

    def update_trees(
        self,
        LinkModel model not None,
        Features labels not None,
        LinkLearner filter_learner not None,
        LinkLearner learner not None,
        Learner label_learner not None,
        float cost,
        float drop,
        float word_dropout,
        float exploration,
    ):
        """Learn trees as wholes: the best one, with a cost for each wrong link, must not be
        better than the gold one. What of that is not known is what best goes with the rest.

        cost (float): Of a wrong link.
        drop (float): The probability with which a template of labels is left out.
        word_dropout (float): The probability with which a word is treated as unknown.
        exploration (float): How often labels go on from what is predicted.
        RETURNS (float): How many links were wrong.
        """
        cdef SentenceC* s = &self.sentence
        cdef int number
        cdef int n_wrong = 0
        self._check_model(model, labels, label_learner)
        model.bind_learners(&self.model, filter_learner, learner)
        self.model_places = model
        self.filter_learner = filter_learner
        self.learner = learner
        self.cost = cost
        prepare(&self.work, False)
        with nogil:
            for number in range(<int>self.ends.size()):
                self._load(number)
                if s.n == 0:
                    continue
                if word_dropout:
                    self._hide_words(label_learner, word_dropout)
                start(s)
                if not call_guarded(call_learn_tree, <void*>self):
                    with gil:
                        raise MemoryError()
                n_wrong += self.n_wrong
                if self.has_tree:
                    self._teach_labels(labels, label_learner, drop, exploration)
        return float(n_wrong)

    def update_labels(
        self,
        Features labels not None,
        Learner label_learner not None,
        float drop,
        float word_dropout,
        float exploration,
    ):
        """Learn the labels of gold trees. RETURNS (float): The loss."""
        cdef SentenceC* s = &self.sentence
        cdef int number
        cdef double loss = 0
        self.check_read()
        labels.check(N_LABEL_PLACES, self.lexicon.n_columns)
        labels.check_learner(label_learner, label_learner.n_labels)
        if self.highest >= label_learner.n_labels:
            raise ValueError(Errors.DS216.format(what="a learner and its labels"))
        with nogil:
            for number in range(<int>self.ends.size()):
                self._load(number)
                if s.n == 0:
                    continue
                if word_dropout:
                    self._hide_words(label_learner, word_dropout)
                if not call_guarded(call_take_gold, <void*>self):
                    with gil:
                        raise MemoryError()
                if self.has_tree:
                    loss += self._teach_labels(labels, label_learner, drop, exploration)
        return loss

    def guess_trees(
        self,
        LinkModel model not None,
        Features labels not None,
        LinkLearner filter_learner not None,
        LinkLearner learner not None,
        Learner label_learner not None,
    ):
        """Parse with the weights as they are, see TransitionExamples.guess."""
        cdef SentenceC* s = &self.sentence
        cdef int number, i
        self._check_model(model, labels, label_learner)
        model.bind_learners(&self.model, filter_learner, learner)
        prepare(&self.work, False)
        all_heads = np.full(self.tokens.size(), -1, dtype="int32")
        all_labels = np.full(self.tokens.size(), -1, dtype="int32")
        cdef int32_t[::1] head_view = all_heads
        cdef int32_t[::1] label_view = all_labels
        with nogil:
            for number in range(<int>self.ends.size()):
                self._load(number)
                if s.n == 0:
                    continue
                start(s)
                if not call_guarded(call_parse, <void*>self):
                    with gil:
                        raise MemoryError()
                self._guess_labels(labels, label_learner)
                for i in range(s.n):
                    if s.heads[i] != NONE:
                        head_view[s.tokens[i]] = s.tokens[s.heads[i]]
                        label_view[s.tokens[i]] = s.labels[i]
        return all_heads, all_labels

    cdef bint take_gold(self) noexcept nogil:
        """Take over the gold heads. RETURNS: Whether they make a projective tree."""
        cdef int n = self.sentence.n
        cdef int i, n_roots = 0
        cdef bint is_known = True
        self.gold_heads.resize(n)
        for i in range(n):
            self.gold_heads[i] = NONE
            if self.gold.heads[i] == n:
                n_roots += 1
            elif self.gold.heads[i] == UNKNOWN_HEAD:
                is_known = False
            else:
                self.gold_heads[i] = self.gold.heads[i]
        if not is_known or n_roots != 1:
            return False
        self.room.resize(<size_t>CLASSIFY_ROOM * n)
        return classify(<const int*>self.gold_heads.data(), n, self.room.data()) == PROJECTIVE

    cdef void order_gold(self) noexcept nogil:
        """Bring the words of the gold tree into the order in which they get labels."""
        cdef int i
        self.work.heads.resize(self.sentence.n)
        for i in range(self.sentence.n):
            self.work.heads[i] = self.gold_heads[i]
        order_arcs(self.sentence.n, &self.work)

    cdef void start_gold(self) noexcept nogil:
        """Prepare for the labels of the gold tree, if that is complete."""
        self.has_tree = self.take_gold()
        if self.has_tree:
            self.order_gold()

    cdef void parse(self) noexcept nogil:
        parse_links(&self.model, &self.sentence, NULL, &self.work)
        order_arcs(self.sentence.n, &self.work)

    cdef int get_gold(self, int child) noexcept nogil:
        """The known head of a word, or UNKNOWN_HEAD."""
        cdef int head = self.gold.heads[child]
        return NONE if head == self.sentence.n else head

    cdef void find_gold_links(self) noexcept nogil:
        """The links that the filter leaves, and those of the gold tree."""
        cdef SentenceC* s = &self.sentence
        cdef LinkC link
        cdef size_t i
        cdef int child
        find_links(&self.model, s, &self.work)
        self.work.flags.assign(s.n, 0)
        for i in range(self.work.links.size()):
            child = self.work.links[i].child
            if self.work.links[i].head == self.get_gold(child):
                self.work.flags[child] = True
        for child in range(s.n):
            if not self.work.flags[child] and self.gold.heads[child] != UNKNOWN_HEAD:
                link.head = self.get_gold(child)
                link.child = child
                link.score = 0
                self.work.links.push_back(link)

    cdef void add_costs(self, int64_t right, int64_t wrong) noexcept nogil:
        """Change the scores of links of words whose heads are known."""
        cdef size_t i
        cdef LinkC* link
        for i in range(self.work.links.size()):
            link = &self.work.links[i]
            if self.gold.heads[link.child] != UNKNOWN_HEAD:
                link.score += right if link.head == self.get_gold(link.child) else wrong

    cdef void learn_tree(self) noexcept nogil:
        cdef SentenceC* s = &self.sentence
        cdef int i
        self.n_wrong = 0
        self.teach_filter()
        self.filter_learner.c.now += 1
        self.learner.c.now += 1
        self.find_gold_links()
        score_links(&self.model, s, &self.work)
        self.has_tree = self.take_gold()
        if not self.has_tree:
            # The best tree that has all links that are known.
            self.add_costs(<int64_t>FAR * SCALE, 0)
            if not find_tree(&self.model, s, &self.work):
                return
            for i in range(s.n):
                if self.gold.heads[i] != UNKNOWN_HEAD and (
                    self.work.heads[i] != self.get_gold(i)
                ):
                    return
                self.gold_heads[i] = self.work.heads[i]
            self.has_tree = True
            self.add_costs(-<int64_t>FAR * SCALE, 0)
        self.add_costs(0, <int64_t>(self.cost * SCALE))
        if find_tree(&self.model, s, &self.work):
            for i in range(s.n):
                self.n_wrong += self.work.heads[i] != self.gold_heads[i]
            if self.n_wrong:
                self.move_trees()
        self.order_gold()

    cdef void move(self, const int32_t* heads, int i, float g) noexcept nogil:
        """Move the weights of a link."""
        cdef feat_t[MAX_LINK_KEYS] keys
        cdef int n
        n = find_keys(
            &self.model, self.model.pairs, &self.sentence, heads[i], i, NONE, &self.work,
            keys,
        )
        self.learner.c.move(keys, n, g)

    cdef void move_sibling(
        self, const int* siblings, const int32_t* heads, int i, float g
    ) noexcept nogil:
        """Move the weights of a link with its next sibling."""
        cdef feat_t[MAX_LINK_KEYS] keys
        cdef int n
        if heads[i] == NONE:
            return
        n = find_keys(
            &self.model, self.model.siblings, &self.sentence, heads[i], i, siblings[i],
            &self.work, keys,
        )
        self.learner.c.move(keys, n, g)

    cdef void move_trees(self) noexcept nogil:
        """Raise the score of the gold tree, and lower that of the one that was found."""
        cdef SentenceC* s = &self.sentence
        cdef const int32_t* good = self.gold_heads.data()
        cdef const int32_t* bad = self.work.heads.data()
        cdef const int* good_siblings
        cdef const int* bad_siblings
        cdef int i
        find_siblings(s.n, good, &self.gold_siblings, &self.room)
        find_siblings(s.n, bad, &self.siblings, &self.room)
        good_siblings = self.gold_siblings.data()
        bad_siblings = self.siblings.data()
        for i in range(s.n):
            if good[i] != bad[i]:
                self.move(good, i, -1)
                self.move(bad, i, 1)
            if self.model.siblings != NULL and (
                good[i] != bad[i] or good_siblings[i] != bad_siblings[i]
            ):
                self.move_sibling(good_siblings, good, i, -1)
                self.move_sibling(bad_siblings, bad, i, 1)

    cdef void teach_filter(self) noexcept nogil:
        """Learn which of all words is the head of another, from tags and distance."""
        cdef SentenceC* s = &self.sentence
        cdef feat_t[N_FILTER_KEYS] keys
        cdef double best, total, g
        cdef int child, head, first, end, i, n, own
        for child in range(s.n):
            if self.gold.heads[child] == UNKNOWN_HEAD:
                continue
            first = max(0, child - REACH)
            end = min(s.n, child + REACH + 1)
            # The root takes the place of the word itself.
            n = end - first
            self.shares.resize(n)
            best = -1e9
            for i in range(n):
                head = first + i if first + i != child else NONE
                find_filter_keys(s, head, child, keys)
                self.shares[i] = self.filter_learner.c.score(keys, N_FILTER_KEYS)
                best = max(best, self.shares[i])
            total = 0
            for i in range(n):
                total += self.shares[i]
            own = child if self.get_gold(child) == NONE else self.get_gold(child)
            if first <= own < end and n > 1:
                self.model_places.note(self.shares[own - first], best, total / n)
            total = 0
            for i in range(n):
                self.shares[i] = exp(self.shares[i] - best)
                total += self.shares[i]
            for i in range(n):
                head = first + i if first + i != child else NONE
                g = self.shares[i] / total - (head == self.get_gold(child))
                if g > LEAST_GRADIENT or g < -LEAST_GRADIENT:
                    find_filter_keys(s, head, child, keys)
                    self.filter_learner.c.move(keys, N_FILTER_KEYS, <float>g)

    cdef double _teach_labels(
        self, Features labels, Learner learner, float drop, float exploration
    ) except? -1 nogil:
        """Learn the labels of the gold tree. RETURNS: The loss."""
        cdef SentenceC* s = &self.sentence
        cdef int[MAX_PLACES] places
        cdef atom_t[MAX_SLOTS] values
        cdef ContextC context
        cdef StepC step
        cdef double loss = 0
        cdef int i, word, head, label
        context.lexemes = NULL
        context.dynamic = values
        self.all_labels.assign(learner.n_labels, <uint8_t>WRONG)
        start(s)
        for i in range(s.n):
            s.heads[i] = self.gold_heads[i]
        for i in range(s.n):
            word = self.work.order[i]
            head = s.heads[word]
            if head == NONE:
                continue
            find_label_places(s, head, word, places)
            read_slots(s, &labels.c, 0, labels.c.n_slots, places, values)
            label = self.local_labels[word]
            if label != NONE:
                self.all_labels[label] = CORRECT
                learner.step(&context, self.all_labels.data(), drop, &step)
                self.all_labels[label] = WRONG
                loss += step.loss
                if learner.random() < exploration:
                    label = step.guess
            else:
                label = learner.guess(&context, self.all_labels.data())
            add_arc(s, head, word, label)
        return loss

    cdef int _guess_labels(self, Features labels, Learner learner) except -1 nogil:
        """Label the tree that was found."""
        cdef SentenceC* s = &self.sentence
        cdef int[MAX_PLACES] places
        cdef atom_t[MAX_SLOTS] values
        cdef ContextC context
        cdef int i, word
        context.lexemes = NULL
        context.dynamic = values
        self.all_labels.assign(learner.n_labels, <uint8_t>CORRECT)
        start(s)
        for i in range(s.n):
            s.heads[i] = self.work.heads[i]
        for i in range(s.n):
            word = self.work.order[i]
            if s.heads[word] == NONE:
                continue
            find_label_places(s, s.heads[word], word, places)
            read_slots(s, &labels.c, 0, labels.c.n_slots, places, values)
            add_arc(
                s, s.heads[word], word, learner.guess(&context, self.all_labels.data())
            )
        return 0


cdef void find_siblings(
    int n, const int32_t* heads, bare_vector[int]* siblings, bare_vector[int]* last
) noexcept nogil:
    """For each word the next child of its head towards it, or NONE."""
    cdef int i
    siblings.assign(n, NONE)
    last.assign(n, NONE)
    for i in range(n):
        if heads[i] != NONE and heads[i] < i:
            siblings[0][i] = last[0][heads[i]]
            last[0][heads[i]] = i
    last.assign(n, NONE)
    for i in range(n - 1, -1, -1):
        if heads[i] > i:
            siblings[0][i] = last[0][heads[i]]
            last[0][heads[i]] = i


cdef void call_learn_tree(void* job) noexcept nogil:
    (<LinkExamples>job).learn_tree()


cdef void call_take_gold(void* job) noexcept nogil:
    (<LinkExamples>job).start_gold()


cdef void call_parse(void* job) noexcept nogil:
    (<LinkExamples>job).parse()
