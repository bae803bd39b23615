"""The only driver of threads over Docs.

A task derives a class from DocRun, adds what it reads and writes, and says in `work`
what a thread does with the docs that it takes.
"""
cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

import numpy as np

from ..core.lexicon cimport Arena
from ..core.workers cimport require_memory_for_gil, run_workers
from ..spacy_io.tokens cimport find_records, make_records, read_docs

cdef enum:
    # Tokens that a thread takes at once; docs are not divided.
    SHARE = 2048


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
