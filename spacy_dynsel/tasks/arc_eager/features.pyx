"""What the decisions of parsing see: the values of slots.

A slot is an atom, that is a column of the token that stands at some place: S0 or N0, a
dependent of these, a neighbour. The places are found first, then the slots that a stage
needs are read from the rows of tokens.

To choose between two trees, the reranker sees the decision where they part, and those
tokens for which they differ.
"""
from libc.string cimport memset

import numpy as np

from ...base.errors import Errors

from .places import STATE_COLUMNS, STATE_PLACE, TOKEN_COLUMNS

from ...core.hashing cimport finish, fold, mix
from ...core.lexicon cimport FIRST_VALUE, UNKNOWN
from ...core.program cimport ContextC, ProgramC, TemplateC, get_key
from ...core.typedefs cimport uint32_t
from . cimport places as at
from .places cimport (
    BOUNDARY_REACH,
    MAX_PLACES,
    N_ACTION_PLACES,
    N_BOUNDARY_PLACES,
    N_LABEL_PLACES,
    N_TREE_PLACES,
)
from .system cimport (
    BETWEEN,
    DISTANCE,
    DISTANCE1,
    LEAD,
    N_ACTIONS,
    PAIR,
    POS,
    POSITION,
    PREVIOUS,
    SIDE,
    TAG,
    get_front,
    get_stack,
    row_of,
)

cdef extern from "kernels.hpp" namespace "dynsel" nogil:
    int lowest_bit(unsigned int bits)

FRAME_COLUMNS = {"left_labels", "right_labels", "left_count", "right_count"}

cdef enum:
    MAX_SIBLING = 12


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
    places[at.S0] = s0
    places[at.S1] = s1
    places[at.S2] = get_stack(s, 2)
    places[at.N0] = n0
    places[at.N1] = n1
    places[at.N2] = get_neighbour(s, n1, 1)
    places[at.S0_BEFORE] = get_neighbour(s, s0, -1)
    places[at.S0_AFTER] = get_neighbour(s, s0, 1)
    places[at.N0_BEFORE] = get_neighbour(s, n0, -1)
    places[at.S0_HEAD] = s.heads[s0]
    places[at.S1_HEAD] = get_link(s.heads, s1)
    places[at.S0_LEFT] = s.left[s0]
    places[at.S0_LEFT2] = s.left2[s0]
    places[at.S0_LEFT_LEFT] = get_link(s.left, s.left[s0])
    places[at.S0_RIGHT] = s.right[s0]
    places[at.S0_RIGHT2] = s.right2[s0]
    places[at.S0_RIGHT_RIGHT] = get_link(s.right, s.right[s0])
    places[at.S1_LEFT] = get_link(s.left, s1)
    places[at.S1_LEFT2] = get_link(s.left2, s1)
    places[at.S1_RIGHT] = get_link(s.right, s1)
    places[at.S1_RIGHT2] = get_link(s.right2, s1)
    places[at.N0_LEFT] = s.left[n0]
    places[at.N0_LEFT2] = s.left2[n0]
    find_rows(s, N_ACTION_PLACES, places)


cdef void find_label_places(
    SentenceC* s, int head, int dependent, int* places
) noexcept nogil:
    """The rows of the tokens at LABEL_PLACES."""
    cdef atom_t* state = s.rows + STATE_ROW * s.stride
    state[DISTANCE] = get_distance(abs(head - dependent))
    state[BETWEEN] = fold(get_between(s, min(head, dependent), max(head, dependent)))
    state[SIDE] = head < dependent
    places[at.D] = dependent
    places[at.H] = head
    places[at.D_BEFORE] = get_neighbour(s, dependent, -1)
    places[at.D_AFTER] = get_neighbour(s, dependent, 1)
    places[at.H_BEFORE] = get_neighbour(s, head, -1)
    places[at.H_AFTER] = get_neighbour(s, head, 1)
    places[at.H_HEAD] = s.heads[head]
    places[at.D_LEFT] = s.left[dependent]
    places[at.D_LEFT2] = s.left2[dependent]
    places[at.D_LEFT_LEFT] = get_link(s.left, s.left[dependent])
    places[at.D_RIGHT] = s.right[dependent]
    places[at.D_RIGHT2] = s.right2[dependent]
    places[at.D_RIGHT_RIGHT] = get_link(s.right, s.right[dependent])
    places[at.H_LEFT] = s.left[head]
    places[at.H_LEFT2] = s.left2[head]
    places[at.H_RIGHT] = s.right[head]
    places[at.H_RIGHT2] = s.right2[head]
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


cdef class RankFeatures:
    """The templates of a reranker, bound to slots.

    branches (Features): Those that look at the decision where two trees part.
    trees (Features): Those that look at the tokens for which something has changed.
    """

    def __init__(self, Features branches not None, Features trees not None):
        cdef TreeTemplateC planned
        cdef const TemplateC* template
        cdef uint32_t bit
        cdef int t, i, changes, word, mask
        cdef int n_slots = trees.c.n_slots
        if self.trees is not None or trees.program is None:
            raise ValueError(Errors.DS216.format(what="templates are bound once"))
        self.branches = branches
        self.trees = trees
        self.n_words = trees.program.c.n_templates // 32 + 1
        self.readers.resize(<size_t>self.n_words * n_slots)
        self.concerned.resize(<size_t>self.n_words * ANY_CHANGE)
        for t, spec in enumerate(trees.program.templates.templates):
            mask = ARC
            places = {atom.place for atom in spec.atoms}
            if "G" in places:
                mask |= GRANDPARENT
            if any(
                atom.place in ("Tl", "Tr")
                or (atom.place == "T" and atom.column in FRAME_COLUMNS)
                for atom in spec.atoms
            ):
                mask |= FRAME
            word = t // 32
            bit = <uint32_t>1 << (t % 32)
            for changes in range(<int>ANY_CHANGE):
                if changes & mask:
                    self.concerned[changes * self.n_words + word] |= bit
            template = &trees.program.c.templates[t]
            planned.seed = template.seed
            planned.n_slots = template.n_atoms
            for i in range(template.n_atoms):
                planned.slots[i] = template.atoms[i].column
                self.readers[word * n_slots + planned.slots[i]] |= bit
            self.templates.push_back(planned)

    def __reduce__(self):
        return RankFeatures, (self.branches, self.trees)

    cdef int check(self, int n_lexical) except -1:
        """Raise an error unless lexemes have so many columns."""
        if self.trees is None or self.branches is None:
            raise ValueError(Errors.DS216.format(what="the templates of a reranker"))
        self.branches.check(N_ACTION_PLACES, n_lexical)
        self.trees.check(N_TREE_PLACES, n_lexical)
        return 0

    cdef int n_branch_keys(self) noexcept nogil:
        return self.branches.program.c.n_templates


cdef int find_changes(
    const SentenceC* old, const SentenceC* new, uint8_t* changes
) noexcept nogil:
    """Find the tokens for which two complete trees differ. RETURNS: The number of arcs
    that are not the same.

    changes: [old.n] Filled in.
    """
    cdef int i, n = 0
    memset(changes, 0, old.n)
    for i in range(old.n):
        if old.heads[i] != new.heads[i] or old.labels[i] != new.labels[i]:
            n += 1
            changes[i] |= ARC
            if old.heads[i] != NONE:
                changes[old.heads[i]] |= FRAME
            if new.heads[i] != NONE:
                changes[new.heads[i]] |= FRAME
    if n:
        for i in range(old.n):
            if old.heads[i] != NONE and changes[old.heads[i]] & ARC:
                changes[i] |= GRANDPARENT
            if new.heads[i] != NONE and changes[new.heads[i]] & ARC:
                changes[i] |= GRANDPARENT
    return n


cdef void add_branch_keys(
    RankFeatures features, SentenceC* s, int action, int second, int lead,
    feat_t* keys, int16_t* signs,
) noexcept nogil:
    """Features of the decision where the trees part, in its state.

    keys, signs: [n_branch_keys] Filled in.
    """
    cdef int[MAX_PLACES] places
    cdef atom_t[MAX_SLOTS] values
    cdef ContextC context
    cdef int t
    context.lexemes = NULL
    context.dynamic = values
    find_action_places(s, places)
    s.rows[STATE_ROW * s.stride + LEAD] = lead
    s.rows[STATE_ROW * s.stride + PAIR] = action * N_ACTIONS + second
    read_slots(s, &features.branches.c, 0, features.branches.c.n_slots, places, values)
    for t in range(features.branches.program.c.n_templates):
        keys[t] = get_key(&features.branches.program.c.templates[t], &context)
        signs[t] = 1


cdef inline int find_sibling(const SentenceC* s, int token, int head) noexcept nogil:
    """The next dependent of the same head in its direction, or NONE."""
    cdef int i
    if head == NONE:
        return NONE
    if token < head:
        for i in range(token + 1, min(head, token + MAX_SIBLING)):
            if s.heads[i] == head:
                return i
    else:
        for i in range(token - 1, max(head, token - MAX_SIBLING), -1):
            if s.heads[i] == head:
                return i
    return NONE


cdef void find_tree_places(SentenceC* s, int token, int* places) noexcept nogil:
    """The rows of the tokens at TREE_PLACES."""
    cdef atom_t* state = s.rows + STATE_ROW * s.stride
    cdef int head = s.heads[token]
    if head == NONE:
        state[DISTANCE] = 0
        state[BETWEEN] = 0
        state[SIDE] = 2
    else:
        state[DISTANCE] = get_distance(abs(head - token))
        state[BETWEEN] = fold(get_between(s, min(head, token), max(head, token)))
        state[SIDE] = head < token
    places[at.T] = token
    places[at.T_HEAD] = head
    places[at.T_GRANDPARENT] = get_link(s.heads, head)
    places[at.T_SIBLING] = find_sibling(s, token, head)
    places[at.T_BEFORE] = get_neighbour(s, token, -1)
    places[at.T_AFTER] = get_neighbour(s, token, 1)
    places[at.T_HEAD_BEFORE] = get_neighbour(s, head, -1)
    places[at.T_HEAD_AFTER] = get_neighbour(s, head, 1)
    places[at.T_LEFT] = s.left[token]
    places[at.T_RIGHT] = s.right[token]
    places[at.T_HEAD_LEFT] = get_link(s.left, head)
    places[at.T_HEAD_RIGHT] = get_link(s.right, head)
    places[at.T_GREAT_GRANDPARENT] = get_link(s.heads, places[at.T_GRANDPARENT])
    find_rows(s, N_TREE_PLACES, places)


cdef inline feat_t get_tree_key(
    const TreeTemplateC* template, const atom_t* values
) noexcept nogil:
    cdef uint64_t state = template.seed
    cdef int i
    for i in range(template.n_slots):
        state = mix(state, values[template.slots[i]])
    return finish(state)


cdef size_t count_tree_keys(
    RankFeatures features, const uint8_t* changes, int n
) noexcept nogil:
    """The most features that add_tree_keys can find."""
    cdef size_t n_changed = 0
    cdef int token
    for token in range(n):
        n_changed += changes[token] != 0
    return 2 * n_changed * features.templates.size()


cdef size_t add_tree_keys(
    RankFeatures features, SentenceC* old, SentenceC* new, const uint8_t* changes,
    feat_t* keys, int16_t* signs,
) noexcept nogil:
    """Features of the tokens for which something has changed between two complete
    trees, as far as they differ: for the new tree, and against the old one.

    keys, signs: [count_tree_keys] Filled in.
    RETURNS: How many there are.
    """
    cdef int[MAX_PLACES] places
    cdef atom_t[MAX_SLOTS] old_values
    cdef atom_t[MAX_SLOTS] new_values
    cdef const TreeTemplateC* template
    cdef const uint32_t* readers
    cdef uint32_t[MAX_SLOTS] differs     # all bits or none
    cdef int n_slots = features.trees.c.n_slots
    cdef uint32_t found
    cdef size_t n = 0
    cdef int token, word, i
    for token in range(old.n):
        if not changes[token]:
            continue
        find_tree_places(old, token, places)
        read_slots(old, &features.trees.c, 0, n_slots, places, old_values)
        find_tree_places(new, token, places)
        read_slots(new, &features.trees.c, 0, n_slots, places, new_values)
        for i in range(n_slots):
            differs[i] = 0 - <uint32_t>(old_values[i] != new_values[i])
        for word in range(features.n_words):
            # The templates that read a slot whose value differs.
            readers = features.readers.data() + word * n_slots
            found = 0
            for i in range(n_slots):
                found |= readers[i] & differs[i]
            found &= features.concerned[changes[token] * features.n_words + word]
            while found:
                template = &features.templates[32 * word + lowest_bit(found)]
                found &= found - 1
                keys[n] = get_tree_key(template, new_values)
                signs[n] = 1
                keys[n + 1] = get_tree_key(template, old_values)
                signs[n + 1] = -1
                n += 2 if keys[n] != keys[n + 1] else 0
    return n
