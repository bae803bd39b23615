"""The entities that actions make."""
from libcpp.vector cimport vector

import numpy as np

from ...core.typedefs cimport uint16_t, uint64_t
from ...spacy_io.annotations cimport set_entities
from ...spacy_io.tokens cimport SequenceC, read_docs

KEEP = KEEP_C


def write_entities(
    list docs not None,
    const uint16_t[::1] actions not None,
    const uint64_t[::1] types not None,
) -> bool:
    """Set the entities of docs, see set_entities.

    docs (list[Doc]): The docs.
    actions (array): The action of each token of all docs, or KEEP.
    types (array): The string ID for each entity type.
    RETURNS (bool): False, and nothing is set, if the actions do not fit the docs or the
        types.
    """
    cdef vector[SequenceC] sequences
    cdef size_t n_tokens = read_docs(docs, sequences)
    cdef size_t i, j
    cdef int action, open_type
    cdef bint fits = n_tokens == <size_t>actions.shape[0]
    if fits:
        for i in range(n_tokens):
            fits &= actions[i] == KEEP_C or (
                actions[i] < count_actions(<int>types.shape[0])
            )
    if not fits:
        return False
    iobs = np.zeros(n_tokens, dtype="uint8")
    found = np.zeros(n_tokens, dtype="uint64")
    cdef uint8_t[::1] iob_view = iobs
    cdef uint64_t[::1] found_view = found
    for i in range(sequences.size()):
        open_type = NONE
        for j in range(sequences[i].offset, sequences[i].offset + sequences[i].length):
            action = actions[j]
            if action == KEEP_C:
                open_type = NONE
                continue
            iob_view[j] = 2
            if action:
                found_view[j] = types[type_of(action)]
                # What goes on with another type than the open one begins an entity.
                iob_view[j] = 3
                if kind_of(action) == IN or kind_of(action) == LAST:
                    iob_view[j] = 1 if open_type == type_of(action) else 3
            open_type = open_after(action)
    set_entities(docs, iob_view, found_view)
    return True
