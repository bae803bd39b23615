"""What templates read of labels: of those decided before, and of those that early
stages, which read none, guess for words to come."""
import numpy as np

from ...base.errors import Errors

REACH = REACH_C


cdef class History:
    """What each label says to the templates of later decisions.

    columns (list[str]): What there is to read of a label.
    values (array): For each label, and before these for no label, the values of the
        columns; 0 says nothing.
    carried (str): The column that keeps its last value where a label says nothing.
    """

    def __init__(
        self,
        list columns not None,
        const atom_t[:, ::1] values not None,
        carried=None,
    ):
        if (
            self.columns is not None
            or values.shape[0] < 2
            or values.shape[1] != len(columns)
            or len(columns) == 0
        ):
            raise ValueError(Errors.DS216.format(what="the columns of a history"))
        self.columns = columns
        self.values = np.asarray(values)
        self.c.n_columns = len(columns)
        self.c.n_labels = values.shape[0] - 1
        self.c.carried = -1 if carried is None else columns.index(carried)
        self.c.values = &values[0, 0]
        self._highest = self.values.max(axis=0).tolist()

    cdef int check(self, const ProgramC* program, int n_labels) except -1:
        """Raise an error unless templates read what is there."""
        if (
            self.columns is None
            or self.c.n_labels < n_labels
            or program.n_places > 2 * REACH_C + 1
            or program.n_values > (2 * REACH_C + 1) * self.c.n_columns
        ):
            raise ValueError(Errors.DS216.format(what="templates and labels"))
        return 0

    cdef int check_scorer(self, WordScorer scorer) except -1:
        """Raise an error unless a scorer has room for all that labels say."""
        cdef size_t i
        self.check(&scorer.program.c, scorer.n_labels)
        for i in range(scorer.dynamic_limits.size()):
            limit = scorer.dynamic_limits[i]
            if self._highest[limit.column] >= limit.n_values:
                raise ValueError(Errors.DS216.format(what="a scorer and its labels"))
        return 0


cdef int count_free_templates(const ProgramC* program, int n_stages) noexcept nogil:
    """How many templates there are in the first stages, as far as these read no labels.

    n_stages: How many stages to look at.
    """
    cdef int t, i, stage, n = 0
    for stage in range(min(n_stages, program.n_stages)):
        for t in range(n, program.stage_ends[stage]):
            for i in range(program.templates[t].n_atoms):
                if program.templates[t].atoms[i].place < 0:
                    return n
        n = program.stage_ends[stage]
    return n


cdef bint looks_ahead(const ProgramC* program, int n_columns) noexcept nogil:
    """Whether a template reads the label of a word to come."""
    cdef int t, i
    for t in range(program.n_templates):
        for i in range(program.templates[t].n_atoms):
            atom = program.templates[t].atoms[i]
            if atom.place < 0 and atom.column // n_columns > REACH_C:
                return True
    return False
