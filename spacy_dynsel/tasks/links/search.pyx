from libc.math cimport llrint
from libc.string cimport memset

from ...core.forms.line_table cimport SlotStageC, ask_short_lines, sum_values
from ...core.hashing cimport finish, fold, mix
from ..arc_eager cimport places as at
from ..arc_eager.features cimport (
    find_rows, get_between, get_distance, get_neighbour, read_slots,
)
from ..arc_eager.places cimport MAX_PLACES
from ..arc_eager.rules cimport is_forbidden
from ..arc_eager.system cimport (
    BETWEEN, DISTANCE, NONE, SIDE, STATE_ROW, TAG, row_of,
)

cdef extern from "link_weights.hpp" namespace "dynsel" nogil:
    int ask_weights "dynsel::ask_lines"(
        SlotStageC stage, LinkWeights& weights, const atom_t* values, feat_t* keys
    )

cdef enum:
    # A power of two.
    N_FILTERED = 1 << 12
    ROOT_SIDE = 2


cdef void prepare(LinkWork* work, bint caches) noexcept nogil:
    """To be called once.

    caches: Whether what the filter says is kept, since its weights do not change.
    """
    cdef FilteredC nothing
    cdef int i
    for i in range(MAX_LINK_KEYS):
        work.signs[i] = 1
    if caches:
        memset(&nothing, 0, sizeof(FilteredC))
        work.filtered.assign(N_FILTERED, nothing)


cdef inline int get_link_distance(int distance) noexcept nogil:
    if distance <= 4:
        return distance
    if distance <= 8:
        return 5 + (distance > 6)
    if distance <= 20:
        return 7 + (distance > 12)
    return 9 + (distance > 40)


cdef inline atom_t get_tag(const SentenceC* s, int token) noexcept nogil:
    return row_of(s, token)[s.n_lexical + TAG]


cdef inline uint64_t get_way(int head, int child) noexcept nogil:
    """On which side of its head a child is, and how far away."""
    if head == NONE:
        return ROOT_SIDE
    return 4 * get_link_distance(abs(head - child)) + (head < child)


cdef int find_filter_keys(
    const SentenceC* s, int head, int child, feat_t* keys
) noexcept nogil:
    """The features of the filter: the tags of two words, and how far apart they are."""
    cdef uint64_t below = get_tag(s, child)
    cdef uint64_t above = get_tag(s, head)
    cdef uint64_t way = get_way(head, child)
    keys[0] = finish(mix(mix(mix(1, below), above), way))
    keys[1] = finish(mix(mix(2, below), way))
    keys[2] = finish(mix(mix(3, above), way))
    keys[3] = finish(mix(mix(mix(4, below), above), way & 3))
    return N_FILTER_KEYS


cdef inline float add_filter_keys(
    const LinkModelC* model, const SentenceC* s, int head, int child, LinkWork* work
) noexcept nogil:
    cdef feat_t[N_FILTER_KEYS] keys
    find_filter_keys(s, head, child, keys)
    if model.filter_lines != NULL:
        return <float>sum_values(
            model.filter_lines[0], keys, work.signs, N_FILTER_KEYS
        )
    return SCALE * model.filter_weights.score(keys, N_FILTER_KEYS)


cdef inline float judge_link(
    const LinkModelC* model, const SentenceC* s, int head, int child, LinkWork* work
) noexcept nogil:
    """What the filter says about a link."""
    cdef uint64_t key
    cdef FilteredC* known
    if work.filtered.empty():
        return add_filter_keys(model, s, head, child, work)
    key = mix(mix(mix(1, get_tag(s, child)), get_tag(s, head)), get_way(head, child)) | 1
    known = &work.filtered[(key >> 20) & (N_FILTERED - 1)]
    if known.key != key:
        known.key = key
        known.score = add_filter_keys(model, s, head, child, work)
    return known.score


cdef inline void add_link(LinkWork* work, int head, int child) noexcept nogil:
    cdef LinkC link
    link.head = head
    link.child = child
    link.score = 0
    work.links.push_back(link)


cdef void find_links(const LinkModelC* model, SentenceC* s, LinkWork* work) noexcept nogil:
    """The links that the filter leaves, and at least one to the root."""
    cdef Candidate candidate
    cdef float score, best = 0
    cdef int best_root = NONE
    cdef bint has_root = False
    cdef int child, head
    cdef size_t i
    work.links.clear()
    for child in range(s.n):
        work.candidates.clear()
        for head in range(max(NONE, child - REACH), min(s.n, child + REACH + 1)):
            if head != child:
                candidate.head = head
                candidate.score = judge_link(model, s, head, child, work)
                work.candidates.push_back(candidate)
        if child >= REACH:
            candidate.head = NONE
            candidate.score = judge_link(model, s, NONE, child, work)
            work.candidates.push_back(candidate)
        score = judge_link(model, s, NONE, child, work)
        if best_root == NONE or score > best:
            best = score
            best_root = child
        keep_heads(work.candidates, model.alpha, model.max_heads)
        for i in range(work.candidates.size()):
            has_root |= work.candidates[i].head == NONE
            add_link(work, work.candidates[i].head, child)
    if not has_root:
        add_link(work, NONE, best_root)


cdef int find_keys(
    const LinkModelC* model, const FeaturesC* features, SentenceC* s, int head, int child,
    int sibling, LinkWork* work, feat_t* keys,
) noexcept nogil:
    """Find the keys of templates for a link, and ask for their weights. RETURNS: How many
    there are.

    sibling: The next child of the head towards it, or NONE.
    """
    cdef int[MAX_PLACES] places
    cdef atom_t* state = s.rows + STATE_ROW * s.stride
    if head == NONE:
        state[DISTANCE] = 0
        state[BETWEEN] = 0
        state[SIDE] = ROOT_SIDE
    else:
        state[DISTANCE] = get_distance(abs(head - child))
        state[BETWEEN] = fold(get_between(s, min(head, child), max(head, child)))
        state[SIDE] = head < child
    places[at.T] = child
    places[at.T_HEAD] = head
    places[at.T_GRANDPARENT] = NONE
    places[at.T_SIBLING] = sibling
    places[at.T_BEFORE] = get_neighbour(s, child, -1)
    places[at.T_AFTER] = get_neighbour(s, child, 1)
    places[at.T_HEAD_BEFORE] = get_neighbour(s, head, -1)
    places[at.T_HEAD_AFTER] = get_neighbour(s, head, 1)
    find_rows(s, at.T_HEAD_AFTER + 1, places)
    read_slots(s, features, 0, features.n_slots, places, work.values)
    if model.lines != NULL:
        return ask_short_lines(features.stages[0], model.lines[0], work.values, keys)
    return ask_weights(features.stages[0], model.weights[0], work.values, keys)


cdef inline int64_t sum_keys(
    const LinkModelC* model, LinkWork* work, const feat_t* keys, int n
) noexcept nogil:
    if model.lines != NULL:
        return sum_values(model.lines[0], keys, work.signs, n)
    return llrint(SCALE * model.weights.score(keys, n))


cdef void score_links(const LinkModelC* model, SentenceC* s, LinkWork* work) noexcept nogil:
    """Score all links by themselves."""
    cdef size_t n = model.n_pair_keys
    cdef size_t i
    work.keys.resize(work.links.size() * n + 1)
    for i in range(work.links.size()):
        find_keys(
            model, model.pairs, s, work.links[i].head, work.links[i].child, NONE, work,
            work.keys.data() + i * n,
        )
    for i in range(work.links.size()):
        work.links[i].score = sum_keys(model, work, work.keys.data() + i * n, <int>n)


cdef void score_siblings(const LinkModelC* model, SentenceC* s, LinkWork* work) noexcept nogil:
    """Score links together with the next child of their head."""
    cdef size_t n = model.n_sibling_keys
    cdef size_t place = 0
    cdef uint32_t link, first, nearer
    cdef int head
    work.keys.resize(work.forest.sibling_scores.size() * n + 1)
    for link in range(<uint32_t>work.forest.links.size()):
        head = work.forest.links[link].head
        if head == NONE:
            continue
        first = link - work.forest.rank(link)
        for nearer in range(first, link + 1):
            find_keys(
                model, model.siblings, s, head, work.forest.links[link].child,
                work.forest.links[nearer - 1].child if nearer > first else NONE, work,
                work.keys.data() + place * n,
            )
            place += 1
    for place in range(work.forest.sibling_scores.size()):
        work.forest.sibling_scores[place] = sum_keys(
            model, work, work.keys.data() + place * n, <int>n
        )


cdef bint find_tree(const LinkModelC* model, SentenceC* s, LinkWork* work) noexcept nogil:
    """Find the best tree of links that are scored. RETURNS: False if there is none."""
    work.forest.set_links(
        s.n, work.links.data(), work.links.size(), model.siblings != NULL
    )
    if model.siblings != NULL:
        score_siblings(model, s, work)
    if not work.forest.search():
        return False
    work.heads.resize(s.n)
    work.forest.find_heads(work.heads.data())
    return True


cdef void find_all_links(SentenceC* s, LinkWork* work) noexcept nogil:
    """All links of a short sentence; of a long one, those to the root and to both
    neighbours as well."""
    cdef bint is_short = s.n <= MAX_WORDS_FOR_ALL
    cdef int child, head
    cdef size_t i, n
    if is_short:
        work.links.clear()
        for child in range(s.n):
            for head in range(NONE, s.n):
                if head != child:
                    add_link(work, head, child)
        return
    # For each word: has it links to the root, to the word before and to the one after?
    work.flags.assign(s.n, 0)
    n = work.links.size()
    for i in range(n):
        head = work.links[i].head
        child = work.links[i].child
        if head == NONE:
            work.flags[child] |= 1
        elif head == child - 1:
            work.flags[child] |= 2
        elif head == child + 1:
            work.flags[child] |= 4
    for child in range(s.n):
        if not work.flags[child] & 1:
            add_link(work, NONE, child)
        if child > 0 and not work.flags[child] & 2:
            add_link(work, child - 1, child)
        if child + 1 < s.n and not work.flags[child] & 4:
            add_link(work, child + 1, child)


cdef void restrict_links(SentenceC* s, const RulesC* rules, LinkWork* work) noexcept nogil:
    """Leave out links that are forbidden, or compete with one that is set; see to it that
    those are there."""
    cdef size_t i, n = 0
    cdef int child, head, wanted, j
    work.flags.assign(s.n, 0)
    for i in range(work.links.size()):
        child = work.links[i].child
        head = s.tokens[work.links[i].head] if work.links[i].head != NONE else s.tokens[child]
        wanted = rules.heads[s.tokens[child]]
        if wanted != NONE and wanted != head:
            continue
        if is_forbidden(rules, s.tokens[child], head):
            continue
        work.flags[child] = True
        work.links[n] = work.links[i]
        n += 1
    work.links.resize(n)
    for child in range(s.n):
        wanted = rules.heads[s.tokens[child]]
        if wanted == NONE or work.flags[child]:
            continue
        if wanted == s.tokens[child]:
            add_link(work, NONE, child)
            continue
        for j in range(s.n):
            if s.tokens[j] == wanted:
                add_link(work, j, child)


cdef bint parse_links(
    const LinkModelC* model, SentenceC* s, const RulesC* rules, LinkWork* work
) noexcept nogil:
    """Find the best tree of a sentence in its first state. RETURNS: Whether it is as the
    rules have it; there is always a tree."""
    cdef int attempt
    for attempt in range(4):
        find_links(model, s, work)
        if attempt % 2:
            find_all_links(s, work)
        if rules != NULL and attempt < 2:
            restrict_links(s, rules, work)
        score_links(model, s, work)
        if find_tree(model, s, work):
            return attempt < 2
        if rules == NULL and attempt == 1:
            return False
    return False


cdef void order_arcs(int n, LinkWork* work) noexcept nogil:
    """Bring the words of the tree into an order in which each comes after what is below
    it, and after the children of its head that are nearer."""
    cdef int word, head, root = 0
    cdef int i
    work.first_left.assign(n, NONE)
    work.first_right.assign(n, NONE)
    work.next_child.assign(n, NONE)
    for word in range(n):
        head = work.heads[word]
        if head > word:
            work.next_child[word] = work.first_left[head]
            work.first_left[head] = word
        elif head == NONE:
            root = word
    for word in range(n - 1, -1, -1):
        head = work.heads[word]
        if head != NONE and head < word:
            work.next_child[word] = work.first_right[head]
            work.first_right[head] = word
    work.order.resize(n)
    work.todo.clear()
    work.todo.push_back(root)
    i = n
    while not work.todo.empty():
        word = work.todo.back()
        work.todo.pop_back()
        i -= 1
        work.order[i] = word
        head = work.first_left[word]
        while head != NONE:
            work.todo.push_back(head)
            head = work.next_child[head]
        head = work.first_right[word]
        while head != NONE:
            work.todo.push_back(head)
            head = work.next_child[head]
