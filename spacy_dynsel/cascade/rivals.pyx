"""What filters of cascades are compared with: exact search without a filter, and the
probabilities of labels by a conditional random field."""
import numpy as np

from cython.operator cimport dereference as deref
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp cimport bool
from libcpp.vector cimport vector

from ..core.cascade cimport (
    SCORE_UNIT,
    CascadeScratch,
    GramWeights,
    LatticeC,
    Positions,
    learn_marginals,
)
from .levels cimport Lattices, Level, Sequences

from ..base.errors import Errors


cdef extern from "trigrams.hpp" namespace "dynsel" nogil:
    cdef cppclass TrigramScratch "dynsel::TrigramModel::Scratch":
        pass

    cdef cppclass TrigramModelC "dynsel::TrigramModel":
        int n_labels
        void init(int n) except +
        void decode(
            const Positions& positions, int length, const int32_t* gold, float cost,
            TrigramScratch& at, int32_t* labels
        ) except +
        bool learn(
            const Positions& positions, int length, const int32_t* gold, float cost,
            TrigramScratch& at
        ) except +
        void list_rows(vector[uint64_t]& keys, vector[const float*]& rows) except +
        void average()

    cdef cppclass Chain:
        void init(const GramWeights& weights) except +
        void find(
            const GramWeights& weights, const Positions& positions, int length,
            float* result
        ) except +


# Beyond this, the table of triples would take more than half a gigabyte.
MOST_LABELS = 400


cdef class TrigramModel:
    """Labels sequences by the best of all paths through triples of labels.

    n_labels (int): The number of labels.
    """
    cdef TrigramModelC model

    def __init__(self, int n_labels):
        if not 0 < n_labels <= MOST_LABELS or self.model.n_labels:
            raise ValueError(Errors.DS216.format(what=f"triples of {n_labels} labels"))
        self.model.init(n_labels)

    cdef int _check(self, Sequences sequences) except -1:
        if sequences.n_labels > self.model.n_labels:
            raise ValueError(Errors.DS216.format(what="the labels of sequences"))
        return 0

    def learn(
        self, Sequences sequences not None, const int64_t[::1] ids not None, float cost
    ) -> int:
        """Learn from some sequences, one after the other. RETURNS (int): The number of
        those with a mistake.

        cost (float): Of a wrong label; 0 for the perceptron.
        """
        cdef TrigramScratch at
        cdef Py_ssize_t i
        cdef Py_ssize_t n = len(sequences)
        cdef int wrong = 0
        self._check(sequences)
        cdef bint fits = not (sequences.gold_labels < 0).any()
        for i in range(ids.shape[0]):
            fits &= 0 <= ids[i] < n
        if not fits:
            raise ValueError(Errors.DS216.format(what="sequences to learn from"))
        with nogil:
            for i in range(ids.shape[0]):
                wrong += self.model.learn(
                    sequences.positions(ids[i]), sequences.length(ids[i]),
                    sequences.gold(ids[i]), cost, at,
                )
        return wrong

    def finish(self) -> None:
        """End learning: averaged weights take the place of the last ones."""
        self.model.average()

    def get_weights(self) -> tuple:
        """All rows of weights, as Level.set_weights takes them."""
        cdef vector[uint64_t] keys
        cdef vector[const float*] rows
        cdef Py_ssize_t i
        cdef int label
        self.model.list_rows(keys, rows)
        values = np.empty(rows.size() * (self.model.n_labels + 1), dtype="float32")
        cdef float[:, ::1] view = values.reshape(-1, self.model.n_labels + 1)
        for i in range(view.shape[0]):
            for label in range(view.shape[1]):
                view[i, label] = rows[i][label]
        return np.array(keys, dtype="uint64"), values

    def predict(self, Sequences sequences not None):
        """The label of each position (int32)."""
        cdef TrigramScratch at
        cdef Py_ssize_t i
        cdef Py_ssize_t n = len(sequences)
        labels = np.empty(sequences.n_positions, dtype="int32")
        cdef int32_t[::1] view = labels
        with nogil:
            for i in range(n):
                if sequences.length(i):
                    self.model.decode(
                        sequences.positions(i), sequences.length(i), NULL, 0, at,
                        &view[sequences.starts[i]],
                    )
        return labels


def learn_probabilities(
    Level level not None,
    Sequences sequences not None,
    Lattices lattices not None,
    const int64_t[::1] ids not None,
) -> float:
    """Learn the probabilities of labels from some sequences, one after the other, as a
    conditional random field. RETURNS (float): The loss."""
    cdef CascadeScratch at
    cdef Py_ssize_t i
    cdef double loss = 0
    level._check(sequences, lattices, ids)
    with nogil:
        for i in range(ids.shape[0]):
            loss += learn_marginals(
                level.weights, deref(lattices.get(ids[i], at)), sequences.positions(ids[i]),
                sequences.gold(ids[i]), at,
            )
    return loss


def find_scores(
    Level level not None,
    Sequences sequences not None,
    Lattices lattices not None,
    bint as_probabilities,
):
    """By what filters keep each label of each position.

    as_probabilities (bool): Whether by its probability, in place of its max-marginal.
    RETURNS (array): For each position and label the largest alpha that keeps it, 1 or more
        if each does; or its probability. Minus infinity for what the lattices do not have.
    """
    cdef CascadeScratch at
    cdef int64_t i, start
    cdef int t, label
    cdef size_t e
    cdef double mean, limit
    cdef const LatticeC* lattice
    ids = np.arange(len(sequences), dtype="int64")
    level._check(sequences, lattices, ids)
    scores = np.full((sequences.n_positions, lattices.n_labels), -np.inf)
    cdef double[:, ::1] view = scores
    cdef Py_ssize_t n = len(sequences)
    with nogil:
        for i in range(n):
            lattice = lattices.get(i, at)
            start = sequences.starts[i]
            level.weights.score(
                deref(lattice), sequences.positions(i), at.grams, at.search.scores
            )
            at.search.run(deref(lattice))
            mean = at.search.mean_gap(deref(lattice), level.by_state)
            if as_probabilities:
                at.search.find_marginals(deref(lattice), SCORE_UNIT)
            for t in range(lattice.length):
                for e in range(lattice.edges_from(t), lattice.edges_from(t + 1)):
                    label = lattice.edges[e].label()
                    if as_probabilities:
                        view[start + t, label] = (
                            max(view[start + t, label], 0.0) + at.search.counts[e]
                        )
                        continue
                    limit = <double>at.search.edge_gap(deref(lattice), e)
                    limit = INFINITY if limit == 0 else 1 - limit / mean
                    view[start + t, label] = max(view[start + t, label], limit)
    return scores


def find_probabilities(Level level not None, Sequences sequences not None):
    """The probability of each label at each position (float32) by a level of pairs, over
    all sequences of labels: what find_scores finds, faster."""
    cdef Chain chain
    cdef Py_ssize_t i
    cdef Py_ssize_t n = len(sequences)
    if not sequences.fits(level.weights.n_labels) or level.weights.pairs:
        raise ValueError(Errors.DS216.format(what="a level and its sequences"))
    result = np.empty((sequences.n_positions, level.weights.n_labels), dtype="float32")
    cdef float[:, ::1] view = result
    with nogil:
        chain.init(level.weights)
        for i in range(n):
            if sequences.length(i):
                chain.find(
                    level.weights, sequences.positions(i), sequences.length(i),
                    &view[sequences.starts[i], 0],
                )
    return result
