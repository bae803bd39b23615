"""Lattices, max-marginals, filters and decoding equal a search through all paths."""

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.reference_cascade import (
    ReferenceCascade,
    context_key,
    feature_key,
    pair_key,
)
from spacy_dynsel.cascade.decoding import Decoder
from spacy_dynsel.cascade.levels import Lattices, Level, Sequences

N_FEATURES = 3


class Case(NamedTuple):
    reference: ReferenceCascade
    levels: list[Level]
    features: list[list[int]]
    sequences: Sequences
    gold: np.ndarray


def pack(features, labels):
    """One sequence."""
    return Sequences(
        np.array([key for keys in features for key in keys], dtype="uint32"),
        np.cumsum([0, *map(len, features)]).astype("int64"),
        np.array([len(features)], dtype="int64"),
        np.array(labels, dtype="int32"),
    )


def make_weights(random, n_labels, order):
    """Weights whose sums are exact. Some contexts have none."""
    keys = [0, *(feature_key(feature) for feature in range(N_FEATURES))]
    for n in range(1, order):
        contexts = product(range(n_labels + 1), repeat=n)
        keys += [context_key(labels) for labels in contexts]
    for label in range(n_labels + 1):
        keys += [pair_key(feature, label) for feature in range(N_FEATURES)]
    keys = [key for key in keys if random.random() < 0.8]
    return {key: random.integers(-8, 9, n_labels + 1) / 8 for key in keys}


@st.composite
def cases(draw, first_orders=(1, 2, 3, 4)):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_labels = draw(st.integers(1, 3))
    first_order = draw(st.sampled_from(first_orders))
    n_levels = draw(st.integers(1, 6 - first_order))
    by_state, pairs = draw(st.booleans()), draw(st.booleans())
    alphas = [draw(st.sampled_from([0.0, 0.3, 0.8])) for _ in range(n_levels - 1)]
    length = draw(st.integers(0, 5))
    features = [
        random.choice(N_FEATURES, random.integers(0, 3), replace=False).tolist()
        for _ in range(length)
    ]
    gold = random.integers(-1, n_labels, length)
    weights = [
        make_weights(random, n_labels, first_order + level) for level in range(n_levels)
    ]
    reference = ReferenceCascade(
        n_labels, first_order, weights, alphas, by_state=by_state, pairs=pairs
    )
    levels = []
    for rows in weights:
        level = Level(n_labels, by_state, pairs, False, 1, 0)
        level.set_weights(
            np.array(sorted(rows), dtype="uint64"),
            np.array([rows[key] for key in sorted(rows)], dtype="float32").reshape(-1),
        )
        levels.append(level)
    return Case(reference, levels, features, pack(features, gold), gold)


def list_grams(lattices):
    places, labels, scores = lattices.get_grams(0)
    return list(zip(places.tolist(), map(tuple, labels.tolist()), strict=True)), scores


@given(cases())
@settings(max_examples=60, deadline=None)
def test_max_marginals_and_filters_equal_a_search_through_all_paths(case):
    lattices = Lattices(1, case.reference.n_labels)
    lattices.start(case.sequences, case.reference.first_order)
    ids = np.zeros(1, dtype="int64")
    for i, expected in enumerate(case.reference.run(case.features)):
        level = case.levels[i]
        grams, _ = list_grams(lattices)
        gaps, is_best = level.get_gaps(case.sequences, lattices, 0)
        assert len(grams) == len(set(grams)) == lattices.count()
        assert dict(zip(grams, gaps.tolist(), strict=True)) == expected["grams"]
        path = tuple(
            gram[-1] for (_, gram), best in zip(grams, is_best, strict=True) if best
        )
        assert expected["scores"][path] == expected["best"]
        # The largest alpha that keeps a position's label.
        limits = np.empty(len(case.features))
        level.judge(case.sequences, lattices, ids, limits)
        for t, limit in enumerate(limits):
            agreeing = [
                gap
                for (place, gram), gap in expected["filtered"].items()
                if place == t
                and all(
                    place < 0 or case.gold[place] in (-1, label)
                    for place, label in zip(
                        range(t - len(gram) + 1, t + 1), gram, strict=True
                    )
                )
            ]
            gap = min(agreeing, default=np.inf)
            wanted = np.inf if gap == 0 else 1 - gap / (expected["mean"] or np.nan)
            assert limit == pytest.approx(-np.inf if np.isinf(gap) else wanted)
        if i < len(case.reference.alphas):
            alpha = case.reference.alphas[i]
            limit = (1 - alpha) * expected["mean"]
            assert level.count_kept(case.sequences, lattices, ids, alpha) == (
                len(expected["filtered"]),
                sum(gap <= limit for gap in expected["filtered"].values()),
            )
            following = Lattices(1, case.reference.n_labels)
            level.filter(case.sequences, lattices, ids, alpha, False, following)
            lattices = following


@given(cases())
@settings(max_examples=60, deadline=None)
def test_what_lattices_carry_is_what_levels_say(case):
    if case.reference.pairs and case.reference.first_order == 1:
        # Here, and never after learning, a level without labels before has such weights.
        return
    lattices = Lattices(1, case.reference.n_labels)
    lattices.start(case.sequences, case.reference.first_order)
    ids = np.zeros(1, dtype="int64")
    for i, level in enumerate(case.levels[:-1]):
        following = Lattices(1, case.reference.n_labels)
        level.filter(case.sequences, lattices, ids, 0.5, False, following)
        lattices = following
        grams, scores = list_grams(lattices)
        others = lattices.copy()
        for number, one in enumerate(case.levels[: i + 1]):
            one.carry(case.sequences, others, number == 0)
        found, sums = list_grams(others)
        assert found == grams
        assert sums.tolist() == scores.tolist() == list_grams(lattices)[1].tolist()


@given(cases())
@settings(max_examples=60, deadline=None)
def test_decoding_equals_a_search_through_all_paths(case):
    results = case.reference.run(case.features)
    alphas = case.reference.alphas
    first = case.reference.first_order
    decoder = Decoder(
        [level.pack() for level in case.levels],
        case.reference.n_labels,
        first,
        case.reference.by_state,
        case.reference.pairs,
    )
    labels, leads, counts = decoder.decode(case.sequences, alphas, True, 1)
    last = results[-1]
    assert last["scores"][tuple(labels.tolist())] == last["best"]
    assert counts.tolist() == [len(result["grams"]) for result in results]
    for t, lead in enumerate(leads):
        others = [
            score for path, score in last["scores"].items() if path[t] != labels[t]
        ]
        assert lead == last["best"] - max(others, default=-np.inf)
    plain, nothing, _ = decoder.decode(case.sequences, alphas, False, 2)
    assert nothing is None
    assert (plain == labels).all()


@given(cases(first_orders=(1, 2)), st.sampled_from([0.0, 0.9, 0.999]))
@settings(max_examples=60, deadline=None)
def test_the_truth_and_the_best_path_survive(case, alpha):
    """The truth, if it is asked for; the best path always."""
    lattices = Lattices(1, case.reference.n_labels)
    lattices.start(case.sequences, case.reference.first_order)
    ids = np.zeros(1, dtype="int64")
    for level in case.levels[:-1]:
        _, is_best = level.get_gaps(case.sequences, lattices, 0)
        grams, _ = list_grams(lattices)
        best = [gram[-1] for (_, gram), one in zip(grams, is_best, strict=True) if one]
        following = Lattices(1, case.reference.n_labels)
        level.filter(case.sequences, lattices, ids, alpha, True, following)
        grams, _ = list_grams(following)
        for t in range(len(case.features)):
            here = [gram for place, gram in grams if place == t]
            first = max(0, t + 1 - following.order)
            ends = [list(gram[len(gram) - (t + 1 - first) :]) for gram in here]
            assert best[first : t + 1] in ends
            assert any(
                all(
                    a in (-1, b)
                    for a, b in zip(case.gold[first : t + 1], end, strict=True)
                )
                for end in ends
            )
        lattices = following


@pytest.mark.parametrize("by_state", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.25])
def test_an_update_is_that_of_equation_9(by_state, order, alpha):
    """The weights of all n-grams of a sequence, after one step from weights that make all
    paths differ."""
    n_labels, length = 2, 4
    features = [[t] for t in range(length)]
    gold = (0, 1, 1, 0)
    sequences = pack(features, gold)
    # All paths differ, since labels of a position differ by powers of two.
    rows = {feature_key(t): np.array([0, 2.0**t, 0]) / 8 for t in range(length)}
    level = Level(n_labels, by_state, False, False, 1, 0)
    level.set_weights(
        np.array(sorted(rows), dtype="uint64"),
        np.array([rows[key] for key in sorted(rows)], dtype="float32").reshape(-1),
    )
    lattices = Lattices(1, n_labels)
    lattices.start(sequences, order)
    reference = ReferenceCascade(
        n_labels, order, [rows], [], by_state=by_state, pairs=False
    )
    [result] = reference.run(features)
    scores = result["scores"]
    assert len(set(scores.values())) == len(scores)
    size = order - 1 if by_state and order > 1 else order
    parts = dict.fromkeys(scores, 0.0)
    parts[gold] += 1
    parts[max(scores, key=scores.get)] -= alpha
    filtered = result["filtered"]
    for t, gram in filtered:
        through = [
            path
            for path in scores
            if ((n_labels,) * size + path)[t + 1 : t + 1 + size] == gram
        ]
        parts[max(through, key=scores.get)] -= (1 - alpha) / len(filtered)
    loss = level.learn_filter(
        sequences, lattices, np.zeros(1, dtype="int64"), alpha, 1.0
    )
    threshold = result["best"] - (1 - alpha) * result["mean"]
    assert loss == pytest.approx(length + threshold - scores[gold])
    assert loss > 0
    keys, values = level.get_weights()
    found = dict(zip(keys.tolist(), values, strict=True))
    for t in range(length):
        for label in range(n_labels):
            moved = sum(part for path, part in parts.items() if path[t] == label)
            assert found[feature_key(t)][label] - rows[feature_key(t)][
                label
            ] == pytest.approx(moved, abs=1e-6)
    for gram in product(range(n_labels), repeat=order - 1):
        moved = sum(
            part for path, part in parts.items() if path[length + 1 - order :] == gram
        )
        if order > 1:
            row = found.get(context_key(gram), np.zeros(n_labels + 1))
            assert row[n_labels] == pytest.approx(moved, abs=1e-6)


def test_labels_that_are_known_in_part_are_learned():
    """What is not known may be anything: nothing pulls it."""
    sequences = pack([[0], [1], [0]], [1, -1, -1])
    level = Level(2, False, False, False, 1, 0)
    lattices = Lattices(1, 2)
    lattices.start(sequences, 2)
    for _ in range(20):
        level.learn_labels(sequences, lattices, np.zeros(1, dtype="int64"), 0.0)
    level.finish()
    labels, _, _ = Decoder([level.pack()], 2, 2, False, False).decode(
        sequences, [], False, 1
    )
    assert labels[0] == 1


def test_a_long_sequence():
    """100,000 positions: sums stay exact, and memory is that of survivors."""
    n = 100_000
    random = np.random.default_rng(0)
    gold = random.integers(0, 5, n)
    sequences = pack([[label] for label in gold.tolist()], gold)
    levels = []
    for _ in range(3):
        level = Level(5, False, False, False, 1, 0)
        keys = np.array([feature_key(label) for label in range(5)], dtype="uint64")
        values = np.zeros((5, 6), dtype="float32")
        np.fill_diagonal(values, 1000.125)
        level.set_weights(keys, values.reshape(-1))
        levels.append(level)
    decoder = Decoder([level.pack() for level in levels], 5, 1, False, False)
    labels, leads, counts = decoder.decode(sequences, [0.5, 0.5], True, 1)
    assert (labels == gold).all()
    assert counts.tolist() == [5 * n, n, n]
    assert np.isinf(leads).all()
