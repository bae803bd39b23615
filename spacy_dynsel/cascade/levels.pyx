"""The levels of a cascade at work on sequences: arrays in, arrays out."""
import numpy as np

from cython.operator cimport dereference as deref
from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from ..core.cascade cimport (
    LABEL_BITS,
    MAX_ORDER,
    SCORE_BITS,
    SCORE_UNIT,
    CascadeScratch,
    LatticeC,
    Positions,
    Thinner,
    learn_filter,
    learn_labels,
    start_lattice,
)

from ..base.errors import Errors
from .rows import Rows, pack

# The largest label stands for what is beyond the start.
cdef enum:
    MAX_LABELS = (1 << 12) - 1
    # Longer sequences could leave too little room for sums.
    MAX_LENGTH = 1 << 23

MOST_LABELS = MAX_LABELS
LONGEST = MAX_LENGTH
HIGHEST_ORDER = MAX_ORDER
# Weights beyond this are none that learning makes.
cdef float LARGEST = 1 << 20


cdef int check(bint fits, str what) except -1:
    """Raise an error unless arguments fit each other."""
    if not fits:
        raise ValueError(Errors.DS216.format(what=what))
    return 0


cdef class Sequences:
    """Positions in a row, each with features, and what their labels are.

    features (array): The keys of features (uint32), position after position.
    offsets (array): Where the features of each position start (int64), and the end.
    lengths (array): The number of positions of each sequence (int64).
    labels (array): The label of each position (int32), or -1 where it is not known.
    allowed (array): For each position and each label whether it may be there (uint8), or
        None if all labels may.
    """
    def __init__(
        self,
        const uint32_t[::1] features not None,
        const int64_t[::1] offsets not None,
        const int64_t[::1] lengths not None,
        const int32_t[::1] labels not None,
        const uint8_t[:, ::1] allowed=None,
    ):
        cdef Py_ssize_t i
        cdef int64_t total = 0
        cdef int64_t n = labels.shape[0]
        check(self.starts.empty(), "sequences that are there already")
        cdef bint fits = (
            offsets.shape[0] == n + 1
            and offsets[0] == 0
            and offsets[n] == features.shape[0]
            and (allowed is None or allowed.shape[0] == n)
        )
        if fits:
            for i in range(n):
                fits &= offsets[i] <= offsets[i + 1] and -1 <= labels[i]
                fits &= labels[i] < MAX_LABELS
                self.n_labels = max(self.n_labels, labels[i] + 1)
            self.starts.reserve(lengths.shape[0] + 1)
            self.starts.push_back(0)
            for i in range(lengths.shape[0]):
                fits &= 0 <= lengths[i] <= min(n - total, <int64_t>MAX_LENGTH)
                if not fits:
                    break
                total += lengths[i]
                self.starts.push_back(total)
            fits &= total == n and n < 0x7FFFFFFF
        if not fits:
            self.starts.clear()
        check(fits, "the features, lengths and labels of sequences")
        self.features = features
        self.offsets = offsets
        self.labels = labels
        self.allowed = allowed
        if allowed is not None:
            self.n_allowed = <int>allowed.shape[1]
            self.n_labels = max(self.n_labels, self.n_allowed)

    def __len__(self) -> int:
        return 0 if self.starts.empty() else self.starts.size() - 1

    @property
    def n_positions(self) -> int:
        return 0 if self.starts.empty() else self.starts.back()

    @property
    def gold_labels(self):
        """The labels of all positions (int32)."""
        return np.empty(0, dtype="int32") if self.starts.empty() else np.asarray(self.labels)

    @property
    def bounds(self):
        """Where each sequence starts, and the end of the last (int64)."""
        return np.array(self.starts, dtype="int64")

    cdef int length(self, Py_ssize_t i) noexcept nogil:
        return <int>(self.starts[i + 1] - self.starts[i])

    cdef Positions positions(self, Py_ssize_t i) noexcept nogil:
        cdef Positions result
        result.keys = &self.nothing
        if self.features.shape[0]:
            result.keys = &self.features[0]
        result.offsets = &self.offsets[self.starts[i]]
        result.allowed = NULL
        if self.n_allowed and self.length(i):
            result.allowed = &self.allowed[self.starts[i], 0]
        return result

    def has_labels(self, int n_labels) -> bool:
        return self.fits(n_labels)

    cdef bint fits(self, int n_labels) noexcept nogil:
        """Whether labels, and what is allowed, are those of so many labels."""
        return self.n_labels <= n_labels and self.n_allowed in (0, n_labels)

    cdef const int32_t* gold(self, Py_ssize_t i) noexcept nogil:
        # An empty sequence at the end has no position to point at.
        if self.length(i) == 0:
            return <const int32_t*>&self.nothing
        return &self.labels[self.starts[i]]


cdef class Lattices:
    """What is possible for each sequence.

    n (int): The number of sequences.
    n_labels (int): The number of labels.
    """

    def __init__(self, Py_ssize_t n, int n_labels):
        check(
            n >= 0 and 0 < n_labels <= MOST_LABELS and self.items.empty(),
            f"lattices of {n_labels} labels",
        )
        self.items.resize(n)
        self.n_labels = n_labels

    def __len__(self) -> int:
        return self.items.size()

    def start(self, Sequences sequences not None, int order) -> None:
        """Let all labels be possible that are allowed. Such lattices take no memory: each
        is made where it is looked at.

        order (int): The length of n-grams to start with.
        """
        check(
            len(sequences) == len(self) and 0 < order <= HIGHEST_ORDER
            and sequences.fits(self.n_labels),
            "sequences and lattices",
        )
        self.started = sequences
        self.first_order = order

    cdef const LatticeC* get(self, int64_t i, CascadeScratch& at) except NULL nogil:
        """What is possible for a sequence, made if need be."""
        cdef Positions positions
        if self.items[i].columns.size():
            return &self.items[i]
        positions = self.started.positions(i)
        start_lattice(
            self.first_order, self.n_labels, self.started.length(i), positions.allowed, at
        )
        return &at.lattice

    cdef bint has(self, int64_t i, int length) noexcept nogil:
        """Whether there is a lattice for a sequence, and for one of its length."""
        if self.items[i].columns.size():
            return self.items[i].length == length
        return self.first_order > 0 and self.started.length(i) == length

    @property
    def order(self) -> int:
        """The length of n-grams, or 0 if there are no lattices."""
        if self.items.empty() or self.items[0].columns.empty():
            return 0 if self.items.empty() else self.first_order
        return self.items[0].order

    def copy(self) -> Lattices:
        """Others that are alike."""
        cdef Lattices other = Lattices(len(self), self.n_labels)
        other.items = self.items
        other.first_order = self.first_order
        other.started = self.started
        return other

    def count(self, bint states=False) -> int:
        """The number of all n-grams, or of all states but the first of each sequence."""
        cdef CascadeScratch at
        cdef size_t i, n = 0
        cdef const LatticeC* lattice
        for i in range(self.items.size()):
            if self.first_order or self.items[i].columns.size():
                lattice = self.get(i, at)
                n += lattice.n_states() - 1 if states else lattice.edges.size()
        return n

    def get_grams(self, Py_ssize_t i) -> tuple:
        """The n-grams of a sequence.

        RETURNS (tuple): The position at which each ends (int64), its labels (int64, a
            column each; beyond the start they are n_labels), and what earlier levels say
            about it (int64).
        """
        cdef CascadeScratch at
        cdef const LatticeC* lattice
        cdef size_t e
        cdef int t, j
        check(
            0 <= i < len(self) and (self.first_order > 0 or self.items[i].columns.size()),
            "the number of a sequence",
        )
        lattice = self.get(i, at)
        places = np.empty(lattice.edges.size(), dtype="int64")
        labels = np.empty((lattice.edges.size(), lattice.order), dtype="int64")
        scores = np.empty(lattice.edges.size(), dtype="int64")
        for t in range(lattice.length):
            for e in range(lattice.edges_from(t), lattice.edges_from(t + 1)):
                places[e] = t
                scores[e] = lattice.edges[e].score
                for j in range(lattice.order):
                    labels[e, lattice.order - 1 - j] = (
                        lattice.edges[e].gram >> (LABEL_BITS * j)
                    ) & MOST_LABELS
        return places, labels, scores


cdef class Level:
    """The weights of one level, and what it does with lattices.

    n_labels (int): The number of labels.
    by_state (bool): Whether to filter (n-1)-grams, in place of n-grams.
    pairs (bool): Whether features are looked at together with two labels.
    adagrad (bool): Whether steps are those of AdaGrad, in place of averaged ones.
    eta (float): The step size.
    delta (float): Added to the root of the squares of AdaGrad.
    """

    def __init__(
        self, int n_labels, bint by_state, bint pairs, bint adagrad, float eta,
        float delta,
    ):
        check(
            0 < n_labels <= MOST_LABELS and self.weights.n_labels == 0,
            f"a level of {n_labels} labels",
        )
        self.weights.n_labels = n_labels
        self.weights.table.width = n_labels + 1
        self.weights.pairs = pairs
        self.weights.adagrad = adagrad
        self.weights.eta = eta
        self.weights.delta = delta
        self.by_state = by_state

    cdef int _check(
        self, Sequences sequences, Lattices lattices, const int64_t[::1] ids
    ) except -1:
        """Raise an error unless there is a lattice for each of these sequences."""
        cdef Py_ssize_t i
        cdef Py_ssize_t n = len(sequences)
        cdef bint fits = (
            len(lattices) == n
            and lattices.n_labels == self.weights.n_labels
            and sequences.fits(self.weights.n_labels)
        )
        for i in range(ids.shape[0]):
            fits &= 0 <= ids[i] < n
            if fits:
                fits &= lattices.has(ids[i], sequences.length(ids[i]))
        return check(fits, "sequences and lattices")

    def learn_filter(
        self,
        Sequences sequences not None,
        Lattices lattices not None,
        const int64_t[::1] ids not None,
        double alpha,
        double margin,
        double dropout=0,
        uint64_t seed=0,
    ) -> float:
        """Learn to filter some sequences, one after the other. RETURNS (float): The
        loss.

        alpha (float): The part of the best path in the threshold.
        margin (float): By how much the labels have to be above it, for each position.
        dropout (float): How often a feature is left out.
        seed (int): The seed of that.
        """
        cdef CascadeScratch at
        cdef Thinner thinner
        cdef Py_ssize_t i
        cdef double loss = 0
        self._check(sequences, lattices, ids)
        thinner.rate, thinner.state = dropout, seed
        with nogil:
            for i in range(ids.shape[0]):
                loss += learn_filter(
                    self.weights, deref(lattices.get(ids[i], at)),
                    thinner.thin(sequences.positions(ids[i]), sequences.length(ids[i])),
                    sequences.gold(ids[i]), self.by_state, alpha, margin, at,
                )
        return loss

    def learn_labels(
        self,
        Sequences sequences not None,
        Lattices lattices not None,
        const int64_t[::1] ids not None,
        double cost,
        double dropout=0,
        uint64_t seed=0,
    ) -> float:
        """Learn to label some sequences, one after the other. RETURNS (float): The loss.

        cost (float): Of a wrong label; 0 for the perceptron.
        dropout (float), seed (int): See learn_filter.
        """
        cdef CascadeScratch at
        cdef Thinner thinner
        cdef Py_ssize_t i
        cdef double loss = 0
        self._check(sequences, lattices, ids)
        thinner.rate, thinner.state = dropout, seed
        with nogil:
            for i in range(ids.shape[0]):
                loss += learn_labels(
                    self.weights, deref(lattices.get(ids[i], at)),
                    thinner.thin(sequences.positions(ids[i]), sequences.length(ids[i])),
                    sequences.gold(ids[i]), cost, at,
                )
        return loss

    def average(self) -> None:
        """End learning: averaged weights take the place of the last ones."""
        self.weights.average()

    def tidy(self, float least=0) -> None:
        """Round weights, so that all sums of them are exact.

        least (float): Smaller weights are dropped.
        """
        self.weights.tidy(least)

    def finish(self, float least=0) -> None:
        """Average weights and tidy them."""
        self.average()
        self.tidy(least)

    def pack(self) -> Rows:
        """The rounded weights."""
        keys, weights = self.get_weights()
        return pack(keys, weights, self.weights.find_exponent())

    def judge(
        self,
        Sequences sequences not None,
        Lattices lattices not None,
        const int64_t[::1] ids not None,
        double[::1] limits not None,
    ) -> None:
        """Find the largest alpha with which each position keeps its label.

        limits (array): For each position of all sequences, where to write it (float64):
            1 or more if each alpha does, and minus infinity if none does.
        """
        cdef CascadeScratch at
        cdef Py_ssize_t i
        cdef int64_t t, start
        cdef double mean
        cdef const LatticeC* lattice
        self._check(sequences, lattices, ids)
        check(limits.shape[0] == sequences.n_positions, "sequences and limits")
        with nogil:
            for i in range(ids.shape[0]):
                lattice = lattices.get(ids[i], at)
                if lattice.length == 0:
                    continue
                start = sequences.starts[ids[i]]
                self.weights.score(
                    deref(lattice), sequences.positions(ids[i]), at.grams, at.search.scores
                )
                at.search.run(deref(lattice))
                mean = at.search.mean_gap(deref(lattice), self.by_state)
                at.search.find_gaps(
                    deref(lattice), self.by_state, sequences.gold(ids[i]), &limits[start]
                )
                for t in range(start, start + lattice.length):
                    if limits[t] == 0:
                        limits[t] = INFINITY
                    else:
                        limits[t] = 1 - limits[t] / mean

    def count_kept(
        self,
        Sequences sequences not None,
        Lattices lattices not None,
        const int64_t[::1] ids not None,
        double alpha,
    ) -> tuple:
        """How much would be kept. RETURNS (tuple): The number of cliques, and how many
        of them are kept."""
        cdef CascadeScratch at
        cdef Py_ssize_t i
        cdef double limit
        cdef size_t n = 0
        cdef size_t n_kept = 0
        cdef const LatticeC* lattice
        self._check(sequences, lattices, ids)
        with nogil:
            for i in range(ids.shape[0]):
                lattice = lattices.get(ids[i], at)
                self.weights.score(
                    deref(lattice), sequences.positions(ids[i]), at.grams, at.search.scores
                )
                at.search.run(deref(lattice))
                limit = at.search.find_limit(deref(lattice), self.by_state, alpha)
                n += at.search.n_cliques(deref(lattice), self.by_state)
                n_kept += at.search.count_kept(deref(lattice), self.by_state, limit)
        return n, n_kept

    def filter(
        self,
        Sequences sequences not None,
        Lattices lattices not None,
        const int64_t[::1] ids not None,
        double alpha,
        bint keep_truth,
        Lattices result not None,
    ) -> None:
        """Filter the lattices of some sequences, and make those of the next order.

        alpha (float): The part of the best path in the threshold, or minus infinity to
            keep everything.
        keep_truth (bool): Whether to keep the labels in any case.
        result (Lattices): Where to put them.
        """
        cdef CascadeScratch at
        cdef Py_ssize_t i
        cdef int t
        cdef double limit
        cdef bint is_there
        cdef vector[uint32_t] truth
        cdef const LatticeC* lattice
        self._check(sequences, lattices, ids)
        check(
            len(result) == len(lattices) and result.n_labels == lattices.n_labels
            and result is not lattices,
            "lattices of two levels",
        )
        for i in range(ids.shape[0]):
            check(lattices.get(ids[i], at).order < HIGHEST_ORDER, "the order of a lattice")
        with nogil:
            for i in range(ids.shape[0]):
                lattice = lattices.get(ids[i], at)
                self.weights.score(
                    deref(lattice), sequences.positions(ids[i]), at.grams, at.search.scores
                )
                is_there = keep_truth and at.search.find_true_path(
                    deref(lattice), sequences.gold(ids[i])
                )
                truth = at.search.path
                at.search.run(deref(lattice))
                limit = at.search.find_limit(deref(lattice), self.by_state, alpha)
                at.search.keep(deref(lattice), self.by_state, limit)
                if is_there:
                    for t in range(lattice.length):
                        at.search.kept[truth[t]] = 1
                lattice.expand(
                    at.search.kept, at.search.scores, self.weights.n_labels,
                    result.items[ids[i]],
                )

    def carry(
        self, Sequences sequences not None, Lattices lattices not None, bint afresh
    ) -> None:
        """Add what this level says to what lattices carry, or put it (afresh) in its place."""
        cdef CascadeScratch at
        cdef LatticeC* lattice
        cdef size_t i, e
        self._check(sequences, lattices, np.arange(len(sequences), dtype="int64"))
        check(lattices.first_order == 0, "lattices that are not made yet")
        with nogil:
            for i in range(lattices.items.size()):
                lattice = &lattices.items[i]
                self.weights.score(
                    deref(lattice), sequences.positions(i), at.grams, at.search.scores
                )
                for e in range(lattice.edges.size()):
                    if afresh:
                        at.search.scores[e] -= lattice.edges[e].score
                    lattice.edges[e].score = at.search.scores[e]

    def get_gaps(
        self, Sequences sequences not None, Lattices lattices not None, int64_t i
    ) -> tuple:
        """Max-marginals of a sequence. RETURNS (tuple): For each n-gram by how much the
        best path through it is worse than the best of all (float64); and whether it is
        part of the latter."""
        cdef CascadeScratch at
        cdef size_t e
        cdef const LatticeC* lattice
        self._check(sequences, lattices, np.array([i], dtype="int64"))
        lattice = lattices.get(i, at)
        self.weights.score(
            deref(lattice), sequences.positions(i), at.grams, at.search.scores
        )
        at.search.run(deref(lattice))
        gaps = np.empty(lattice.edges.size(), dtype="float64")
        is_best = np.zeros(lattice.edges.size(), dtype="bool")
        for e in range(lattice.edges.size()):
            gaps[e] = at.search.edge_gap(deref(lattice), e) / SCORE_UNIT
        at.search.find_path(deref(lattice))
        for e in at.search.path:
            is_best[e] = True
        return gaps, is_best

    def get_weights(self) -> tuple:
        """All rows of weights that are not zero, sorted by their keys.

        RETURNS (tuple): Keys (uint64), and values (float32, n_labels + 1 for each key).
        """
        cdef size_t width = self.weights.table.width
        cdef size_t i
        keys = np.array(self.weights.table.keys, dtype="uint64")
        values = np.empty(self.weights.table.values.size(), dtype="float32")
        cdef float[::1] view = values
        for i in range(self.weights.table.values.size()):
            view[i] = self.weights.table.values[i]
        rows = values.reshape(-1, width) if width else values.reshape(0, 0)
        order = np.flatnonzero(rows.any(axis=1))
        order = order[np.argsort(keys[order])]
        return keys[order], np.ascontiguousarray(rows[order])

    def unpack(self, rows: Rows) -> None:
        """Use rounded weights, in a level that is new otherwise."""
        cdef const uint64_t[::1] keys
        cdef const uint32_t[::1] starts
        cdef const uint16_t[::1] labels
        cdef const int16_t[::1] values
        cdef double step
        cdef size_t width = self.weights.table.width
        cdef size_t row
        cdef Py_ssize_t i
        cdef uint32_t j
        check(
            self.weights.table.keys.empty() and isinstance(rows, Rows)
            and rows.fits(self.weights.n_labels),
            "the weights of a level",
        )
        keys, starts, labels, values, _ = rows
        step = 2.0 ** (rows.shift - SCORE_BITS)
        for i in range(keys.shape[0]):
            row = self.weights.table.claim(keys[i])
            for j in range(starts[i], starts[i + 1]):
                self.weights.table.values[row * width + labels[j]] = values[j] * step

    def set_weights(
        self, const uint64_t[::1] keys not None, const float[::1] values not None
    ) -> None:
        """Use finished weights, in a level that is new otherwise."""
        cdef size_t width = self.weights.table.width
        cdef size_t row, j
        cdef Py_ssize_t i
        check(
            self.weights.table.keys.empty() and width > 0
            and <size_t>values.shape[0] == keys.shape[0] * width,
            "the weights of a level",
        )
        for i in range(values.shape[0]):
            check(
                isfinite(values[i]) and -LARGEST <= values[i] <= LARGEST,
                "the weights of a level",
            )
        for i in range(keys.shape[0]):
            row = self.weights.table.claim(keys[i])
            check(row == <size_t>i, "the weights of a level")
            for j in range(width):
                self.weights.table.values[row * width + j] = values[i * width + j]
