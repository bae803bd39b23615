"""Entity recognition with compiled weights: one action a word, in reading order.

A model reads each sentence from left to right or from right to left; all that it sees
is in reading order, so that place -1 is the word read before, and B the first word of an
entity to be read. What goes in and out is in the order of the text. White space is no
word: nothing is decided about it, and the words around it are neighbours.

Records and columns lie in arrays with REACH entries before and after each sentence, so
that a window is just an address into them. Some columns say what the rest of the doc
knows about a word: its other occurrences, their case, and how they were labelled.
"""
cimport cython
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from .batch import EntityBatch

from ...core.forms.cached cimport (
    CachedScorer,
    CachedScorerC,
    DecisionC,
    decide,
    prefetch_rows,
    sum_fused,
)
from ...core.hashing cimport fold, mix
from ...core.leads cimport NO_RIVAL, find_lead
from ...core.lexicon cimport FIRST_VALUE, Lexicon
from ...core.typedefs cimport atom_t, uint8_t, uint64_t
from ...core.workers cimport atomic_int
from ...spacy_io.lexemes cimport (
    CASELESS, LOWER_CASE, TITLE_CASE, UPPER_CASE, LexemeReader,
)
from ...spacy_io.tokens cimport SequenceC, read_entity_words
from ..run cimport DocRun
from .actions cimport (
    ENDS,
    IN,
    IS_FIXED,
    IS_LAST,
    LAST,
    NONE,
    STARTS,
    STARTS_TEXT,
    count_actions,
    fill_spaces,
    get_action,
    is_valid,
    open_after,
    type_of,
)
from .gazetteer cimport look_up_lists
from .scratch cimport Scratch, WordC, find_word, open_table
from .task cimport (
    CASES,
    N_PLACES,
    REACH_C,
    SEEN,
    SEEN_LAST,
    SEEN_SHARES,
    TAG,
    Task,
    preset_action,
)

cdef enum:
    # For how many tokens the rows of lexemes are added up before they are decided, and
    # how many tokens ahead of that the rows are asked for.
    AHEAD_TOKENS = 16
    AHEAD_ROWS = 8
    VALID = 32767
    NOT_VALID = -32768
    # For how many tokens it is remembered how a word was labelled.
    MEMORY = 1000


@cython.auto_pickle(False)
cdef class EntityRun(DocRun):
    """Docs whose entities are recognized."""
    cdef const TaskC* task
    cdef const CachedScorerC* scorer
    cdef const int* margins
    # What a first pass found, or NULL.
    cdef const uint16_t* first
    cdef const score_t* support
    cdef uint16_t* actions
    # Where to write what a second pass is to add, or NULL; how much for a lead of 1, and
    # how much at most.
    cdef score_t* support_out
    cdef double support_for_lead
    cdef int max_support
    cdef int32_t* leads      # or NULL
    cdef uint8_t* stages     # or NULL
    cdef atomic_int n_kept   # words that keep their annotation

    cdef void work(self, int thread) noexcept nogil:
        cdef Scratch scratch
        cdef int i, first, end
        scratch.epoch = 0
        prepare_limits(self.task, &scratch, self.scorer.width)
        while self.take(&first, &end):
            for i in range(first, end):
                if not read_doc(self, thread, &self.sequences[i], &scratch):
                    return


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

    margins (list[int]): See scale_margins.
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
    cdef vector[int] c_margins = margins
    cdef EntityRun run = EntityRun()
    cdef uint16_t[::1] action_view
    reader.check_scorer(lexicon, scorer)
    task.check(lexicon, reader)
    task.check_scorer(scorer)
    if <int>c_margins.size() < scorer.c.n_stages - 1:
        raise ValueError(Errors.DS216.format(what="margins and stages"))
    run.read(docs, lexicon, reader, n_threads, scorer.c.n_stages)
    if first is not None:
        first_view = first.actions
        support_view = first.support
        task.check_first(first_view, support_view, run.n_tokens)
    actions = np.empty(run.n_tokens, dtype="uint16")
    support = np.zeros(run.n_tokens, dtype="int16") if support_for_lead else None
    leads = np.full(run.n_tokens, NO_RIVAL, dtype="int32") if with_leads else None
    stages = np.zeros(run.n_tokens, dtype="uint8") if with_leads else None
    run.n_kept.store(0)
    if run.n_tokens:
        action_view = actions
        run.task = &task.c
        run.scorer = &scorer.c
        run.margins = c_margins.data()
        run.actions = &action_view[0]
        if first is not None:
            run.first = &first_view[0]
            run.support = &support_view[0]
        if support is not None:
            support_out_view = support
            run.support_out = &support_out_view[0]
            run.support_for_lead = support_for_lead
            run.max_support = max_support
        if with_leads:
            lead_view = leads
            stage_view = stages
            run.leads = &lead_view[0]
            run.stages = &stage_view[0]
        run.start()
    has_kept = run.n_kept.fetch_add(0) > 0
    return EntityBatch(
        actions, run.ends, run.sum_counts(), has_kept, support, leads, stages
    )


cdef bint read_doc(
    EntityRun run, int thread, const SequenceC* doc, Scratch* s
) noexcept nogil:
    """Recognize the entities of a doc. RETURNS: False after an error."""
    cdef uint16_t* actions = run.actions + doc.offset
    cdef LexemeRecC* absent = run.lexicon.absent
    cdef uint64_t* counts = run.counts + thread * run.n_counts
    cdef LexemeRecC* places[N_PLACES]
    cdef ContextC context
    cdef DecisionC decision
    cdef int n = doc.length
    cdef score_t* scores
    cdef int i, step, token, lead, open_type = NONE
    cdef int n_kept = 0
    cdef int* wanted_lead = NULL
    if run.support_out != NULL or run.leads != NULL:
        wanted_lead = &lead
    s.tokens.resize(n)
    s.token_records.resize(n)
    if not run.find(thread, doc, s.token_records.data()):
        return False
    n = read_entity_words(doc, s.tokens.data())
    drop_spaces(s, n)
    arrange(run.task, s, run.lexicon.before_start, run.lexicon.after_end, False)
    for step in range(n):
        if step % AHEAD_TOKENS == 0:
            # First what does not depend on actions, for some steps at once.
            for i in range(step, min(step + AHEAD_TOKENS, n)):
                if i + AHEAD_ROWS < n:
                    prefetch_rows(s.records[s.positions[i + AHEAD_ROWS]])
                find_places(run.task, s, i, absent, places)
                context.lexemes = places
                sum_fused(
                    run.scorer, 0, &context,
                    s.scores.data() + <size_t>(i - step) * run.scorer.width,
                )
        if s.flags[step] & IS_FIXED:
            # The columns of the word after it are needed all the same.
            look(run.task, s, step, absent, places, &context)
            act(run.task, s, step, s.actions[step])
            actions[s.token_of[step]] = KEEP_C
            n_kept += 1
            open_type = NONE
            continue
        look(run.task, s, step, absent, places, &context)
        token = s.token_of[step]
        scores = s.scores.data() + <size_t>(step % AHEAD_TOKENS) * run.scorer.width
        if run.first != NULL:
            add_support(
                run.task, run.first[doc.offset + token],
                run.support[doc.offset + token], scores,
            )
        decision = decide_step(
            run.task, s, step, open_type, run.scorer, &context, run.margins, scores,
            wanted_lead,
        )
        if run.leads != NULL:
            run.leads[doc.offset + token] = lead
            run.stages[doc.offset + token] = <uint8_t>decision.stage
        if run.support_out != NULL and lead != NO_RIVAL:
            run.support_out[doc.offset + token] = <score_t>min(
                run.max_support, <int64_t>(lead * run.support_for_lead)
            )
        counts[decision.stage] += 1
        act(run.task, s, step, decision.label)
        open_type = open_after(decision.label)
        if run.task.backwards:
            actions[token] = <uint16_t>mirror(decision.label)
        else:
            actions[token] = <uint16_t>decision.label
    if n < doc.length:
        fill_spaces(
            doc, s.tokens.data(), n, run.task.keeps, actions,
            run.leads + doc.offset if run.leads != NULL else NULL,
        )
    if n_kept:
        run.n_kept.fetch_add(n_kept)
    run.clear_scratch(thread)
    return True


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
        for action in range(count_actions(task.n_types)):
            if is_valid(<uint8_t>flags, NONE, action):
                row[action] = VALID


cdef void prepare_counts(const TaskC* task, Scratch* s) noexcept nogil:
    s.counts.assign(task.n_types + 1, 0)
    s.counted.resize(task.n_types + 1)
    s.costs.resize(count_actions(task.n_types))


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
            limits[get_action(open_type, IN)] = VALID
        limits[get_action(open_type, LAST)] = VALID
    decision = decide(scorer, context, limits, margins, scores)
    if lead != NULL:
        lead[0] = find_lead(scores, limits, scorer.width, decision.label)
    if open_type != NONE:
        limits[get_action(open_type, IN)] = NOT_VALID
        limits[get_action(open_type, LAST)] = NOT_VALID
    return decision


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
    bint alone,
) noexcept nogil:
    """Bring the words of a doc into reading order, with all that does not depend on
    actions.

    alone: Whether each sentence knows nothing of the others.
    """
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
        gather_words(task, s, alone)
    if task.gazetteer != NULL:
        look_up_lists(task.gazetteer, s, task.n_dynamic, task.backwards)


cdef void gather_words(const TaskC* task, Scratch* s, bint alone) noexcept nogil:
    """Find the other occurrences of each word, and in which cases it is written: in
    the whole doc, or in its sentence alone."""
    cdef int n = <int>s.positions.size()
    cdef int n_words = 0
    cdef int step, id_, case_, cases
    cdef WordC* stat
    open_table(s, n)
    s.stats.resize(n)
    for step in range(n):
        if alone and s.flags[step] & STARTS:
            # A word of an earlier sentence counts as new.
            open_table(s, n)
        id_ = find_word(s, s.records[s.positions[step]].atoms[task.lower_column], n_words)
        stat = &s.stats[id_]
        if id_ == n_words:
            stat.n_lower = 0
            stat.n_title = 0
            stat.n_upper = 0
            stat.n_capital = 0
            stat.n = 0
            stat.latest = NONE
            stat.n_entities = 0
            n_words += 1
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
    const TaskC* task, Scratch* s, int step, LexemeRecC* absent, LexemeRecC** places,
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
