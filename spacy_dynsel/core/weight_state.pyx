# cython: infer_types=True
"""The weights of a learner as arrays, for files with the state of a training."""
import numpy as np

from ..base.errors import Errors

from .typedefs cimport uint32_t, uint64_t
from .weight_table cimport check_weights

cdef enum:
    # How often a feature was seen that has no row, or REJECTED.
    SAVED_PENDING = 0x80000000
    SAVED_REJECTED = 0xFFFFFFFF

# More than any key and label together.
cdef uint64_t LAST = 0xFFFFFFFFFFFFFFFF


cdef dict save_table(WeightTable* table):
    """All that a table holds, in the order of the keys.

    RETURNS (dict): The keys of features; for each the number of its weights, or how
        often it was seen if it has no row (see above); the labels, values and squares
        of the weights.
    """
    cdef size_t i, n = 0
    cdef uint32_t j
    keys = np.empty(table.n_used, dtype="uint32")
    places = np.empty(table.n_used, dtype="uint64")
    cdef uint32_t[::1] key_view = keys
    cdef uint64_t[::1] place_view = places
    for i in range(table.entries.size()):
        if not table.entries[i].is_empty():
            key_view[n] = table.entries[i].key
            place_view[n] = i
            n += 1
    order = np.argsort(keys)
    keys = keys[order]
    places = places[order]
    place_view = places
    states = np.empty(table.n_used, dtype="uint32")
    cdef uint32_t[::1] state_view = states
    cdef size_t n_weights = 0
    for i in range(table.n_used):
        entry = &table.entries[place_view[i]]
        if entry.is_row():
            state_view[i] = table.get_row(entry).n
            n_weights += state_view[i]
        elif entry.is_rejected():
            state_view[i] = SAVED_REJECTED
        else:
            state_view[i] = SAVED_PENDING | entry.get_count()
    labels = np.empty(n_weights, dtype="uint32")
    values = np.empty(n_weights, dtype="float32")
    squares = np.empty(n_weights, dtype="float32")
    cdef uint32_t[::1] label_view = labels
    cdef float[::1] value_view = values
    cdef float[::1] square_view = squares
    n = 0
    for i in range(table.n_used):
        entry = &table.entries[place_view[i]]
        if not entry.is_row():
            continue
        row = table.get_row(entry)
        for j in range(row.n):
            label_view[n] = row.labels[j]
            value_view[n] = row.values[j]
            square_view[n] = row.squares[j]
            n += 1
    return {
        "keys": keys,
        "states": states,
        "labels": labels,
        "values": values.view("uint32"),
        "squares": squares.view("uint32"),
    }


cdef int load_table(WeightTable* table, dict state, int n_outputs) except -1:
    """Fill a table that is empty with what save_table gave."""
    cdef const uint32_t[::1] key_view = state["keys"]
    cdef const uint32_t[::1] state_view = state["states"]
    cdef const uint32_t[::1] label_view = state["labels"]
    cdef const float[::1] value_view = state["values"].view("float32")
    cdef const float[::1] square_view = state["squares"].view("float32")
    cdef size_t n = 0
    cdef uint64_t n_weights = 0
    cdef uint32_t _j
    check_weights(
        [state["labels"], state["values"], state["squares"]], label_view, n_outputs
    )
    for i in range(state_view.shape[0]):
        if not state_view[i] & SAVED_PENDING:
            n_weights += state_view[i]
    if (
        n_weights != <uint64_t>label_view.shape[0]
        or len(state["keys"]) != len(state["states"])
    ):
        raise ValueError(Errors.DS216.format(what="the weights of a learner"))
    table.make_room(key_view.shape[0])
    for i in range(key_view.shape[0]):
        entry = table.see(key_view[i])
        if state_view[i] & SAVED_PENDING:
            if state_view[i] == SAVED_REJECTED:
                entry.reject()
            else:
                entry.set_count(max(1, state_view[i] & ~<uint32_t>SAVED_PENDING))
            continue
        entry.make_row()
        for _j in range(state_view[i]):
            weight = table.find_weight(entry, label_view[n])
            weight.value[0] = value_view[n]
            weight.squares[0] = square_view[n]
            n += 1
    return 0


cdef tuple list_weights(WeightTable* table):
    """All weights, sorted by key and label: arrays of keys, labels, values and squares."""
    cdef size_t i, first, n = 0
    cdef uint32_t j, k
    cdef uint64_t n_weights = 0
    keys = np.empty(table.n_used, dtype="uint32")
    places = np.empty(table.n_used, dtype="uint64")
    cdef uint32_t[::1] row_key_view = keys
    cdef uint64_t[::1] place_view = places
    for i in range(table.entries.size()):
        entry = &table.entries[i]
        if entry.is_row() and table.get_row(entry).n:
            row_key_view[n] = entry.key
            place_view[n] = i
            n_weights += table.get_row(entry).n
            n += 1
    places = places[:n][np.argsort(keys[:n])]
    place_view = places
    keys = np.empty(n_weights, dtype="uint32")
    labels = np.empty(n_weights, dtype="uint32")
    values = np.empty(n_weights, dtype="float32")
    squares = np.empty(n_weights, dtype="float32")
    cdef uint32_t[::1] key_view = keys
    cdef uint32_t[::1] label_view = labels
    cdef float[::1] value_view = values
    cdef float[::1] square_view = squares
    first = 0
    with nogil:
        for i in range(n):
            entry = &table.entries[place_view[i]]
            row = table.get_row(entry)
            for j in range(row.n):
                # Rows are short: each label goes to its place among those before it.
                k = j
                while k > 0 and label_view[first + k - 1] > row.labels[j]:
                    label_view[first + k] = label_view[first + k - 1]
                    value_view[first + k] = value_view[first + k - 1]
                    square_view[first + k] = square_view[first + k - 1]
                    k -= 1
                key_view[first + j] = entry.key
                label_view[first + k] = row.labels[j]
                value_view[first + k] = row.values[j]
                square_view[first + k] = row.squares[j]
            first += row.n
    return keys, labels, values, squares


def mean_weights(parts) -> tuple:
    """The mean of the weights of some learners.

    parts (Iterable): What Learner.get_weights gives for each. They are taken one by one.
    """
    cdef int n = 0
    total = None
    for keys, labels, values in parts:
        values = values.astype("float64")
        if total is None:
            total = keys, labels, values
        else:
            total = _add_weights(*total, keys, labels, values)
        n += 1
    keys, labels, values = total
    values /= n
    return keys, labels, values.astype("float32")


def _add_weights(
    const uint32_t[::1] keys,
    const uint32_t[::1] labels,
    const double[::1] values,
    const uint32_t[::1] other_keys,
    const uint32_t[::1] other_labels,
    const double[::1] other_values,
) -> tuple:
    """The sum of two lists of weights that are sorted by key and label."""
    cdef Py_ssize_t i = 0, j = 0, n = 0
    cdef Py_ssize_t end = keys.shape[0]
    cdef Py_ssize_t other_end = other_keys.shape[0]
    cdef uint64_t one, other
    if (
        labels.shape[0] != end
        or values.shape[0] != end
        or other_labels.shape[0] != other_end
        or other_values.shape[0] != other_end
    ):
        raise ValueError(Errors.DS216.format(what="the weights of learners"))
    sum_keys = np.empty(end + other_end, dtype="uint32")
    sum_labels = np.empty(end + other_end, dtype="uint32")
    sums = np.empty(end + other_end, dtype="float64")
    cdef uint32_t[::1] key_view = sum_keys
    cdef uint32_t[::1] label_view = sum_labels
    cdef double[::1] sum_view = sums
    with nogil:
        while i < end or j < other_end:
            one = other = LAST
            if i < end:
                one = (<uint64_t>keys[i] << 32) | labels[i]
            if j < other_end:
                other = (<uint64_t>other_keys[j] << 32) | other_labels[j]
            key_view[n] = <uint32_t>(min(one, other) >> 32)
            label_view[n] = <uint32_t>min(one, other)
            sum_view[n] = 0
            if one <= other:
                sum_view[n] += values[i]
                i += 1
            if other <= one:
                sum_view[n] += other_values[j]
                j += 1
            n += 1
    return sum_keys[:n], sum_labels[:n], sums[:n]
