from libc.string cimport memset

from ...base.errors import Errors

from .system cimport (
    BETWEEN,
    DISTANCE,
    LEAD,
    NONE,
    PAIR,
    SIDE,
    STATE_ROW,
    N_ACTIONS,
)
from ...core.hashing cimport finish, fold, mix
from ...core.program cimport TemplateC
from .features cimport (
    AT_STATE,
    AT_T,
    AT_T_AFTER,
    AT_T_BEFORE,
    AT_T_GRANDPARENT,
    AT_T_GREAT_GRANDPARENT,
    AT_T_HEAD,
    AT_T_HEAD_AFTER,
    AT_T_HEAD_BEFORE,
    AT_T_HEAD_LEFT,
    AT_T_HEAD_RIGHT,
    AT_T_LEFT,
    AT_T_RIGHT,
    AT_T_SIBLING,
    MAX_PLACES,
    MAX_SLOTS,
    N_ACTION_PLACES,
    N_TREE_PLACES,
    find_action_places,
    find_rows,
    get_between,
    get_distance,
    get_link,
    get_neighbour,
    name_places,
    read_slots,
)

from .features import STATE_PLACE

TREE_PLACES = name_places(
    {
        AT_STATE: STATE_PLACE,
        AT_T: "T",
        AT_T_HEAD: "H",
        AT_T_GRANDPARENT: "G",
        AT_T_SIBLING: "P",
        AT_T_BEFORE: "T-1",
        AT_T_AFTER: "T+1",
        AT_T_HEAD_BEFORE: "H-1",
        AT_T_HEAD_AFTER: "H+1",
        AT_T_LEFT: "Tl",
        AT_T_RIGHT: "Tr",
        AT_T_HEAD_LEFT: "Hl",
        AT_T_HEAD_RIGHT: "Hr",
        AT_T_GREAT_GRANDPARENT: "Hh",
    }
)
FRAME_COLUMNS = {"left_labels", "right_labels", "left_count", "right_count"}

cdef enum:
    MAX_SIBLING = 12


cdef class RankFeatures:
    """The templates of a reranker, bound to slots.

    branches (Features): Those that look at the decision where two trees part.
    trees (Features): Those that look at the tokens for which something has changed.
    """

    def __init__(self, Features branches not None, Features trees not None):
        cdef TreeTemplateC planned
        cdef const TemplateC* template
        cdef int t, i
        if self.trees is not None:
            raise ValueError(Errors.DS216.format(what="templates are bound once"))
        self.branches = branches
        self.trees = trees
        for t, spec in enumerate(trees.program.templates.templates):
            planned.mask = ARC
            places = {atom.place for atom in spec.atoms}
            if "G" in places:
                planned.mask |= GRANDPARENT
            if any(
                atom.place in ("Tl", "Tr")
                or (atom.place == "T" and atom.column in FRAME_COLUMNS)
                for atom in spec.atoms
            ):
                planned.mask |= FRAME
            template = &trees.program.c.templates[t]
            planned.seed = template.seed
            planned.n_slots = template.n_atoms
            memset(planned.bits, 0, sizeof(planned.bits))
            for i in range(template.n_atoms):
                planned.slots[i] = template.atoms[i].column
                planned.bits[planned.slots[i] // 64] |= (
                    <uint64_t>1 << (planned.slots[i] % 64)
                )
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
    places[AT_T] = token
    places[AT_T_HEAD] = head
    places[AT_T_GRANDPARENT] = get_link(s.heads, head)
    places[AT_T_SIBLING] = find_sibling(s, token, head)
    places[AT_T_BEFORE] = get_neighbour(s, token, -1)
    places[AT_T_AFTER] = get_neighbour(s, token, 1)
    places[AT_T_HEAD_BEFORE] = get_neighbour(s, head, -1)
    places[AT_T_HEAD_AFTER] = get_neighbour(s, head, 1)
    places[AT_T_LEFT] = s.left[token]
    places[AT_T_RIGHT] = s.right[token]
    places[AT_T_HEAD_LEFT] = get_link(s.left, head)
    places[AT_T_HEAD_RIGHT] = get_link(s.right, head)
    places[AT_T_GREAT_GRANDPARENT] = get_link(s.heads, places[AT_T_GRANDPARENT])
    find_rows(s, N_TREE_PLACES, places)


cdef inline bint sees(
    const TreeTemplateC* template, const uint64_t* differing, int n_words
) noexcept nogil:
    """Whether a template reads one of the slots that differ."""
    cdef uint64_t found = 0
    cdef int i
    for i in range(n_words):
        found |= template.bits[i] & differing[i]
    return found != 0


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
    cdef uint64_t[SLOT_WORDS] differing
    cdef const TreeTemplateC* template
    cdef int n_slots = features.trees.c.n_slots
    cdef int n_words = (n_slots + 63) // 64
    cdef int n_templates = <int>features.templates.size()
    cdef size_t n = 0
    cdef int token, t, i
    for token in range(old.n):
        if not changes[token]:
            continue
        find_tree_places(old, token, places)
        read_slots(old, &features.trees.c, 0, n_slots, places, old_values)
        find_tree_places(new, token, places)
        read_slots(new, &features.trees.c, 0, n_slots, places, new_values)
        memset(differing, 0, sizeof(differing))
        for i in range(n_slots):
            differing[i // 64] |= <uint64_t>(old_values[i] != new_values[i]) << (i % 64)
        for t in range(n_templates):
            template = &features.templates[t]
            if template.mask & changes[token] and sees(template, differing, n_words):
                keys[n] = get_tree_key(template, new_values)
                signs[n] = 1
                keys[n + 1] = get_tree_key(template, old_values)
                signs[n + 1] = -1
                n += 2 if keys[n] != keys[n + 1] else 0
    return n
