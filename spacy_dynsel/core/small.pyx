from libc.string cimport memset
from libcpp.vector cimport vector

import numpy as np

from .lines cimport FillingC, Sums, get_add_values, put
from .scorer cimport (
    best_kind,
    count_features,
    get_bucket_bits,
    get_check,
    get_label,
)
from .typedefs cimport feat_t, uint32_t


cdef class SmallScorer:
    """Weights of a classifier over slots with up to four labels.

    program (Program): The templates.
    n_labels (int): The number of labels.
    index (array), slots (array): The weights, see pack_weights.
    scale (float): The integer that stands for a weight of 1.
    """

    def __init__(
        self,
        Program program not None,
        int n_labels,
        const uint32_t[::1] index not None,
        const uint32_t[::1] slots not None,
        float scale,
    ):
        cdef int shift = 32 - get_bucket_bits(index.shape[0])
        cdef FillingC table
        cdef uint32_t bucket, i, check, value
        if n_labels > MAX_SMALL_LABELS:
            raise ValueError(n_labels)
        self.program = program
        self.n_labels = n_labels
        self.scale = scale
        self._weights = Lines(count_features(index, slots))
        table = self._weights.filling
        with nogil:
            for bucket in range(<uint32_t>index.shape[0] - 1):
                i = index[bucket]
                while i < index[bucket + 1]:
                    check = get_check(slots[i])
                    value = 0
                    while i < index[bucket + 1] and get_check(slots[i]) == check:
                        value |= (slots[i] & 0xFF) << 8 * get_label(slots[i])
                        i += 1
                    put(&table, bucket << shift | check, value)
        self.c.program = &program.c
        self.c.weights = self._weights.c
        self.c.add_values = get_add_values(best_kind())

    def sum(self, vector[feat_t] keys, int kind) -> list:
        """The sums of the weights of some features, by the kernels of a kind, see
        kernel_names."""
        cdef Sums sums
        cdef int label
        memset(&sums, 0, sizeof(Sums))
        get_add_values(kind)(&sums, self.c.weights, keys.data(), <int>keys.size())
        return [sums.of[label] for label in range(self.n_labels)]

    def unpack(self) -> tuple:
        """The weights: arrays of keys, labels and weights, see pack_weights."""
        keys, values = self._weights.to_arrays()
        weights = values.astype("<u4").view("int8").reshape(-1, MAX_SMALL_LABELS)
        features, labels = np.nonzero(weights)
        return keys[features], labels.astype("uint32"), weights[features, labels]
