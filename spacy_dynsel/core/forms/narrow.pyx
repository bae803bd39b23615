from libc.string cimport memset
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from .line_table import check_table, find_starts

from ..program cimport Program
from ..typedefs cimport feat_t
from .cached cimport best_kind, get_kernels
from .line_table cimport Sums, get_add_values


cdef class NarrowScorer(SlotScorer):
    """Weights for up to four labels, see SlotScorer: a code is the four weights as
    bytes."""

    def __init__(
        self, Program program not None, int n_labels, dict arrays not None, float scale
    ):
        if n_labels > MAX_NARROW_LABELS:
            raise ValueError(Errors.DS216.format(what="the labels of a scorer"))
        SlotScorer.__init__(self, program, n_labels, arrays, scale)
        self.c.program = &program.c
        self.c.weights = self._codes.c
        self.c.add_values = get_add_values(best_kind())

    @staticmethod
    def pack(keys, labels, weights, int n_labels) -> dict:
        kept = np.flatnonzero(weights)
        keys, labels, weights = keys[kept], labels[kept], weights[kept]
        starts = find_starts(keys)
        parts = weights.view("uint8").astype("uint32") << labels.astype("uint32") * 8
        return {"keys": keys[starts], "codes": np.bitwise_or.reduceat(parts, starts)}

    @staticmethod
    def check(dict arrays, int n_labels) -> None:
        keys, codes = arrays["keys"], arrays["codes"]
        check_table(keys, codes, "uint32")
        if n_labels < MAX_NARROW_LABELS and int(codes.max(initial=0)) >> 8 * n_labels:
            raise ValueError(Errors.DS035.format(what="a weight has an unknown label"))

    def unpack(self) -> tuple:
        keys, codes = self.arrays().values()
        weights = codes.astype("<u4").view("int8").reshape(-1, MAX_NARROW_LABELS)
        features, labels = np.nonzero(weights)
        return keys[features], labels.astype("uint32"), weights[features, labels]

    def sum(self, vector[feat_t] keys, int kind) -> list:
        cdef Sums sums
        cdef int label
        if get_kernels(kind) == NULL or self.c.program == NULL:
            raise ValueError(Errors.DS216.format(what="features and a scorer"))
        memset(&sums, 0, sizeof(Sums))
        get_add_values(kind)(&sums, self.c.weights, keys.data(), <int>keys.size())
        return [sums.of[label] for label in range(self.n_labels)]
