"""What the rest of a doc says about a word: its other occurrences, their case, their
neighbours, and how they were labelled."""
from ...core.hashing cimport fold, mix
from ...core.lexicon cimport FIRST_VALUE
from ...core.typedefs cimport atom_t, uint64_t
from ...spacy_io.lexemes cimport CASELESS, LOWER_CASE, TITLE_CASE, UPPER_CASE
from .actions cimport ENDS, NONE, STARTS, STARTS_TEXT, type_of
from .scratch cimport SlotC, WordC
from .task cimport CASES, N_PLACES, REACH_C, SEEN, SEEN_LAST, SEEN_SHARES

cdef enum:
    # For how many tokens it is remembered how a word was labelled.
    MEMORY = 1000


cdef void gather_words(const TaskC* task, Scratch* s) noexcept nogil:
    """Find the other occurrences of each word, and in which cases it is written."""
    cdef int n = <int>s.positions.size()
    cdef int step, id_, n_words = 0
    cdef size_t place, mask, size = 16
    cdef atom_t word
    cdef SlotC empty
    cdef WordC* stat
    cdef int case_, cases
    while size < 2 * <size_t>n:
        size *= 2
    mask = size - 1
    if s.table.size() < size:
        empty.word = 0
        empty.epoch = 0
        empty.id = 0
        s.table.assign(size, empty)
        s.epoch = 0
    s.epoch += 1
    if s.epoch == 0:
        for place in range(s.table.size()):
            s.table[place].epoch = 0
        s.epoch = 1
    s.stats.resize(n)
    for step in range(n):
        word = s.records[s.positions[step]].atoms[task.lower_column]
        place = word & mask
        while s.table[place].epoch == s.epoch and s.table[place].word != word:
            place = (place + 1) & mask
        if s.table[place].epoch != s.epoch:
            s.table[place].epoch = s.epoch
            s.table[place].word = word
            s.table[place].id = n_words
            stat = &s.stats[n_words]
            stat.n_lower = 0
            stat.n_title = 0
            stat.n_upper = 0
            stat.n_capital = 0
            stat.n = 0
            stat.latest = NONE
            stat.n_entities = 0
            n_words += 1
        id_ = s.table[place].id
        stat = &s.stats[id_]
        s.words[step] = id_
        s.before[step] = stat.latest
        s.after[step] = NONE
        if stat.latest != NONE:
            s.after[stat.latest] = step
        stat.latest = step
        stat.n += 1
        case_ = <int>s.records[s.positions[step]].atoms[task.case_column] - FIRST_VALUE
        if case_ == LOWER_CASE:
            stat.n_lower += 1
        elif case_ < CASELESS:
            stat.n_capital += 1
            if case_ == UPPER_CASE:
                stat.n_upper += 1
            elif case_ == TITLE_CASE and not s.flags[step] & STARTS_TEXT:
                stat.n_title += 1
    for step in range(n):
        stat = &s.stats[s.words[step]]
        cases = 0
        if stat.n > 1:
            case_ = <int>s.records[s.positions[step]].atoms[task.case_column] - FIRST_VALUE
            cases = 1
            if stat.n_lower > (case_ == LOWER_CASE):
                cases |= 2
            if stat.n_upper > (case_ == UPPER_CASE):
                cases |= 4
            if stat.n_title > (
                case_ == TITLE_CASE and not s.flags[step] & STARTS_TEXT
            ):
                cases |= 8
        s.dynamic[s.positions[step] * task.n_dynamic + CASES] = cases + 1


cdef void remember(const TaskC* task, Scratch* s, int step, int now) noexcept nogil:
    """Fill the columns that say how the word of a step was labelled before, by the
    decisions of the steps up to now."""
    cdef atom_t* columns = s.dynamic.data() + s.positions[step] * task.n_dynamic
    cdef int other = s.before[step]
    cdef int label, best, total, quarter, i, j
    cdef uint64_t state
    columns[SEEN] = 0
    columns[SEEN_LAST] = 0
    columns[SEEN_SHARES] = 0
    if other != NONE and other >= now:
        other = s.before[other]
    if other == NONE or step - other > MEMORY:
        return
    columns[SEEN_LAST] = s.actions[other] + 1
    if s.stats[s.words[step]].n_entities == 0:
        columns[SEEN] = 1
        columns[SEEN_SHARES] = 1
        return
    s.n_counted = 0
    total = 0
    while other != NONE and step - other <= MEMORY:
        label = 0
        if s.actions[other] > 0:
            label = type_of(s.actions[other]) + 1
        if s.counts[label] == 0:
            s.counted[s.n_counted] = label
            s.n_counted += 1
        s.counts[label] += 1
        total += 1
        other = s.before[other]
    # In the order of the labels, whatever order they came in.
    for i in range(1, s.n_counted):
        j = i
        while j and s.counted[j - 1] > s.counted[j]:
            label = s.counted[j]
            s.counted[j] = s.counted[j - 1]
            s.counted[j - 1] = label
            j -= 1
    best = s.counted[0]
    state = 0
    for i in range(s.n_counted):
        label = s.counted[i]
        if s.counts[label] > s.counts[best]:
            best = label
        quarter = (4 * s.counts[label] + total - 1) // total
        state = mix(state, <uint64_t>(label * 4 + quarter))
    for i in range(s.n_counted):
        s.counts[s.counted[i]] = 0
    columns[SEEN] = best + 1
    columns[SEEN_SHARES] = fold(state)


cdef void find_places(
    const TaskC* task, Scratch* s, int step, LexemeRecC* absent, LexemeRecC** places
) noexcept nogil:
    """The lexemes at the places of a step."""
    cdef int position = s.positions[step]
    cdef int i, other
    for i in range(2 * REACH_C + 1):
        places[i] = s.records[position - REACH_C + i]
    for i in range(2 * REACH_C + 1, N_PLACES):
        places[i] = absent
    if task.remembers and s.stats[s.words[step]].n_capital:
        other = s.before[step]
        if other != NONE:
            places[2 * REACH_C + 1] = s.records[s.positions[other] - 1]
            places[2 * REACH_C + 2] = s.records[s.positions[other] + 1]
        other = s.after[step]
        if other != NONE:
            places[2 * REACH_C + 3] = s.records[s.positions[other] - 1]
            places[2 * REACH_C + 4] = s.records[s.positions[other] + 1]


cdef void look(
    const TaskC* task,
    Scratch* s,
    int step,
    LexemeRecC* absent,
    LexemeRecC** places,
    ContextC* context,
) noexcept nogil:
    """Make the context of the decision of a step, all steps before being decided."""
    find_places(task, s, step, absent, places)
    context.lexemes = places
    context.dynamic = (
        s.dynamic.data() + (s.positions[step] - REACH_C) * task.n_dynamic
    )
    if task.remembers:
        # The next word is looked up one step ahead, so that templates can look at it.
        if s.flags[step] & STARTS:
            remember(task, s, step, step)
        if not s.flags[step] & ENDS:
            remember(task, s, step + 1, step)
