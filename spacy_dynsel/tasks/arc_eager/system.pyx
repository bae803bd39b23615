from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from ...core.hashing cimport fold, mix
from ...core.lexicon cimport FIRST_VALUE

cdef enum:
    MAX_COUNT = 5


cdef bint new_sentence(SentenceC* s, int n, int n_lexical) noexcept nogil:
    """Make room for a sentence of n tokens; the struct is zero or was used before.
    RETURNS: Whether there was enough memory."""
    cdef size_t stride = max(n_lexical + N_TOKEN_COLUMNS, <int>N_STATE_COLUMNS)
    cdef size_t room, size
    cdef char* block
    if n > s.capacity or s.rows == NULL:
        free_sentence(s)
        room = max(64, n + n // 2)
        size = room * (4 * sizeof(uint64_t) + 8 * sizeof(int) + sizeof(uint8_t))
        size += sizeof(uint64_t)
        size += (room + FIRST_ROW) * stride * sizeof(atom_t)
        block = <char*>malloc(size)
        if block == NULL:
            return False
        s.capacity = <int>room
        s.pos_bits = <uint64_t*>block
        s.left_sets = s.pos_bits + room
        s.right_sets = s.left_sets + room
        s.stack_keys = s.right_sets + room
        s.rows = <atom_t*>(s.stack_keys + room + 1)
        s.tokens = <int*>(s.rows + (room + FIRST_ROW) * stride)
        s.heads = s.tokens + room
        s.labels = s.heads + room
        s.left = s.labels + room
        s.left2 = s.left + room
        s.right = s.left2 + room
        s.right2 = s.right + room
        s.stack = s.right2 + room
        s.on_stack = <uint8_t*>(s.stack + room)
    s.n = n
    s.n_lexical = n_lexical
    s.stride = <int>stride
    return True


cdef void free_sentence(SentenceC* s) noexcept nogil:
    free(s.pos_bits)
    memset(s, 0, sizeof(SentenceC))


cdef void start(SentenceC* s) noexcept nogil:
    """The first state, for tokens whose lexical columns, TAG and POS are filled."""
    cdef atom_t* row
    cdef int i, j
    for j in range(s.stride):
        s.rows[STATE_ROW * s.stride + j] = 0
        s.rows[NO_TOKEN_ROW * s.stride + j] = NO_TOKEN
    for i in range(s.n):
        row = row_of(s, i) + s.n_lexical
        row[LABEL] = 0
        row[LEFT_COUNT] = 0
        row[RIGHT_COUNT] = 0
        row[LEFT_LABELS] = 0
        row[RIGHT_LABELS] = 0
        s.left_sets[i] = 0
        s.right_sets[i] = 0
        s.heads[i] = NONE
        s.labels[i] = NONE
        s.left[i] = NONE
        s.left2[i] = NONE
        s.right[i] = NONE
        s.right2[i] = NONE
        s.on_stack[i] = False
    s.top = 0
    s.front = 0
    s.returned = NONE
    s.previous = N_ACTIONS
    s.step = 0
    s.stack_keys[0] = 0


cdef bint copy_sentence(SentenceC* s, const SentenceC* other) noexcept nogil:
    """Make a sentence of the same tokens, in its first state. RETURNS: Whether there
    was enough memory."""
    if not new_sentence(s, other.n, other.n_lexical):
        return False
    memcpy(s.rows, other.rows, <size_t>(s.n + FIRST_ROW) * s.stride * sizeof(atom_t))
    memcpy(s.pos_bits, other.pos_bits, s.n * sizeof(uint64_t))
    memcpy(s.tokens, other.tokens, s.n * sizeof(int))
    start(s)
    return True


cdef inline void push(SentenceC* s, int token) noexcept nogil:
    s.stack[s.top] = token
    s.on_stack[token] = True
    s.stack_keys[s.top + 1] = mix(
        s.stack_keys[s.top], 2 * token + (s.heads[token] != NONE)
    )
    s.top += 1
    s.step += 1


cdef inline int pop(SentenceC* s) noexcept nogil:
    s.top -= 1
    s.step += 1
    s.on_stack[s.stack[s.top]] = False
    return s.stack[s.top]


cdef bint settle(SentenceC* s) noexcept nogil:
    """Do what needs no decision. RETURNS: Whether there is a decision to make."""
    while True:
        if get_front(s) == NONE:
            if s.top <= 1:
                return False
            if s.heads[s.stack[s.top - 1]] != NONE:
                pop(s)
            else:
                s.returned = pop(s)
        elif s.top == 0:
            if s.returned != NONE:
                # All others are below it: the root.
                return False
            push(s, s.front)
            s.front += 1
            s.previous = SHIFT
        else:
            return True


cdef int get_valid(const SentenceC* s) noexcept nogil:
    """The actions that are possible in a state that waits for a decision, as bits."""
    cdef int valid = 1 << RIGHT
    if s.heads[s.stack[s.top - 1]] == NONE:
        valid |= 1 << LEFT
    else:
        valid |= 1 << REDUCE
    # The last token and those that came back have to be connected.
    if s.returned == NONE and s.front + 1 < s.n:
        valid |= 1 << SHIFT
    return valid


cdef void add_arc(SentenceC* s, int head, int dependent, int label) noexcept nogil:
    cdef atom_t* row = row_of(s, head) + s.n_lexical
    row_of(s, dependent)[s.n_lexical + LABEL] = label + FIRST_VALUE
    s.heads[dependent] = head
    s.labels[dependent] = label
    if dependent < head:
        s.left2[head] = s.left[head]
        s.left[head] = dependent
        s.left_sets[head] |= <uint64_t>1 << (label & 63)
        row[LEFT_LABELS] = fold(s.left_sets[head])
        row[LEFT_COUNT] = min(row[LEFT_COUNT] + 1, <atom_t>MAX_COUNT)
    else:
        s.right2[head] = s.right[head]
        s.right[head] = dependent
        s.right_sets[head] |= <uint64_t>1 << (label & 63)
        row[RIGHT_LABELS] = fold(s.right_sets[head])
        row[RIGHT_COUNT] = min(row[RIGHT_COUNT] + 1, <atom_t>MAX_COUNT)


cdef void apply(SentenceC* s, int action, int label) noexcept nogil:
    """Take a transition that is valid; the label is that of the new arc, if any."""
    cdef int front = get_front(s)
    if action == REDUCE:
        pop(s)
    elif action == LEFT:
        add_arc(s, front, pop(s), label)
    else:
        if action == RIGHT:
            add_arc(s, s.stack[s.top - 1], front, label)
        push(s, front)
        if s.returned != NONE:
            s.returned = NONE
        else:
            s.front += 1
    s.previous = action


cdef int link_dependents(GoldTree* gold) except -1 nogil:
    """Make the lists of dependents from the heads, for the first state."""
    cdef int n = <int>gold.heads.size()
    cdef int token, head
    gold.left.assign(n + 1, NONE)
    gold.right.assign(n + 1, NONE)
    gold.next.assign(n, NONE)
    gold.n_left.assign(n + 1, NONE)
    gold.n_right.assign(n + 1, 0)
    for token in range(n):
        head = gold.heads[token]
        if head > token:
            gold.next[token] = gold.left[head]
            gold.left[head] = token
    for token in range(n - 1, -1, -1):
        head = gold.heads[token]
        if 0 <= head < token:
            gold.next[token] = gold.right[head]
            gold.right[head] = token
            gold.n_right[head] += 1
    return 0


cdef inline bint is_headless(const SentenceC* s, int token) noexcept nogil:
    """Whether a token waits on the stack for its head."""
    return s.on_stack[token] and s.heads[token] == NONE


cdef int count_on_stack(const SentenceC* s, GoldTree* gold, int front) noexcept nogil:
    """The dependents of N0 that wait for their heads. No token before N0 will start to
    wait, and those that do leave the stack from its top, the nearest to N0 first: it
    takes constant time, on average, to follow them."""
    cdef int token = gold.left[front]
    cdef int last = NONE
    if gold.n_left[front] == NONE:
        gold.n_left[front] = 0
        gold.left[front] = NONE
        while token != NONE:
            if is_headless(s, token):
                if last == NONE:
                    gold.left[front] = token
                else:
                    gold.next[last] = token
                last = token
                gold.n_left[front] += 1
            token = gold.next[token]
        if last != NONE:
            gold.next[last] = NONE
    while gold.n_left[front] and not is_headless(s, gold.left[front]):
        gold.left[front] = gold.next[gold.left[front]]
        gold.n_left[front] -= 1
    return gold.n_left[front]


cdef int count_in_buffer(const SentenceC* s, GoldTree* gold, int top) noexcept nogil:
    """The dependents of S0 that are not read yet, or came back."""
    while gold.n_right[top] and gold.right[top] < s.front:
        gold.right[top] = gold.next[gold.right[top]]
        gold.n_right[top] -= 1
    return gold.n_right[top] + (s.returned != NONE and gold.heads[s.returned] == top)


cdef void get_costs(const SentenceC* s, GoldTree* gold, int* costs) noexcept nogil:
    """How many gold arcs each action puts out of reach. Call
    once per state, in order: the lists of dependents follow the states."""
    cdef int stack_top = s.stack[s.top - 1]
    cdef int front = get_front(s)
    cdef int lost_dependents = count_in_buffer(s, gold, stack_top)
    cdef int lost_on_stack = count_on_stack(s, gold, front)
    cdef int head = gold.heads[front]
    costs[REDUCE] = lost_dependents
    costs[LEFT] = lost_dependents
    # The root's head is a token that is never read.
    if gold.heads[stack_top] != front and gold.heads[stack_top] >= s.front:
        costs[LEFT] += 1
    costs[SHIFT] = lost_on_stack
    costs[RIGHT] = lost_on_stack
    if head >= 0 and head < s.n and s.on_stack[head]:
        costs[SHIFT] += 1
        costs[RIGHT] += head != stack_top
    elif head >= s.front:
        costs[RIGHT] += 1
