from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from .line_table import check_table, find_starts

from ..program cimport Program
from .cached cimport LANES, best_kernels, get_kernels


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
        self.c.width = (found.shape[1] + LANES - 1) // LANES * LANES
        self._rows = np.zeros((len(found) + 1, self.c.width), dtype="int8")
        self._rows[: len(found), : found.shape[1]] = found
        rows = self._rows
        lists = self._lists
        self.c.program = &program.c
        self.c.kernels = best_kernels()
        self.c.n_labels = n_labels
        self.c.codes = self._codes.c
        self.c.rows = &rows[0, 0]
        self.c.lists = &lists[0, 0]

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
        codes[is_list] = np.arange(is_list.sum(), dtype="uint32") | <uint32_t>IS_FAR
        codes[is_row] = np.arange(is_row.sum(), dtype="uint32") | <uint32_t>(IS_FAR | IS_ROW)
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
        numbers = codes & <uint32_t>NUMBER
        is_far = codes >= <uint32_t>IS_FAR
        is_row = codes >= <uint32_t>(IS_FAR | IS_ROW)
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
        cdef WideScorerC rows = self.c
        cdef vector[score_t] scores = vector[score_t](rows.width)
        cdef FarC far
        rows.kernels = get_kernels(kind)
        if keys.size() > MAX_STAGE or rows.kernels == NULL or rows.program == NULL:
            raise ValueError(Errors.DS216.format(what="features and a scorer"))
        if add_near(&rows, keys.data(), <int>keys.size(), scores.data(), &far):
            add_far(&rows, &far, scores.data())
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
            number = code & <uint32_t>NUMBER
            limit = n_rows if code & <uint32_t>IS_ROW else n_lists
            result &= (
                (code >> 31) & (number < limit)
                | (code >> 30 == 0)
                & (get_first_label(code) < n_labels)
                & (get_second_label(code) < n_labels)
            )
    return result
