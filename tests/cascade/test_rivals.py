"""What cascades are compared with: exact search and probabilities."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from helpers.cascades import make_data
from spacy_dynsel.cascade.decoding import Decoder
from spacy_dynsel.cascade.levels import Lattices
from spacy_dynsel.cascade.model import Cascade, read_sequences
from spacy_dynsel.cascade.rivals import (
    MOST_LABELS,
    TrigramModel,
    find_probabilities,
    find_scores,
    learn_probabilities,
)
from spacy_dynsel.cascade.settings import CascadeSettings
from spacy_dynsel.cascade.training import make_level

TRAIN = make_data(80, 0)
TEST = make_data(40, 1)
SETTINGS = CascadeSettings(order=3, cliques="states", folds=2)


def add_constant(data):
    """A feature that all positions have: the bias of a cascade."""
    features, _, lengths, labels = data
    rows = features.reshape(len(labels), 2)
    with_one = np.column_stack([np.full(len(labels), 99), rows]).reshape(-1)
    return with_one, np.arange(0, len(with_one) + 1, 3), lengths, labels


@pytest.mark.parametrize("final", ["perceptron", "hinge"])
def test_full_model_is_a_cascade_that_filters_nothing(final):
    settings = replace(
        SETTINGS, first_order=3, epsilon=0.0, final=final, final_epochs=3
    )
    cascade = Cascade(settings).fit(*TRAIN)
    model = TrigramModel(4)
    sequences = read_sequences(*add_constant(TRAIN))
    random = np.random.default_rng(0)
    for _ in range(3):
        cost = 1.0 if final == "hinge" else 0.0
        model.learn(sequences, random.permutation(len(sequences)), cost)
    model.finish()
    found = model.predict(read_sequences(*add_constant(TEST)))
    assert (found == cascade.predict(*TEST[:3]).labels).all()
    assert (found == TEST[3]).mean() > 0.9
    # Its own weights, in the lattices of a cascade.
    level = make_level(settings, 4)
    level.set_weights(*model.get_weights())
    level.tidy()
    decoder = Decoder([level.pack()], 4, 3, True, False)
    data = read_sequences(*add_constant(TEST))
    assert (found == decoder.decode(data, [], False, 1)[0]).all()


def test_full_model_of_long_and_short_sequences():
    model = TrigramModel(4)
    sequences = read_sequences(*TRAIN)
    for _ in range(3):
        model.learn(sequences, np.arange(len(sequences)), 0.0)
    model.finish()
    features, offsets, _, labels = TEST
    joined = np.array([0, len(labels) - 2, 0, 1, 1, 0])
    found = model.predict(read_sequences(features, offsets, joined, labels))
    assert (found == labels).mean() > 0.7
    nothing = np.empty(0, dtype="int64")
    assert len(model.predict(read_sequences(nothing, [0], nothing, nothing))) == 0


def test_full_model_refuses_what_it_cannot_learn():
    for n_labels in (0, -1, MOST_LABELS + 1):
        with pytest.raises(ValueError, match="DS216"):
            TrigramModel(n_labels)
    sequences = read_sequences(*TRAIN)
    unknown = read_sequences(*TRAIN[:3], np.where(TRAIN[3] == 0, -1, TRAIN[3]))
    model = TrigramModel(4)
    for data, ids in ((sequences, [len(sequences)]), (sequences, [-1]), (unknown, [0])):
        with pytest.raises(ValueError, match="DS216"):
            model.learn(data, np.array(ids), 0.0)
    with pytest.raises(ValueError, match="DS216"):
        TrigramModel(2).learn(sequences, np.array([0]), 0.0)


def make_lattices(sequences, order):
    lattices = Lattices(len(sequences), 4)
    lattices.start(sequences, order)
    return lattices


def test_probabilities():
    sequences = read_sequences(*TRAIN)
    level = make_level(replace(SETTINGS, optimizer="adagrad", eta=0.3), 4)
    everything = np.arange(len(sequences))
    losses = [
        learn_probabilities(level, sequences, make_lattices(sequences, 2), everything)
        for _ in range(3)
    ]
    assert losses == sorted(losses, reverse=True)
    sequences = read_sequences(*TEST)
    lattices = make_lattices(sequences, 2)
    slow = find_scores(level, sequences, lattices, True)
    assert slow == pytest.approx(find_probabilities(level, sequences), abs=1e-3)
    assert slow.sum(axis=1) == pytest.approx(1)
    assert (slow.argmax(axis=1) == TEST[3]).mean() > 0.85
    # The same by all paths of a short sequence, one after the other.
    short = np.flatnonzero(TEST[2] == 3)[0]
    weights = dict(zip(*level.get_weights(), strict=True))
    nothing = np.zeros(5)
    expected = np.zeros((3, 4))
    start = sequences.bounds[short]
    for path in product(range(4), repeat=3):
        total = float(weights.get(1 << 60 | path[-1], nothing)[4])
        for t, label in enumerate(path):
            keys = TEST[0][2 * (start + t) : 2 * (start + t) + 2]
            before = path[t - 1] if t else 4
            for key in (0, 1 << 60 | before, *(5 << 60 | int(key) for key in keys)):
                total += float(weights.get(key, nothing)[label])
        expected[np.arange(3), path] += np.exp(total)
    expected /= expected.sum(axis=1, keepdims=True)
    assert slow[start : start + 3] == pytest.approx(expected, abs=1e-3)


def test_scores_are_the_thresholds_that_keep_a_label():
    settings = replace(SETTINGS, order=2, epsilon=0.05, epochs=2)
    cascade = Cascade(settings).fit(*TRAIN)
    sequences = read_sequences(*TEST)
    lattices = make_lattices(sequences, 1)
    level = cascade._get_level("filter0")
    scores = find_scores(level, sequences, lattices, False)
    limits = np.empty(sequences.n_positions)
    everything = np.arange(len(sequences))
    level.judge(sequences, lattices, everything, limits)
    assert scores[np.arange(len(limits)), TEST[3]].tolist() == limits.tolist()
    _, kept = level.count_kept(sequences, lattices, everything, 0.4)
    assert kept == (scores >= 0.4).sum()


@pytest.mark.filterwarnings("ignore:.*DW240")
@pytest.mark.parametrize("first_order", [1, 2, 3])
def test_labels_that_are_allowed(first_order):
    settings = CascadeSettings(
        order=3,
        first_order=first_order,
        folds=2,
        epochs=2,
        epsilon=[0.05] * (3 - first_order),
    )
    plain = Cascade(settings).fit(*TRAIN)
    same = Cascade(settings).fit(*TRAIN, allowed=np.ones((len(TRAIN[3]), 4)))
    assert same.to_bytes() == plain.to_bytes()
    allowed = np.random.default_rng(0).random((len(TEST[3]), 4)) < 0.5
    allowed[np.arange(len(allowed)), TEST[3]] = True
    found = plain.predict(*TEST[:3], allowed=allowed)
    assert allowed[np.arange(len(allowed)), found.labels].all()
    assert found.grams[0] < plain.predict(*TEST[:3]).grams[0]
    results = plain.measure(*TEST, allowed=allowed)
    assert [result["grams"] for result in results] == found.grams
    assert results[-1]["accuracy"] > plain.measure(*TEST)[-1]["accuracy"]
    one = np.eye(4, dtype=bool)[TEST[3]]
    assert (plain.predict(*TEST[:3], allowed=one).labels == TEST[3]).all()
    for wrong, code in (
        (one[1:], "DS243"),
        (one * 0, "DS243"),
        (np.ones((len(one), 5)), "DS241"),
        (np.ones((len(one), 4, 1)), "DS243"),
    ):
        with pytest.raises(ValueError, match=code):
            plain.predict(*TEST[:3], allowed=wrong)
