"""Weights of classifiers over slots, as predictions read them."""
from libc.string cimport memset
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from .line_table import check_table, find_starts

from ..typedefs cimport feat_t, int8_t, score_t, uint32_t
from .cached cimport LANES, best_kernels, best_kind, get_kernels
from .line_table cimport (
    ENTRY_BITS,
    IS_FAR,
    IS_ROW,
    LIST_SIZE,
    MAX_STAGE,
    NUMBER,
    PAIR_LABELS,
    FarC,
    Sums,
    add_far,
    add_near,
    get_add_values,
    get_first_label,
    get_second_label,
)


cdef class SlotScorer:
    """Weights of a classifier over slots: each feature has a code of 32 bits, which the
    subclasses read. They have these methods:

    pack: Bring integer weights, sorted by key and label, into the form of a file: for
        each feature, in order, its key and its code, and what else its code refers to.
    check: Raise an error unless arrays from a file can be read without harm.
    unpack: The inverse of pack: arrays of keys, labels and weights.
    sum: The sums of the weights of some features, by the kernels of a kind, see
        kernel_names.

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
        if self.program is not None or n_labels < 0:
            raise ValueError(Errors.DS216.format(what="the labels of a scorer"))
        self.check(arrays, n_labels)
        self._codes = LineTable(arrays["keys"], arrays["codes"])
        self.program = program
        self.n_labels = n_labels
        self.scale = scale

    def arrays(self) -> dict:
        """The weights in the form of a file, see pack."""
        if self._codes is None:
            raise ValueError(Errors.DS216.format(what="a scorer that was never made"))
        return dict(zip(("keys", "codes"), self._codes.to_arrays(), strict=True))


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


cdef class WideScorer(SlotScorer):
    """Weights for many labels, see SlotScorer."""

    parts = ("keys", "codes", "lists", "rows")

    def __init__(
        self, Program program not None, int n_labels, dict arrays not None, float scale
    ):
        cdef int8_t[:, ::1] rows
        cdef uint32_t[:, ::1] lists
        if program.c.n_templates > MAX_STAGE:
            raise ValueError(Errors.DS216.format(what="the templates of a scorer"))
        SlotScorer.__init__(self, program, n_labels, arrays, scale)
        # One more of each, so that there is an address.
        found = arrays["lists"].reshape(-1, LIST_SIZE)
        self._lists = np.zeros((len(found) + 1, LIST_SIZE), dtype="uint32")
        self._lists[: len(found)] = found
        found = arrays["rows"].view("int8").reshape(-1, max(n_labels, 1))
        width = (found.shape[1] + LANES - 1) // LANES * LANES
        self._rows = np.zeros((len(found) + 1, width), dtype="int8")
        self._rows[: len(found), : found.shape[1]] = found
        rows = self._rows
        lists = self._lists
        self.c.program = &program.c
        self.c.n_labels = n_labels
        self.c.weights.kernels = best_kernels()
        self.c.weights.width = width
        self.c.weights.codes = self._codes.c
        self.c.weights.rows = &rows[0, 0]
        self.c.weights.lists = &lists[0, 0]

    @staticmethod
    def pack(keys, labels, weights, int n_labels) -> dict:
        kept = np.flatnonzero(weights)
        keys, labels = keys[kept], labels[kept].astype("uint32")
        entries = labels << 8 | weights[kept].view("uint8")
        starts = find_starts(keys)
        counts = np.diff(starts, append=len(keys))
        is_pair = (counts <= 2) & (labels[starts + counts - 1] < PAIR_LABELS)
        is_row = counts > LIST_SIZE
        is_list = ~is_pair & ~is_row
        codes = entries[starts]
        has_second = is_pair & (counts == 2)
        codes[has_second] |= entries[starts[has_second] + 1] << ENTRY_BITS
        codes[is_list] = np.arange(is_list.sum(), dtype="uint32") | IS_FAR
        codes[is_row] = np.arange(is_row.sum(), dtype="uint32") | (IS_FAR | IS_ROW)
        lists = np.zeros((is_list.sum(), LIST_SIZE), dtype="uint32")
        ranks = np.arange(len(keys)) - np.repeat(starts, counts)
        in_list = np.repeat(is_list, counts)
        numbers = np.repeat(np.arange(len(lists)), counts[is_list])
        lists[numbers, ranks[in_list]] = entries[in_list]
        rows = np.zeros((is_row.sum(), n_labels), dtype="uint8")
        in_row = np.repeat(is_row, counts)
        numbers = np.repeat(np.arange(len(rows)), counts[is_row])
        rows[numbers, labels[in_row]] = entries[in_row].astype("uint8")
        return {
            "keys": keys[starts],
            "codes": codes,
            "lists": lists.ravel(),
            "rows": rows.ravel(),
        }

    @staticmethod
    def check(dict arrays, int n_labels) -> None:
        keys, codes, lists, rows = (arrays[part] for part in WideScorer.parts)
        check_table(keys, codes, "uint32")
        if (
            lists.dtype != "uint32"
            or rows.dtype != "uint8"
            or len(lists) % LIST_SIZE
            or len(rows) % max(n_labels, 1)
        ):
            raise ValueError(Errors.DS035.format(what="its weights have the wrong form"))
        if int(lists.max(initial=0)) >> 8 >= max(n_labels, 1) or not are_codes(
            codes, n_labels, len(lists) // LIST_SIZE, len(rows) // max(n_labels, 1)
        ):
            raise ValueError(Errors.DS035.format(what="a weight has an unknown label"))

    def arrays(self) -> dict:
        return {
            **SlotScorer.arrays(self),
            "lists": self._lists[: len(self._lists) - 1].ravel(),
            "rows": self._rows[: len(self._rows) - 1, : self.n_labels].ravel().view("uint8"),
        }

    def unpack(self) -> tuple:
        keys, codes = SlotScorer.arrays(self).values()
        numbers = codes & NUMBER
        is_far = codes >= IS_FAR
        is_row = codes >= (IS_FAR | IS_ROW)
        entries = np.zeros((len(keys), LIST_SIZE), dtype="uint32")
        pair = (1 << ENTRY_BITS) - 1
        entries[~is_far, 0] = codes[~is_far] & pair
        entries[~is_far, 1] = codes[~is_far] >> ENTRY_BITS
        entries[is_far & ~is_row] = self._lists[numbers[is_far & ~is_row]]
        features, ranks = np.nonzero(entries & 0xFF)
        entries = entries[features, ranks]
        rows = self._rows[numbers[is_row]]
        row_features, row_labels = np.nonzero(rows)
        all_keys = np.concatenate([keys[features], keys[is_row][row_features]])
        labels = np.concatenate([entries >> 8, row_labels]).astype("uint32")
        weights = np.concatenate(
            [entries.astype("uint8").view("int8"), rows[row_features, row_labels]]
        )
        order = np.lexsort((labels, all_keys))
        return all_keys[order], labels[order], weights[order]

    def sum(self, vector[feat_t] keys, int kind) -> list:
        cdef WideWeightsC weights = self.c.weights
        cdef vector[score_t] scores = vector[score_t](weights.width)
        cdef FarC far
        weights.kernels = get_kernels(kind)
        if (
            keys.size() > <size_t>MAX_STAGE
            or weights.kernels == NULL
            or self.c.program == NULL
        ):
            raise ValueError(Errors.DS216.format(what="features and a scorer"))
        if add_near(weights, keys.data(), <int>keys.size(), scores.data(), &far):
            add_far(weights, &far, scores.data())
        return list(scores)[: self.n_labels]


cdef bint are_codes(
    const uint32_t[::1] codes, uint32_t n_labels, uint32_t n_lists, uint32_t n_rows
):
    """Whether all labels, lists and rows that codes name exist."""
    cdef bint result = True
    cdef uint32_t code, number, limit
    cdef Py_ssize_t i
    with nogil:
        for i in range(codes.shape[0]):
            # No "and", no "or": the kind of a code is unpredictable.
            code = codes[i]
            number = code & NUMBER
            limit = n_rows if code & IS_ROW else n_lists
            result &= (
                (code >> 31) & (number < limit)
                | (code >> 30 == 0)
                & (get_first_label(code) < n_labels)
                & (get_second_label(code) < n_labels)
            )
    return result
