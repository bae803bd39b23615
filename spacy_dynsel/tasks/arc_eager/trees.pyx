"""What trees look like, the arcs that were lifted to make them projective, and what the
oracle says about the way to them."""
from libc.stdint cimport int32_t
from libc.string cimport memset
from libcpp.vector cimport vector
from spacy.tokens.doc cimport Doc

from ...core.typedefs cimport uint64_t
from ...spacy_io.annotations cimport move_arcs

from ...spacy_io.annotations import read_parse
from ...spacy_io.tokens import find_words

from .system cimport (
    GoldTree,
    N_ACTIONS,
    NONE,
    SentenceC,
    UNKNOWN_HEAD,
    apply,
    free_sentence,
    get_costs,
    get_valid,
    link_dependents,
    new_sentence,
    settle,
    start,
)

cdef enum:
    # How many tokens restore_arcs looks at to find a head.
    MAX_SEARCH = 1000


def classify_tree(const int32_t[::1] heads not None) -> str:
    """Say what kind of tree, or of several trees side by side, some heads make. Takes
    linear time.

    heads (array): For each token the index of its head, its own for a root, or -1 where
        it is not known, which is as good as a root.
    RETURNS (str): "projective", "crossing" or "cyclic".
    """
    cdef int n = <int>heads.shape[0]
    cdef vector[int] room
    cdef int token
    cdef int kind = PROJECTIVE
    for token in range(n):
        if heads[token] >= n:
            raise IndexError(heads[token])
    if n:
        room.resize(<size_t>CLASSIFY_ROOM * n)
        kind = classify(<const int*>&heads[0], n, room.data())
    return ("projective", "crossing", "cyclic")[kind]


cdef int classify(const int* heads, int n, int* room) noexcept nogil:
    """See classify_tree.

    room: [CLASSIFY_ROOM * n] Memory to work with.
    """
    cdef int* n_open = room      # dependents that have not been seen
    cdef int* sizes = n_open + n     # of the tree below a token, and its ends
    cdef int* left = sizes + n
    cdef int* right = left + n
    cdef int* ready = right + n
    cdef int token, head
    cdef int n_ready = 0
    cdef int n_done = 0
    cdef bint is_projective = True
    for token in range(n):
        n_open[token] = 0
        sizes[token] = 1
    for token in range(n):
        left[token] = token
        right[token] = token
        if heads[token] >= 0 and heads[token] != token:
            n_open[heads[token]] += 1
    for token in range(n):
        if n_open[token] == 0:
            ready[n_ready] = token
            n_ready += 1
    while n_ready:
        n_ready -= 1
        token = ready[n_ready]
        n_done += 1
        is_projective &= sizes[token] == right[token] - left[token] + 1
        head = heads[token]
        if head >= 0 and head != token:
            sizes[head] += sizes[token]
            left[head] = min(left[head], left[token])
            right[head] = max(right[head], right[token])
            n_open[head] -= 1
            if n_open[head] == 0:
                ready[n_ready] = head
                n_ready += 1
    if n_done < n:
        return CYCLIC
    return PROJECTIVE if is_projective else CROSSING


def restore_arcs(Doc doc not None, list lifted not None, dict labels not None) -> None:
    """Give arcs that were lifted back to the heads that their labels speak of: the
    first token below the head that has the right label, level by level. That is what
    spaCy's deprojectivize does, whose time grows faster than with the square of the
    length; here, the search for a head stops after MAX_SEARCH tokens.

    doc (Doc): A doc whose trees are projective.
    lifted (list[int]): The tokens with such labels, in order.
    labels (dict): For the string ID of such a label those of its two parts: the label
        without more, and that of the former head.
    """
    cdef int n = len(doc)
    all_heads, all_deps = read_parse(doc)
    cdef int32_t[::1] heads = all_heads
    cdef uint64_t[::1] deps = all_deps
    cdef const Py_ssize_t[::1] words = find_words(doc)
    cdef vector[int] first           # the dependents of a token
    cdef vector[int] next_one
    cdef vector[int] queue
    cdef int token, child, found, n_seen
    cdef Py_ssize_t i
    cdef size_t place
    cdef uint64_t wanted
    first.assign(n, NONE)
    next_one.assign(n, NONE)
    for i in range(words.shape[0] - 1, -1, -1):
        token = <int>words[i]
        if heads[token] >= 0 and heads[token] != token:
            next_one[token] = first[heads[token]]
            first[heads[token]] = token
    for token in lifted:
        if not 0 <= token < n:
            raise IndexError(token)
        deps[token], wanted = labels[deps[token]]
        queue.assign(1, token if heads[token] < 0 else heads[token])
        found = NONE
        place = 0
        n_seen = 0
        while found == NONE and place < queue.size() and n_seen < MAX_SEARCH:
            child = first[queue[place]]
            while child != NONE and n_seen < MAX_SEARCH:
                n_seen += 1
                # Arcs that were given back before are no longer among these.
                if child != token and heads[child] == queue[place]:
                    if deps[child] == wanted:
                        found = child
                        break
                    queue.push_back(child)
                child = next_one[child]
            place += 1
        if found != NONE:
            heads[token] = found
    move_arcs(doc, lifted, heads, deps)


def follow(const int32_t[::1] heads not None, choose) -> list:
    """Parse a sentence by decisions that are made elsewhere, to see what the oracle
    says.

    heads (array): The gold heads, see classify_tree.
    choose (Callable): Takes the actions that are possible in a state, each with the
        number of gold arcs that it puts out of reach, and returns one of them.
    RETURNS (list): The heads.
    """
    cdef int n = <int>heads.shape[0]
    cdef SentenceC s
    cdef GoldTree gold
    cdef int[N_ACTIONS] costs
    cdef int i, valid, action
    for i in range(n):
        if heads[i] >= n:
            raise IndexError(heads[i])
        gold.heads.push_back(
            n if heads[i] == i else heads[i] if heads[i] >= 0 else UNKNOWN_HEAD
        )
    link_dependents(&gold)
    memset(&s, 0, sizeof(SentenceC))
    if not new_sentence(&s, n, 0):
        raise MemoryError()
    try:
        start(&s)
        while settle(&s):
            valid = get_valid(&s)
            get_costs(&s, &gold, costs)
            action = choose({i: costs[i] for i in range(N_ACTIONS) if valid >> i & 1})
            if not 0 <= action < N_ACTIONS or not valid >> action & 1:
                raise ValueError(action)
            apply(&s, action, 0)
        return [s.heads[i] if s.heads[i] != NONE else i for i in range(n)]
    finally:
        free_sentence(&s)
