"""The loops of tagging: left to right, one label a word. White space is no word, and
the words around it are neighbours.

The places of a decision are the offsets -REACH .. REACH from its word. Records and
tags of a sequence lie in arrays with REACH entries before the first and after the last
word, so that a context is just an address into them.

Where templates look at the tags of words to come, these are what the first stage says,
which sees no tags and so does not have to wait for them.
"""
cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from ...spacy_io.bridge cimport (
    SPACE_TAG_C,
    LexemeReader,
    SequenceC,
    make_word_records,
    read_docs,
    read_neighbours,
    read_words,
    sentence_end,
)
from ...core.leads cimport NO_DECISION, find_lead
from ...core.learner cimport CORRECT, WRONG, Learner, StepC
from ...core.lexicon cimport UNKNOWN, Arena, Lexicon, LexiconC, look_up
from ...core.program cimport HIDDEN, ContextC, LexemeRecC, ProgramC, get_key
from ...core.forms.cached cimport (
    DecisionC,
    CachedScorer,
    CachedScorerC,
    add_slots,
    decide,
    prefetch_rows,
    sum_fused,
)
from ...core.typedefs cimport atom_t, score_t, uint8_t, uint16_t, uint64_t
from ...core.vectors cimport bare_vector
from ...core.workers cimport atomic_int, require_memory_for_gil, run_workers

cdef enum:
    REACH_C = 3
    # Tokens whose records are gathered at once, and tokens that a thread takes at once.
    BLOCK = 1024
    TASK = 2048
    # The first stage of a word to come looks at as many words again.
    REACH_AFTER = 2 * REACH_C
    ROOM = REACH_C + REACH_AFTER
    # How many tokens ahead the rows of a lexeme are asked for, and added up; and how
    # many sums there is room for.
    AHEAD_ROWS = 9
    AHEAD_TOKENS = 32
    RING = 64

cdef enum:
    NOT_C = -2

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


cdef struct JobC:
    PyObject* owner
    SequenceC* docs
    size_t n_tokens
    int* tasks               # [n_tasks + 1] into docs
    int n_tasks
    atomic_int* next_task
    const CachedScorerC* scorer
    const LexiconC* lexicon
    LexemeRecC* before_start
    LexemeRecC* after_end
    const score_t* limits
    const int* margins
    bint is_first_free
    uint16_t* labels
    int32_t* leads           # or NULL
    uint8_t* stages          # or NULL
    uint64_t* stage_counts   # [n_threads][n_stages]


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
    PyObject* scratch        # the memory of records that are not kept, or NULL
    int n                    # words in the arrays, with what stands between sentences
    uint64_t* stage_counts


@cython.auto_pickle(False)
cdef class _Job:
    """What the threads need the GIL for."""
    cdef list docs
    cdef Lexicon lexicon
    cdef LexemeReader reader
    cdef list arenas
    cdef object error


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


def _doc_ends(docs):
    ends = np.empty(len(docs), dtype="int64")
    cdef int64_t[::1] view = ends
    cdef int64_t end = 0
    cdef Py_ssize_t i
    for i in range(len(docs)):
        end += len(docs[i])
        view[i] = end
    return ends


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

    margins (list[int]): See CachedScorer.margins.
    n_threads (int): How many threads to use at most. The result does not depend on it.
    with_leads (bool): Whether to say how sure the decisions are.
    """
    cdef vector[SequenceC] sequences
    cdef vector[int] tasks
    cdef vector[int] c_margins = margins
    cdef vector[score_t] limits
    cdef atomic_int next_task
    cdef JobC job
    cdef _Job owner = _Job.__new__(_Job)
    cdef int i, size = 0
    cdef bint has_memory
    cdef uint16_t[::1] label_view
    cdef int32_t[::1] lead_view
    cdef uint8_t[::1] stage_view
    cdef uint64_t[:, ::1] count_view
    check_scorer(lexicon, reader, scorer)
    if <int>c_margins.size() < scorer.c.n_stages - 1:
        raise ValueError(Errors.DS216.format(what="margins and stages"))
    # A copy of its own keeps the docs alive, whatever happens to the list.
    docs = docs[:]
    n_tokens = read_docs(docs, sequences)
    labels = np.empty(n_tokens, dtype="uint16")
    leads = np.empty(n_tokens, dtype="int32") if with_leads else None
    stages = np.empty(n_tokens, dtype="uint8") if with_leads else None
    tasks.push_back(0)
    for i in range(<int>sequences.size()):
        size += sequences[i].length
        if size >= TASK or i + 1 == <int>sequences.size():
            tasks.push_back(i + 1)
            size = 0
    job.n_tasks = <int>tasks.size() - 1
    n_threads = max(1, min(n_threads, job.n_tasks))
    counts = np.zeros((n_threads, scorer.c.n_stages), dtype="uint64")
    if n_tokens:
        label_view = labels
        count_view = counts
        limits.resize(scorer.c.width, <score_t>-32768)
        for i in range(scorer.c.n_labels):
            limits[i] = 32767
        owner.docs = docs
        owner.lexicon = lexicon
        owner.reader = reader
        owner.arenas = []
        owner.error = None
        next_task.store(0)
        job.owner = <PyObject*>owner
        job.docs = sequences.data()
        job.n_tokens = n_tokens
        job.tasks = tasks.data()
        job.next_task = &next_task
        job.scorer = &scorer.c
        job.lexicon = &lexicon.c
        job.before_start = lexicon.before_start
        job.after_end = lexicon.after_end
        job.limits = limits.data()
        job.margins = c_margins.data()
        job.is_first_free = is_first_stage_free(&scorer.program.c)
        job.labels = &label_view[0]
        job.leads = NULL
        job.stages = NULL
        if with_leads:
            lead_view = leads
            stage_view = stages
            job.leads = &lead_view[0]
            job.stages = &stage_view[0]
        job.stage_counts = &count_view[0, 0]
        with nogil:
            has_memory = run_workers(n_threads, work, &job)
        if owner.error is not None:
            raise owner.error
        if not has_memory:
            raise MemoryError()
    stage_counts = counts[0] if n_threads == 1 else counts.sum(axis=0)
    return TagBatch(labels, _doc_ends(docs), stage_counts, leads, stages)


cdef void work(void* data, int number) noexcept nogil:
    """Take tasks until none is left. Sentences are gathered up to a block and then
    tagged together, so that memory is waited for once a block and not once a
    sentence."""
    cdef JobC* job = <JobC*>data
    cdef WorkerC worker
    cdef PieceC piece
    cdef int task, i, start, end, first, last
    cdef int room = min(<size_t>BLOCK, job.n_tokens) + ROOM
    worker.scratch = NULL
    worker.orths.resize(room)
    worker.words.resize(room)
    worker.records.resize(room)
    worker.tags.resize(room)
    worker.scores.resize(<size_t>RING * job.scorer.width)
    worker.decisions.resize(RING)
    worker.stage_counts = job.stage_counts + number * job.scorer.n_stages
    worker.n = 0
    while True:
        task = job.next_task.fetch_add(1)
        if task >= job.n_tasks:
            break
        for i in range(job.tasks[task], job.tasks[task + 1]):
            piece.doc = &job.docs[i]
            start = 0
            while start < piece.doc.length:
                end = sentence_end(piece.doc, start)
                first = start
                while first < end:
                    last = first + min(end - first, <int>BLOCK)
                    if worker.n + ROOM + last - first > room:
                        if not tag_block(job, &worker):
                            return
                    read_piece(job, &worker, &piece, start, first, last, end)
                    first = last
                start = end
        if not tag_block(job, &worker):
            return


cdef void read_piece(
    JobC* job, WorkerC* worker, PieceC* piece, int start, int first, int last, int end
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
            job.labels[offset + i] = SPACE_TAG_C
            if job.leads != NULL:
                job.leads[offset + i] = NO_DECISION
                job.stages[offset + i] = 0
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


cdef bint tag_block(JobC* job, WorkerC* worker) noexcept nogil:
    """Tag the pieces that were gathered. RETURNS: False after an error."""
    cdef const PieceC* piece
    cdef bint complete = True
    cdef int i, j, first
    for i in range(<int>worker.pieces.size()):
        piece = &worker.pieces[i]
        first = piece.place - piece.before
        complete &= look_up(
            job.lexicon, &worker.orths[first], piece.before + piece.n + piece.after,
            &worker.records[first],
        )
        for j in range(piece.before, REACH_C):
            worker.records[piece.place - 1 - j] = job.before_start
        for j in range(piece.after, REACH_AFTER):
            worker.records[piece.place + piece.n + j] = job.after_end
    if not complete:
        require_memory_for_gil()
        if not complete_records(job, worker):
            return False
    for i in range(<int>worker.pieces.size()):
        tag_piece(job, worker, &worker.pieces[i])
    if not complete:
        (<Arena>worker.scratch).clear()
    worker.pieces.clear()
    worker.n = 0
    return True


cdef void tag_piece(JobC* job, WorkerC* worker, const PieceC* piece) noexcept nogil:
    cdef const CachedScorerC* scorer = job.scorer
    cdef size_t offset = piece.doc.offset
    cdef uint16_t* labels = job.labels + offset
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
            begin_tokens(job, worker, piece, n_begun, min(i + AHEAD_TOKENS, end))
            n_begun = min(i + AHEAD_TOKENS, end)
        decision = &worker.decisions[i % RING]
        if not decision.is_made:
            context.lexemes = records + i - REACH_C
            context.dynamic = tags + i - REACH_C
            decision[0] = decide(
                scorer, &context, job.limits, job.margins,
                worker.scores.data() + <size_t>(i % RING) * scorer.width, decision.stage,
            )
            tags[i] = decision.label + 1
        labels[words[i]] = <uint16_t>decision.label
        if job.leads != NULL:
            job.leads[offset + words[i]] = find_lead(
                worker.scores.data() + <size_t>(i % RING) * scorer.width, job.limits,
                scorer.width, decision.label,
            )
            job.stages[offset + words[i]] = <uint8_t>decision.stage
        worker.stage_counts[decision.stage] += 1


cdef void begin_tokens(
    JobC* job, WorkerC* worker, const PieceC* piece, int start, int end
) noexcept nogil:
    """Do for some tokens what does not depend on tags."""
    cdef const CachedScorerC* scorer = job.scorer
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
        if job.is_first_free:
            decision[0] = decide(
                scorer, &context, job.limits, job.margins, scores, 0, 1
            )
            tags[i] = decision.label + 1


cdef bint complete_records(JobC* job, WorkerC* worker) noexcept with gil:
    """RETURNS: False after an error."""
    cdef _Job owner = <_Job>job.owner
    cdef Arena scratch
    cdef const PieceC* piece
    cdef int i
    try:
        if worker.scratch == NULL:
            scratch = Arena()
            owner.arenas.append(scratch)
            worker.scratch = <PyObject*>scratch
        scratch = <Arena>worker.scratch
        for i in range(<int>worker.pieces.size()):
            piece = &worker.pieces[i]
            make_word_records(
                piece.doc, &worker.words[piece.place - piece.before],
                piece.before + piece.n + piece.after,
                &worker.records[piece.place - piece.before],
                owner.docs[piece.doc.doc], owner.lexicon, owner.reader, scratch,
            )
        return True
    except BaseException as error:
        owner.error = error
        return False


cdef class TrainingBatch:
    """The words of docs laid end to end, with what is known about their labels.

    docs (list[Doc]): The docs.
    gold (array): For each word a label, MISSING, or NOT - label for a label that is
        known to be wrong.
    ranges (array): The sequences to learn from: pairs of start and end, counted in
        words. They may overlap and reach over several docs.
    """
    cdef vector[LexemeRecC*] records
    cdef Arena scratch
    cdef vector[int] word_columns
    cdef vector[int] class_columns
    cdef const int32_t[::1] gold
    cdef const int64_t[:, ::1] ranges
    cdef Lexicon lexicon
    cdef list docs
    cdef int highest         # of the labels
    cdef int lowest

    def __init__(
        self,
        list docs not None,
        const int32_t[::1] gold not None,
        const int64_t[:, ::1] ranges not None,
        Lexicon lexicon not None,
        LexemeReader reader not None,
    ):
        cdef vector[SequenceC] sequences
        cdef vector[uint64_t] orths
        cdef vector[int] words
        cdef const SequenceC* doc
        cdef size_t n_words = 0
        cdef int i, n
        if self.lexicon is not None:
            raise ValueError(Errors.DS216.format(what="a batch has its docs already"))
        reader.check(lexicon)
        self.gold = gold
        self.ranges = ranges
        self.lexicon = lexicon
        self.scratch = Arena()
        for i, column in enumerate(reader.columns):
            if column in ("word", "lower", "norm"):
                self.word_columns.push_back(i)
            elif column == "class":
                self.class_columns.push_back(i)
        self.docs = docs[:]
        self.records.resize(read_docs(self.docs, sequences))
        for i in range(<int>sequences.size()):
            doc = &sequences[i]
            orths.resize(doc.length)
            words.resize(doc.length)
            n = read_words(doc, 0, doc.length, orths.data(), words.data())
            records = self.records.data() + n_words
            if not look_up(&lexicon.c, orths.data(), n, records):
                make_word_records(
                    doc, words.data(), n, records, self.docs[i], lexicon, reader,
                    self.scratch,
                )
            n_words += n
        self.records.resize(n_words)
        self._check_sizes()

    cdef int _check_sizes(self) except -1:
        """Raise an error unless there is a label for each word, and ranges are within
        the words."""
        cdef int64_t n = self.records.size()
        cdef bint fits = self.gold.shape[0] == n and self.ranges.shape[1] == 2
        cdef Py_ssize_t i
        self.highest = -1
        self.lowest = 0
        if fits:
            for i in range(self.ranges.shape[0]):
                fits &= 0 <= self.ranges[i, 0] <= self.ranges[i, 1] <= n
            for i in range(n):
                self.highest = max(self.highest, self.gold[i])
                self.lowest = min(self.lowest, self.gold[i])
        if not fits:
            raise ValueError(Errors.DS216.format(what="docs, labels and sentences"))
        return 0

    cdef int _check_learner(self, Learner learner) except -1:
        """Raise an error unless a learner knows the labels, and sees such records."""
        if self.lexicon is None or learner.program is None or (
            learner.program.c.n_columns > self.lexicon.n_columns
        ):
            raise ValueError(Errors.DS216.format(what="a learner and a lexicon"))
        check_program(&learner.program.c)
        if self.highest >= learner.n_labels or <int64_t>NOT_C - self.lowest >= learner.n_labels:
            raise ValueError(Errors.DS216.format(what="a learner and its labels"))
        return 0

    cdef int _lay_out(
        self, int64_t start, int64_t end, vector[LexemeRecC*]& records, vector[atom_t]& tags
    ) except -1 nogil:
        """Bring a sequence into arrays with room at both ends."""
        cdef int64_t i
        cdef int j
        records.resize(end - start + 2 * REACH_C)
        tags.resize(end - start + 2 * REACH_C)
        for j in range(REACH_C):
            tags[j] = tags[end - start + REACH_C + j] = 0
            records[j] = self.lexicon.before_start
            records[end - start + REACH_C + j] = self.lexicon.after_end
        for i in range(start, end):
            records[i - start + REACH_C] = self.records[i]
        return 0

    cdef void _look_ahead(
        self,
        Learner learner,
        const uint8_t* costs,
        vector[LexemeRecC*]& records,
        vector[atom_t]& tags,
    ) noexcept nogil:
        """Put what the first stage says where tags will be."""
        cdef ContextC context
        cdef size_t i
        if not looks_ahead(&learner.program.c):
            return
        context.dynamic = NULL
        for i in range(records.size() - 2 * REACH_C):
            context.lexemes = records.data() + i
            tags[i + REACH_C] = 1 + learner.guess_early(
                &context, costs, learner.program.c.stage_ends[0]
            )

    def count(self, Learner learner not None) -> None:
        """Count features, with the true tags for all words."""
        cdef vector[LexemeRecC*] records
        cdef vector[atom_t] tags
        cdef ContextC context
        cdef int64_t i, r, start
        self._check_learner(learner)
        with nogil:
            for r in range(self.ranges.shape[0]):
                start = self.ranges[r, 0]
                self._lay_out(start, self.ranges[r, 1], records, tags)
                for i in range(self.ranges[r, 1] - start):
                    tags[i + REACH_C] = max(self.gold[start + i], -1) + 1
                for i in range(self.ranges[r, 1] - start):
                    context.lexemes = records.data() + i
                    context.dynamic = tags.data() + i
                    learner.count(&context)

    cdef int _hide_words(
        self,
        Learner learner,
        float word_dropout,
        vector[LexemeRecC*]& records,
        vector[uint64_t]& hidden,
    ) except -1 nogil:
        """Replace some records by copies that do not tell which word it is."""
        cdef size_t size = sizeof(LexemeRecC) + self.lexicon.n_columns * sizeof(atom_t)
        cdef size_t stride = (size + sizeof(uint64_t) - 1) // sizeof(uint64_t)
        cdef LexemeRecC* copy
        cdef size_t i
        cdef int column
        hidden.resize(records.size() * stride)
        for i in range(REACH_C, records.size() - REACH_C):
            if learner.random() < word_dropout:
                copy = <LexemeRecC*>(hidden.data() + i * stride)
                memcpy(copy, records[i], size)
                for column in self.word_columns:
                    copy.atoms[column] = HIDDEN
                for column in self.class_columns:
                    copy.atoms[column] = UNKNOWN
                records[i] = copy
        return 0

    def update(
        self,
        Learner learner not None,
        float drop,
        float word_dropout,
        float predicted_history,
    ) -> float:
        """Learn. RETURNS: The summed loss.

        drop (float): The probability with which a template is left out.
        word_dropout (float): The probability with which a word is treated as unknown.
        predicted_history (float): How often later decisions see the predicted label
            in place of the true one.
        """
        cdef vector[uint64_t] hidden
        cdef vector[LexemeRecC*] records
        cdef vector[atom_t] tags
        cdef vector[uint8_t] one_correct
        cdef vector[uint8_t] one_wrong
        cdef ContextC context
        cdef StepC step
        cdef int64_t i, r, start
        cdef int gold, label
        cdef double loss = 0
        self._check_learner(learner)
        one_correct.resize(learner.n_labels, <uint8_t>WRONG)
        one_wrong.resize(learner.n_labels, <uint8_t>CORRECT)
        with nogil:
            for r in range(self.ranges.shape[0]):
                start = self.ranges[r, 0]
                self._lay_out(start, self.ranges[r, 1], records, tags)
                if word_dropout:
                    self._hide_words(learner, word_dropout, records, hidden)
                self._look_ahead(learner, one_wrong.data(), records, tags)
                for i in range(self.ranges[r, 1] - start):
                    context.lexemes = records.data() + i
                    context.dynamic = tags.data() + i
                    gold = self.gold[start + i]
                    if gold >= 0:
                        one_correct[gold] = CORRECT
                        learner.step(&context, one_correct.data(), drop, &step)
                        one_correct[gold] = WRONG
                        loss += step.loss
                        label = gold
                        if predicted_history and learner.random() < predicted_history:
                            label = step.guess
                    elif gold == -1:
                        label = learner.guess(&context, one_wrong.data())
                    else:
                        one_wrong[-2 - gold] = WRONG
                        learner.step(&context, one_wrong.data(), drop, &step)
                        one_wrong[-2 - gold] = CORRECT
                        loss += step.loss
                        label = step.guess
                    tags[i + REACH_C] = label + 1
        return loss

    def guess(self, Learner learner not None):
        """Predict with the weights as they are. RETURNS (array): The labels of the
        words."""
        cdef vector[LexemeRecC*] records
        cdef vector[atom_t] tags
        cdef vector[uint8_t] costs
        cdef ContextC context
        cdef int64_t i, r, start
        self._check_learner(learner)
        labels = np.zeros(self.records.size(), dtype="uint16")
        cdef uint16_t[::1] view = labels
        costs.resize(learner.n_labels, <uint8_t>CORRECT)
        with nogil:
            for r in range(self.ranges.shape[0]):
                start = self.ranges[r, 0]
                self._lay_out(start, self.ranges[r, 1], records, tags)
                self._look_ahead(learner, costs.data(), records, tags)
                for i in range(self.ranges[r, 1] - start):
                    context.lexemes = records.data() + i
                    context.dynamic = tags.data() + i
                    view[start + i] = <uint16_t>learner.guess(&context, costs.data())
                    tags[i + REACH_C] = view[start + i] + 1
        return labels

    def explain(self, CachedScorer scorer not None, const uint16_t[::1] labels not None):
        """What each template adds to the score of each label, given the labels that
        were predicted for the words before and what the first stage says about those
        after.

        labels (array): The predicted labels of the words.
        RETURNS (array): Integer scores, of shape (words, templates, labels).
        """
        cdef vector[LexemeRecC*] records
        cdef vector[atom_t] tags
        cdef ContextC context
        cdef int64_t i, r, start
        cdef int t
        cdef int n_early = 0
        cdef int n_templates = scorer.c.program.n_templates
        if self.lexicon is None or (
            scorer.program.c.n_columns > self.lexicon.n_columns
        ):
            raise ValueError(Errors.DS216.format(what="a scorer and a lexicon"))
        check_program(&scorer.program.c)
        if <size_t>labels.shape[0] != self.records.size():
            raise ValueError(Errors.DS216.format(what="words and their labels"))
        if is_first_stage_free(&scorer.program.c):
            n_early = scorer.program.c.stage_ends[0]
        scores = np.zeros(
            (self.records.size(), n_templates, scorer.c.width), dtype="int16"
        )
        cdef score_t[:, :, ::1] view = scores
        for r in range(self.ranges.shape[0]):
            start = self.ranges[r, 0]
            self._lay_out(start, self.ranges[r, 1], records, tags)
            context.dynamic = NULL
            for i in range(self.ranges[r, 1] - start):
                context.lexemes = records.data() + i
                for t in range(n_early):
                    add_template(&scorer.c, t, &context, &view[start + i, t, 0])
                tags[i + REACH_C] = 1 + np.argmax(
                    scores[start + i, :n_early, :scorer.c.n_labels].sum(axis=0)
                )
            for i in range(self.ranges[r, 1] - start):
                context.lexemes = records.data() + i
                context.dynamic = tags.data() + i
                for t in range(n_early, n_templates):
                    add_template(&scorer.c, t, &context, &view[start + i, t, 0])
                tags[i + REACH_C] = labels[start + i] + 1
        return scores[:, :, :scorer.c.n_labels]


cdef void add_template(
    const CachedScorerC* scorer, int t, const ContextC* context, score_t* scores
) noexcept nogil:
    add_slots(scorer, get_key(&scorer.program.templates[t], context), scores)


MISSING = -1
NOT = NOT_C
