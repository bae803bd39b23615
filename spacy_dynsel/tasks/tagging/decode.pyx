"""Tagging: left to right, one label a word.

Where templates look at the tags of words to come, these are what the first stage says,
which sees no tags and so does not have to wait for them.
"""
cimport cython
from libcpp.vector cimport vector

from ...base.errors import Errors
from ..labelling.batch import LabelBatch

from ...core.forms.cached cimport (
    DecisionC,
    CachedScorer,
    CachedScorerC,
    decide,
    prefetch_rows,
    sum_fused,
)
from ...core.leads cimport fill_limits, find_lead
from ...core.lexicon cimport Lexicon
from ...core.program cimport ContextC, LexemeRecC, ProgramC
from ...core.typedefs cimport atom_t, score_t, uint8_t, uint16_t, uint64_t
from ...core.vectors cimport bare_vector
from ...spacy_io.lexemes cimport LexemeReader
from ..labelling.history cimport count_free_templates, looks_ahead
from ..run cimport REACH_C, PieceC, SentenceRun, WorkerC

cdef enum:
    # How many tokens ahead the rows of a lexeme are asked for, and added up; and how
    # many sums there is room for.
    AHEAD_ROWS = 9
    AHEAD_TOKENS = 32
    RING = 64


cdef struct ScratchC:
    bare_vector[atom_t] tags      # as templates read them
    bare_vector[score_t] scores   # [RING][width]
    bare_vector[DecisionC] decisions  # [RING]


@cython.auto_pickle(False)
cdef class TaggingRun(SentenceRun):
    """Docs that are tagged."""
    cdef const CachedScorerC* scorer
    cdef const score_t* limits
    cdef const int* margins
    cdef bint is_first_free
    cdef vector[ScratchC] scratch     # by thread

    cdef void prepare(self, const WorkerC* worker) noexcept nogil:
        cdef ScratchC* scratch = &self.scratch[worker.thread]
        scratch.tags.resize(worker.room)
        scratch.scores.resize(<size_t>RING * self.scorer.width)
        scratch.decisions.resize(RING)

    cdef void label_piece(self, WorkerC* worker, const PieceC* piece) noexcept nogil:
        tag_piece(self, worker, &self.scratch[worker.thread], piece)


cdef int check_program(const ProgramC* program) except -1:
    """Raise an error unless templates look at what a decision sees."""
    if (
        program.n_places > 2 * REACH_C + 1
        or program.n_values > 2 * REACH_C + 1
        or (looks_ahead(program, 1) and count_free_templates(program, 1) == 0)
    ):
        raise ValueError(Errors.DS216.format(what="templates and tagging"))
    return 0


cdef int check_scorer(Lexicon lexicon, LexemeReader reader, CachedScorer scorer) except -1:
    """Raise an error unless these can predict together."""
    cdef size_t i
    reader.check_scorer(lexicon, scorer)
    check_program(&scorer.program.c)
    for i in range(scorer.dynamic_limits.size()):
        if scorer.dynamic_limits[i].n_values <= <uint64_t>scorer.c.n_labels:
            raise ValueError(Errors.DS216.format(what="a scorer and its labels"))
    return 0


def predict(
    list docs not None,
    Lexicon lexicon not None,
    LexemeReader reader not None,
    CachedScorer scorer not None,
    list margins not None,
    int n_threads,
    bint with_leads=False,
    bint with_guesses=False,
):
    """Predict the labels of docs.

    margins (list[int]): See scale_margins.
    n_threads (int): How many threads to use at most. The result does not depend on it.
    with_leads (bool): Whether to say how sure the decisions are.
    with_guesses (bool): Whether to say what the first stage thought of each word.
    RETURNS (LabelBatch): The labels.
    """
    cdef vector[int] c_margins = margins
    cdef vector[score_t] limits
    cdef TaggingRun run = TaggingRun()
    check_scorer(lexicon, reader, scorer)
    if <int>c_margins.size() < scorer.c.n_stages - 1:
        raise ValueError(Errors.DS216.format(what="margins and stages"))
    run.read(docs, lexicon, reader, n_threads, scorer.c.n_stages)
    fill_limits(limits, scorer.c.n_labels, scorer.c.width)
    run.scorer = &scorer.c
    run.limits = limits.data()
    run.margins = c_margins.data()
    run.is_first_free = count_free_templates(&scorer.program.c, 1) > 0
    run.scratch.resize(run.n_threads)
    return LabelBatch(**run.label(with_leads, with_guesses))


cdef void tag_piece(
    TaggingRun run, WorkerC* worker, ScratchC* scratch, const PieceC* piece
) noexcept nogil:
    cdef const CachedScorerC* scorer = run.scorer
    cdef size_t offset = piece.doc.offset
    cdef uint16_t* labels = run.labels + offset
    cdef const int* words = worker.words.data() + piece.place
    cdef ContextC context
    cdef DecisionC* decision
    cdef atom_t* tags = scratch.tags.data() + piece.place
    cdef LexemeRecC** records = worker.records.data() + piece.place
    cdef int end = piece.n + min(<int>REACH_C, piece.after)
    cdef int i, n_begun = 0
    for i in range(1, REACH_C + 1):
        # What comes before in the same sentence has its labels already.
        tags[-i] = labels[words[-i]] + 1 if i <= piece.before else 0
        tags[piece.n - 1 + i] = 0
    for i in range(piece.n):
        if n_begun <= min(i + REACH_C, end - 1):
            begin_tokens(
                run, worker, scratch, piece, n_begun, min(i + AHEAD_TOKENS, end)
            )
            n_begun = min(i + AHEAD_TOKENS, end)
        decision = &scratch.decisions[i % RING]
        if not decision.is_made:
            context.lexemes = records + i - REACH_C
            context.dynamic = tags + i - REACH_C
            decision[0] = decide(
                scorer, &context, run.limits, run.margins,
                scratch.scores.data() + <size_t>(i % RING) * scorer.width, decision.stage,
            )
            tags[i] = decision.label + 1
        labels[words[i]] = <uint16_t>decision.label
        if run.leads != NULL:
            run.leads[offset + words[i]] = find_lead(
                scratch.scores.data() + <size_t>(i % RING) * scorer.width, run.limits,
                scorer.width, decision.label,
            )
            run.stages[offset + words[i]] = <uint8_t>decision.stage
        worker.counts[decision.stage] += 1


cdef void begin_tokens(
    TaggingRun run,
    WorkerC* worker,
    ScratchC* scratch,
    const PieceC* piece,
    int start,
    int end,
) noexcept nogil:
    """Do for some tokens what does not depend on tags."""
    cdef const CachedScorerC* scorer = run.scorer
    cdef ContextC context
    cdef DecisionC* decision
    cdef atom_t* tags = scratch.tags.data() + piece.place
    cdef LexemeRecC** records = worker.records.data() + piece.place
    cdef LexemeRecC** last = worker.records.data() + worker.n - 1
    cdef score_t* scores
    cdef int i
    context.dynamic = NULL
    for i in range(start, end):
        if records + i + AHEAD_ROWS <= last:
            prefetch_rows(records[i + AHEAD_ROWS])
        context.lexemes = records + i - REACH_C
        scores = scratch.scores.data() + <size_t>(i % RING) * scorer.width
        decision = &scratch.decisions[i % RING]
        decision.is_made = False
        decision.stage = 0
        sum_fused(scorer, 0, &context, scores)
        if run.is_first_free:
            decision[0] = decide(
                scorer, &context, run.limits, run.margins, scores, 0, 1
            )
            tags[i] = decision.label + 1
            if run.guesses != NULL and i < piece.n:
                run.guesses[piece.doc.offset + worker.words[piece.place + i]] = (
                    <uint16_t>decision.label
                )
