"""What the decisions of parsing see: the values of slots.

A slot is an atom, that is a column of the token that stands at some place: S0 or N0, a
dependent of these, a neighbour. The places are found first, then the slots that a stage
needs are read from the rows of tokens.
"""
from ...spacy_io.tokens cimport ParseTokenC
from ...core.hashing cimport fold, mix
from ...core.lexicon cimport FIRST_VALUE, UNKNOWN
from ...core.program cimport MAX_ATOMS, LexemeRecC, Program, ProgramC, TemplateC
from ...core.typedefs cimport atom_t, uint8_t, uint64_t
from .system cimport (
    BETWEEN,
    DISTANCE,
    DISTANCE1,
    NONE,
    POS,
    POSITION,
    PREVIOUS,
    SentenceC,
    SIDE,
    STATE_ROW,
    TAG,
    get_front,
    get_stack,
    row_of,
)

import numpy as np

from ...base.errors import Errors

TOKEN_COLUMNS = [
    "tag", "pos", "label", "left_count", "right_count", "left_labels", "right_labels",
]
STATE_COLUMNS = [
    "distance", "distance1", "between", "previous", "position", "side", "lead", "pair",
]
# The place of a column that belongs to no token.
STATE_PLACE = "0"


cdef list name_places(dict names):
    """The names of places, by their number."""
    return [names[place] for place in range(len(names))]


ACTION_PLACES = name_places(
    {
        AT_STATE: STATE_PLACE,
        AT_S0: "S0",
        AT_S1: "S1",
        AT_S2: "S2",
        AT_N0: "N0",
        AT_N1: "N1",
        AT_N2: "N2",
        AT_S0_BEFORE: "S0-1",
        AT_S0_AFTER: "S0+1",
        AT_N0_BEFORE: "N0-1",
        AT_S0_HEAD: "S0h",
        AT_S1_HEAD: "S1h",
        AT_S0_LEFT: "S0l",
        AT_S0_LEFT2: "S0l2",
        AT_S0_LEFT_LEFT: "S0ll",
        AT_S0_RIGHT: "S0r",
        AT_S0_RIGHT2: "S0r2",
        AT_S0_RIGHT_RIGHT: "S0rr",
        AT_S1_LEFT: "S1l",
        AT_S1_LEFT2: "S1l2",
        AT_S1_RIGHT: "S1r",
        AT_S1_RIGHT2: "S1r2",
        AT_N0_LEFT: "N0l",
        AT_N0_LEFT2: "N0l2",
    }
)
LABEL_PLACES = name_places(
    {
        AT_STATE: STATE_PLACE,
        AT_D: "D",
        AT_H: "H",
        AT_D_BEFORE: "D-1",
        AT_D_AFTER: "D+1",
        AT_H_BEFORE: "H-1",
        AT_H_AFTER: "H+1",
        AT_H_HEAD: "Hh",
        AT_D_LEFT: "Dl",
        AT_D_LEFT2: "Dl2",
        AT_D_LEFT_LEFT: "Dll",
        AT_D_RIGHT: "Dr",
        AT_D_RIGHT2: "Dr2",
        AT_D_RIGHT_RIGHT: "Drr",
        AT_H_LEFT: "Hl",
        AT_H_LEFT2: "Hl2",
        AT_H_RIGHT: "Hr",
        AT_H_RIGHT2: "Hr2",
    }
)
BOUNDARY_PLACES = [
    STATE_PLACE,
    *(f"B{i:+}" if i else "B" for i in range(-BOUNDARY_REACH, BOUNDARY_REACH + 1)),
]
ACTIONS = ["SHIFT", "REDUCE", "LEFT", "RIGHT"]

cdef class Features:
    """Where the slots of a classifier are to be found.

    program (Program): The templates, bound to slots.
    places (list[str]): The places, by their index.
    lexical (list[str]): The columns of a lexeme's record.
    """
    def __init__(
        self, Program program not None, list places not None, list lexical not None
    ):
        cdef SlotC slot
        if self.program is not None or program.slots is None or len(places) > MAX_PLACES:
            raise ValueError(Errors.DS216.format(what="features that are bound to slots"))
        if len(program.slots) > MAX_SLOTS:
            raise ValueError(
                Errors.DS217.format(n=len(program.slots), most=<int>MAX_SLOTS)
            )
        self.program = program
        columns = [*lexical, *TOKEN_COLUMNS]
        for atom in program.slots:
            slot.place = places.index(atom.place)
            if atom.place == STATE_PLACE:
                slot.column = STATE_COLUMNS.index(atom.column)
            else:
                slot.column = columns.index(atom.column)
            self._slots.push_back(slot)
        ranks = {atom: rank for rank, atom in enumerate(program.slots, start=1)}
        last = first = 0
        for end in program.templates.checkpoints:
            for template in program.templates.templates[first:end]:
                last = max(last, *(ranks[atom] for atom in template.atoms))
            self._stage_ends.push_back(last)
            first = end
        self.c.slots = self._slots.data()
        self.c.stage_ends = self._stage_ends.data()
        self.c.n_slots = <int>self._slots.size()
        self.c.n_places = len(places)
        self.c.n_lexical = len(lexical)
        self._plan_stages()
        self.c.stages = self._stages.data()

    cdef int check(self, int n_places, int n_lexical) except -1:
        """Raise an error unless there are such places and columns."""
        if (
            self.c.stages == NULL
            or self.c.n_places > n_places
            or self.c.n_lexical != n_lexical
            or self.program.c.n_values > self.c.n_slots
        ):
            raise ValueError(Errors.DS216.format(what="features and a lexicon"))
        return 0

    cdef int check_learner(self, Learner learner, int n_labels) except -1:
        """Raise an error unless a learner sees these features and has such labels."""
        if (
            learner.program is None
            or learner.program.c.n_values > self.c.n_slots
            or learner.program.c.n_columns
            or learner.n_labels != n_labels
        ):
            raise ValueError(Errors.DS216.format(what="features and a learner"))
        return 0

    cdef int _plan_stages(self) except -1:
        """Bring the templates of each stage into the order of their number of atoms,
        which sums do not depend on."""
        cdef const ProgramC* program = &self.program.c
        cdef const TemplateC* template
        cdef SlotTemplateC planned
        cdef SlotStageC stage
        cdef int first = 0
        cdef int t, i, n, s
        self._templates.reserve(program.n_templates)
        for s in range(program.n_stages):
            stage.templates = self._templates.data() + first
            for n in range(1, MAX_ATOMS + 1):
                for t in range(first, program.stage_ends[s]):
                    template = &program.templates[t]
                    if template.n_atoms == n:
                        planned.seed = template.seed
                        for i in range(n):
                            planned.slots[i] = template.atoms[i].column
                        self._templates.push_back(planned)
                stage.ends[n - 1] = <int>self._templates.size() - first
            self._stages.push_back(stage)
            first = program.stage_ends[s]
        return 0


cdef inline atom_t get_length(int length) noexcept nogil:
    if length <= 6:
        return length
    return 7 + min(length // 8, 8)


cdef void find_action_places(SentenceC* s, int* places) noexcept nogil:
    """The rows of the tokens at ACTION_PLACES."""
    cdef int s0 = get_stack(s, 0)
    cdef int s1 = get_stack(s, 1)
    cdef int n0 = get_front(s)
    cdef int n1 = get_neighbour(s, n0, 1) if s.returned == NONE else NONE
    cdef atom_t* state = s.rows + STATE_ROW * s.stride
    state[DISTANCE] = get_distance(n0 - s0)
    state[DISTANCE1] = get_distance(s0 - s1) if s1 != NONE else 0
    state[BETWEEN] = fold(get_between(s, s0, n0))
    state[PREVIOUS] = s.previous
    state[POSITION] = min(s.top, 3) * 3 + (n0 + 1 == s.n) + (s.returned != NONE)
    places[AT_S0] = s0
    places[AT_S1] = s1
    places[AT_S2] = get_stack(s, 2)
    places[AT_N0] = n0
    places[AT_N1] = n1
    places[AT_N2] = get_neighbour(s, n1, 1)
    places[AT_S0_BEFORE] = get_neighbour(s, s0, -1)
    places[AT_S0_AFTER] = get_neighbour(s, s0, 1)
    places[AT_N0_BEFORE] = get_neighbour(s, n0, -1)
    places[AT_S0_HEAD] = s.heads[s0]
    places[AT_S1_HEAD] = get_link(s.heads, s1)
    places[AT_S0_LEFT] = s.left[s0]
    places[AT_S0_LEFT2] = s.left2[s0]
    places[AT_S0_LEFT_LEFT] = get_link(s.left, s.left[s0])
    places[AT_S0_RIGHT] = s.right[s0]
    places[AT_S0_RIGHT2] = s.right2[s0]
    places[AT_S0_RIGHT_RIGHT] = get_link(s.right, s.right[s0])
    places[AT_S1_LEFT] = get_link(s.left, s1)
    places[AT_S1_LEFT2] = get_link(s.left2, s1)
    places[AT_S1_RIGHT] = get_link(s.right, s1)
    places[AT_S1_RIGHT2] = get_link(s.right2, s1)
    places[AT_N0_LEFT] = s.left[n0]
    places[AT_N0_LEFT2] = s.left2[n0]
    find_rows(s, N_ACTION_PLACES, places)


cdef void find_label_places(
    SentenceC* s, int head, int dependent, int* places
) noexcept nogil:
    """The rows of the tokens at LABEL_PLACES."""
    cdef atom_t* state = s.rows + STATE_ROW * s.stride
    state[DISTANCE] = get_distance(abs(head - dependent))
    state[BETWEEN] = fold(get_between(s, min(head, dependent), max(head, dependent)))
    state[SIDE] = head < dependent
    places[AT_D] = dependent
    places[AT_H] = head
    places[AT_D_BEFORE] = get_neighbour(s, dependent, -1)
    places[AT_D_AFTER] = get_neighbour(s, dependent, 1)
    places[AT_H_BEFORE] = get_neighbour(s, head, -1)
    places[AT_H_AFTER] = get_neighbour(s, head, 1)
    places[AT_H_HEAD] = s.heads[head]
    places[AT_D_LEFT] = s.left[dependent]
    places[AT_D_LEFT2] = s.left2[dependent]
    places[AT_D_LEFT_LEFT] = get_link(s.left, s.left[dependent])
    places[AT_D_RIGHT] = s.right[dependent]
    places[AT_D_RIGHT2] = s.right2[dependent]
    places[AT_D_RIGHT_RIGHT] = get_link(s.right, s.right[dependent])
    places[AT_H_LEFT] = s.left[head]
    places[AT_H_LEFT2] = s.left2[head]
    places[AT_H_RIGHT] = s.right[head]
    places[AT_H_RIGHT2] = s.right2[head]
    find_rows(s, N_LABEL_PLACES, places)


cdef void find_boundary_places(
    SentenceC* s, int token, int start, int* places
) noexcept nogil:
    """The rows of the tokens at BOUNDARY_PLACES, around a token that may start a
    sentence; the one before starts at another token."""
    cdef int i
    s.rows[STATE_ROW * s.stride + DISTANCE] = get_length(token - start)
    for i in range(1, N_BOUNDARY_PLACES):
        places[i] = get_neighbour(s, token, i - 1 - BOUNDARY_REACH)
    find_rows(s, N_BOUNDARY_PLACES, places)


cdef class TagMap:
    """Gives the part of speech that most often goes with a word and its tag, or with
    the tag alone: for pipelines that set tags only.

    keys (array): mix(tag, lower) or tag.
    values (array): The part of speech as spaCy numbers them.
    """
    def __init__(self, const uint64_t[::1] keys not None, const uint8_t[::1] values not None):
        cdef Py_ssize_t i
        cdef size_t place
        if keys.shape[0] != values.shape[0] or self.places.size():
            raise ValueError(Errors.DS216.format(what="the keys and values of tags"))
        self.keys = np.asarray(keys)
        self.values = np.asarray(values)
        self.mask = 15
        while self.mask < 4 * <size_t>keys.shape[0]:
            self.mask = 2 * self.mask + 1
        self.places.resize(self.mask + 1)
        self.found.resize(self.mask + 1)
        for i in range(keys.shape[0]):
            place = keys[i] & self.mask
            while self.places[place]:
                place = (place + 1) & self.mask
            self.places[place] = keys[i]
            self.found[place] = values[i]

    def __reduce__(self):
        return TagMap, (self.keys, self.values)

    cdef int _find(self, uint64_t key) noexcept nogil:
        cdef size_t place = key & self.mask
        while self.places[place]:
            if self.places[place] == key:
                return self.found[place]
            place = (place + 1) & self.mask
        return 0

    cdef int get(self, uint64_t tag, uint64_t lower) noexcept nogil:
        cdef int pos = self._find(mix(tag, lower))
        return pos if pos else self._find(tag)


def tag_keys(const uint64_t[::1] tags not None, const uint64_t[::1] lowers not None):
    """The keys of pairs of tag and word, see TagMap."""
    if tags.shape[0] != lowers.shape[0]:
        raise ValueError(Errors.DS216.format(what="tags and words"))
    keys = np.empty(tags.shape[0], dtype="uint64")
    cdef uint64_t[::1] view = keys
    for i in range(tags.shape[0]):
        view[i] = mix(tags[i], lowers[i])
    return keys


cdef void fill_token(
    SentenceC* s, int i, const LexemeRecC* record, const ParseTokenC* token, TagMap tags
) noexcept nogil:
    """Fill the columns of a token that do not change."""
    cdef atom_t* row = row_of(s, i)
    cdef int pos = token.pos
    cdef int j
    for j in range(s.n_lexical):
        row[j] = record.atoms[j]
    if pos == 0:
        pos = tags.get(token.tag, token.lower)
    row += s.n_lexical
    row[TAG] = fold(token.tag) if token.tag else <atom_t>UNKNOWN
    row[POS] = pos + FIRST_VALUE if pos else <atom_t>UNKNOWN
    s.pos_bits[i] = <uint64_t>1 << ((pos if pos else row[TAG]) & 63)
