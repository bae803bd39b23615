"""The only driver of threads over Docs.

A task derives a class from DocRun, adds what it reads and writes, and says in `work`
what a thread does with the docs that it takes. One that gives a label to each word
derives it from SentenceRun and says in `label_piece` what to do with words side by side:
white space is no word, and the words around it are neighbours. The places of a decision
are the offsets -REACH .. REACH from its word. The records of a piece of a sentence lie in
an array with room before the first and after the last word, so that a context is just an
address into it.
"""
cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

import numpy as np

from ..core.leads cimport NO_DECISION
from ..core.lexicon cimport Arena, look_up
from ..core.workers cimport require_memory_for_gil, run_workers
from ..spacy_io.annotations cimport SPACE_TAG_C
from ..spacy_io.tokens cimport (
    find_records,
    make_records,
    read_docs,
    read_neighbours,
    read_words,
    sentence_end,
)

cdef enum:
    # Tokens that a thread takes at once; docs are not divided.
    SHARE = 2048
    # Tokens whose records are gathered at once.
    BLOCK = 1024
    ROOM = REACH_C + REACH_AFTER


@cython.auto_pickle(False)
cdef class DocRun:
    """Docs, and the threads that work on them."""

    cdef int read(
        self, list docs, Lexicon lexicon, LexemeReader reader, int n_threads, int n_counts
    ) except -1:
        """Read docs and divide them.

        n_threads: How many threads to use at most.
        n_counts: How many counts each thread keeps.
        """
        cdef int64_t[::1] ends
        cdef uint64_t[:, ::1] counts
        cdef int i, size = 0
        # A copy of its own keeps the docs alive, whatever happens to the list.
        self.docs = docs[:]
        self.lexicon = lexicon
        self.reader = reader
        self.n_tokens = read_docs(self.docs, self.sequences)
        self.ends = np.empty(self.sequences.size(), dtype="int64")
        ends = self.ends
        self._shares.push_back(0)
        for i in range(<int>self.sequences.size()):
            size += self.sequences[i].length
            ends[i] = self.sequences[i].offset + self.sequences[i].length
            if size >= SHARE or i + 1 == <int>self.sequences.size():
                self._shares.push_back(i + 1)
                size = 0
        self._next_share.store(0)
        self.n_threads = max(1, min(n_threads, <int>self._shares.size() - 1))
        self._scratch.resize(self.n_threads, NULL)
        self._arenas = []
        self.n_counts = n_counts
        self._counts = np.zeros((self.n_threads, n_counts), dtype="uint64")
        if self.n_tokens:
            counts = self._counts
            self.counts = &counts[0, 0]
        return 0

    cdef int start(self) except -1:
        """Let the threads work. Raises the error of one of them."""
        cdef bint has_memory
        cdef void* run = <void*>self
        with nogil:
            has_memory = run_workers(self.n_threads, call_work, run)
        if self.error is not None:
            raise self.error
        if not has_memory:
            raise MemoryError()
        return 0

    cdef void work(self, int thread) noexcept nogil:
        """Do what a thread has to do, as long as there are docs to take."""

    cdef bint take(self, int* first, int* end) noexcept nogil:
        """Take the next docs. RETURNS: False if none is left."""
        cdef int share = self._next_share.fetch_add(1)
        if share + 1 >= <int>self._shares.size():
            return False
        first[0] = self._shares[share]
        end[0] = self._shares[share + 1]
        return True

    cdef bint find(
        self, int thread, const SequenceC* doc, LexemeRecC** records
    ) noexcept nogil:
        """Find or make the records of all tokens of a doc. RETURNS: False after an
        error."""
        return find_records(doc, &self.lexicon.c, records) or self.complete(
            thread, doc, NULL, doc.length, records
        )

    cdef bint complete(
        self, int thread, const SequenceC* doc, const int* words, int n,
        LexemeRecC** records,
    ) noexcept nogil:
        """Make the records that are missing, see make_records. RETURNS: False after an
        error."""
        require_memory_for_gil()
        return complete_records(self, thread, doc, words, n, records)

    cdef void clear_scratch(self, int thread) noexcept nogil:
        """Free the records that a thread made and the lexicon had no room for."""
        if self._scratch[thread] != NULL:
            (<Arena>self._scratch[thread]).clear()

    cdef object sum_counts(self):
        """The counts of all threads."""
        # One row is not worth a call of numpy, which single docs would feel.
        return self._counts[0] if self.n_threads == 1 else self._counts.sum(axis=0)


cdef void call_work(void* run, int thread) noexcept nogil:
    (<DocRun>run).work(thread)


cdef bint complete_records(
    DocRun run, int thread, const SequenceC* doc, const int* words, int n,
    LexemeRecC** records,
) noexcept with gil:
    cdef Arena scratch
    try:
        if run._scratch[thread] == NULL:
            scratch = Arena()
            run._arenas.append(scratch)
            run._scratch[thread] = <PyObject*>scratch
        make_records(
            doc, words, n, records, run.docs[doc.doc], run.lexicon, run.reader,
            <Arena>run._scratch[thread],
        )
        return True
    except BaseException as error:
        run.error = error
        return False


@cython.auto_pickle(False)
cdef class SentenceRun(DocRun):
    """Docs whose words get labels."""

    cdef object label(self, bint with_leads, bint with_guesses):
        """Let the threads work. RETURNS (dict): What a LabelBatch is made of."""
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
        return {
            "labels": labels,
            "ends": self.ends,
            "stage_counts": self.sum_counts(),
            "leads": leads,
            "stages": stages,
            "guesses": guesses,
        }

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
