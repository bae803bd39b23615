"""Classes of words: exchange and merging beside a slow reference."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_dynsel.core.word_clusters import (
    N_FIXED,
    KeyCounter,
    PairCounter,
    WordExchange,
)


def get_likelihood(classes, pairs):
    """The definition."""
    bigrams, firsts = {}, {}
    for first, second, count in pairs:
        key = classes[first], classes[second]
        bigrams[key] = bigrams.get(key, 0) + count
        firsts[key[0]] = firsts.get(key[0], 0) + count
    return sum(n * math.log(n) for n in bigrams.values()) - 2 * sum(
        n * math.log(n) for n in firsts.values()
    )


def count(lines, n_words):
    counter = PairCounter(np.arange(n_words, dtype="uint64"))
    for line in lines:
        counter.add(np.array(line, dtype="uint64"))
    return counter.get()


def start(n_words, n_classes):
    return np.arange(n_words + N_FIXED, dtype="uint32") % n_classes


LINES = st.lists(st.lists(st.integers(0, 13), min_size=1, max_size=8), min_size=1)


def test_keys_are_counted():
    counter = KeyCounter()
    counter.add(np.array([3, 5, 3, 9, 5, 3], dtype="uint64"))
    keys, counts = counter.get(2)
    assert keys.tolist() == [3, 5]
    assert counts.tolist() == [3, 2]
    assert len(counter) == 3


def test_rare_keys_go_where_there_is_no_room():
    counter = KeyCounter(100)
    for i in range(1000):
        counter.add(np.array([7, 8, 1000 + i], dtype="uint64"))
    keys, _ = counter.get(100)
    assert keys.tolist() == [7, 8]
    assert len(counter) <= 101


@given(LINES)
@settings(max_examples=50, deadline=None)
def test_pairs_are_counted(lines):
    expected = {}
    for line in lines:
        # Beyond the words there are the end of a line, 10, and rare words, 11.
        numbers = [10, *(11 if word >= 10 else word for word in line), 10]
        for pair in pairwise(numbers):
            expected[pair] = expected.get(pair, 0) + 1
    firsts, seconds, counts = count(lines, 10)
    found = zip(firsts.tolist(), seconds.tolist(), strict=True)
    assert dict(zip(found, counts.tolist(), strict=True)) == expected


@given(LINES, st.integers(2, 5))
@settings(max_examples=50, deadline=None)
def test_exchange_raises_the_likelihood_and_threads_do_not_matter(lines, n_classes):
    pairs = count(lines, 10)
    triples = list(zip(*(one.tolist() for one in pairs), strict=True))
    one = WordExchange(n_classes, start(10, n_classes), *pairs)
    other = WordExchange(n_classes, start(10, n_classes), *pairs)
    last = one.likelihood
    for _ in range(5):
        n_moved = one.sweep(1)
        assert other.sweep(3) == n_moved
        assert one.classes.tolist() == other.classes.tolist()
        expected = get_likelihood(one.classes.tolist(), triples)
        assert one.likelihood == pytest.approx(expected)
        assert one.likelihood >= last - 1e-6
        last = one.likelihood
    # No class is left empty, and nothing moves into those of line ends and rare words.
    assert set(one.classes.tolist()) == set(range(n_classes + N_FIXED))
    assert one.find_paths(1).tolist() == other.find_paths(2).tolist()


@given(LINES)
@settings(max_examples=30, deadline=None)
def test_the_first_merging_costs_least(lines):
    pairs = count(lines, 10)
    triples = list(zip(*(one.tolist() for one in pairs), strict=True))
    exchange = WordExchange(4, start(10, 4), *pairs)
    exchange.sweep(1)
    classes = exchange.classes.tolist()

    def merge(a, b):
        return get_likelihood([a if c == b else c for c in classes], triples)

    best = max(merge(a, b) for a, b in combinations(range(4), 2))
    paths = exchange.find_paths(1).tolist()
    texts = [f"{path:024b}"[::-1] for path in paths]

    def shared(a, b):
        return next(i for i in range(25) if texts[a][i] != texts[b][i])

    # Two that were merged first part last.
    deepest = max(shared(a, b) for a, b in combinations(range(4), 2))
    firsts = [p for p in combinations(range(4), 2) if shared(*p) == deepest]
    assert any(merge(*pair) == pytest.approx(best) for pair in firsts) or deepest == 1


def test_classes_by_construction():
    """Words of three kinds, which follow one another in turns."""
    rng = np.random.default_rng(0)
    kinds = np.arange(30) % 3
    members = [np.flatnonzero(kinds == kind) for kind in range(3)]
    lines = [
        [rng.choice(members[kind]) for kind in (0, 1, 2, 0, 1)] for _ in range(2000)
    ]
    # The worst start: words of one kind are in all classes.
    begin = (np.arange(30 + N_FIXED, dtype="uint32") // 3) % 3
    exchange = WordExchange(3, begin, *count(lines, 30))
    while exchange.sweep(2):
        pass
    found = exchange.classes[:-N_FIXED]
    assert len({(kind, int(c)) for kind, c in zip(kinds, found, strict=True)}) == 3


def test_paths_are_short_and_no_start_of_another():
    """Words of falling frequency would make a tree like a comb."""
    lines = [[i] * 2 for i in range(60) for _ in range(1 + i * i)]
    exchange = WordExchange(60, start(60, 60), *count(lines, 60))
    paths = exchange.find_paths(1)
    assert len(set(paths.tolist())) == 60
    assert int(paths.max()) < 1 << 24


@pytest.mark.parametrize(
    ("n_classes", "n_words"), [(0, 5), (4, 5), (1 << 20, 5), (2, 2)]
)
def test_senseless_sizes(n_classes, n_words):
    pairs = [np.zeros(1, dtype="uint32")] * 3
    with pytest.raises(ValueError, match="DS216"):
        WordExchange(n_classes, np.zeros(n_words, dtype="uint32"), *pairs)
    with pytest.raises(ValueError, match="DS216"):
        WordExchange(2, np.zeros(6, dtype="uint32"), *pairs).sweep(0)
