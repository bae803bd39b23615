from libc.string cimport memset
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from .line_table import check_table, find_starts

from .line_table cimport Sums, get_add_values
from .cached cimport best_kind, get_kernels
from ..typedefs cimport feat_t


cdef class SmallScorer:
    """Weights of a classifier over slots with up to four labels.

    program (Program): The templates.
    n_labels (int): The number of labels.
    arrays (dict): The weights, see pack.
    scale (float): The integer that stands for a weight of 1.
    """

    # The names of the arrays.
    parts = ("keys", "codes")

    def __init__(
        self, Program program not None, int n_labels, dict arrays not None, float scale
    ):
        if self.program is not None or not 0 <= n_labels <= MAX_SMALL_LABELS:
            raise ValueError(Errors.DS216.format(what="the labels of a scorer"))
        self.check(arrays, n_labels)
        self.program = program
        self.n_labels = n_labels
        self.scale = scale
        self._weights = Lines(arrays["keys"], arrays["codes"])
        self.c.program = &program.c
        self.c.weights = self._weights.c
        self.c.add_values = get_add_values(best_kind())

    @staticmethod
    def pack(keys, labels, weights, int n_labels) -> dict:
        """Bring integer weights into the form of a file: for each feature, in order, its
        key and a code, the four weights as bytes.

        keys (array), labels (array), weights (array): Sorted by key and label.
        n_labels (int): The number of labels.
        """
        kept = np.flatnonzero(weights)
        keys, labels, weights = keys[kept], labels[kept], weights[kept]
        starts = find_starts(keys)
        parts = weights.view("uint8").astype("uint32") << labels.astype("uint32") * 8
        return {"keys": keys[starts], "codes": np.bitwise_or.reduceat(parts, starts)}

    @staticmethod
    def check(dict arrays, int n_labels) -> None:
        """Raise an error unless arrays from a file can be read without harm."""
        keys, codes = arrays["keys"], arrays["codes"]
        check_table(keys, codes, "uint32")
        if n_labels < MAX_SMALL_LABELS and int(codes.max(initial=0)) >> 8 * n_labels:
            raise ValueError(Errors.DS035.format(what="a weight has an unknown label"))

    def arrays(self) -> dict:
        """The weights in the form of a file, see pack."""
        keys, codes = self._weights.to_arrays()
        return {"keys": keys, "codes": codes}

    def unpack(self) -> tuple:
        """The inverse of pack: arrays of keys, labels and weights."""
        keys, codes = self._weights.to_arrays()
        weights = codes.astype("<u4").view("int8").reshape(-1, MAX_SMALL_LABELS)
        features, labels = np.nonzero(weights)
        return keys[features], labels.astype("uint32"), weights[features, labels]

    def sum(self, vector[feat_t] keys, int kind) -> list:
        """The sums of the weights of some features, by the kernels of a kind, see
        kernel_names."""
        cdef Sums sums
        cdef int label
        if get_kernels(kind) == NULL or self.c.program == NULL:
            raise ValueError(Errors.DS216.format(what="features and a scorer"))
        memset(&sums, 0, sizeof(Sums))
        get_add_values(kind)(&sums, self.c.weights, keys.data(), <int>keys.size())
        return [sums.of[label] for label in range(self.n_labels)]
