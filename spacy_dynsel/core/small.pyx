import numpy as np

from .scorer import unpack_weights


cdef class SmallScorer:
    """Weights of a classifier over slots with up to four labels.

    program (Program): The templates.
    n_labels (int): The number of labels.
    index (array), slots (array): The weights, see pack_weights.
    scale (float): The integer that stands for a weight of 1.
    """

    def __init__(self, Program program not None, int n_labels, index, slots, float scale):
        if n_labels > MAX_SMALL_LABELS:
            raise ValueError(n_labels)
        self.program = program
        self.n_labels = n_labels
        self.index = index
        self.slots = slots
        self.scale = scale
        keys, labels, weights = unpack_weights(index, slots)
        unique, features = np.unique(keys, return_inverse=True)
        values = np.zeros((len(unique), MAX_SMALL_LABELS), dtype="uint8")
        values[features, labels] = weights.view("uint8")
        packed = values.view("<u4")[:, 0].astype("uint32")
        self._weights = Lines(unique[packed != 0], packed[packed != 0])
        self.c.program = &program.c
        self.c.weights = self._weights.c
