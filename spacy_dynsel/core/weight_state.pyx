# cython: infer_types=True
"""The weights of a learner as arrays, for files with the state of a training."""
import numpy as np

from ..base.errors import Errors

from .typedefs cimport uint32_t, uint64_t
from .weight_table cimport EMPTY, PENDING, REJECTED, ROW, WeightC, check_weights

cdef enum:
    # How often a feature was seen that has no row, or REJECTED.
    SAVED_PENDING = 0x80000000
    SAVED_REJECTED = 0xFFFFFFFF


cdef dict save_table(WeightTable* table):
    """All that a table holds, in the order of the keys.

    RETURNS (dict): The keys of features; for each the number of its weights, or how
        often it was seen if it has no row (see above); the labels, values and squares
        of the weights.
    """
    cdef size_t i, n = 0
    cdef int j
    keys = np.empty(table.n_used, dtype="uint32")
    places = np.empty(table.n_used, dtype="uint64")
    cdef uint32_t[::1] key_view = keys
    cdef uint64_t[::1] place_view = places
    for i in range(table.entries.size()):
        if table.entries[i].kind != EMPTY:
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
        if entry.kind == ROW:
            state_view[i] = entry.n
        elif entry.kind == REJECTED:
            state_view[i] = SAVED_REJECTED
        else:
            state_view[i] = SAVED_PENDING | entry.start
        n_weights += entry.n
    labels = np.empty(n_weights, dtype="uint32")
    values = np.empty(n_weights, dtype="float32")
    squares = np.empty(n_weights, dtype="float32")
    cdef uint32_t[::1] label_view = labels
    cdef float[::1] value_view = values
    cdef float[::1] square_view = squares
    n = 0
    for i in range(table.n_used):
        entry = &table.entries[place_view[i]]
        for j in range(entry.n):
            weight = &table.get_weights(entry)[j]
            label_view[n] = weight.label
            value_view[n] = weight.value
            square_view[n] = weight.squares
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
    cdef WeightC* weight
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
            entry.kind = REJECTED if state_view[i] == SAVED_REJECTED else PENDING
            entry.start = state_view[i] & ~<uint32_t>SAVED_PENDING
            continue
        entry.kind = ROW
        for _j in range(state_view[i]):
            weight = table.find_weight(entry, label_view[n])
            weight.value = value_view[n]
            weight.squares = square_view[n]
            n += 1
    return 0
