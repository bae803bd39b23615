"""What a model sees, and which actions it has.

The places of a decision are the offsets -REACH .. REACH from its word, and, if the
same word (in lower case) occurs elsewhere in the doc, the neighbours of its nearest
occurrence before and after.
"""
import numpy as np

from ...base.errors import Errors

from .actions cimport KEEP_C, count_actions, find_kind, get_action
from .gazetteer cimport N_CODES_C

cdef enum:
    N_CASE_SETS_C = 17

REACH = REACH_C
COLUMNS = ["action", "tag", "seen", "seen_last", "seen_shares", "cases", "lists"]
NAMED_PLACES = ["before-1", "before+1", "after-1", "after+1"]
N_CASE_SETS = N_CASE_SETS_C


cdef class Task:
    """What the loops have to know about a model.

    types (array): The string IDs of the entity types.
    backwards (bool): Whether sentences are read from right to left.
    lexical (list[str]): The lexical columns; "lower" and "case" are among them.
    remembers (bool): Whether templates look at other occurrences of a word.
    n_dynamic (int): The number of columns that the task writes.
    keeps (bool): Whether entities that are set stay, and blocked tokens blocked.
    gazetteer (Gazetteer): Lists of names, if there are any.
    """

    def __init__(
        self,
        types,
        bint backwards,
        list lexical not None,
        bint remembers,
        int n_dynamic,
        bint keeps,
        Gazetteer gazetteer,
    ):
        cdef int n_lists = 0
        if gazetteer is not None:
            n_lists = gazetteer.c.n_lists
            if gazetteer.c.exact.places == NULL or max(
                gazetteer.c.lower_column, gazetteer.c.word_column
            ) >= len(lexical):
                raise ValueError(Errors.DS216.format(what="gazetteers and columns"))
        if self.types is not None or n_dynamic < N_COLUMNS + n_lists:
            raise ValueError(Errors.DS216.format(what="the columns of a task"))
        # At least one element, so that there is an address.
        self.types = np.zeros(max(1, len(types)), dtype="uint64")
        self.types[:len(types)] = types
        cdef const uint64_t[::1] view = self.types
        self.c.types = &view[0]
        self.c.n_types = len(types)
        self.c.n_dynamic = n_dynamic
        self.c.backwards = backwards
        self.c.remembers = remembers
        self.c.keeps = keeps
        self.gazetteer = gazetteer
        self.c.gazetteer = NULL
        if gazetteer is not None:
            self.c.gazetteer = &gazetteer.c
        self.c.n_lexical = len(lexical)
        self.c.lower_column = lexical.index("lower")
        self.c.case_column = lexical.index("case")

    cdef int check(self, Lexicon lexicon, LexemeReader reader) except -1:
        """Raise an error unless lexemes have the columns that are read."""
        reader.check(lexicon)
        if self.c.n_lexical != lexicon.n_columns:
            raise ValueError(Errors.DS216.format(what="a task and its columns"))
        return 0

    cdef int check_program(self, Program program, int n_labels) except -1:
        """Raise an error unless templates look at what a decision sees, and labels are
        actions."""
        if (
            program is None
            or program.c.n_columns > self.c.n_lexical
            or program.c.n_places > N_PLACES
            or program.c.n_values > (2 * REACH_C + 1) * self.c.n_dynamic
            or n_labels != count_actions(self.c.n_types)
        ):
            raise ValueError(Errors.DS216.format(what="templates, labels and a task"))
        return 0

    cdef int check_scorer(self, CachedScorer scorer) except -1:
        """Raise an error unless tables have room for what the task writes."""
        cdef size_t i
        cdef uint64_t needed
        self.check_program(scorer.program, scorer.c.n_labels)
        for i in range(scorer.dynamic_limits.size()):
            column = scorer.dynamic_limits[i].column
            if column == ACTION or column == SEEN_LAST:
                needed = scorer.c.n_labels + 1
            elif column == SEEN:
                needed = self.c.n_types + 2
            elif column == CASES:
                needed = N_CASE_SETS_C
            elif column >= N_COLUMNS:
                needed = N_CODES_C
            else:
                needed = <uint64_t>-1
            if scorer.dynamic_limits[i].n_values < needed:
                raise ValueError(Errors.DS216.format(what="a scorer and its columns"))
        return 0

    cdef int check_first(
        self, const uint16_t[::1] actions, const score_t[::1] support, size_t n_tokens
    ) except -1:
        """Raise an error unless a first pass found an action and its support for each
        token."""
        cdef bint fits = (
            <size_t>actions.shape[0] == n_tokens and <size_t>support.shape[0] == n_tokens
        )
        cdef Py_ssize_t i
        if fits:
            for i in range(actions.shape[0]):
                fits &= actions[i] < count_actions(self.c.n_types) or actions[i] == KEEP_C
        if not fits:
            raise ValueError(Errors.DS216.format(what="docs and a first pass"))
        return 0


cdef int preset_action(
    const TaskC* task, const EntityTokenC* tokens, int n, int i
) noexcept nogil:
    """The action that stands for an entity which is set already: in the order of the
    text, O for a blocked token or an unknown type."""
    cdef int t
    cdef bint goes_on = i + 1 < n and tokens[i + 1].iob == 1
    for t in range(task.n_types):
        if task.types[t] == tokens[i].type:
            return get_action(t, find_kind(tokens[i].iob == 3, not goes_on))
    return 0
