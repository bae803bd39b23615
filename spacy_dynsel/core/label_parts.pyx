"""Labels that are made of parts.

The score of a label is the sum of the scores of its parts, and of its own as a whole.
What has weights is an output: first all parts, then all labels as wholes.
"""
import numpy as np

from ..base.errors import Errors


cdef class LabelParts:
    """The parts of each label.

    n_parts (int): The number of parts.
    starts (array): Where the parts of each label start in ids, and where the last ends.
    ids (array): The parts of the labels, one label after the other.
    """

    def __init__(
        self,
        int n_parts,
        const int32_t[::1] starts not None,
        const uint16_t[::1] ids not None,
    ):
        cdef Py_ssize_t i
        cdef bint fits = (
            self.starts is None
            and n_parts > 0
            and starts.shape[0] > 1
            and starts[0] == 0
            and starts[starts.shape[0] - 1] == ids.shape[0]
        )
        if fits:
            for i in range(starts.shape[0] - 1):
                fits &= starts[i] <= starts[i + 1]
            for i in range(ids.shape[0]):
                fits &= ids[i] < n_parts
        if not fits:
            raise ValueError(Errors.DS216.format(what="the parts of labels"))
        self.starts = np.asarray(starts)
        self.ids = np.asarray(ids)
        self.c.n_labels = starts.shape[0] - 1
        self.c.n_parts = n_parts
        self.c.starts = &starts[0]
        # A label may have no parts, and so may all.
        self.c.ids = &ids[0] if ids.shape[0] else NULL

    @property
    def n_parts(self) -> int:
        return self.c.n_parts

    @property
    def n_labels(self) -> int:
        return self.c.n_labels

    @property
    def n_outputs(self) -> int:
        return self.c.n_parts + self.c.n_labels

    def combine(self, outputs):
        """The scores of labels, by the scores of outputs in the last dimension."""
        if self.starts is None:
            raise ValueError(Errors.DS216.format(what="the parts of labels"))
        wide = np.asarray(outputs, dtype="int32")
        labels = np.repeat(np.arange(self.n_labels), np.diff(self.starts))
        scores = wide[..., self.n_parts :].copy()
        np.add.at(scores, (..., labels), wide[..., self.ids])
        return scores

    def __reduce__(self):
        return LabelParts, (self.c.n_parts, self.starts, self.ids)
