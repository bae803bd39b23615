"""Tagging: left to right, one label a word. White space is no word, and
the words around it are neighbours.

The places of a decision are the offsets -REACH .. REACH from its word. Records and
tags of a sequence lie in arrays with REACH entries before the first and after the last
word, so that a context is just an address into them.

Where templates look at the tags of words to come, these are what the first stage says,
which sees no tags and so does not have to wait for them.
"""
cimport cython
from libc.stdint cimport int32_t
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
from ...core.leads cimport NO_DECISION, fill_limits, find_lead
from ...core.lexicon cimport Lexicon, look_up
from ...core.program cimport ContextC, LexemeRecC, ProgramC
from ...core.typedefs cimport atom_t, score_t, uint8_t, uint16_t, uint64_t
from ...core.vectors cimport bare_vector
from ...spacy_io.annotations cimport SPACE_TAG_C
from ...spacy_io.lexemes cimport LexemeReader
from ...spacy_io.tokens cimport SequenceC, read_neighbours, read_words, sentence_end
from ..run cimport DocRun

cdef enum:
    # Tokens whose records are gathered at once.
    BLOCK = 1024
    # The first stage of a word to come looks at as many words again.
    REACH_AFTER = 2 * REACH_C
    ROOM = REACH_C + REACH_AFTER
    # How many tokens ahead the rows of a lexeme are asked for, and added up; and how
    # many sums there is room for.
    AHEAD_ROWS = 9
    AHEAD_TOKENS = 32
    RING = 64

REACH = REACH_C


class TagBatch:
    """The predicted labels of some docs: for each an array of label indices.

    labels (array): The labels of all tokens of all docs, SPACE_TAG for white space.
    ends (array): The number of tokens up to the end of each doc.
    stage_counts (array): How many decisions were made at each stage.
    leads (array): By how much each decision was won, as an integer, or None.
    stages (array): The stage in which each decision was made, from 0, or None.
    made_by (Compiled): What made the decisions, or None.
    """

    __slots__ = ("ends", "labels", "leads", "made_by", "stage_counts", "stages")

    def __init__(self, labels, ends, stage_counts, leads=None, stages=None):
        self.labels = labels
        self.ends = ends
        self.stage_counts = stage_counts
        self.leads = leads
        self.stages = stages
        self.made_by = None

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, i: int):
        i = range(len(self))[i]
        return self.labels[self.ends[i - 1] if i else 0 : self.ends[i]]


cdef struct PieceC:
    # A part of a sentence, and where its first word is in the arrays of a worker.
    const SequenceC* doc
    int n                    # words
    int place
    int before               # how many of its neighbours on either side are words of
    int after                # its sentence: none, unless a sentence is cut


cdef struct WorkerC:
    # The scratch memory of a thread.
    bare_vector[PieceC] pieces
    bare_vector[uint64_t] orths
    bare_vector[int] words   # which tokens of their docs they are
    bare_vector[LexemeRecC*] records
    bare_vector[atom_t] tags
    bare_vector[score_t] scores   # [RING][width]
    bare_vector[DecisionC] decisions  # [RING]
    int n                    # words in the arrays, with what stands between sentences
    int thread
    uint64_t* stage_counts


@cython.auto_pickle(False)
cdef class TaggingRun(DocRun):
    """Docs that are tagged."""
    cdef const CachedScorerC* scorer
    cdef const score_t* limits
    cdef const int* margins
    cdef bint is_first_free
    cdef uint16_t* labels
    cdef int32_t* leads      # or NULL
    cdef uint8_t* stages     # or NULL

    cdef void work(self, int thread) noexcept nogil:
        """Gather sentences up to a block and tag them together, so that memory is
        waited for once a block and not once a sentence."""
        cdef WorkerC worker
        cdef PieceC piece
        cdef int i, start, end, first, last
        cdef int first_doc, end_doc
        cdef int room = min(<size_t>BLOCK, self.n_tokens) + ROOM
        worker.orths.resize(room)
        worker.words.resize(room)
        worker.records.resize(room)
        worker.tags.resize(room)
        worker.scores.resize(<size_t>RING * self.scorer.width)
        worker.decisions.resize(RING)
        worker.thread = thread
        worker.stage_counts = self.counts + thread * self.n_counts
        worker.n = 0
        while self.take(&first_doc, &end_doc):
            for i in range(first_doc, end_doc):
                piece.doc = &self.sequences[i]
                start = 0
                while start < piece.doc.length:
                    end = sentence_end(piece.doc, start)
                    first = start
                    while first < end:
                        last = first + min(end - first, <int>BLOCK)
                        if worker.n + ROOM + last - first > room:
                            if not tag_block(self, &worker):
                                return
                        read_piece(self, &worker, &piece, start, first, last, end)
                        first = last
                    start = end
            if not tag_block(self, &worker):
                return


cdef bint is_first_stage_free(const ProgramC* program) noexcept nogil:
    """Whether the first stage looks at no tags."""
    cdef int t, i
    for t in range(program.stage_ends[0]):
        for i in range(program.templates[t].n_atoms):
            if program.templates[t].atoms[i].place < 0:
                return False
    return True


cdef bint looks_ahead(const ProgramC* program) noexcept nogil:
    """Whether a template looks at the tag of a word to come."""
    cdef int t, i
    for t in range(program.n_templates):
        for i in range(program.templates[t].n_atoms):
            atom = program.templates[t].atoms[i]
            if atom.place < 0 and atom.column > REACH_C:
                return True
    return False


cdef int check_program(const ProgramC* program) except -1:
    """Raise an error unless templates look at what a decision sees."""
    if (
        program.n_places > 2 * REACH_C + 1
        or program.n_values > 2 * REACH_C + 1
        or (looks_ahead(program) and not is_first_stage_free(program))
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
) -> TagBatch:
    """Predict the labels of docs.

    margins (list[int]): See scale_margins.
    n_threads (int): How many threads to use at most. The result does not depend on it.
    with_leads (bool): Whether to say how sure the decisions are.
    """
    cdef vector[int] c_margins = margins
    cdef vector[score_t] limits
    cdef TaggingRun run = TaggingRun()
    cdef uint16_t[::1] label_view
    cdef int32_t[::1] lead_view
    cdef uint8_t[::1] stage_view
    check_scorer(lexicon, reader, scorer)
    if <int>c_margins.size() < scorer.c.n_stages - 1:
        raise ValueError(Errors.DS216.format(what="margins and stages"))
    run.read(docs, lexicon, reader, n_threads, scorer.c.n_stages)
    labels = np.empty(run.n_tokens, dtype="uint16")
    leads = np.empty(run.n_tokens, dtype="int32") if with_leads else None
    stages = np.empty(run.n_tokens, dtype="uint8") if with_leads else None
    if run.n_tokens:
        fill_limits(limits, scorer.c.n_labels, scorer.c.width)
        label_view = labels
        run.scorer = &scorer.c
        run.limits = limits.data()
        run.margins = c_margins.data()
        run.is_first_free = is_first_stage_free(&scorer.program.c)
        run.labels = &label_view[0]
        if with_leads:
            lead_view = leads
            stage_view = stages
            run.leads = &lead_view[0]
            run.stages = &stage_view[0]
        run.start()
    return TagBatch(labels, run.ends, run.sum_counts(), leads, stages)


cdef void read_piece(
    TaggingRun run, WorkerC* worker, PieceC* piece, int start, int first, int last, int end
) noexcept nogil:
    """Gather the words among the tokens first : last of the sentence start : end."""
    cdef size_t offset = piece.doc.offset
    cdef int i
    cdef uint64_t* orths
    cdef int* words
    piece.place = worker.n + REACH_C
    orths = &worker.orths[piece.place]
    words = &worker.words[piece.place]
    piece.n = read_words(piece.doc, first, last, orths, words)
    if piece.n < last - first:
        # Words will have their labels written over these.
        for i in range(first, last):
            run.labels[offset + i] = SPACE_TAG_C
            if run.leads != NULL:
                run.leads[offset + i] = NO_DECISION
                run.stages[offset + i] = 0
        if piece.n == 0:
            return
    piece.before = read_neighbours(
        piece.doc, first - 1, start - 1, -1, REACH_C, orths - 1, words - 1
    )
    piece.after = read_neighbours(
        piece.doc, last, end, 1, REACH_AFTER, orths + piece.n, words + piece.n
    )
    worker.pieces.push_back(piece[0])
    worker.n += piece.n + ROOM


cdef bint tag_block(TaggingRun run, WorkerC* worker) noexcept nogil:
    """Tag the pieces that were gathered. RETURNS: False after an error."""
    cdef const PieceC* piece
    cdef LexemeRecC** records
    cdef int i, j, first, n
    for i in range(<int>worker.pieces.size()):
        piece = &worker.pieces[i]
        first = piece.place - piece.before
        n = piece.before + piece.n + piece.after
        records = &worker.records[first]
        if not look_up(&run.lexicon.c, &worker.orths[first], n, records):
            if not run.complete(
                worker.thread, piece.doc, &worker.words[first], n, records
            ):
                return False
        for j in range(piece.before, REACH_C):
            worker.records[piece.place - 1 - j] = run.lexicon.before_start
        for j in range(piece.after, REACH_AFTER):
            worker.records[piece.place + piece.n + j] = run.lexicon.after_end
    for i in range(<int>worker.pieces.size()):
        tag_piece(run, worker, &worker.pieces[i])
    run.clear_scratch(worker.thread)
    worker.pieces.clear()
    worker.n = 0
    return True


cdef void tag_piece(TaggingRun run, WorkerC* worker, const PieceC* piece) noexcept nogil:
    cdef const CachedScorerC* scorer = run.scorer
    cdef size_t offset = piece.doc.offset
    cdef uint16_t* labels = run.labels + offset
    cdef const int* words = worker.words.data() + piece.place
    cdef ContextC context
    cdef DecisionC* decision
    cdef atom_t* tags = worker.tags.data() + piece.place
    cdef LexemeRecC** records = worker.records.data() + piece.place
    cdef int end = piece.n + min(<int>REACH_C, piece.after)
    cdef int i, n_begun = 0
    for i in range(1, REACH_C + 1):
        # What comes before in the same sentence has its labels already.
        tags[-i] = labels[words[-i]] + 1 if i <= piece.before else 0
        tags[piece.n - 1 + i] = 0
    for i in range(piece.n):
        if n_begun <= min(i + REACH_C, end - 1):
            begin_tokens(run, worker, piece, n_begun, min(i + AHEAD_TOKENS, end))
            n_begun = min(i + AHEAD_TOKENS, end)
        decision = &worker.decisions[i % RING]
        if not decision.is_made:
            context.lexemes = records + i - REACH_C
            context.dynamic = tags + i - REACH_C
            decision[0] = decide(
                scorer, &context, run.limits, run.margins,
                worker.scores.data() + <size_t>(i % RING) * scorer.width, decision.stage,
            )
            tags[i] = decision.label + 1
        labels[words[i]] = <uint16_t>decision.label
        if run.leads != NULL:
            run.leads[offset + words[i]] = find_lead(
                worker.scores.data() + <size_t>(i % RING) * scorer.width, run.limits,
                scorer.width, decision.label,
            )
            run.stages[offset + words[i]] = <uint8_t>decision.stage
        worker.stage_counts[decision.stage] += 1


cdef void begin_tokens(
    TaggingRun run, WorkerC* worker, const PieceC* piece, int start, int end
) noexcept nogil:
    """Do for some tokens what does not depend on tags."""
    cdef const CachedScorerC* scorer = run.scorer
    cdef ContextC context
    cdef DecisionC* decision
    cdef atom_t* tags = worker.tags.data() + piece.place
    cdef LexemeRecC** records = worker.records.data() + piece.place
    cdef LexemeRecC** last = worker.records.data() + worker.n - 1
    cdef score_t* scores
    cdef int i
    context.dynamic = NULL
    for i in range(start, end):
        if records + i + AHEAD_ROWS <= last:
            prefetch_rows(records[i + AHEAD_ROWS])
        context.lexemes = records + i - REACH_C
        scores = worker.scores.data() + <size_t>(i % RING) * scorer.width
        decision = &worker.decisions[i % RING]
        decision.is_made = False
        decision.stage = 0
        sum_fused(scorer, 0, &context, scores)
        if run.is_first_free:
            decision[0] = decide(
                scorer, &context, run.limits, run.margins, scores, 0, 1
            )
            tags[i] = decision.label + 1
