"""Morphology: left to right, one label a word, out of those that the word allows.

Where templates look at the labels of words to come, these are what the early stages say:
the first, which reads the word alone, and those after it that read no labels.
"""
cimport cython
from libc.stdint cimport int32_t
from libc.string cimport memset
from libcpp.vector cimport vector

from ...base.errors import Errors
from ..labelling.batch import LabelBatch

from ...core.forms.cached cimport prefetch_rows
from ...core.forms.factored cimport (
    MAX_CANDIDATES,
    ChoiceC,
    FactoredScorer,
    FactoredScorerC,
    begin_choice,
    begin_with_all,
    go_on,
)
from ...core.leads cimport NEVER
from ...core.lexicon cimport Lexicon
from ...core.program cimport ContextC, LexemeRecC
from ...core.typedefs cimport atom_t, score_t, uint8_t, uint16_t, uint64_t
from ...core.vectors cimport bare_vector
from ...spacy_io.lexemes cimport LexemeReader
from ..labelling.history cimport (
    History,
    HistoryC,
    copy_values,
    count_free_templates,
    write_label,
)
from ..run cimport REACH_C, PieceC, SentenceRun, WorkerC

cdef enum:
    # How many words ahead the rows of a lexeme are asked for, and the early stages
    # scored; and how many decisions there is room for.
    AHEAD_ROWS = 9
    AHEAD_WORDS = 32
    RING = 64


cdef struct ScratchC:
    bare_vector[atom_t] tags          # as templates read them
    bare_vector[score_t] sums         # [RING][n_sums], of the choices
    bare_vector[ChoiceC] choices      # [RING]
    bare_vector[int32_t] scores       # [RING][2][room], of the choices
    bare_vector[uint16_t] labels      # [RING][room], of the choices
    atom_t carried                    # what the last piece has to hand on


@cython.auto_pickle(False)
cdef class MorphologyRun(SentenceRun):
    """Docs whose words get labels that are made of parts."""
    cdef const FactoredScorerC* scorer
    cdef const HistoryC* history
    cdef const int* margins
    cdef bint has_all        # whether the first stage rules out nothing
    cdef int n_early         # stages that are scored ahead
    cdef vector[ScratchC] scratch     # by thread

    cdef void prepare(self, const WorkerC* worker) noexcept nogil:
        cdef ScratchC* scratch = &self.scratch[worker.thread]
        cdef size_t room = self.scorer.parts.n_labels if self.has_all else MAX_CANDIDATES
        cdef size_t i
        scratch.tags.resize(<size_t>worker.room * self.history.n_columns)
        scratch.sums.resize(RING * self.scorer.n_sums)
        scratch.choices.resize(RING)
        scratch.scores.resize(RING * 2 * room)
        scratch.labels.resize(RING * room)
        for i in range(RING):
            scratch.choices[i].scores = scratch.scores.data() + 2 * i * room
            scratch.choices[i].totals = scratch.scores.data() + (2 * i + 1) * room
            scratch.choices[i].labels = scratch.labels.data() + i * room
            scratch.choices[i].sums = scratch.sums.data() + i * self.scorer.n_sums

    cdef void label_piece(self, WorkerC* worker, const PieceC* piece) noexcept nogil:
        decide_piece(self, worker, &self.scratch[worker.thread], piece)


cdef int check_scorer(
    Lexicon lexicon, LexemeReader reader, FactoredScorer scorer, History history
) except -1:
    """Raise an error unless these can predict together."""
    reader.check_scorer(lexicon, scorer)
    return history.check_scorer(scorer)


def predict(
    list docs not None,
    Lexicon lexicon not None,
    LexemeReader reader not None,
    FactoredScorer scorer not None,
    list margins not None,
    int n_threads,
    bint with_leads=False,
    bint with_guesses=False,
    *,
    History history not None,
):
    """Predict the labels of docs.

    margins (list[int]): See scale_margins.
    n_threads (int): How many threads to use at most. The result does not depend on it.
    with_leads (bool): Whether to say how sure the decisions are.
    with_guesses (bool): Whether to say what the early stages thought of each word.
    history (History): What templates read of labels.
    RETURNS (LabelBatch): The labels.
    """
    cdef vector[int] c_margins = margins
    cdef MorphologyRun run = MorphologyRun()
    cdef int n_stages = scorer.c.n_stages
    check_scorer(lexicon, reader, scorer, history)
    if <int>c_margins.size() < n_stages - 1:
        raise ValueError(Errors.DS216.format(what="margins and stages"))
    run.read(docs, lexicon, reader, n_threads, 2 * n_stages)
    run.scorer = &scorer.c
    run.history = &history.c
    run.margins = c_margins.data()
    # A label that is the only one wins at once.
    run.has_all = n_stages > 1 and scorer.n_labels > 1 and c_margins[0] >= NEVER
    run.n_early = 1
    while run.n_early < n_stages and (
        count_free_templates(&scorer.program.c, run.n_early + 1)
        == scorer.program.c.stage_ends[run.n_early]
    ):
        run.n_early += 1
    run.scratch.resize(run.n_threads)
    batch = LabelBatch(**run.label(with_leads, with_guesses))
    batch.label_counts = batch.stage_counts[n_stages:]
    batch.stage_counts = batch.stage_counts[:n_stages]
    return batch


cdef void decide_piece(
    MorphologyRun run, WorkerC* worker, ScratchC* scratch, const PieceC* piece
) noexcept nogil:
    cdef size_t offset = piece.doc.offset
    cdef uint16_t* labels = run.labels + offset
    cdef const int* words = worker.words.data() + piece.place
    cdef const HistoryC* history = run.history
    cdef size_t n_columns = history.n_columns
    cdef atom_t* tags = scratch.tags.data() + piece.place * n_columns
    cdef ContextC context
    cdef ChoiceC* choice
    cdef int end = piece.n + min(<int>REACH_C, piece.after)
    cdef int n_stages = run.scorer.n_stages
    cdef int i, n_begun = 0
    memset(tags - REACH_C * n_columns, 0, REACH_C * n_columns * sizeof(atom_t))
    memset(tags + piece.n * n_columns, 0, REACH_C * n_columns * sizeof(atom_t))
    for i in range(piece.before, 0, -1):
        # What comes before in the same sentence has its labels already.
        copy_values(history, tags - i * n_columns, labels[words[-i]])
    if history.carried >= 0 and piece.before:
        tags[history.carried - <int>n_columns] = scratch.carried
    for i in range(piece.n):
        if n_begun <= min(i + REACH_C, end - 1):
            begin_words(
                run, worker, scratch, piece, n_begun, min(i + AHEAD_WORDS, end)
            )
            n_begun = min(i + AHEAD_WORDS, end)
        choice = &scratch.choices[i % RING]
        context.lexemes = worker.records.data() + piece.place + i - REACH_C
        context.dynamic = tags + (i - REACH_C) * <int>n_columns
        while not choice.is_made:
            worker.counts[n_stages + choice.stage + 1] += choice.n
            go_on(run.scorer, &context, run.margins, choice)
        write_label(history, tags + i * n_columns, choice.label)
        labels[words[i]] = <uint16_t>choice.label
        if run.leads != NULL:
            run.leads[offset + words[i]] = choice.lead
            run.stages[offset + words[i]] = <uint8_t>choice.stage
        worker.counts[choice.stage] += 1
    worker.counts[n_stages] += <uint64_t>piece.n * run.scorer.parts.n_labels
    if history.carried >= 0:
        scratch.carried = tags[(piece.n - 1) * <int>n_columns + history.carried]


cdef void begin_words(
    MorphologyRun run,
    WorkerC* worker,
    ScratchC* scratch,
    const PieceC* piece,
    int start,
    int end,
) noexcept nogil:
    """Do for some words what does not depend on labels."""
    cdef const FactoredScorerC* scorer = run.scorer
    cdef size_t n_columns = run.history.n_columns
    cdef atom_t* tags = scratch.tags.data() + piece.place * n_columns
    cdef LexemeRecC** records = worker.records.data() + piece.place
    cdef LexemeRecC** last = worker.records.data() + worker.n - 1
    cdef ContextC context
    cdef ChoiceC* choice
    cdef int i
    context.dynamic = NULL
    for i in range(start, end):
        if records + i + AHEAD_ROWS <= last:
            prefetch_rows(records[i + AHEAD_ROWS])
        choice = &scratch.choices[i % RING]
        if run.has_all:
            begin_with_all(scorer, records[i], choice)
        else:
            begin_choice(scorer, records[i], run.margins, choice)
        if not choice.is_made:
            context.lexemes = records + i - REACH_C
            while not choice.is_made and choice.stage + 1 < run.n_early:
                if i < piece.n:
                    worker.counts[scorer.n_stages + choice.stage + 1] += choice.n
                go_on(scorer, &context, run.margins, choice)
        write_label(run.history, tags + i * n_columns, choice.label)
        if run.guesses != NULL and i < piece.n:
            run.guesses[piece.doc.offset + worker.words[piece.place + i]] = (
                <uint16_t>choice.label
            )
