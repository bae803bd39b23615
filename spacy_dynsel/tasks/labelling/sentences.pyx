"""Words of sentences, side by side, for tasks that give one label to each word. White
space is no word, and the words around it are neighbours.

The places of a decision are the offsets -REACH .. REACH from its word. The records of a
piece of a sentence lie in an array with room before the first and after the last word,
so that a context is just an address into it.
"""
cimport cython
from libc.stdint cimport int32_t

import numpy as np

from ...core.leads cimport NO_DECISION
from ...core.lexicon cimport look_up
from ...core.typedefs cimport uint8_t, uint16_t, uint64_t
from ...spacy_io.annotations cimport SPACE_TAG_C
from ...spacy_io.tokens cimport read_neighbours, read_words, sentence_end

cdef enum:
    # Tokens whose records are gathered at once.
    BLOCK = 1024
    ROOM = REACH_C + REACH_AFTER


class LabelBatch:
    """The predicted labels of some docs: for each an array of label indices.

    labels (array): The labels of all tokens of all docs, SPACE_TAG for white space.
    ends (array): The number of tokens up to the end of each doc.
    stage_counts (array): How many decisions were made at each stage.
    leads (array): By how much each decision was won, as an integer, or None.
    stages (array): The stage in which each decision was made, from 0, or None.
    guesses (array): What early stages said about each token, for templates that read
        the labels of words to come, or None.
    label_counts (array): How many labels were scored at each stage, or None if all were.
    made_by (Snapshot): What made the decisions, or None.
    """

    __slots__ = (
        "ends",
        "guesses",
        "label_counts",
        "labels",
        "leads",
        "made_by",
        "stage_counts",
        "stages",
    )

    def __init__(self, labels, ends, stage_counts, leads=None, stages=None):
        self.labels = labels
        self.ends = ends
        self.stage_counts = stage_counts
        self.leads = leads
        self.stages = stages
        self.guesses = None
        self.label_counts = None
        self.made_by = None

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, i: int):
        i = range(len(self))[i]
        return self.labels[self.ends[i - 1] if i else 0 : self.ends[i]]


@cython.auto_pickle(False)
cdef class SentenceRun(DocRun):
    """Docs whose words get labels."""

    cdef object label(self, bint with_leads, bint with_guesses):
        """Let the threads work. RETURNS (LabelBatch): What they found."""
        cdef uint16_t[::1] label_view
        cdef uint16_t[::1] guess_view
        cdef int32_t[::1] lead_view
        cdef uint8_t[::1] stage_view
        labels = np.empty(self.n_tokens, dtype="uint16")
        leads = np.empty(self.n_tokens, dtype="int32") if with_leads else None
        stages = np.empty(self.n_tokens, dtype="uint8") if with_leads else None
        guesses = np.zeros(self.n_tokens, dtype="uint16") if with_guesses else None
        if self.n_tokens:
            label_view = labels
            self.labels = &label_view[0]
            if with_leads:
                lead_view = leads
                stage_view = stages
                self.leads = &lead_view[0]
                self.stages = &stage_view[0]
            if with_guesses:
                guess_view = guesses
                self.guesses = &guess_view[0]
            self.start()
        batch = LabelBatch(labels, self.ends, self.sum_counts(), leads, stages)
        batch.guesses = guesses
        return batch

    cdef void prepare(self, const WorkerC* worker) noexcept nogil:
        """Make room for what a thread needs to label its words."""

    cdef void label_piece(self, WorkerC* worker, const PieceC* piece) noexcept nogil:
        """Label the words of a piece, whose records are there."""

    cdef void work(self, int thread) noexcept nogil:
        """Gather sentences up to a block and label them together, so that memory is
        waited for once a block and not once a sentence."""
        cdef WorkerC worker
        cdef PieceC piece
        cdef int i, start, end, first, last
        cdef int first_doc, end_doc
        worker.room = min(<size_t>BLOCK, self.n_tokens) + ROOM
        worker.orths.resize(worker.room)
        worker.words.resize(worker.room)
        worker.records.resize(worker.room)
        worker.thread = thread
        worker.counts = self.counts + thread * self.n_counts
        worker.n = 0
        self.prepare(&worker)
        while self.take(&first_doc, &end_doc):
            for i in range(first_doc, end_doc):
                piece.doc = &self.sequences[i]
                start = 0
                while start < piece.doc.length:
                    end = sentence_end(piece.doc, start)
                    first = start
                    while first < end:
                        last = first + min(end - first, <int>BLOCK)
                        if worker.n + ROOM + last - first > worker.room:
                            if not label_block(self, &worker):
                                return
                        read_piece(self, &worker, &piece, start, first, last, end)
                        first = last
                    start = end
            if not label_block(self, &worker):
                return


cdef void read_piece(
    SentenceRun run, WorkerC* worker, PieceC* piece, int start, int first, int last, int end
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


cdef bint label_block(SentenceRun run, WorkerC* worker) noexcept nogil:
    """Label the pieces that were gathered. RETURNS: False after an error."""
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
        run.label_piece(worker, &worker.pieces[i])
    run.clear_scratch(worker.thread)
    worker.pieces.clear()
    worker.n = 0
    return True
