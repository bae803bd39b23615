"""The arc-eager transition system: states, transitions, paths of decisions, and the costs of
transitions.

A state is a stack of tokens that wait for dependents or heads, and a buffer of tokens
that were not read yet. Its front is N0, the top of the stack S0.

    SHIFT   push N0
    REDUCE  pop S0, which has a head
    LEFT    make N0 the head of S0, and pop S0
    RIGHT   make S0 the head of N0, and push N0

When the buffer is empty and several tokens wait for a head, they go back to its front
one by one, where LEFT and RIGHT connect them: the last one is the root, so that there
is one for each sentence. Tokens that are white space are not part of it.
"""
from libcpp.vector cimport vector

from ...core.hashing cimport mix
from ...core.typedefs cimport atom_t, uint8_t, uint64_t

cdef enum:
    NONE = -1
    # Values of rows that stand for no token.
    NO_TOKEN = 1

cdef enum:
    # The transitions.
    SHIFT
    REDUCE
    LEFT
    RIGHT
    N_ACTIONS

cdef enum:
    # Columns of a token after those of its lexeme, see places.pyx.
    TAG
    POS
    LABEL
    LEFT_COUNT
    RIGHT_COUNT
    LEFT_LABELS
    RIGHT_LABELS
    N_TOKEN_COLUMNS

cdef enum:
    # Columns of the row that describes the state as a whole.
    DISTANCE
    DISTANCE1
    BETWEEN
    PREVIOUS
    POSITION
    SIDE
    LEAD
    PAIR
    N_STATE_COLUMNS

cdef enum:
    # Rows before those of tokens: what describes the state, and what NONE has.
    STATE_ROW = 0
    NO_TOKEN_ROW = 1
    FIRST_ROW = 2


cdef struct SentenceC:
    int n
    int capacity
    int n_lexical            # columns of lexemes
    int stride               # columns of a row
    atom_t* rows
    uint64_t* pos_bits       # [n] the part of speech of a token, as a bit
    uint64_t* left_sets      # [n] the labels of its dependents
    uint64_t* right_sets
    int* tokens              # [n] its index in the doc
    int* heads               # [n] or NONE
    int* labels
    int* left                # [n] the leftmost dependent, or NONE
    int* left2               # [n] the second one from there
    int* right
    int* right2
    int* stack
    uint8_t* on_stack
    int top                  # the number of tokens on the stack
    int front                # the next token to be read
    int returned             # the token before that, which came from the stack, or NONE
    int previous             # the last transition
    int step                 # how often something was pushed or popped
    uint64_t* stack_keys     # [n + 1] for each height what is on the stack, as a hash


cdef inline atom_t* row_of(const SentenceC* s, int token) noexcept nogil:
    return s.rows + <size_t>(token + FIRST_ROW) * s.stride


cdef inline int get_front(const SentenceC* s) noexcept nogil:
    """N0, or NONE."""
    if s.returned != NONE:
        return s.returned
    return s.front if s.front < s.n else NONE


cdef inline int get_stack(const SentenceC* s, int depth) noexcept nogil:
    return s.stack[s.top - 1 - depth] if depth < s.top else NONE


cdef inline bint is_waiting(const SentenceC* s, int token) noexcept nogil:
    """Whether a token is in the buffer."""
    return token >= s.front or token == s.returned


cdef inline uint64_t get_state_key(const SentenceC* s) noexcept nogil:
    """A hash of what decides which transitions are possible from now on."""
    return mix(mix(s.stack_keys[s.top], s.front), s.returned + 2)


cdef bint copy_sentence(SentenceC* s, const SentenceC* other) noexcept nogil
cdef bint new_sentence(SentenceC* s, int n, int n_lexical) noexcept nogil
cdef void free_sentence(SentenceC* s) noexcept nogil
cdef void start(SentenceC* s) noexcept nogil
cdef bint settle(SentenceC* s) noexcept nogil
cdef int get_valid(const SentenceC* s) noexcept nogil
cdef void add_arc(SentenceC* s, int head, int dependent, int label) noexcept nogil
cdef void apply(SentenceC* s, int action, int label) noexcept nogil


cdef struct LoggedC:
    # A decision that was made.
    int step
    int action
    int second               # the next best one, or NONE
    int label
    float lead
    # What only parsing with compiled weights keeps: the lead of the label, the stages at
    # which the action and its label (or NONE) were found, N0 and S0.
    int label_lead
    int stage
    int label_stage
    int front
    int top


cdef inline int choose_branches(
    const LoggedC* log, int n, int n_branches, float max_lead, int* chosen
) noexcept nogil:
    """Choose the decisions of least lead, the least of all first.

    log: [n] The decisions of a sentence.
    max_lead: Branch only below this lead.
    chosen: [n_branches] Filled in: where to branch, into the log.
    RETURNS: How many were chosen.
    """
    cdef int n_chosen = 0
    cdef int i, j
    if n_branches <= 0:
        return 0
    for i in range(n):
        if log[i].second == NONE or log[i].lead >= max_lead:
            continue
        if n_chosen < n_branches:
            n_chosen += 1
        elif log[i].lead >= log[chosen[n_chosen - 1]].lead:
            continue
        j = n_chosen - 1
        while j > 0 and log[chosen[j - 1]].lead > log[i].lead:
            chosen[j] = chosen[j - 1]
            j -= 1
        chosen[j] = i
    return n_chosen


cdef inline void replay(
    SentenceC* s, const LoggedC* log, int first, int end, int step
) noexcept nogil:
    """Repeat the decisions first : end of a log that were made at a step or later."""
    cdef int i
    for i in range(first, end):
        if log[i].step >= step:
            settle(s)
            apply(s, log[i].action, log[i].label)
    settle(s)


cdef inline bint is_back(
    const SentenceC* s, const uint64_t* state_keys, size_t n
) noexcept nogil:
    """Whether a branch is in a state in which its sentence was before.

    state_keys: [n] By step.
    """
    return <size_t>s.step < n and state_keys[s.step] == get_state_key(s)


cdef enum:
    UNKNOWN_HEAD = -2


cdef cppclass GoldTree:
    # The heads of a sentence, and for each head the dependents that it can still get by
    # the transitions to come. These lists become shorter as the sentence is read.
    vector[int] heads        # an index, the number of tokens for the root, or UNKNOWN_HEAD
    vector[int] left         # the nearest dependent before a head, or NONE
    vector[int] right        # the nearest one after it, or NONE
    vector[int] next         # for a dependent the next one, further from the same head
    vector[int] n_left       # or NONE if those that wait on the stack were not counted
    vector[int] n_right


cdef int link_dependents(GoldTree* gold) except -1 nogil
cdef void get_costs(const SentenceC* s, GoldTree* gold, int* costs) noexcept nogil
