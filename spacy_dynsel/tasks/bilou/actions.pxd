"""The actions of entity recognition: O (0) and, for each type, B, I, L and U."""
from libc.stdint cimport int32_t

from ...core.typedefs cimport uint8_t, uint16_t
from ...spacy_io.tokens cimport EntityTokenC, SequenceC

cdef enum:
    NONE = -1
    # Stands for an action that is none: the token keeps its annotation.
    KEEP_C = 0xFFFF

cdef enum Kind:
    BEGIN
    IN
    LAST
    UNIT
    N_KINDS

cdef enum:
    # Of a step: the entity cannot go on after it; it starts or ends a sentence, as read;
    # it starts one in the text; it is not to be decided.
    IS_LAST = 1
    STARTS = 2
    ENDS = 4
    STARTS_TEXT = 8
    IS_FIXED = 16


cdef inline int count_actions(int n_types) noexcept nogil:
    return 1 + N_KINDS * n_types


cdef inline int get_action(int type_, int kind) noexcept nogil:
    return 1 + N_KINDS * type_ + kind


cdef inline int type_of(int action) noexcept nogil:
    return (action - 1) // N_KINDS


cdef inline int kind_of(int action) noexcept nogil:
    return (action - 1) % N_KINDS


cdef inline int open_after(int action) noexcept nogil:
    """The type of the entity that is open after an action, or NONE."""
    if action <= 0 or kind_of(action) >= LAST:
        return NONE
    return type_of(action)


cdef inline int find_kind(bint is_first, bint is_last) noexcept nogil:
    """The kind of the action for a token of an entity."""
    if is_first:
        return UNIT if is_last else BEGIN
    return LAST if is_last else IN


cdef inline int mirror_kind(int kind) noexcept nogil:
    """A kind as it is called when the text is read in the other direction."""
    if kind == BEGIN:
        return LAST
    return BEGIN if kind == LAST else kind


cdef inline int mirror(int action) noexcept nogil:
    """An action as it is called when the text is read in the other direction."""
    if action <= 0:
        return action
    return action + mirror_kind(kind_of(action)) - kind_of(action)


cdef inline bint is_valid(uint8_t flags, int open_type, int action) noexcept nogil:
    """Whether an action is possible, given the type of the open entity or NONE."""
    if action == 0 or kind_of(action) == UNIT:
        return open_type == NONE
    if kind_of(action) == BEGIN:
        return open_type == NONE and not flags & IS_LAST
    if kind_of(action) == IN:
        return type_of(action) == open_type and not flags & IS_LAST
    return type_of(action) == open_type


cdef void fill_spaces(
    const SequenceC* doc, const EntityTokenC* words, int n_words, bint keeps,
    uint16_t* actions, int32_t* leads,
) noexcept nogil
