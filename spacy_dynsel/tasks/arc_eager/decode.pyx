"""Parsing with compiled weights.

A worker parses several sentences at once, each a small step in turn: a step asks memory
for the weights that the next one adds up, and while they are on their way the other
sentences take theirs. The result does not depend on how many there are.
"""
cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from .batch import ParseBatch

from ...core.forms.line_table cimport ShortLineTable
from ...core.forms.slots cimport NarrowScorer, WideScorer
from ...core.leads cimport NO_DECISION, NO_RIVAL, fill_limits
from ...core.lexicon cimport Lexicon
from ...core.program cimport ProgramC
from ...core.typedefs cimport atom_t, score_t, uint8_t, uint16_t, uint64_t
from ...core.vectors cimport bare_vector
from ...core.workers cimport require_memory_for_gil, throw_no_memory
from ...spacy_io.lexemes cimport LexemeReader
from ...spacy_io.tokens cimport SequenceC
from .division cimport DividedC, DividingRun
from .features cimport Features, RankFeatures, TagMap
from .places cimport N_ACTION_PLACES, N_BOUNDARY_PLACES, N_LABEL_PLACES
from .rules cimport Rules
from .steps cimport MAX_KEYS, ParserC, Run, advance, start_run
from .system cimport LEFT, NONE, LoggedC, SentenceC, free_sentence, new_sentence, row_of

cdef enum:
    # Sentences that a worker parses at once.
    GROUP = 4

# Labels that are not learned.
ROOT = 0xFFFF
SPACE = 0xFFFE


cdef cppclass Worker:
    DividedC divided
    Run runs[GROUP]
    bare_vector[score_t] scores
    bare_vector[int] active
    bare_vector[int] idle
    uint64_t* action_counts
    uint64_t* label_counts

    __init__():
        cdef int i
        memset(&this.divided.whole, 0, sizeof(SentenceC))
        for i in range(GROUP):
            memset(&this.runs[i].s, 0, sizeof(SentenceC))
            memset(&this.runs[i].branch, 0, sizeof(SentenceC))

    __dealloc__():
        cdef int i
        free_sentence(&this.divided.whole)
        for i in range(GROUP):
            free_sentence(&this.runs[i].s)
            free_sentence(&this.runs[i].branch)


@cython.auto_pickle(False)
cdef class ParsingRun(DividingRun):
    """Docs that are parsed."""
    cdef int32_t* leads      # [tokens][3], or NULL
    cdef uint8_t* stages
    cdef list trace          # or None

    cdef void work(self, int thread) noexcept nogil:
        cdef Worker worker
        cdef int i, first, end
        worker.divided.thread = thread
        worker.scores.resize(<size_t>GROUP * self.parser.labels.weights.width)
        for i in range(GROUP):
            worker.runs[i].scores = worker.scores.data() + i * self.parser.labels.weights.width
            worker.idle.push_back(i)
        worker.action_counts = self.counts + thread * self.n_counts
        worker.label_counts = worker.action_counts + self.parser.actions.program.n_stages
        while self.take(&first, &end):
            for i in range(first, end):
                if not parse_doc(self, &worker, &self.sequences[i]):
                    return
        while not worker.active.empty():
            advance_all(self, &worker)


cdef int check_scorer(
    Features features,
    int n_places,
    int n_lexical,
    const ProgramC* program,
    vector[int]& margins,
) except -1:
    """Raise an error unless features and margins are those of a scorer's templates."""
    if features is None or program == NULL:
        raise ValueError(Errors.DS216.format(what="features and a scorer"))
    features.check(n_places, n_lexical)
    if (
        program.n_stages != features.program.c.n_stages
        or program.n_templates != features.program.c.n_templates
        or program.n_templates > MAX_KEYS
        or <int>margins.size() < program.n_stages - 1
    ):
        raise ValueError(Errors.DS216.format(what="features, margins and a scorer"))
    return 0


def parse(
    list docs not None,
    Lexicon lexicon not None,
    LexemeReader reader not None,
    TagMap tags not None,
    tuple features not None,
    NarrowScorer actions not None,
    WideScorer labels not None,
    NarrowScorer boundaries,
    tuple margins not None,
    int n_threads,
    int n_branches=0,
    float branch_lead=0,
    RankFeatures rank_features=None,
    ShortLineTable ranks=None,
    list trace=None,
    bint with_leads=False,
    bint split_blank_lines=False,
    Rules rules=None,
):
    """Parse docs.

    features (tuple): The Features of actions, labels and boundaries.
    boundaries (NarrowScorer): Finds the sentences of docs that do not say where they
        start; if missing, such docs are one sentence.
    margins (tuple): The margins of the stages of actions, labels and boundaries, but the
        last.
    n_branches (int): How many second-best actions to try for a sentence.
    branch_lead (float): Branch only below this lead.
    rank_features (RankFeatures), ranks (ShortLineTable): The templates and the weights by
        which
        to choose between trees.
    trace (list): Where to put the decisions about each sentence, if anywhere: a list of
        dicts, and the tokens whose arcs the reranker changed.
    with_leads (bool): Whether to say how sure the arcs are.
    split_blank_lines (bool): Whether a blank line ends a sentence.
    rules (Rules): What is set for the tree, if there is a single doc.
    """
    cdef vector[score_t] limits
    if len(margins) != 3 or len(features) != 3:
        raise ValueError(Errors.DS216.format(what="features and margins"))
    cdef vector[int] action_margins = margins[0]
    cdef vector[int] label_margins = margins[1]
    cdef vector[int] boundary_margins = margins[2]
    cdef Features action_features = features[0]
    cdef Features label_features = features[1]
    cdef Features boundary_features = features[2]
    cdef ParsingRun run = ParsingRun()
    cdef ParserC* parser = &run.parser
    cdef int32_t[::1] head_view
    cdef uint16_t[::1] label_view
    cdef uint8_t[::1] start_view
    cdef int32_t[:, ::1] lead_view
    cdef uint8_t[::1] stage_view
    cdef int n_action_stages
    reader.check(lexicon)
    if tags.places.size() == 0 or (ranks is not None and ranks.c.lines == NULL):
        raise ValueError(Errors.DS216.format(what="tables that were never filled"))
    n_lexical = lexicon.n_columns
    check_scorer(
        action_features, N_ACTION_PLACES, n_lexical, actions.c.program, action_margins
    )
    check_scorer(
        label_features, N_LABEL_PLACES, n_lexical, labels.c.program, label_margins
    )
    if boundaries is not None:
        check_scorer(
            boundary_features, N_BOUNDARY_PLACES, n_lexical, boundaries.c.program,
            boundary_margins,
        )
    if rank_features is not None:
        rank_features.check(n_lexical)
    n_action_stages = actions.c.program.n_stages
    run.read(
        docs, lexicon, reader, n_threads, n_action_stages + labels.c.program.n_stages
    )
    if rules is not None and (len(docs) != 1 or <size_t>rules.c.n_tokens != run.n_tokens):
        raise ValueError(Errors.DS216.format(what="a doc and rules for its tree"))
    heads = np.empty(run.n_tokens, dtype="int32")
    arc_labels = np.empty(run.n_tokens, dtype="uint16")
    starts = np.zeros(run.n_tokens, dtype="uint8")
    leads = stages = None
    if with_leads:
        leads = np.full((run.n_tokens, 3), NO_RIVAL, dtype="int32")
        leads[:, 1] = NO_DECISION
        stages = np.zeros(run.n_tokens, dtype="uint8")
    if run.n_tokens:
        fill_limits(limits, labels.c.n_labels, labels.c.weights.width)
        parser.actions = &actions.c
        parser.labels = &labels.c
        if boundaries is not None:
            parser.boundaries = &boundaries.c
            parser.boundary_features = &boundary_features.c
        parser.action_features = &action_features.c
        parser.label_features = &label_features.c
        parser.action_margins = action_margins.data()
        parser.label_margins = label_margins.data()
        parser.boundary_margins = boundary_margins.data()
        parser.limits = limits.data()
        parser.scale = actions.scale
        parser.keeps_log = with_leads or trace is not None
        parser.keeps_leads = with_leads
        parser.splits_blank_lines = split_blank_lines
        parser.n_lexical = lexicon.n_columns
        if rules is not None:
            parser.rules = &rules.c
        if n_branches > 0 and rank_features is not None and ranks is not None:
            parser.n_branches = n_branches
            parser.keeps_log = True
            parser.branch_lead = <int>max(
                <float>0, min(<float>(1 << 17), branch_lead * actions.scale)
            )
            parser.ranks = &ranks.c
            parser.rank_features = <PyObject*>rank_features
        head_view = heads
        label_view = arc_labels
        start_view = starts
        run.tags = tags
        run.trace = trace
        run.heads = &head_view[0]
        run.labels = &label_view[0]
        run.starts = &start_view[0]
        if with_leads:
            lead_view = leads
            stage_view = stages
            run.leads = &lead_view[0, 0]
            run.stages = &stage_view[0]
        run.start()
    counts = run.sum_counts()
    return ParseBatch(
        heads, arc_labels, starts, run.ends, counts[:n_action_stages],
        counts[n_action_stages:], leads, stages,
    )


cdef void advance_all(ParsingRun job, Worker* worker) noexcept nogil:
    """Let each sentence take a step."""
    cdef int i = 0
    cdef Run* run
    while i < <int>worker.active.size():
        run = &worker.runs[worker.active[i]]
        if advance(&job.parser, run, worker.action_counts, worker.label_counts):
            i += 1
        else:
            write_tree(job, run)
            worker.idle.push_back(worker.active[i])
            worker.active[i] = worker.active.back()
            worker.active.pop_back()


cdef void write_tree(ParsingRun job, Run* run) noexcept nogil:
    cdef SentenceC* s = &run.s
    cdef int i, token
    for i in range(s.n):
        token = s.tokens[i]
        if s.heads[i] == NONE:
            job.heads[run.offset + token] = token
            job.labels[run.offset + token] = 0xFFFF
        else:
            job.heads[run.offset + token] = s.tokens[s.heads[i]]
            job.labels[run.offset + token] = <uint16_t>s.labels[i]
    if job.leads != NULL:
        write_leads(job, run)
    if job.trace is not None:
        require_memory_for_gil()
        write_trace(job, run)


cdef inline void note_lead(ParsingRun job, size_t place, const LoggedC* logged) noexcept nogil:
    """Note the lead of a transition for a token, unless that has its head already."""
    if job.leads[3 * place + 1] == NO_DECISION and logged.lead < job.leads[3 * place]:
        job.leads[3 * place] = <int>logged.lead
        job.stages[place] = <uint8_t>logged.stage


cdef void write_leads(ParsingRun job, Run* run) noexcept nogil:
    """Say how sure the arcs of a sentence are."""
    cdef const LoggedC* logged
    cdef size_t i, place
    cdef int token
    for i in range(run.log.size()):
        logged = &run.log[i]
        note_lead(job, run.offset + run.s.tokens[logged.front], logged)
        note_lead(job, run.offset + run.s.tokens[logged.top], logged)
        if logged.label_stage != NONE:
            token = logged.top if logged.action == LEFT else logged.front
            place = run.offset + run.s.tokens[token]
            job.leads[3 * place + 1] = logged.label_lead
    for token in range(run.s.n):
        if run.rank_leads[token] == NO_RIVAL:
            continue
        place = run.offset + run.s.tokens[token]
        job.leads[3 * place + 2] = run.rank_leads[token]
        job.stages[place] = <uint8_t>job.parser.actions.program.n_stages
        if not run.swaps.empty() and run.changed[token]:
            job.stages[place] += 1


cdef void write_trace(ParsingRun job, Run* run) noexcept with gil:
    cdef const int* tokens = run.s.tokens
    cdef size_t i
    cdef int token
    try:
        decisions = []
        for i in range(run.log.size()):
            decisions.append(
                {
                    "front": tokens[run.log[i].front],
                    "top": tokens[run.log[i].top],
                    "action": run.log[i].action,
                    "second": run.log[i].second,
                    "label": run.log[i].label,
                    "lead": <int>run.log[i].lead,
                    "stage": run.log[i].stage,
                    "label_stage": run.log[i].label_stage,
                }
            )
        changed = []
        if job.parser.n_branches and not run.swaps.empty():
            changed = [tokens[token] for token in range(run.s.n) if run.changed[token]]
        job.trace.append((decisions, changed))
    except BaseException as error:
        job.error = error


cdef bint parse_doc(ParsingRun job, Worker* worker, const SequenceC* doc) noexcept nogil:
    """Divide a doc into sentences and start on them. RETURNS: False after an error."""
    cdef int i, first = 0
    if not job.divide(&worker.divided, doc):
        return False
    for i in range(1, worker.divided.whole.n + 1):
        if i == worker.divided.whole.n or worker.divided.starts[i]:
            parse_sentence(job, worker, doc, first, i)
            first = i
    return True


cdef void parse_sentence(
    ParsingRun job, Worker* worker, const SequenceC* doc, int first, int end
) noexcept nogil:
    """Start on a sentence, as soon as there is room for it."""
    cdef SentenceC* whole = &worker.divided.whole
    cdef Run* run
    cdef int i, number
    while worker.idle.empty():
        advance_all(job, worker)
    number = worker.idle.back()
    run = &worker.runs[number]
    if not new_sentence(&run.s, end - first, job.parser.n_lexical):
        throw_no_memory()
    run.offset = doc.offset
    for i in range(first, end):
        memcpy(row_of(&run.s, i - first), row_of(whole, i), whole.stride * sizeof(atom_t))
        run.s.pos_bits[i - first] = whole.pos_bits[i]
        run.s.tokens[i - first] = whole.tokens[i]
    if start_run(&job.parser, run):
        worker.idle.pop_back()
        worker.active.push_back(number)
    else:
        write_tree(job, run)
