"""What a parser of links looks at, bound to its weights."""
from libc.string cimport memset

from ...base.errors import Errors

from ..arc_eager.places cimport N_TREE_PLACES
from .search cimport MAX_LINK_KEYS, SCALE as SCALE_C

# The integer that stands for a weight of 1.
SCALE = SCALE_C
MOST_TEMPLATES = MAX_LINK_KEYS
# A threshold below all scores.
KEEP_ALL = -1e6

cdef enum:
    # How many links have to be noted before some are filtered.
    MIN_NOTED = 20000


cdef class LinkModel:
    """The templates of links, and how many of these are looked at.

    pairs (Features): The templates of a head and its child, in one stage.
    siblings (Features): Those of a head and two children that are neighbours, or None.
    max_heads (int): How many heads of a word the filter leaves at most.
    epsilon (float): The share of links that the filter may lose.

    alpha (float): The part of the best head in the filter's threshold. What is learned
        decides, see choose_alpha.
    """

    def __init__(
        self, Features pairs not None, Features siblings, int max_heads, double epsilon
    ):
        self.pairs = pairs
        self.siblings = siblings
        self.max_heads = max_heads
        self.epsilon = epsilon
        self.alpha = KEEP_ALL
        for features in (pairs, siblings):
            if features is not None and (
                features.program.templates.checkpoints[0] > MAX_LINK_KEYS
                or len(features.program.templates.checkpoints) > 1
            ):
                raise ValueError(Errors.DS216.format(what="templates in one stage"))

    cdef void note(self, double score, double best, double mean) noexcept nogil:
        """Note where the score of a gold link stands between the mean and the best."""
        cdef double place = 1
        if best > mean:
            place = (score - mean) / (best - mean)
        self._n_noted += 1
        self._places[
            <int>max(0.0, min(N_PLACES - 1.0, (place - LOWEST) * N_PLACES / (1 - LOWEST)))
        ] += 1

    def choose_alpha(self) -> float:
        """Choose the threshold that loses no more than epsilon of what was noted since the
        last time, before it was learned from. Where that is little, nothing is filtered."""
        cdef double lost = 0
        cdef int i
        if self._n_noted >= MIN_NOTED:
            for i in range(N_PLACES):
                lost += self._places[i]
                if lost > self.epsilon * self._n_noted:
                    break
            self.alpha = LOWEST + i * (1.0 - LOWEST) / N_PLACES
            for i in range(N_PLACES):
                self._places[i] = 0
            self._n_noted = 0
        return self.alpha

    def get_places(self) -> list:
        """What was noted since the last choice."""
        return [self._places[i] for i in range(N_PLACES)]

    def set_places(self, list places not None) -> None:
        """Go on from what get_places gave."""
        cdef int i
        if len(places) != N_PLACES:
            raise ValueError(Errors.DS216.format(what="places of gold links"))
        self._n_noted = 0
        for i in range(N_PLACES):
            self._places[i] = places[i]
            self._n_noted += self._places[i]

    cdef int check(self, int n_lexical) except -1:
        """Raise an error unless lexemes have so many columns."""
        if self.pairs is None:
            raise ValueError(Errors.DS216.format(what="the templates of links"))
        self.pairs.check(N_TREE_PLACES, n_lexical)
        if self.siblings is not None:
            self.siblings.check(N_TREE_PLACES, n_lexical)
        return 0

    cdef int _bind(self, LinkModelC* model) except -1:
        memset(model, 0, sizeof(LinkModelC))
        model.pairs = &self.pairs.c
        model.n_pair_keys = self.pairs.program.c.n_templates
        if self.siblings is not None:
            model.siblings = &self.siblings.c
            model.n_sibling_keys = self.siblings.program.c.n_templates
        model.max_heads = self.max_heads
        model.alpha = self.alpha
        return 0

    cdef int bind_learners(
        self, LinkModelC* model, LinkLearner filter_learner, LinkLearner learner
    ) except -1:
        if learner.c.entries.empty() or filter_learner.c.entries.empty():
            raise ValueError(Errors.DS216.format(what="learners that were never made"))
        self._bind(model)
        model.filter_weights = &filter_learner.c
        model.weights = &learner.c
        return 0

    cdef int bind_lines(
        self, LinkModelC* model, ShortLineTable filter_lines, ShortLineTable lines
    ) except -1:
        if filter_lines.c.lines == NULL or lines.c.lines == NULL:
            raise ValueError(Errors.DS216.format(what="tables that were never filled"))
        self._bind(model)
        model.filter_lines = &filter_lines.c
        model.lines = &lines.c
        return 0
