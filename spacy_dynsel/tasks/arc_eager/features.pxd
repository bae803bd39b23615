from libcpp.vector cimport vector

from ...spacy_io.tokens cimport ParseTokenC
from ...core.learner cimport Learner
from ...core.forms.line_table cimport SlotStageC, SlotTemplateC
from ...core.program cimport LexemeRecC, Program
from ...core.typedefs cimport atom_t, uint8_t, uint64_t
from .system cimport FIRST_ROW, NONE, STATE_ROW, SentenceC

cdef enum:
    # The place of the columns that belong to no token; the first one of all.
    AT_STATE = 0
    # How far from a token the places of a boundary reach.
    BOUNDARY_REACH = 3
    N_BOUNDARY_PLACES = 2 * BOUNDARY_REACH + 2
    MAX_PLACES = 32
    MAX_SLOTS = 256
    MAX_BETWEEN = 12

# Where the tokens are that a decision sees, see the names of these places in
# features.pyx and ranking.pyx.
cdef enum:
    AT_S0 = 1
    AT_S1
    AT_S2
    AT_N0
    AT_N1
    AT_N2
    AT_S0_BEFORE
    AT_S0_AFTER
    AT_N0_BEFORE
    AT_S0_HEAD
    AT_S1_HEAD
    AT_S0_LEFT
    AT_S0_LEFT2
    AT_S0_LEFT_LEFT
    AT_S0_RIGHT
    AT_S0_RIGHT2
    AT_S0_RIGHT_RIGHT
    AT_S1_LEFT
    AT_S1_LEFT2
    AT_S1_RIGHT
    AT_S1_RIGHT2
    AT_N0_LEFT
    AT_N0_LEFT2
    N_ACTION_PLACES

cdef enum:
    AT_D = 1
    AT_H
    AT_D_BEFORE
    AT_D_AFTER
    AT_H_BEFORE
    AT_H_AFTER
    AT_H_HEAD
    AT_D_LEFT
    AT_D_LEFT2
    AT_D_LEFT_LEFT
    AT_D_RIGHT
    AT_D_RIGHT2
    AT_D_RIGHT_RIGHT
    AT_H_LEFT
    AT_H_LEFT2
    AT_H_RIGHT
    AT_H_RIGHT2
    N_LABEL_PLACES

cdef enum:
    AT_T = 1
    AT_T_HEAD
    AT_T_GRANDPARENT
    AT_T_SIBLING
    AT_T_BEFORE
    AT_T_AFTER
    AT_T_HEAD_BEFORE
    AT_T_HEAD_AFTER
    AT_T_LEFT
    AT_T_RIGHT
    AT_T_HEAD_LEFT
    AT_T_HEAD_RIGHT
    AT_T_GREAT_GRANDPARENT
    N_TREE_PLACES


cdef struct SlotC:
    int place
    int column


cdef struct FeaturesC:
    const SlotC* slots
    const int* stage_ends    # the number of slots up to the end of each stage
    int n_slots
    int n_places             # from how many places, and with how many columns of
    int n_lexical            # lexemes
    const SlotStageC* stages     # the templates of each stage


cdef class Features:
    cdef readonly Program program
    cdef vector[SlotC] _slots
    cdef vector[int] _stage_ends
    cdef vector[SlotTemplateC] _templates
    cdef vector[SlotStageC] _stages
    cdef FeaturesC c

    cdef int _plan_stages(self) except -1
    cdef int check(self, int n_places, int n_lexical) except -1
    cdef int check_learner(self, Learner learner, int n_labels) except -1


cdef class TagMap:
    cdef readonly object keys
    cdef readonly object values
    cdef vector[uint64_t] places
    cdef vector[uint8_t] found
    cdef size_t mask

    cdef int _find(self, uint64_t key) noexcept nogil
    cdef int get(self, uint64_t tag, uint64_t lower) noexcept nogil


cdef inline int get_neighbour(const SentenceC* s, int token, int offset) noexcept nogil:
    if token == NONE or token + offset < 0 or token + offset >= s.n:
        return NONE
    return token + offset


cdef inline void find_rows(const SentenceC* s, int n_places, int* places) noexcept nogil:
    """Put the rows of tokens in the place of tokens."""
    cdef int i
    places[AT_STATE] = STATE_ROW
    for i in range(1, n_places):
        places[i] = (places[i] + FIRST_ROW) * s.stride


cdef inline int get_link(const int* links, int token) noexcept nogil:
    return links[token] if token != NONE else NONE


cdef inline atom_t get_distance(int distance) noexcept nogil:
    if distance <= 4:
        return distance
    if distance <= 6:
        return 5
    return 6 if distance <= 10 else 7


cdef inline uint64_t get_between(const SentenceC* s, int left, int right) noexcept nogil:
    """The parts of speech between two tokens, as far as a limit from the right one."""
    cdef uint64_t bits = 0
    cdef int i
    for i in range(max(left + 1, right - MAX_BETWEEN), right):
        bits |= s.pos_bits[i]
    return bits


cdef inline void read_slots(
    const SentenceC* s, const FeaturesC* features, int first, int end, const int* places,
    atom_t* values,
) noexcept nogil:
    cdef int i
    for i in range(first, end):
        values[i] = s.rows[places[features.slots[i].place] + features.slots[i].column]


cdef list name_places(dict names)
cdef void find_action_places(SentenceC* s, int* places) noexcept nogil
cdef void find_label_places(
    SentenceC* s, int head, int dependent, int* places
) noexcept nogil
cdef void find_boundary_places(SentenceC* s, int token, int start, int* places) noexcept nogil
cdef void fill_token(
    SentenceC* s, int i, const LexemeRecC* record, const ParseTokenC* token, TagMap tags
) noexcept nogil
