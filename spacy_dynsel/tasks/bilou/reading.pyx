"""A doc in reading order: one step a word. White space is no word: nothing is decided
about it, and the words around it are neighbours.

A model reads each sentence from left to right or from right to left; all that it sees
is in reading order, so that place -1 is the word read before, and B the first word of an
entity to be read. What goes in and out is in the order of the text.

Records and columns lie in arrays with REACH entries before and after each sentence, so
that a window is just an address into them.
"""
from ...core.hashing cimport fold, mix
from ...core.leads cimport NO_DECISION
from ...core.typedefs cimport atom_t, uint8_t, uint64_t
from ...spacy_io.tokens cimport EntityTokenC, has_entity
from .actions cimport (
    ENDS,
    IN,
    IS_FIXED,
    IS_LAST,
    KEEP_C,
    NONE,
    STARTS,
    STARTS_TEXT,
    count_actions,
    find_kind,
    get_action,
    mirror,
    mirror_kind,
    open_after,
)
from .evidence cimport gather_words
from .gazetteer cimport match_lists
from .task cimport LISTS, N_COLUMNS, REACH_C, TAG


cdef void prepare_counts(const TaskC* task, Scratch* s) noexcept nogil:
    s.counts.assign(task.n_types + 1, 0)
    s.counted.resize(task.n_types + 1)
    s.costs.resize(count_actions(task.n_types))


cdef int preset_action(
    const TaskC* task, const EntityTokenC* tokens, int n, int i
) noexcept nogil:
    """The action that stands for an entity which is set already: in the order of the
    text, O for a blocked token or an unknown type."""
    cdef int t
    cdef bint goes_on = i + 1 < n and tokens[i + 1].iob == 1
    for t in range(task.n_types):
        if task.types[t] == tokens[i].type:
            return get_action(t, find_kind(tokens[i].iob == 3, not goes_on))
    return 0


cdef void drop_spaces(Scratch* s, int n_words) noexcept nogil:
    """Leave the records of the words that were read."""
    cdef int i
    if n_words < <int>s.tokens.size():
        for i in range(n_words):
            s.token_records[i] = s.token_records[s.tokens[i].token]
        s.tokens.resize(n_words)
        s.token_records.resize(n_words)


cdef void fill_spaces(
    const TaskC* task, Scratch* s, const SequenceC* doc, uint16_t* actions, int32_t* leads
) noexcept nogil:
    """Give white space its actions: within an entity it goes on, elsewhere it is
    outside, and where an entity was set it may keep its annotation.

    actions: [length] Those of words are there.
    leads: [length] Where to note that nothing was decided, or NULL.
    """
    cdef uint16_t inside = 0
    cdef int n = <int>s.tokens.size()
    cdef int token = 0
    cdef int i, end
    for i in range(n + 1):
        end = s.tokens[i].token if i < n else doc.length
        while token < end:
            actions[token] = inside
            if task.keeps and has_entity(doc, token):
                actions[token] = KEEP_C
            if leads != NULL:
                leads[token] = NO_DECISION
            token += 1
        if i < n:
            inside = 0
            if actions[token] != KEEP_C and open_after(actions[token]) != NONE:
                inside = <uint16_t>get_action(open_after(actions[token]), IN)
            token += 1


cdef void look_up_lists(const TaskC* task, Scratch* s) noexcept nogil:
    """Fill the columns of the gazetteers, sentence by sentence."""
    cdef int n = <int>s.tokens.size()
    cdef int n_lists = task.gazetteer.n_lists
    cdef int start = 0
    cdef int end, i, number, kind
    cdef atom_t* columns
    cdef uint8_t code
    cdef uint64_t state
    s.codes.assign(<size_t>n * n_lists, 0)
    for end in range(1, n + 1):
        if end == n or s.tokens[end].starts:
            match_lists(
                task.gazetteer, s.token_records.data() + start, end - start,
                s.codes.data() + <size_t>start * n_lists,
            )
            start = end
    for i in range(n):
        columns = s.dynamic.data() + s.position_of[i] * task.n_dynamic
        state = 0
        for number in range(n_lists):
            code = s.codes[<size_t>i * n_lists + number]
            if not code:
                continue
            if task.backwards:
                kind = (code - 1) // 2
                code = <uint8_t>(1 + 2 * mirror_kind(kind) + (code - 1) % 2)
            columns[N_COLUMNS + number] = code
            state = mix(state, <uint64_t>(number * 16 + code))
        if state:
            columns[LISTS] = fold(state)


cdef void arrange(
    const TaskC* task,
    Scratch* s,
    LexemeRecC* before_start,
    LexemeRecC* after_end,
) noexcept nogil:
    """Bring the words of a doc into reading order, with all that does not depend on
    actions."""
    cdef int n = <int>s.tokens.size()
    cdef int n_sentences = 0
    cdef int start, end, i, _j, step, position, token, later
    cdef bint closed
    for i in range(n):
        if i == 0 or s.tokens[i].starts:
            n_sentences += 1
    s.positions.resize(n)
    s.token_of.resize(n)
    s.position_of.resize(n)
    s.flags.resize(n)
    s.actions.resize(n)
    s.words.resize(n)
    s.before.resize(n)
    s.after.resize(n)
    s.records.resize(n + 2 * REACH_C * n_sentences)
    s.dynamic.assign(s.records.size() * task.n_dynamic, 0)
    start = 0
    step = 0
    position = 0
    if task.backwards:
        before_start, after_end = after_end, before_start
    for end in range(1, n + 1):
        if end < n and not s.tokens[end].starts:
            continue
        for _j in range(REACH_C):
            s.records[position] = before_start
            position += 1
        for i in range(end - start):
            token = start + i
            if task.backwards:
                token = end - 1 - i
            s.records[position] = s.token_records[token]
            s.positions[step] = position
            s.token_of[step] = s.tokens[token].token
            s.position_of[token] = position
            s.flags[step] = 0
            if i == 0:
                s.flags[step] |= STARTS
            if i + 1 == end - start:
                s.flags[step] |= ENDS
            if token == start:
                s.flags[step] |= STARTS_TEXT
            s.actions[step] = NONE
            if task.keeps and (s.tokens[token].iob == 3 or s.tokens[token].iob == 1):
                s.flags[step] |= IS_FIXED
                s.actions[step] = preset_action(task, s.tokens.data(), n, token)
                if task.backwards:
                    s.actions[step] = mirror(s.actions[step])
            s.dynamic[position * task.n_dynamic + TAG] = s.tokens[token].tag
            position += 1
            step += 1
        for _j in range(REACH_C):
            s.records[position] = after_end
            position += 1
        # From the end: an entity does not go on into what is fixed, or over white space
        # that is.
        closed = True
        for i in range(end - start):
            if closed:
                s.flags[step - 1 - i] |= IS_LAST
            later = start + i + 1 if task.backwards else end - 1 - i
            closed = s.flags[step - 1 - i] & IS_FIXED or (
                task.keeps and later < end and s.tokens[later].is_barred
            )
        start = end
    if task.remembers:
        gather_words(task, s)
    if task.gazetteer != NULL:
        look_up_lists(task, s)
