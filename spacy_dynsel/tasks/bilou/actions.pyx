"""What actions make of tokens: white space between words, and entities."""
from libcpp.vector cimport vector

import numpy as np

from ...core.leads cimport NO_DECISION
from ...core.typedefs cimport uint64_t
from ...spacy_io.annotations cimport set_entities
from ...spacy_io.tokens cimport has_entity, read_docs

KEEP = KEEP_C


cdef void fill_spaces(
    const SequenceC* doc, const EntityTokenC* words, int n_words, bint keeps,
    uint16_t* actions, int32_t* leads,
) noexcept nogil:
    """Give white space its actions: within an entity it goes on, elsewhere it is
    outside, and where an entity was set it may keep its annotation.

    words: [n_words] The tokens that are words.
    keeps: Whether entities that are set stay.
    actions: [length] Those of words are there.
    leads: [length] Where to note that nothing was decided, or NULL.
    """
    cdef uint16_t inside = 0
    cdef int token = 0
    cdef int i, end
    for i in range(n_words + 1):
        end = words[i].token if i < n_words else doc.length
        while token < end:
            actions[token] = inside
            if keeps and has_entity(doc, token):
                actions[token] = KEEP_C
            if leads != NULL:
                leads[token] = NO_DECISION
            token += 1
        if i < n_words:
            inside = 0
            if actions[token] != KEEP_C and open_after(actions[token]) != NONE:
                inside = <uint16_t>get_action(open_after(actions[token]), IN)
            token += 1


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
