import numpy as np

from .scorer cimport LANES, best_kernels

from .scorer import unpack_weights


cdef class RowScorer:
    """Weights of a classifier over slots.

    program (Program): The templates.
    n_labels (int): The number of labels.
    index (array), slots (array): The weights, see pack_weights.
    scale (float): The integer that stands for a weight of 1.
    """

    def __init__(self, Program program not None, int n_labels, index, slots, float scale):
        cdef const int8_t[:, ::1] row_view
        cdef const uint32_t[:, ::1] list_view
        self.program = program
        self.n_labels = n_labels
        self.index = index
        self.slots = slots
        self.scale = scale
        self.c.program = &program.c
        self.c.kernels = best_kernels()
        self.c.n_labels = n_labels
        self.c.width = (n_labels + LANES - 1) // LANES * LANES
        keys, labels, weights = unpack_weights(index, slots)
        order = np.argsort(keys, kind="stable")
        keys, labels, weights = keys[order], labels[order], weights[order]
        unique, features, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        is_row = sizes > LIST_SIZE
        # List 0 is for features without weights; row 0 is there to have an address.
        places = np.where(is_row, np.cumsum(is_row), np.cumsum(~is_row)).astype("uint32")
        self._rows = np.zeros((np.count_nonzero(is_row) + 1, self.c.width), dtype="int8")
        in_row = is_row[features]
        self._rows[places[features[in_row]], labels[in_row]] = weights[in_row]
        self._lists = np.zeros((np.count_nonzero(~is_row) + 1, LIST_SIZE), dtype="uint32")
        ranks = np.arange(len(keys)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        values = labels << 8 | weights.view("uint8")
        self._lists[places[features[~in_row]], ranks[~in_row]] = values[~in_row]
        places[is_row] |= <uint32_t>IS_ROW
        self._places = Lines(unique, places)
        self.c.places = self._places.c
        row_view = self._rows
        list_view = self._lists
        self.c.rows = &row_view[0, 0]
        self.c.lists = &list_view[0, 0]
