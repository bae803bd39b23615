"""What a parser of links looks at, bound to its weights."""
from libc.string cimport memset

from ...base.errors import Errors

from ..arc_eager.places cimport N_TREE_PLACES
from .search cimport MAX_LINK_KEYS, SCALE as SCALE_C

# The integer that stands for a weight of 1.
SCALE = SCALE_C
MOST_TEMPLATES = MAX_LINK_KEYS


cdef class LinkModel:
    """The templates of links, and how many of these are looked at.

    pairs (Features): The templates of a head and its child, in one stage.
    siblings (Features): Those of a head and two children that are neighbours, or None.
    max_heads (int): How many heads of a word the filter leaves at most.
    alpha (float): The part of the best head in the filter's threshold.
    """

    def __init__(
        self, Features pairs not None, Features siblings, int max_heads, double alpha
    ):
        self.pairs = pairs
        self.siblings = siblings
        self.max_heads = max_heads
        self.alpha = alpha
        for features in (pairs, siblings):
            if features is not None and (
                features.program.templates.checkpoints[0] > MAX_LINK_KEYS
                or len(features.program.templates.checkpoints) > 1
            ):
                raise ValueError(Errors.DS216.format(what="templates in one stage"))

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
