"""What compiled classifiers over words have in common."""
from ...base.errors import Errors

from .packing cimport add_weights


cdef class WordScorer:
    """Integer weights, and what a lexicon keeps for each word on their behalf: rows that
    a class derived from this fills when the word is met for the first time."""

    cdef int set_weights(
        self, Program program, PackedWeights weights, float scale
    ) except -1:
        """Take what to score by, once."""
        if (
            self.program is not None
            or weights.index is None
            or program.c.n_templates > MAX_TEMPLATES
        ):
            raise ValueError(
                Errors.DS216.format(what=f"a scorer of {weights.n_labels} labels")
            )
        self.weights = weights
        self.scale = scale
        self.n_labels = weights.n_labels
        self.n_outputs = weights.n_labels
        self.program = program
        return 0

    cdef bint is_made(self) noexcept nogil:
        """Whether the rows of words can be filled."""
        return False

    cdef size_t count_row_bytes(self) noexcept nogil:
        """The size of a word's rows."""
        return 0

    cdef void fill(self, LexemeRecC* record, char* rows) noexcept nogil:
        """Fill the rows of a word."""

    cdef void add_feature(
        self, int template, feat_t key, score_t* scores
    ) noexcept nogil:
        """Add the weights of a template's feature to the scores of outputs."""
        add_weights(&self.weights.c, key, scores)

    @property
    def row_bytes(self) -> int:
        """How much memory a lexicon needs for the rows of a word."""
        return self.count_row_bytes()

    def find_pairs(self, vector[feat_t] keys) -> list:
        """What induced pairs of features add.

        keys (list[int]): The key of each template's feature.
        RETURNS (list): For each pair the ranks of its templates, the earlier one first,
            and its integer scores by output.
        """
        return []

    def combine(self, outputs):
        """The scores of labels, by the scores of outputs in the last dimension."""
        return outputs[..., : self.n_labels]
