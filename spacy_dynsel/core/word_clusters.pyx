"""Classes of words that are found in raw text; see word_clusters.hpp."""
from libc.stdint cimport int64_t
from libcpp cimport bool as cbool
from libcpp.pair cimport pair
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

import numpy as np

from ..base.errors import Errors

from .typedefs cimport uint32_t, uint64_t

cdef extern from "word_clusters.hpp" namespace "dynsel" nogil:
    cdef cppclass Neighbours:
        vector[int64_t] starts
        vector[uint32_t] words
        vector[uint32_t] counts

    cdef cppclass Exchange:
        void set_up(
            int n_free, int n_classes, vector[uint32_t] classes, vector[int64_t] counts,
            Neighbours right, Neighbours left
        ) except +
        int64_t sweep(int n_threads) except +
        double likelihood()
        const vector[uint32_t]& classes()
        int width()
        const vector[int64_t]& rows()
        const vector[int64_t]& totals()

    cdef cppclass Merging:
        void set_up(
            int n_classes, int width, vector[int64_t] bigrams, vector[int64_t] totals
        ) except +
        cbool run(int n_threads, vector[pair[int, int]]& merges) except +

    cdef cppclass Counter:
        Counter()
        Counter(size_t most)
        void add(uint64_t key) except +
        size_t size()
        void list(
            uint32_t least, vector[uint64_t]& keys, vector[uint32_t]& counts
        ) except +

cdef enum:
    MAX_WORDS_C = 1 << 24
    MAX_CLASSES_C = 4096

MAX_WORDS = MAX_WORDS_C
MAX_CLASSES = MAX_CLASSES_C
# Of a class that no word can leave or join: line ends, and words that are too rare.
N_FIXED = 2


cdef class KeyCounter:
    """Counts keys, such as the string IDs of words, in bounded memory.

    most (int): How many different keys to keep at most.
    """
    cdef Counter _counter

    def __init__(self, size_t most=1 << 24):
        self._counter = Counter(most)

    def __len__(self) -> int:
        return self._counter.size()

    def add(self, const uint64_t[::1] keys not None) -> None:
        cdef Py_ssize_t i
        with nogil:
            for i in range(keys.shape[0]):
                self._counter.add(keys[i])

    def get(self, uint32_t min_count) -> tuple:
        """The keys that came up so often, the most frequent first, and their counts."""
        cdef vector[uint64_t] found_keys
        cdef vector[uint32_t] found_counts
        self._counter.list(min_count, found_keys, found_counts)
        keys = np.array(found_keys, dtype="uint64")
        counts = np.array(found_counts, dtype="uint32")
        order = np.lexsort((keys, -counts.astype("int64")))
        return keys[order], counts[order]


cdef class PairCounter:
    """Counts pairs of neighbours among some words.

    words (array): The string IDs of the words, which have the numbers 0, 1, ... All
        others are one word, the last number; lines end with the number before it.
    """
    cdef unordered_map[uint64_t, uint32_t] _numbers
    cdef Counter _pairs
    cdef uint64_t _end
    cdef uint64_t _rare

    def __init__(self, const uint64_t[::1] words not None, size_t most=1 << 27):
        cdef Py_ssize_t i
        self._pairs = Counter(most)
        for i in range(words.shape[0]):
            self._numbers[words[i]] = <uint32_t>i
        self._end = words.shape[0]
        self._rare = self._end + 1

    def add(self, const uint64_t[::1] line not None) -> None:
        """Count the pairs of a line."""
        cdef Py_ssize_t i
        cdef uint64_t last = self._end
        cdef uint64_t number
        with nogil:
            for i in range(line.shape[0]):
                number = self._rare
                if self._numbers.count(line[i]):
                    number = self._numbers[line[i]]
                self._pairs.add(last << 32 | number)
                last = number
            if line.shape[0]:
                self._pairs.add(last << 32 | self._end)

    def get(self) -> tuple:
        """The first and the second words of all pairs, in order, and their counts."""
        cdef vector[uint64_t] found_keys
        cdef vector[uint32_t] found_counts
        self._pairs.list(1, found_keys, found_counts)
        keys = np.array(found_keys, dtype="uint64")
        order = np.argsort(keys)
        keys = keys[order]
        firsts = (keys >> np.uint64(32)).astype("uint32")
        seconds = keys.astype("uint32")
        return firsts, seconds, np.array(found_counts, dtype="uint32")[order]


cdef class WordExchange:
    """Finds classes of words by exchange, and a tree of the classes by merging.

    n_classes (int): How many classes to find.
    classes (array): Where words start, the most frequent first; their last N_FIXED are
        the end of a line and all rare words, and stay alone.
    firsts (array), seconds (array), counts (array): The pairs, see PairCounter.
    """
    cdef Exchange _exchange
    cdef readonly int n_classes

    def __init__(
        self, int n_classes, classes not None, firsts not None, seconds not None,
        counts not None,
    ):
        n_words = len(classes)
        if (
            not 1 <= n_classes <= MAX_CLASSES
            or not n_classes + N_FIXED <= n_words <= MAX_WORDS
            or not len(firsts) == len(seconds) == len(counts)
            or max(np.max(firsts, initial=0), np.max(seconds, initial=0)) >= n_words
            or np.max(classes[:-N_FIXED]) >= n_classes
        ):
            raise ValueError(Errors.DS216.format(what="words and their classes"))
        self.n_classes = n_classes
        own = np.asarray(classes, dtype="uint32").copy()
        own[-N_FIXED:] = n_classes + np.arange(N_FIXED)
        # How often a word comes first; each comes second as often.
        totals = np.bincount(firsts, weights=counts, minlength=n_words).astype("int64")
        self._exchange.set_up(
            n_words - N_FIXED,
            n_classes,
            fill(own),
            fill_long(totals),
            make_neighbours(firsts, seconds, counts, n_words),
            make_neighbours(seconds, firsts, counts, n_words),
        )

    def sweep(self, int n_threads) -> int:
        """Let each word go where it is best. RETURNS (int): How many have moved."""
        cdef int64_t n_moved
        if n_threads < 1:
            raise ValueError(Errors.DS216.format(what="a number of threads"))
        with nogil:
            n_moved = self._exchange.sweep(n_threads)
        if n_moved < 0:
            raise MemoryError
        return n_moved

    @property
    def likelihood(self) -> float:
        """What exchange raises."""
        return self._exchange.likelihood()

    @property
    def classes(self) -> np.ndarray:
        return np.array(self._exchange.classes(), dtype="uint32")

    def find_paths(self, int n_threads) -> np.ndarray:
        """The path of each class in a binary tree, the first branching in the lowest
        bit. No path is the start of another."""
        cdef Merging merging
        cdef vector[pair[int, int]] merges
        cdef cbool is_done
        if n_threads < 1:
            raise ValueError(Errors.DS216.format(what="a number of threads"))
        merging.set_up(
            self.n_classes, self._exchange.width(), self._exchange.rows(),
            self._exchange.totals(),
        )
        with nogil:
            is_done = merging.run(n_threads, merges)
        if not is_done:
            raise MemoryError
        paths = np.zeros(self.n_classes, dtype="uint32")
        members = {i: [i] for i in range(self.n_classes)}
        # From the leaves upwards, each branching becomes the new lowest bit.
        for stays, joins in merges:
            paths[members[stays]] <<= 1
            paths[members[joins]] = paths[members[joins]] << 1 | 1
            members[stays] += members.pop(joins)
        return paths


cdef vector[uint32_t] fill(const uint32_t[::1] values):
    cdef vector[uint32_t] filled
    cdef Py_ssize_t i
    filled.reserve(values.shape[0])
    for i in range(values.shape[0]):
        filled.push_back(values[i])
    return filled


cdef vector[int64_t] fill_long(const int64_t[::1] values):
    cdef vector[int64_t] filled
    cdef Py_ssize_t i
    filled.reserve(values.shape[0])
    for i in range(values.shape[0]):
        filled.push_back(values[i])
    return filled


cdef Neighbours make_neighbours(words, others, counts, n_words):
    cdef Neighbours side
    order = np.lexsort((others, words))
    starts = np.zeros(n_words + 1, dtype="int64")
    np.cumsum(np.bincount(words, minlength=n_words), out=starts[1:])
    side.starts = fill_long(starts)
    side.words = fill(np.ascontiguousarray(others[order], dtype="uint32"))
    side.counts = fill(np.ascontiguousarray(counts[order], dtype="uint32"))
    return side
