"""The loops of entity recognition: one action a word, in reading order. White space is no
word: nothing is decided about it, and the words around it are neighbours.

Actions are O (0) and, for each type, B, I, L and U: 1 + 4 * type + kind. A model reads
each sentence from left to right or from right to left; all that it sees is in reading
order, so that place -1 is the word read before, and B the first word of an entity to
be read. What goes in and out is in the order of the text.

The places of a decision are the offsets -REACH .. REACH from its word, and, if the
same word (in lower case) occurs elsewhere in the doc, the neighbours of its nearest
occurrence before and after. Records and columns lie in arrays with REACH entries before
and after each sentence, so that a window is just an address into them.
"""
cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from ...spacy_io.bridge cimport (
    CASELESS,
    KEEP_C,
    LOWER_CASE,
    TITLE_CASE,
    UPPER_CASE,
    EntityTokenC,
    LexemeReader,
    SequenceC,
    fill_spaces,
    find_records,
    make_records,
    read_docs,
    read_entity_words,
)
from .gazetteer cimport N_CODES_C, Gazetteer, GazetteerC, match_lists
from ...core.hashing cimport fold, mix
from ...core.leads cimport NO_DECISION as NO_DECISION_C
from ...core.leads cimport NO_RIVAL, find_lead
from ...core.learner cimport CORRECT, INVALID, WRONG, Learner, StepC
from ...core.lexicon cimport FIRST_VALUE, Arena, Lexicon, LexiconC
from ...core.program cimport ContextC, LexemeRecC, Program, get_key
from ...core.forms.cached cimport DecisionC, CachedScorer, CachedScorerC, add_slots, decide, prefetch_rows, sum_fused
from ...core.typedefs cimport atom_t, score_t, uint8_t, uint16_t, uint32_t, uint64_t
from ...core.vectors cimport bare_vector
from ...core.workers cimport atomic_int, require_memory_for_gil, run_workers

cdef enum:
    REACH_C = 2
    N_PLACES = 9
    # Tokens that a thread takes at once; docs are not divided.
    TASK = 2048
    # For how many tokens the rows of lexemes are added up before they are decided, and
    # how many tokens ahead of that the rows are asked for.
    AHEAD_TOKENS = 16
    AHEAD_ROWS = 8
    # For how many tokens it is remembered how a word was labelled.
    MEMORY = 1000
    N_CASE_SETS_C = 17
    NONE = -1
    MISSING_C = -1
    VALID = 32767
    NOT_VALID = -32768

cdef enum:
    # The kinds of actions.
    BEGIN = 0
    IN = 1
    LAST = 2
    UNIT = 3

cdef enum:
    # What the task itself writes for a token.
    ACTION
    TAG
    SEEN
    SEEN_LAST
    SEEN_SHARES
    CASES
    LISTS
    # Here start the columns of the single lists.
    N_COLUMNS

cdef enum:
    # Of a step: the entity cannot go on after it; it starts or ends a sentence, as read;
    # it starts one in the text; it is not to be decided.
    IS_LAST = 1
    STARTS = 2
    ENDS = 4
    STARTS_TEXT = 8
    IS_FIXED = 16

REACH = REACH_C
NO_DECISION = NO_DECISION_C
COLUMNS = ["action", "tag", "seen", "seen_last", "seen_shares", "cases", "lists"]
NAMED_PLACES = ["before-1", "before+1", "after-1", "after+1"]
N_CASE_SETS = N_CASE_SETS_C
MISSING = -1


cdef struct TaskC:
    int n_types
    int n_dynamic
    bint backwards
    bint keeps               # whether entities that are set stay
    bint remembers           # whether templates look at other occurrences of a word
    int n_lexical
    int lower_column
    int case_column
    const uint64_t* types    # [n_types] their string IDs
    const GazetteerC* gazetteer    # or NULL


cdef struct SlotC:
    # An entry of the table of a doc's words; those of earlier docs count as empty.
    atom_t word
    uint32_t epoch
    int id


cdef struct WordC:
    # What is known about a word of the doc, in all its forms.
    int n_lower
    int n_title              # within sentences
    int n_upper
    int n_capital            # all that are not in lower case
    int n
    int latest               # the step of its latest occurrence
    int n_entities           # how many of its occurrences were labelled as entities


cdef cppclass Scratch:
    # Memory of one worker, reused for all docs. Arrays are by token that is a word, by
    # position (steps with room between sentences), or by step in reading order.
    bare_vector[EntityTokenC] tokens
    bare_vector[LexemeRecC*] token_records
    bare_vector[LexemeRecC*] records  # by position
    bare_vector[atom_t] dynamic       # by position, [n_dynamic] each
    bare_vector[int] positions        # by step
    bare_vector[int] token_of         # by step: which token of the doc it is
    bare_vector[int] position_of      # by token
    bare_vector[uint8_t] codes        # by token, [n_lists] each
    bare_vector[uint8_t] flags        # by step
    bare_vector[int] actions          # by step; before its decision, that of fixed ones
    bare_vector[int] words            # by step, into stats
    bare_vector[int] before           # by step: that of the same word before, or NONE
    bare_vector[int] after
    bare_vector[SlotC] table
    uint32_t epoch
    bare_vector[WordC] stats
    bare_vector[int] counts           # by label, see remember
    bare_vector[int] counted          # the labels that were counted
    int n_counted
    bare_vector[score_t] scores       # [AHEAD_TOKENS][width]
    bare_vector[score_t] closed_limits     # [2][width], by IS_LAST
    bare_vector[score_t] open_limits  # [width]
    bare_vector[uint8_t] costs
    PyObject* arena                   # the memory of records that are not kept, or NULL


class EntityBatch:
    """The predicted actions of some docs.

    actions (array): The actions of all tokens of all docs, KEEP for tokens that keep
        their annotation. White space within an entity has the action I of its type,
        other white space O.
    ends (array): The number of tokens up to the end of each doc.
    stage_counts (array): How many decisions were made at each stage.
    has_kept (bool): Whether there are tokens that keep their annotation.
    support (array): What a second pass adds to the score of each of the actions, or
        None.
    leads (array): By how much each decision was won, as an integer, NO_DECISION for
        white space; or None.
    stages (array): The stage in which each decision was made, from 0, or None.
    made_by (Compiled): What made the decisions, or None.
    """

    __slots__ = (
        "actions", "ends", "has_kept", "leads", "made_by", "stage_counts", "stages",
        "support",
    )

    def __init__(
        self, actions, ends, stage_counts, has_kept, support=None, leads=None, stages=None
    ):
        self.made_by = None
        self.leads = leads
        self.stages = stages
        self.actions = actions
        self.ends = ends
        self.stage_counts = stage_counts
        self.has_kept = has_kept
        self.support = support

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, i: int):
        i = range(len(self))[i]
        return self.actions[self.ends[i - 1] if i else 0 : self.ends[i]]


cdef class Task:
    """What the loops have to know about a model.

    types (array): The string IDs of the entity types.
    backwards (bool): Whether sentences are read from right to left.
    lexical (list[str]): The lexical columns; "lower" and "case" are among them.
    remembers (bool): Whether templates look at other occurrences of a word.
    n_dynamic (int): The number of columns that the task writes.
    keeps (bool): Whether entities that are set stay, and blocked tokens blocked.
    gazetteer (Gazetteer): Lists of names, if there are any.
    """
    cdef TaskC c
    cdef object types
    cdef Gazetteer gazetteer

    def __init__(
        self,
        types,
        bint backwards,
        list lexical not None,
        bint remembers,
        int n_dynamic,
        bint keeps,
        Gazetteer gazetteer,
    ):
        cdef int n_lists = 0
        if gazetteer is not None:
            n_lists = gazetteer.c.n_lists
            if gazetteer.c.exact.places == NULL or max(
                gazetteer.c.lower_column, gazetteer.c.word_column
            ) >= len(lexical):
                raise ValueError(Errors.DS216.format(what="gazetteers and columns"))
        if self.types is not None or n_dynamic < N_COLUMNS + n_lists:
            raise ValueError(Errors.DS216.format(what="the columns of a task"))
        # At least one element, so that there is an address.
        self.types = np.zeros(max(1, len(types)), dtype="uint64")
        self.types[:len(types)] = types
        cdef const uint64_t[::1] view = self.types
        self.c.types = &view[0]
        self.c.n_types = len(types)
        self.c.n_dynamic = n_dynamic
        self.c.backwards = backwards
        self.c.remembers = remembers
        self.c.keeps = keeps
        self.gazetteer = gazetteer
        self.c.gazetteer = NULL
        if gazetteer is not None:
            self.c.gazetteer = &gazetteer.c
        self.c.n_lexical = len(lexical)
        self.c.lower_column = lexical.index("lower")
        self.c.case_column = lexical.index("case")

    cdef int check(self, Lexicon lexicon, LexemeReader reader) except -1:
        """Raise an error unless lexemes have the columns that are read."""
        reader.check(lexicon)
        if self.c.n_lexical != lexicon.n_columns:
            raise ValueError(Errors.DS216.format(what="a task and its columns"))
        return 0

    cdef int check_program(self, Program program, int n_labels) except -1:
        """Raise an error unless templates look at what a decision sees, and labels are
        actions."""
        if (
            program is None
            or program.c.n_columns > self.c.n_lexical
            or program.c.n_places > N_PLACES
            or program.c.n_values > (2 * REACH_C + 1) * self.c.n_dynamic
            or n_labels != 1 + 4 * self.c.n_types
        ):
            raise ValueError(Errors.DS216.format(what="templates, labels and a task"))
        return 0

    cdef int check_scorer(self, CachedScorer scorer) except -1:
        """Raise an error unless tables have room for what the task writes."""
        cdef size_t i
        cdef uint64_t needed
        self.check_program(scorer.program, scorer.c.n_labels)
        for i in range(scorer.dynamic_limits.size()):
            column = scorer.dynamic_limits[i].column
            if column == ACTION or column == SEEN_LAST:
                needed = scorer.c.n_labels + 1
            elif column == SEEN:
                needed = self.c.n_types + 2
            elif column == CASES:
                needed = N_CASE_SETS_C
            elif column >= N_COLUMNS:
                needed = N_CODES_C
            else:
                needed = <uint64_t>-1
            if scorer.dynamic_limits[i].n_values < needed:
                raise ValueError(Errors.DS216.format(what="a scorer and its columns"))
        return 0


cdef inline int type_of(int action) noexcept nogil:
    return (action - 1) // 4


cdef inline int kind_of(int action) noexcept nogil:
    return (action - 1) % 4


cdef inline int open_after(int action) noexcept nogil:
    """The type of the entity that is open after an action, or NONE."""
    if action <= 0 or kind_of(action) >= LAST:
        return NONE
    return type_of(action)


cdef inline int mirror(int action) noexcept nogil:
    """An action as it is called when the text is read in the other direction."""
    if action <= 0:
        return action
    if kind_of(action) == BEGIN:
        return action + LAST - BEGIN
    if kind_of(action) == LAST:
        return action + BEGIN - LAST
    return action


cdef int preset_action(
    const TaskC* task, const EntityTokenC* tokens, int n, int i
) noexcept nogil:
    """The action that stands for an entity which is set already: in the order of the
    text, O for a blocked token or an unknown type."""
    cdef int t, kind
    cdef bint goes_on = i + 1 < n and tokens[i + 1].iob == 1
    for t in range(task.n_types):
        if task.types[t] == tokens[i].type:
            if tokens[i].iob == 3:
                kind = BEGIN if goes_on else UNIT
            else:
                kind = IN if goes_on else LAST
            return 1 + 4 * t + kind
    return 0


cdef void drop_spaces(Scratch* s, int n_words) noexcept nogil:
    """Leave the records of the words that were read."""
    cdef int i
    if n_words < <int>s.tokens.size():
        for i in range(n_words):
            s.token_records[i] = s.token_records[s.tokens[i].token]
        s.tokens.resize(n_words)
        s.token_records.resize(n_words)


cdef void arrange(
    const TaskC* task,
    Scratch* s,
    LexemeRecC* before_start,
    LexemeRecC* after_end,
) noexcept nogil:
    """Bring the words of a doc into reading order."""
    cdef int n = <int>s.tokens.size()
    cdef int n_sentences = 0
    cdef int start, end, i, j, step, position, token, later
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
        for j in range(REACH_C):
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
        for j in range(REACH_C):
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
                code = <uint8_t>(1 + 2 * (mirror(1 + kind) - 1) + (code - 1) % 2)
            columns[N_COLUMNS + number] = code
            state = mix(state, <uint64_t>(number * 16 + code))
        if state:
            columns[LISTS] = fold(state)


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


cdef inline void act(
    const TaskC* task, Scratch* s, int step, int action
) noexcept nogil:
    """Note the action of a step."""
    s.actions[step] = action
    s.dynamic[s.positions[step] * task.n_dynamic + ACTION] = action + 1
    if action > 0 and task.remembers:
        s.stats[s.words[step]].n_entities += 1


cdef inline bint is_valid(uint8_t flags, int open_type, int action) noexcept nogil:
    """Whether an action is possible, given the type of the open entity or NONE."""
    if action == 0 or kind_of(action) == UNIT:
        return open_type == NONE
    if kind_of(action) == BEGIN:
        return open_type == NONE and not flags & IS_LAST
    if kind_of(action) == IN:
        return type_of(action) == open_type and not flags & IS_LAST
    return type_of(action) == open_type


cdef void prepare_counts(const TaskC* task, Scratch* s) noexcept nogil:
    s.counts.assign(task.n_types + 1, 0)
    s.counted.resize(task.n_types + 1)
    s.costs.resize(1 + 4 * task.n_types)


cdef void prepare_limits(const TaskC* task, Scratch* s, int width) noexcept nogil:
    """Fill the rows that say which actions are valid outside of entities."""
    cdef int flags, action
    cdef score_t* row
    s.scores.resize(<size_t>AHEAD_TOKENS * width)
    s.open_limits.assign(width, <score_t>NOT_VALID)
    s.closed_limits.assign(2 * width, <score_t>NOT_VALID)
    prepare_counts(task, s)
    for flags in range(2):
        row = s.closed_limits.data() + flags * width
        for action in range(1 + 4 * task.n_types):
            if is_valid(<uint8_t>flags, NONE, action):
                row[action] = VALID


cdef inline void add_support(
    const TaskC* task, uint16_t action, score_t support, score_t* scores
) noexcept nogil:
    """Add to the score of the action that a first pass has chosen."""
    if action != KEEP_C:
        scores[mirror(action) if task.backwards else action] += support


cdef DecisionC decide_step(
    const TaskC* task,
    Scratch* s,
    int step,
    int open_type,
    const CachedScorerC* scorer,
    const ContextC* context,
    const int* margins,
    score_t* scores,
    int* lead,
) noexcept nogil:
    """Make the decision of a step, the scores being what sum_fused gave for it.

    lead: Where to write its lead, or NULL.
    """
    cdef uint8_t flags = s.flags[step]
    cdef score_t* limits
    cdef DecisionC decision
    if open_type == NONE:
        limits = s.closed_limits.data() + (flags & IS_LAST) * scorer.width
    else:
        limits = s.open_limits.data()
        if not flags & IS_LAST:
            limits[1 + 4 * open_type + IN] = VALID
        limits[1 + 4 * open_type + LAST] = VALID
    decision = decide(scorer, context, limits, margins, scores)
    if lead != NULL:
        lead[0] = find_lead(scores, limits, scorer.width, decision.label)
    if open_type != NONE:
        limits[1 + 4 * open_type + IN] = NOT_VALID
        limits[1 + 4 * open_type + LAST] = NOT_VALID
    return decision


cdef struct JobC:
    PyObject* owner
    const TaskC* task
    SequenceC* docs
    int* tasks               # [n_tasks + 1] into docs
    int n_tasks
    atomic_int* next_task
    const CachedScorerC* scorer
    const LexiconC* lexicon
    LexemeRecC* before_start
    LexemeRecC* after_end
    LexemeRecC* absent
    const int* margins
    # What a first pass found, or NULL.
    const uint16_t* first
    const score_t* support
    uint16_t* actions
    # Where to write what a second pass is to add, or NULL; how much for a lead of 1, and
    # how much at most.
    score_t* support_out
    double support_for_lead
    int max_support
    int32_t* leads           # or NULL
    uint8_t* stages          # or NULL
    int n_threads
    atomic_int* n_kept       # words that keep their annotation
    uint64_t* stage_counts   # [n_threads][n_stages]


@cython.auto_pickle(False)
cdef class _Job:
    """What the threads need the GIL for."""
    cdef list docs
    cdef Lexicon lexicon
    cdef LexemeReader reader
    cdef list arenas
    cdef object error


cdef int check_first(
    const TaskC* task, const uint16_t[::1] actions, const score_t[::1] support, size_t n
) except -1:
    """Raise an error unless there are an action and its support for each token."""
    cdef bint fits = <size_t>actions.shape[0] == n and <size_t>support.shape[0] == n
    cdef Py_ssize_t i
    if fits:
        for i in range(actions.shape[0]):
            fits &= actions[i] <= 4 * task.n_types or actions[i] == KEEP_C
    if not fits:
        raise ValueError(Errors.DS216.format(what="docs and a first pass"))
    return 0


def predict(
    list docs not None,
    Task task not None,
    Lexicon lexicon not None,
    LexemeReader reader not None,
    CachedScorer scorer not None,
    list margins not None,
    int n_threads,
    first=None,
    double support_for_lead=0,
    int max_support=0,
    bint with_leads=False,
) -> EntityBatch:
    """Predict the actions of docs.

    margins (list[int]): See CachedScorer.margins.
    n_threads (int): How many threads to use at most. The result does not depend on it.
    first (EntityBatch): What a first pass found, with its support.
    support_for_lead (float): By how much a second pass supports an action that leads by
        1, or 0 if there is none.
    max_support (int): The most that it adds.
    with_leads (bool): Whether to say how sure the decisions are.
    """
    cdef const uint16_t[::1] first_view
    cdef const score_t[::1] support_view
    cdef score_t[::1] support_out_view
    cdef int32_t[::1] lead_view
    cdef uint8_t[::1] stage_view
    cdef vector[SequenceC] sequences
    cdef vector[int] tasks
    cdef vector[int] c_margins = margins
    cdef atomic_int next_task
    cdef JobC job
    cdef _Job owner = _Job.__new__(_Job)
    cdef int i, size = 0
    cdef atomic_int n_kept
    cdef uint16_t[::1] action_view
    cdef uint64_t[:, ::1] count_view
    cdef int64_t[::1] end_view
    cdef bint has_memory
    reader.check_scorer(lexicon, scorer)
    task.check(lexicon, reader)
    task.check_scorer(scorer)
    if <int>c_margins.size() < scorer.c.n_stages - 1:
        raise ValueError(Errors.DS216.format(what="margins and stages"))
    # A copy of its own keeps the docs alive, whatever happens to the list.
    docs = docs[:]
    n_tokens = read_docs(docs, sequences)
    if first is not None:
        first_view = first.actions
        support_view = first.support
        check_first(&task.c, first_view, support_view, n_tokens)
    ends = np.empty(len(docs), dtype="int64")
    end_view = ends
    actions = np.empty(n_tokens, dtype="uint16")
    support = np.zeros(n_tokens, dtype="int16") if support_for_lead else None
    leads = np.full(n_tokens, NO_RIVAL, dtype="int32") if with_leads else None
    stages = np.zeros(n_tokens, dtype="uint8") if with_leads else None
    tasks.push_back(0)
    for i in range(<int>sequences.size()):
        size += sequences[i].length
        end_view[i] = sequences[i].offset + sequences[i].length
        if size >= TASK or i + 1 == <int>sequences.size():
            tasks.push_back(i + 1)
            size = 0
    job.n_tasks = <int>tasks.size() - 1
    job.n_threads = max(1, min(n_threads, job.n_tasks))
    counts = np.zeros((job.n_threads, scorer.c.n_stages), dtype="uint64")
    if n_tokens:
        action_view = actions
        count_view = counts
        owner.docs = docs
        owner.lexicon = lexicon
        owner.reader = reader
        owner.arenas = []
        owner.error = None
        next_task.store(0)
        n_kept.store(0)
        job.n_kept = &n_kept
        job.owner = <PyObject*>owner
        job.task = &task.c
        job.docs = sequences.data()
        job.tasks = tasks.data()
        job.next_task = &next_task
        job.scorer = &scorer.c
        job.lexicon = &lexicon.c
        job.before_start = lexicon.before_start
        job.after_end = lexicon.after_end
        job.absent = lexicon.absent
        job.margins = c_margins.data()
        job.actions = &action_view[0]
        job.first = NULL
        job.support = NULL
        if first is not None:
            job.first = &first_view[0]
            job.support = &support_view[0]
        job.support_out = NULL
        if support is not None:
            support_out_view = support
            job.support_out = &support_out_view[0]
        job.leads = NULL
        job.stages = NULL
        if with_leads:
            lead_view = leads
            stage_view = stages
            job.leads = &lead_view[0]
            job.stages = &stage_view[0]
        job.support_for_lead = support_for_lead
        job.max_support = max_support
        job.stage_counts = &count_view[0, 0]
        with nogil:
            has_memory = run_workers(job.n_threads, work, &job)
        if owner.error is not None:
            raise owner.error
        if not has_memory:
            raise MemoryError()
    # One row is not worth a call of numpy, which single docs would feel.
    stage_counts = counts[0] if job.n_threads == 1 else counts.sum(axis=0)
    has_kept = n_tokens > 0 and n_kept.fetch_add(0) > 0
    return EntityBatch(actions, ends, stage_counts, has_kept, support, leads, stages)


cdef void work(void* data, int worker) noexcept nogil:
    cdef JobC* job = <JobC*>data
    cdef Scratch scratch
    cdef int task, i
    cdef bint good = True
    scratch.epoch = 0
    scratch.arena = NULL
    prepare_limits(job.task, &scratch, job.scorer.width)
    while good:
        task = job.next_task.fetch_add(1)
        if task >= job.n_tasks:
            break
        for i in range(job.tasks[task], job.tasks[task + 1]):
            if not read_doc(job, worker, &job.docs[i], &scratch):
                good = False
                break


cdef bint read_doc(
    JobC* job, int worker, const SequenceC* doc, Scratch* s
) noexcept nogil:
    """Recognize the entities of a doc. RETURNS: False after an error."""
    cdef uint16_t* actions = job.actions + doc.offset
    cdef uint64_t* counts = job.stage_counts + worker * job.scorer.n_stages
    cdef LexemeRecC* places[N_PLACES]
    cdef ContextC context
    cdef DecisionC decision
    cdef bint complete
    cdef int n = doc.length
    cdef score_t* scores
    cdef int i, step, token, lead, open_type = NONE
    cdef int n_kept = 0
    cdef int* wanted_lead = NULL
    if job.support_out != NULL or job.leads != NULL:
        wanted_lead = &lead
    s.tokens.resize(n)
    s.token_records.resize(n)
    complete = find_records(
        doc, 0, n, job.lexicon, job.before_start, job.after_end, s.token_records.data()
    )
    if not complete:
        require_memory_for_gil()
        if not complete_records(job, doc, s):
            return False
    n = read_entity_words(doc, s.tokens.data())
    drop_spaces(s, n)
    arrange(job.task, s, job.before_start, job.after_end)
    if job.task.remembers:
        gather_words(job.task, s)
    if job.task.gazetteer != NULL:
        look_up_lists(job.task, s)
    for step in range(n):
        if step % AHEAD_TOKENS == 0:
            # First what does not depend on actions, for some steps at once.
            for i in range(step, min(step + AHEAD_TOKENS, n)):
                if i + AHEAD_ROWS < n:
                    prefetch_rows(s.records[s.positions[i + AHEAD_ROWS]])
                find_places(job.task, s, i, job.absent, places)
                context.lexemes = places
                sum_fused(
                    job.scorer, 0, &context,
                    s.scores.data() + <size_t>(i - step) * job.scorer.width,
                )
        if s.flags[step] & IS_FIXED:
            # The columns of the word after it are needed all the same.
            look(job.task, s, step, job.absent, places, &context)
            act(job.task, s, step, s.actions[step])
            actions[s.token_of[step]] = KEEP_C
            n_kept += 1
            open_type = NONE
            continue
        look(job.task, s, step, job.absent, places, &context)
        token = s.token_of[step]
        scores = s.scores.data() + <size_t>(step % AHEAD_TOKENS) * job.scorer.width
        if job.first != NULL:
            add_support(
                job.task, job.first[doc.offset + token],
                job.support[doc.offset + token], scores,
            )
        decision = decide_step(
            job.task, s, step, open_type, job.scorer, &context, job.margins, scores,
            wanted_lead,
        )
        if job.leads != NULL:
            job.leads[doc.offset + token] = lead
            job.stages[doc.offset + token] = <uint8_t>decision.stage
        if job.support_out != NULL and lead != NO_RIVAL:
            job.support_out[doc.offset + token] = <score_t>min(
                job.max_support, <int64_t>(lead * job.support_for_lead)
            )
        counts[decision.stage] += 1
        act(job.task, s, step, decision.label)
        open_type = open_after(decision.label)
        if job.task.backwards:
            actions[token] = <uint16_t>mirror(decision.label)
        else:
            actions[token] = <uint16_t>decision.label
    if n < doc.length:
        fill_spaces(
            doc, job.task.keeps, actions,
            job.leads + doc.offset if job.leads != NULL else NULL,
        )
    if n_kept:
        job.n_kept.fetch_add(n_kept)
    if not complete:
        (<Arena>s.arena).clear()
    return True


cdef bint complete_records(JobC* job, const SequenceC* doc, Scratch* s) noexcept with gil:
    """RETURNS: False after an error."""
    cdef _Job owner = <_Job>job.owner
    cdef Arena arena
    try:
        if s.arena == NULL:
            arena = Arena()
            owner.arenas.append(arena)
            s.arena = <PyObject*>arena
        arena = <Arena>s.arena
        make_records(
            doc, 0, doc.length, s.token_records.data(), owner.docs[doc.doc],
            owner.lexicon, owner.reader, arena,
        )
        return True
    except BaseException as error:
        owner.error = error
        return False


cdef void lay_out(
    const TaskC* task,
    const SequenceC* doc,
    LexemeRecC** records,
    const uint8_t* starts,
    LexemeRecC* before_start,
    LexemeRecC* after_end,
    Scratch* s,
) noexcept nogil:
    """Lay out a doc for reading.

    starts: For each token whether a sentence starts there; NULL for what the doc says.
    """
    cdef int i
    prepare_counts(task, s)
    s.tokens.resize(doc.length)
    s.token_records.resize(doc.length)
    for i in range(doc.length):
        s.token_records[i] = records[i]
    drop_spaces(s, read_entity_words(doc, s.tokens.data()))
    if starts != NULL:
        for i in range(<int>s.tokens.size()):
            s.tokens[i].starts = starts[s.tokens[i].token]
    arrange(task, s, before_start, after_end)
    if task.remembers:
        gather_words(task, s)
    if task.gazetteer != NULL:
        look_up_lists(task, s)


cdef extern from "kernels.hpp" namespace "dynsel" nogil:
    bint call_guarded(
        void (*function)(
            const TaskC*, const SequenceC*, LexemeRecC**, const uint8_t*, LexemeRecC*,
            LexemeRecC*, Scratch*,
        ) noexcept nogil,
        const TaskC* task,
        const SequenceC* doc,
        LexemeRecC** records,
        const uint8_t* starts,
        LexemeRecC* before_start,
        LexemeRecC* after_end,
        Scratch* s,
    )


cdef class Readings:
    """Docs that are read one after the other while learning or explaining.

    docs (list[Doc]): The docs.
    starts (array): For each token of all docs whether a sentence starts there, a word;
        None for what the docs themselves say.
    """
    cdef list docs
    cdef vector[SequenceC] sequences
    cdef vector[LexemeRecC*] records
    cdef const uint8_t[::1] starts
    cdef bint has_starts
    cdef Arena arena
    cdef Task task
    cdef Lexicon lexicon
    cdef readonly size_t n_tokens

    def __init__(
        self,
        list docs not None,
        starts,
        Task task not None,
        Lexicon lexicon not None,
        LexemeReader reader not None,
    ):
        cdef int i
        if self.docs is not None:
            raise ValueError(Errors.DS216.format(what="a batch has its docs already"))
        task.check(lexicon, reader)
        docs = docs[:]
        self.docs = docs
        self.task = task
        self.lexicon = lexicon
        self.arena = Arena()
        self.has_starts = starts is not None
        if self.has_starts:
            self.starts = starts
        self.n_tokens = read_docs(docs, self.sequences)
        if self.has_starts and <size_t>self.starts.shape[0] != self.n_tokens:
            raise ValueError(Errors.DS216.format(what="docs and the starts of sentences"))
        self.records.resize(self.n_tokens)
        for i in range(<int>self.sequences.size()):
            records = self.records.data() + self.sequences[i].offset
            if not find_records(
                &self.sequences[i], 0, self.sequences[i].length, &lexicon.c,
                lexicon.before_start, lexicon.after_end, records,
            ):
                make_records(
                    &self.sequences[i], 0, self.sequences[i].length, records, docs[i],
                    lexicon, reader, self.arena,
                )

    cdef int open_doc(self, int i, Scratch* s) except -1 nogil:
        """Lay out a doc for reading."""
        cdef const SequenceC* doc = &self.sequences[i]
        cdef const uint8_t* starts = NULL
        if doc.length and self.has_starts:
            starts = &self.starts[doc.offset]
        if not call_guarded(
            lay_out, &self.task.c, doc, self.records.data() + doc.offset, starts,
            self.lexicon.before_start, self.lexicon.after_end, s,
        ):
            with gil:
                raise MemoryError()
        return 0

    cdef int check_learner(self, Learner learner) except -1:
        """Raise an error unless a learner sees what is read, and labels are actions."""
        if self.task is None:
            raise ValueError(Errors.DS216.format(what="a batch without docs"))
        self.task.check_program(learner.program, learner.n_labels)
        return 0


cdef class TrainingBatch(Readings):
    """Docs with what is known about their entities.

    gold (array): For each token of all docs its action, in the order of the text, or
        MISSING.
    negatives (array): Spans that are known not to be entities: their first token, the
        token after their last, and their type.
    """
    cdef const int32_t[::1] gold
    cdef const int64_t[:, ::1] negatives
    # The negatives that start or end at a token: from where to where they are listed.
    cdef const int64_t[::1] listed
    cdef const int64_t[::1] bounds

    def __init__(
        self,
        list docs not None,
        starts,
        Task task not None,
        Lexicon lexicon not None,
        LexemeReader reader not None,
        const int32_t[::1] gold not None,
        const int64_t[:, ::1] negatives not None,
    ):
        cdef int64_t n_tokens
        cdef Py_ssize_t i
        cdef bint fits
        Readings.__init__(self, docs, starts, task, lexicon, reader)
        n_tokens = self.n_tokens
        fits = gold.shape[0] == n_tokens and negatives.shape[1] == 3
        if fits:
            for i in range(n_tokens):
                fits &= -1 <= gold[i] <= 4 * task.c.n_types
            for i in range(negatives.shape[0]):
                fits &= 0 <= negatives[i, 0] < negatives[i, 1] <= n_tokens
                fits &= 0 <= negatives[i, 2] < task.c.n_types
        if not fits:
            raise ValueError(Errors.DS216.format(what="docs, actions and negatives"))
        self.gold = gold
        self.negatives = negatives
        ends = np.asarray(negatives)[:, :2] - [0, 1]
        order = np.argsort(ends.ravel(), kind="stable")
        self.listed = order // 2
        self.bounds = np.searchsorted(ends.ravel()[order], np.arange(self.n_tokens + 1))

    cdef int gold_action(self, const SequenceC* doc, Scratch* s, int step) noexcept nogil:
        """The gold action of a step, in reading order."""
        gold = self.gold[doc.offset + s.token_of[step]]
        return mirror(gold) if self.task.c.backwards else gold

    cdef int fill_costs(
        self, const SequenceC* doc, Scratch* s, int step, int open_type, int opened
    ) noexcept nogil:
        """Say which actions are correct, wrong and not valid.

        open_type: The type of the open entity, or NONE.
        opened: The step at which it was begun.
        RETURNS: The only correct action, or NONE if there is no one or several.
        """
        cdef const TaskC* task = &self.task.c
        cdef uint8_t* costs = s.costs.data()
        cdef uint8_t flags = s.flags[step]
        cdef int gold = self.gold_action(doc, s, step)
        cdef int t, label, after
        cdef uint8_t cost = WRONG
        cdef int n_correct = 0
        cdef int correct = NONE
        if gold == MISSING_C:
            cost = CORRECT
        for label in range(1 + 4 * task.n_types):
            costs[label] = INVALID
        if open_type == NONE:
            costs[0] = cost
            for t in range(task.n_types):
                if not flags & IS_LAST:
                    costs[1 + 4 * t + BEGIN] = cost
                costs[1 + 4 * t + UNIT] = cost
            if gold != MISSING_C:
                # Inside of an entity whose beginning was missed, nothing is left to do.
                if gold == 0 or kind_of(gold) == IN or kind_of(gold) == LAST:
                    costs[0] = CORRECT
                elif costs[gold] == WRONG:
                    costs[gold] = CORRECT
        else:
            label = 1 + 4 * open_type
            if not flags & IS_LAST:
                costs[label + IN] = cost
            costs[label + LAST] = cost
            if gold != MISSING_C:
                after = self.gold_action(doc, s, opened)
                if (after == MISSING_C or after == label + BEGIN) and (
                    gold == label + IN or gold == label + LAST
                ):
                    if costs[gold] == WRONG:
                        costs[gold] = CORRECT
                else:
                    # The entity is wrong already: it must only not get in the way of
                    # the next one.
                    after = 0
                    if not flags & ENDS:
                        after = self.gold_action(doc, s, step + 1)
                    if costs[label + LAST] == WRONG:
                        costs[label + LAST] = CORRECT
                    if costs[label + IN] == WRONG and not (
                        after > 0 and (kind_of(after) == BEGIN or kind_of(after) == UNIT)
                    ):
                        costs[label + IN] = CORRECT
        self.exclude_negatives(doc, s, step, open_type, opened)
        for label in range(1 + 4 * task.n_types):
            if costs[label] == CORRECT:
                n_correct += 1
                correct = label
        return correct if n_correct == 1 else NONE

    cdef void exclude_negatives(
        self, const SequenceC* doc, Scratch* s, int step, int open_type, int opened
    ) noexcept nogil:
        """Actions that complete a span which is no entity are wrong."""
        cdef int64_t first, last
        cdef int64_t token = doc.offset + s.token_of[step]
        cdef int64_t place, i
        cdef int action
        for place in range(self.bounds[token], self.bounds[token + 1]):
            i = self.listed[place]
            first = self.negatives[i, 0]
            last = self.negatives[i, 1] - 1
            action = 1 + 4 * <int>self.negatives[i, 2]
            if self.task.c.backwards:
                first, last = last, first
            if first == last:
                if token == first and open_type == NONE and s.costs[action + UNIT] == CORRECT:
                    s.costs[action + UNIT] = WRONG
            elif token == last and open_type == self.negatives[i, 2]:
                if (
                    <int64_t>doc.offset + s.token_of[opened] == first
                    and s.costs[action + LAST] == CORRECT
                ):
                    s.costs[action + LAST] = WRONG
            elif token == first and open_type == NONE and s.costs[action + BEGIN] == CORRECT:
                # Where the entity could only end with the span, it must not begin.
                if not s.flags[step] & IS_LAST and s.flags[step + 1] & IS_LAST:
                    s.costs[action + BEGIN] = WRONG

    def count(self, Learner learner not None) -> None:
        """Count features, with the true actions as history."""
        self._read(learner, 0, 0, True)

    def update(self, Learner learner not None, float drop, float predicted_history) -> float:
        """Learn. RETURNS: The summed loss.

        drop (float): The probability with which a template is left out.
        predicted_history (float): How often later decisions see the predicted action
            in place of the true one.
        """
        return self._read(learner, drop, predicted_history, False)

    cdef double _read(
        self, Learner learner, float drop, float predicted_history, bint only_count
    ) except? -1:
        cdef Scratch scratch
        cdef Scratch* s = &scratch
        cdef LexemeRecC* places[N_PLACES]
        cdef ContextC context
        cdef StepC result
        cdef const SequenceC* doc
        cdef int i, step, open_type, opened, truth, action
        cdef double loss = 0
        self.check_learner(learner)
        if <size_t>self.bounds.shape[0] != self.n_tokens + 1:
            raise ValueError(Errors.DS216.format(what="a batch without actions"))
        s.epoch = 0
        with nogil:
            for i in range(<int>self.sequences.size()):
                doc = &self.sequences[i]
                self.open_doc(i, s)
                open_type = NONE
                opened = NONE
                for step in range(<int>s.positions.size()):
                    look(&self.task.c, s, step, self.lexicon.absent, places, &context)
                    truth = self.fill_costs(doc, s, step, open_type, opened)
                    if only_count:
                        learner.count(&context)
                        action = max(0, self.gold_action(doc, s, step))
                    elif truth == NONE and not self.can_learn(s):
                        action = learner.guess(&context, s.costs.data())
                    else:
                        learner.step(&context, s.costs.data(), drop, &result)
                        loss += result.loss
                        action = result.guess
                        if truth != NONE and not (
                            predicted_history and learner.random() < predicted_history
                        ):
                            action = truth
                    act(&self.task.c, s, step, action)
                    # Actions to count may go on with what was never begun.
                    if open_type == NONE or (action > 0 and kind_of(action) == BEGIN):
                        opened = step
                    open_type = open_after(action)
        return loss

    cdef bint can_learn(self, const Scratch* s) noexcept nogil:
        """Whether there are both correct and wrong actions."""
        cdef bint correct = False
        cdef bint wrong = False
        cdef size_t label
        for label in range(s.costs.size()):
            correct |= s.costs[label] == CORRECT
            wrong |= s.costs[label] == WRONG
        return correct and wrong


cdef class Guessing(Readings):
    """Predicts with the weights as they are while they are learned."""

    def guess(self, Learner learner not None):
        """RETURNS (array): The actions of all tokens, in the order of the text."""
        cdef Scratch scratch
        cdef Scratch* s = &scratch
        cdef LexemeRecC* places[N_PLACES]
        cdef ContextC context
        cdef const SequenceC* doc
        cdef const TaskC* task
        cdef int i, step, open_type, action
        self.check_learner(learner)
        task = &self.task.c
        actions = np.zeros(self.n_tokens, dtype="uint16")
        cdef uint16_t[::1] view = actions
        s.epoch = 0
        with nogil:
            for i in range(<int>self.sequences.size()):
                doc = &self.sequences[i]
                self.open_doc(i, s)
                open_type = NONE
                for step in range(<int>s.positions.size()):
                    look(task, s, step, self.lexicon.absent, places, &context)
                    if s.flags[step] & IS_FIXED:
                        act(task, s, step, s.actions[step])
                        view[doc.offset + s.token_of[step]] = KEEP_C
                        open_type = NONE
                        continue
                    for action in range(1 + 4 * task.n_types):
                        s.costs[action] = INVALID
                        if is_valid(s.flags[step], open_type, action):
                            s.costs[action] = CORRECT
                    action = learner.guess(&context, s.costs.data())
                    act(task, s, step, action)
                    open_type = open_after(action)
                    if task.backwards:
                        action = mirror(action)
                    view[doc.offset + s.token_of[step]] = <uint16_t>action
                if doc.length:
                    fill_spaces(doc, task.keeps, &view[doc.offset], NULL)
        return actions


cdef class Explaining(Readings):
    """Says what each template contributes."""

    def explain(
        self, CachedScorer scorer not None, const uint16_t[::1] actions not None, first=None
    ):
        """What each template adds to the score of each action, given the actions that
        were predicted for the tokens before.

        actions (array): The predicted actions, or KEEP.
        first (EntityBatch): What a first pass found, with its support.
        RETURNS (tuple): Integer scores, of shape (tokens, templates, actions); whether
            each action was valid; the actions as read; and what the first pass adds,
            of shape (tokens, actions). Zeros stand for white space.
        """
        cdef Scratch scratch
        cdef Scratch* s = &scratch
        cdef LexemeRecC* places[N_PLACES]
        cdef ContextC context
        cdef const SequenceC* doc
        cdef const TaskC* task
        cdef int i, t, step, open_type, action, token, n_actions
        if self.task is None or scorer.c.stages == NULL:
            raise ValueError(Errors.DS216.format(what="a batch without docs"))
        self.task.check_program(scorer.program, scorer.c.n_labels)
        task = &self.task.c
        if <size_t>actions.shape[0] != self.n_tokens:
            raise ValueError(Errors.DS216.format(what="docs and actions"))
        n_actions = 1 + 4 * task.n_types
        parts = np.zeros(
            (self.n_tokens, scorer.c.program.n_templates, scorer.c.width), dtype="int16"
        )
        valid = np.zeros((self.n_tokens, n_actions), dtype="uint8")
        read = np.zeros(self.n_tokens, dtype="int32")
        given = np.zeros((self.n_tokens, scorer.c.width), dtype="int16")
        cdef score_t[:, ::1] given_view = given
        cdef const uint16_t[::1] first_view
        cdef const score_t[::1] support_view
        if first is not None:
            first_view = first.actions
            support_view = first.support
            check_first(task, first_view, support_view, self.n_tokens)
        cdef score_t[:, :, ::1] part_view = parts
        cdef uint8_t[:, ::1] valid_view = valid
        cdef int32_t[::1] read_view = read
        s.epoch = 0
        for i in range(<int>self.sequences.size()):
            doc = &self.sequences[i]
            self.open_doc(i, s)
            open_type = NONE
            for step in range(<int>s.positions.size()):
                token = doc.offset + s.token_of[step]
                look(task, s, step, self.lexicon.absent, places, &context)
                if s.flags[step] & IS_FIXED:
                    read_view[token] = s.actions[step]
                    act(task, s, step, s.actions[step])
                    open_type = NONE
                    continue
                for action in range(n_actions):
                    valid_view[token, action] = is_valid(
                        s.flags[step], open_type, action
                    )
                for t in range(scorer.c.program.n_templates):
                    add_slots(
                        &scorer.c,
                        get_key(&scorer.c.program.templates[t], &context),
                        &part_view[token, t, 0],
                    )
                if first is not None:
                    add_support(
                        task, first_view[token], support_view[token],
                        &given_view[token, 0],
                    )
                action = actions[token]
                if action >= n_actions:
                    raise ValueError(Errors.DS216.format(what="docs and actions"))
                if task.backwards:
                    action = mirror(action)
                read_view[token] = action
                act(task, s, step, action)
                open_type = open_after(action)
        return (
            parts[:, :, :n_actions], valid.astype(bool), read, given[:, :n_actions]
        )
