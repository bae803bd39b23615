"""Entity recognition with compiled weights: one action a word, in reading order."""
cimport cython
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from ...core.forms.cached cimport (
    DecisionC,
    CachedScorer,
    CachedScorerC,
    decide,
    prefetch_rows,
    sum_fused,
)
from ...core.leads cimport NO_DECISION as NO_DECISION_C
from ...core.leads cimport NO_RIVAL, find_lead
from ...core.lexicon cimport Lexicon
from ...core.program cimport ContextC, LexemeRecC
from ...core.typedefs cimport uint8_t, uint64_t
from ...core.workers cimport atomic_int
from ...spacy_io.lexemes cimport LexemeReader
from ...spacy_io.tokens cimport SequenceC, read_entity_words
from ..run cimport DocRun
from .actions cimport (
    IN,
    IS_FIXED,
    IS_LAST,
    LAST,
    NONE,
    count_actions,
    get_action,
    is_valid,
    open_after,
)
from .evidence cimport find_places, look
from .reading cimport act, arrange, drop_spaces, fill_spaces, prepare_counts
from .scratch cimport Scratch
from .task cimport N_PLACES, Task

cdef enum:
    # For how many tokens the rows of lexemes are added up before they are decided, and
    # how many tokens ahead of that the rows are asked for.
    AHEAD_TOKENS = 16
    AHEAD_ROWS = 8
    VALID = 32767
    NOT_VALID = -32768

NO_DECISION = NO_DECISION_C


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


cdef int check_first(
    const TaskC* task, const uint16_t[::1] actions, const score_t[::1] support, size_t n
) except -1:
    """Raise an error unless there are an action and its support for each token."""
    cdef bint fits = <size_t>actions.shape[0] == n and <size_t>support.shape[0] == n
    cdef Py_ssize_t i
    if fits:
        for i in range(actions.shape[0]):
            fits &= actions[i] < count_actions(task.n_types) or actions[i] == KEEP_C
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
        check_first(&task.c, first_view, support_view, run.n_tokens)
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
    arrange(run.task, s, run.lexicon.before_start, run.lexicon.after_end)
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
            run.task, s, doc, actions,
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
