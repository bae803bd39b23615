"""Labels of sequences, by all levels of a cascade and several threads."""
import numpy as np

from libc.stdint cimport int32_t, int64_t

from ..core.cascade cimport CascadeC, CascadeScratch
from ..core.workers cimport atomic_int, run_workers
from .levels cimport Level, Sequences, check

from .levels import HIGHEST_ORDER


cdef class Decoding:
    """One call of decode: what its threads share."""
    cdef CascadeC cascade
    cdef Sequences sequences
    cdef int32_t[::1] labels
    cdef double[::1] leads
    cdef int64_t[:, ::1] counts
    cdef bint with_leads
    cdef atomic_int next_sequence

    cdef void work(self, int thread) noexcept nogil:
        cdef CascadeScratch at
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
                self.cascade.decode(
                    self.sequences.positions(i), self.sequences.length(i), at,
                    &self.labels[start], leads, &self.counts[thread, 0],
                )
            i = self.next_sequence.fetch_add(1)


cdef void call_work(void* decoding, int thread) noexcept nogil:
    (<Decoding>decoding).work(thread)


def decode(
    Sequences sequences not None,
    list levels not None,
    list alphas not None,
    int first_order,
    bint with_leads,
    int n_threads,
) -> tuple:
    """Label sequences.

    levels (list[Level]): All levels. The last one does not filter.
    alphas (list[float]): Of all levels but the last; minus infinity keeps everything.
    first_order (int): The order of the first level.
    with_leads (bool): Whether to tell by how much labels lead.
    RETURNS (tuple): The labels (int32); their leads (float64) or None; how many n-grams
        each level looked at (int64).
    """
    cdef Decoding run = Decoding()
    cdef Level level
    cdef bint has_memory
    cdef void* job = <void*>run
    # Nobody else can change this one while the threads work.
    cdef tuple own = tuple(levels)
    check(
        len(own) > 0 and len(alphas) == len(own) - 1 and n_threads > 0
        and 0 < first_order and first_order + len(own) - 1 <= HIGHEST_ORDER,
        "the levels of a cascade",
    )
    for level in own:
        check(
            level is not None and level.weights.n_labels > 0
            and level.weights.n_labels == (<Level>own[0]).weights.n_labels
            and level.by_state == (<Level>own[0]).by_state,
            "the levels of a cascade",
        )
        run.cascade.levels.push_back(&level.weights)
        run.cascade.n_labels = level.weights.n_labels
        run.cascade.by_state = level.by_state
    check(sequences.n_allowed in (0, run.cascade.n_labels), "the labels that are allowed")
    run.cascade.alphas = alphas
    run.cascade.first_order = first_order
    n = sequences.n_positions
    labels = np.empty(n, dtype="int32")
    leads = np.empty(n if with_leads else 0, dtype="float64")
    counts = np.zeros((n_threads, len(own)), dtype="int64")
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
