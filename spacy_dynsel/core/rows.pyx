import numpy as np

from .lines cimport FillingC, put
from .scorer cimport (
    LANES,
    best_kernels,
    count_features,
    get_bucket_bits,
    get_check,
    get_label,
    slot_t,
)
from .typedefs cimport uint64_t


cdef class RowScorer:
    """Weights of a classifier over slots.

    program (Program): The templates.
    n_labels (int): The number of labels.
    index (array), slots (array): The weights, see pack_weights.
    scale (float): The integer that stands for a weight of 1.
    """

    def __init__(self, Program program not None, int n_labels, index, slots, float scale):
        cdef int8_t[:, ::1] rows
        cdef uint32_t[:, ::1] lists
        self.program = program
        self.n_labels = n_labels
        self.scale = scale
        self.c.program = &program.c
        self.c.kernels = best_kernels()
        self.c.n_labels = n_labels
        self.c.width = (n_labels + LANES - 1) // LANES * LANES
        if slots.dtype == "uint32":
            fill[uint32_t](self, index, slots)
        else:
            fill[uint64_t](self, index, slots)
        rows = self._rows
        lists = self._lists
        self.c.places = self._places.c
        self.c.rows = &rows[0, 0]
        self.c.lists = &lists[0, 0]

    def unpack(self) -> tuple:
        """The weights: arrays of keys, labels and weights, see pack_weights."""
        keys, places = self._places.to_arrays()
        is_row = places >= <uint32_t>IS_ROW
        # Rows and lists are numbered in the order of their keys.
        in_rows, row_labels = np.nonzero(self._rows)
        in_lists, ranks = np.nonzero(self._lists)
        entries = self._lists[in_lists, ranks]
        all_keys = np.concatenate([keys[is_row][in_rows - 1], keys[~is_row][in_lists - 1]])
        labels = np.concatenate([row_labels, entries >> 8]).astype("uint32")
        weights = np.concatenate(
            [self._rows[in_rows, row_labels], entries.astype("uint8").view("int8")]
        )
        order = np.lexsort((labels, all_keys))
        return all_keys[order], labels[order], weights[order]


cdef int fill(
    RowScorer scorer, const uint32_t[::1] index, const slot_t[::1] slots
) except -1:
    """Make rows and lists of the weights."""
    cdef int shift = 32 - get_bucket_bits(index.shape[0])
    cdef FillingC table
    cdef uint32_t bucket, first, end, i, place, value
    cdef uint32_t n_features = count_features(index, slots)
    # List 0 is for features without weights; row 0 is there to have an address.
    cdef uint32_t n_lists = 1
    cdef uint32_t n_rows = 1
    # Room for as many as there can be costs nothing as long as it is not used.
    all_rows = np.zeros((slots.shape[0] // (LIST_SIZE + 1) + 1, scorer.c.width), "int8")
    all_lists = np.zeros((n_features + 1, LIST_SIZE), "uint32")
    cdef int8_t[:, ::1] rows = all_rows
    cdef uint32_t[:, ::1] lists = all_lists
    scorer._places = Lines(n_features)
    table = scorer._places.filling
    with nogil:
        for bucket in range(<uint32_t>index.shape[0] - 1):
            first = index[bucket]
            while first < index[bucket + 1]:
                end = first + 1
                while end < index[bucket + 1] and get_check(slots[end]) == get_check(slots[first]):
                    end += 1
                if end - first > LIST_SIZE:
                    for i in range(first, end):
                        rows[n_rows, get_label(slots[i])] = <int8_t>(slots[i] & 0xFF)
                    place = n_rows | <uint32_t>IS_ROW
                    n_rows += 1
                else:
                    for i in range(first, end):
                        value = get_label(slots[i]) << 8 | <uint32_t>(slots[i] & 0xFF)
                        lists[n_lists, i - first] = value
                    place = n_lists
                    n_lists += 1
                put(&table, bucket << shift | get_check(slots[first]), place)
                first = end
    scorer._rows = all_rows[:n_rows]
    scorer._lists = all_lists[:n_lists]
    return 0
