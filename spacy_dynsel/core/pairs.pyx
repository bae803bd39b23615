"""Pairs of features as arrays: for each the keys of its members, and the ranks of their
templates, in the order of the keys."""
import numpy as np

from ..base.errors import Errors

PAIR_COLUMNS = 4


def check_pairs(pairs, int n_templates) -> None:
    """Raise an error unless an array from a file can be read without harm."""
    if (
        pairs.dtype != "uint32"
        or pairs.ndim != 1
        or len(pairs) % PAIR_COLUMNS
        or int(pairs.reshape(-1, PAIR_COLUMNS)[:, 2:].max(initial=0)) >= n_templates
    ):
        raise ValueError(Errors.DS035.format(what="its pairs of features are malformed"))


def find_pair_keys(const uint32_t[::1] pairs not None):
    """The key of each pair."""
    cdef Py_ssize_t i
    keys = np.empty(pairs.shape[0] // 4, dtype="uint32")
    cdef uint32_t[::1] view = keys
    for i in range(view.shape[0]):
        view[i] = pair_key(pairs[4 * i], pairs[4 * i + 1])
    return keys


def join_pairs(list lists not None):
    """All pairs of some arrays, each once."""
    rows = np.concatenate([pairs.reshape(-1, PAIR_COLUMNS) for pairs in lists])
    return np.unique(rows, axis=0).ravel()


cdef int read_pairs(
    object pairs, int n_templates, vector[PairC]& found, MemberTable& members
) except -1:
    """Take the pairs of an array, which become partners."""
    cdef PairC pair
    cdef const uint32_t[::1] view = pairs
    cdef Py_ssize_t i
    check_pairs(pairs, n_templates)
    members.make_room(view.shape[0] // 2)
    for i in range(0, view.shape[0], 4):
        pair.one = view[i]
        pair.other = view[i + 1]
        pair.one_rank = view[i + 2]
        pair.other_rank = view[i + 3]
        found.push_back(pair)
        members.join(pair.one, pair.other)
    return 0


cdef object list_pairs(const vector[PairC]& pairs):
    """The array of some pairs."""
    cdef size_t i
    rows = np.empty((pairs.size(), PAIR_COLUMNS), dtype="uint32")
    cdef uint32_t[:, ::1] view = rows
    for i in range(pairs.size()):
        view[i, 0] = pairs[i].one
        view[i, 1] = pairs[i].other
        view[i, 2] = pairs[i].one_rank
        view[i, 3] = pairs[i].other_rank
    return join_pairs([rows])
