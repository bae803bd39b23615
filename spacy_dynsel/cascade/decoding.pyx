"""Labels of sequences, by all levels of a cascade and several threads."""
import numpy as np

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from ..core.cascade cimport PackedCascade, PackedScratch, StoredRows
from ..core.workers cimport atomic_int, run_workers
from .levels cimport Sequences, check

from .levels import HIGHEST_ORDER, MOST_LABELS
from .rows import Rows


cdef class Decoding:
    """One call of decode: what its threads share."""
    cdef Decoder decoder
    cdef Sequences sequences
    cdef vector[double] alphas
    cdef int32_t[::1] labels
    cdef double[::1] leads
    cdef int64_t[:, ::1] counts
    cdef bint with_leads
    cdef atomic_int next_sequence

    cdef void work(self, int thread) noexcept nogil:
        cdef PackedScratch at
        cdef int64_t start
        cdef int n = <int>self.sequences.starts.size() - 1
        cdef int i = self.next_sequence.fetch_add(1)
        cdef double* leads
        while i < n:
            start = self.sequences.starts[i]
            leads = NULL
            if self.sequences.length(i):
                if self.with_leads:
                    leads = &self.leads[start]
                self.decoder.cascade.decode(
                    self.sequences.positions(i), self.sequences.length(i),
                    self.alphas.data(), at, &self.labels[start], leads,
                    &self.counts[thread, 0],
                )
            i = self.next_sequence.fetch_add(1)


cdef void call_work(void* decoding, int thread) noexcept nogil:
    (<Decoding>decoding).work(thread)


cdef class Decoder:
    """All levels of a cascade, made for use.

    levels (list[Rows]): The weights of each level, in order. The last one does not filter.
    n_labels (int): The number of labels.
    first_order (int): The order of the first level.
    by_state (bool): Whether levels filter (n-1)-grams, in place of n-grams.
    pairs (bool): Whether features are looked at together with two labels.
    """
    cdef PackedCascade cascade

    def __init__(
        self, list levels not None, int n_labels, int first_order, bint by_state, bint pairs
    ):
        cdef vector[StoredRows] stored
        cdef StoredRows rows
        cdef const uint64_t[::1] keys
        cdef const uint32_t[::1] starts
        cdef const uint16_t[::1] labels
        cdef const int16_t[::1] values
        # Nobody else can change this one while it is read.
        cdef tuple own = tuple(levels)
        cdef uint64_t nothing = 0
        check(
            len(own) > 0 and 0 < first_order and 0 < n_labels <= MOST_LABELS
            and first_order + len(own) - 1 <= HIGHEST_ORDER
            and self.cascade.weights.n_levels == 0,
            "the levels of a cascade",
        )
        for one in own:
            check(isinstance(one, Rows) and one.fits(n_labels), "the weights of a level")
            keys, starts, labels, values = one.keys, one.starts, one.labels, one.values
            rows.n = keys.shape[0]
            rows.keys = &keys[0] if keys.shape[0] else &nothing
            rows.starts = &starts[0]
            rows.labels = &labels[0] if labels.shape[0] else <const uint16_t*>&nothing
            rows.values = &values[0] if values.shape[0] else <const int16_t*>&nothing
            rows.shift = one.shift
            stored.push_back(rows)
        self.cascade.weights.init(n_labels, pairs, stored)
        self.cascade.first_order = first_order
        self.cascade.by_state = by_state

    def decode(
        self,
        Sequences sequences not None,
        list alphas not None,
        bint with_leads,
        int n_threads,
    ) -> tuple:
        """Label sequences.

        alphas (list[float]): Of all levels but the last; minus infinity keeps everything.
        with_leads (bool): Whether to tell by how much labels lead.
        RETURNS (tuple): The labels (int32); their leads (float64) or None; how many n-grams
            each level looked at (int64).
        """
        cdef Decoding run = Decoding()
        cdef bint has_memory
        cdef void* job = <void*>run
        cdef int n_levels = self.cascade.weights.n_levels
        check(
            n_levels > 0 and len(alphas) == n_levels - 1 and n_threads > 0,
            "the levels of a cascade",
        )
        check(
            sequences.n_allowed in (0, self.cascade.weights.n_labels),
            "the labels that are allowed",
        )
        n = sequences.n_positions
        labels = np.empty(n, dtype="int32")
        leads = np.empty(n if with_leads else 0, dtype="float64")
        counts = np.zeros((n_threads, n_levels), dtype="int64")
        run.decoder = self
        run.alphas = alphas
        run.sequences = sequences
        run.labels = labels
        run.leads = leads
        run.counts = counts
        run.with_leads = with_leads
        run.next_sequence.store(0)
        with nogil:
            has_memory = run_workers(n_threads, call_work, job)
        if not has_memory:
            raise MemoryError()
        return labels, leads if with_leads else None, counts.sum(axis=0)
