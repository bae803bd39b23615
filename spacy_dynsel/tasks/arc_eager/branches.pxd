"""Where to leave the path of a parser, and how to come back to it."""
from ...core.typedefs cimport uint64_t
from .system cimport NONE, SentenceC, apply, get_state_key, settle


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
