"""The cascade as users see it: fit, predict, measure, save and load."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.cascades import make_data
from spacy_dynsel.cascade.model import Cascade
from spacy_dynsel.cascade.settings import CascadeSettings, find_alpha
from spacy_dynsel.core.model_file import dump_model, load_model

# Levels that have little to learn from keep everything.
pytestmark = pytest.mark.filterwarnings("ignore:.*DW240")
SMALL = CascadeSettings(order=3, folds=3, epochs=3, final_epochs=4, epsilon=0.05)
TRAIN = make_data(150, 0)
TEST = make_data(60, 1)


@pytest.fixture(scope="module")
def cascade():
    return Cascade(SMALL).fit(*TRAIN)


def test_longer_grams_are_better():
    settings = CascadeSettings(
        order=4, folds=3, epochs=3, final_epochs=4, epsilon=0.05, every_order=True
    )
    results = Cascade(settings).fit(*TRAIN).measure(*TEST)
    assert [result["order"] for result in results] == [1, 2, 3, 4]
    assert results[0]["grams"] == 4
    assert results[3]["accuracy"] > results[0]["accuracy"] + 0.02
    assert results[3]["whole"] > results[0]["whole"] + 0.05
    assert results[3]["grams"] < 4**4 / 4
    assert all("loss" in result for result in results[:3])
    assert "loss" not in results[3]


def test_measure_says_what_predict_does(cascade):
    found = cascade.predict(*TEST[:3])
    *_, last = cascade.measure(*TEST)
    right = found.labels == TEST[3]
    assert last["accuracy"] == right.mean()
    ends = np.cumsum(TEST[2])
    assert last["whole"] == np.mean([part.all() for part in np.split(right, ends[:-1])])
    assert found.grams == [result["grams"] for result in cascade.measure(*TEST)]


@pytest.mark.parametrize("unit", ["position", "sequence"])
def test_what_is_lost(unit):
    settings = replace(SMALL, unit=unit)
    cascade = Cascade(settings).fit(*TRAIN)
    cascade.alpha = 0.6
    lost = cascade.find_lost(*TEST)
    assert 0 < lost.sum() < len(lost)
    # Nothing that was decoded was filtered.
    labels = cascade.predict(*TEST[:3]).labels
    assert not cascade.find_lost(*TEST[:3], labels).any()
    assert not cascade.find_lost(*TEST, alpha=[None, None]).any()
    assert cascade.find_lost(*TEST[:3], np.full(len(TEST[3]), -1)).sum() == 0
    results = cascade.measure(*TEST)
    if unit == "sequence":
        assert results[1]["loss"] == pytest.approx(lost.mean())
    else:
        assert 0 < results[0]["loss"] <= results[1]["loss"] < lost.mean()


@pytest.mark.parametrize("cliques", ["full", "states"])
@pytest.mark.parametrize("optimizer", ["perceptron", "adagrad"])
@pytest.mark.parametrize("final", ["perceptron", "hinge"])
@pytest.mark.parametrize("carry", ["folds", "whole"])
def test_settings_work_together(cliques, optimizer, final, carry):
    settings = CascadeSettings(
        order=3,
        folds=2,
        epochs=2,
        final_epochs=3,
        alphas=[0.25],
        cliques=cliques,
        optimizer=optimizer,
        final=final,
        carry=carry,
        eta=0.1 if optimizer == "adagrad" else 1.0,
        epsilon=0.05,
    )
    cascade = Cascade(settings).fit(*TRAIN)
    assert cascade.measure(*TEST)[-1]["accuracy"] > 0.85
    assert all(report.loss <= 0.05 for report in cascade.reports)


def test_what_is_carried_changes_the_levels_that_label_alone(cascade):
    settings = replace(SMALL, every_order=True)
    folds, whole = (
        Cascade(replace(settings, carry=carry)).fit(*TRAIN)
        for carry in ("folds", "whole")
    )
    assert whole.reports == folds.reports == cascade.reports
    # Before the first level there is nothing to carry.
    for order, is_same in ((1, True), (2, False), (3, False)):
        one, other = (
            cascade.predict(*TEST[:3], order=order, with_leads=True).leads
            for cascade in (folds, whole)
        )
        assert (one == other).all() == is_same
    assert whole.measure(*TEST)[-1]["accuracy"] > 0.85


def test_training_is_deterministic_and_files_keep_everything(cascade):
    data = cascade.to_bytes()
    assert Cascade(SMALL).fit(*TRAIN).to_bytes() == data
    loaded = Cascade.from_bytes(data)
    assert loaded.to_bytes() == data
    assert loaded.settings == SMALL
    assert loaded.reports == cascade.reports
    old, new = (one.predict(*TEST[:3], with_leads=True) for one in (cascade, loaded))
    assert (old.labels == new.labels).all()
    assert (old.leads == new.leads).all()
    assert old.grams == new.grams


def test_threads_give_the_same(cascade):
    one = cascade.predict(*TEST[:3], with_leads=True)
    for n_threads in (2, 5):
        more = cascade.predict(*TEST[:3], with_leads=True, n_threads=n_threads)
        assert (one.labels == more.labels).all()
        assert (one.leads == more.leads).all()
        assert one.grams == more.grams


def test_leads_are_a_confidence(cascade):
    found = cascade.predict(*TEST[:3], with_leads=True)
    right = found.labels == TEST[3]
    assert not right.all()
    assert np.median(found.leads[right]) > np.median(found.leads[~right])


def test_alpha_can_be_set_at_any_time(cascade):
    loaded = Cascade.from_bytes(cascade.to_bytes())
    grams = []
    for alpha in (None, 0.0, 0.5, 0.99):
        loaded.alpha = alpha
        assert loaded.alpha == [alpha, alpha]
        grams.append(loaded.predict(*TEST[:3]).grams)
    assert grams[0][2] > grams[1][2] > grams[2][2] > grams[3][2] >= 1
    loaded.alpha = [0.1, 0.2]
    assert Cascade.from_bytes(loaded.to_bytes()).alpha == [0.1, 0.2]


@pytest.mark.parametrize(
    "alpha", [1, 1.5, -0.1, float("nan"), float("inf"), "0.5", True, [0.5], [0, 1]]
)
def test_alphas_that_are_none(cascade, alpha):
    before = cascade.alpha
    with pytest.raises(ValueError, match="DS022"):
        cascade.alpha = alpha
    assert cascade.alpha == before
    if not isinstance(alpha, list):
        with pytest.raises(ValueError, match="DS022"):
            CascadeSettings(alphas=[alpha])


@pytest.mark.parametrize(
    "change",
    [
        {"order": 0},
        {"order": 6},
        {"order": 2.0},
        {"order": 2, "first_order": 3},
        {"cliques": "some"},
        {"optimizer": "sgd"},
        {"final": "crf"},
        {"unit": "word"},
        {"carry": "some"},
        {"pairs": "yes"},
        {"epsilon": float("nan")},
        {"epsilon": [0.1]},
        {"epsilon": -0.1},
        {"alphas": []},
        {"eta": 0},
        {"margin": float("nan")},
        {"epochs": 0},
        {"folds": 1},
        {"seed": -1},
    ],
)
def test_settings_that_are_none(change):
    with pytest.raises(ValueError, match=r"DS02[12]"):
        CascadeSettings(**{"order": 3, **change})


def test_empty_and_short_sequences(cascade):
    nothing = cascade.predict([], [0], [])
    assert len(nothing.labels) == 0
    assert nothing.grams == [0, 0, 0]
    found = cascade.predict([1, 5], [0, 2], [0, 1, 0], with_leads=True)
    assert found.labels.tolist() == [1]
    # Features that were never seen, and none at all.
    assert len(cascade.predict([2**32 - 1], [0, 1, 1], [2]).labels) == 2
    features, offsets, lengths, labels = TRAIN
    lengths = np.concatenate([[0], lengths, [0, 0]])
    fitted = Cascade(SMALL).fit(features, offsets, lengths, labels)
    assert fitted.measure(*TEST)[-1]["accuracy"] > 0.85


def test_partial_labels():
    features, offsets, lengths, labels = TRAIN
    some = np.where(np.random.default_rng(0).random(len(labels)) < 0.3, -1, labels)
    cascade = Cascade(SMALL).fit(features, offsets, lengths, some)
    assert cascade.measure(*TEST)[-1]["accuracy"] > 0.85


def test_groups_stay_together():
    """A copy of a sequence in another part of the data would be known there."""
    n = 200
    labels = np.random.default_rng(0).integers(0, 4, n)
    twice = (
        np.tile(np.arange(n), 2),
        np.arange(2 * n + 1),
        np.full(2 * n // 5, 5),
        np.tile(labels, 2),
    )
    settings = CascadeSettings(order=2, folds=2, final_epochs=1, epsilon=0.2)
    groups = np.tile(np.arange(n // 5), 2)
    apart = Cascade(settings).fit(*twice, groups).reports[0]
    # Groups of even numbers and of odd ones: copies are in two parts.
    mixed = Cascade(settings).fit(*twice, [*range(40), *range(1, 41)]).reports[0]
    assert mixed.kept < 0.3
    assert apart.kept > 0.7


@pytest.mark.parametrize(
    ("place", "value", "what"),
    [
        (0, [0.5], "features"),
        (0, [-1], "features"),
        (0, [2**32], "features"),
        (0, [[1]], "features"),
        (0, [1, 2], "offsets"),
        (1, [0], "offsets"),
        (1, [1, 1], "offsets"),
        (1, [0, 2], "offsets"),
        (2, [2], "lengths"),
        (2, [-1, 2], "lengths"),
        (3, [-2], "labels"),
        (3, [4095], "labels"),
        (3, ["a"], "labels"),
        (4, [0, 0], "groups"),
    ],
)
def test_arrays_that_are_no_sequences(place, value, what):
    arrays = [[1], [0, 1], [1], [0], [0]]
    arrays[place] = value
    with pytest.raises(ValueError, match=f"DS243.*'{what}'"):
        Cascade(SMALL).fit(*arrays)


def test_too_many_features_at_a_position():
    arrays = [np.zeros(2**16 + 1, "int64"), [0, 2**16 + 1], [1], [0]]
    with pytest.raises(ValueError, match=r"DS243.*65536"):
        Cascade().fit(*arrays)


def test_small_weights_are_dropped(cascade):
    settings = replace(cascade.settings, least_weight=0.5)
    small = Cascade(settings).fit(*TRAIN)
    assert len(small.to_bytes()) < len(cascade.to_bytes())
    for rows in small._rows.values():
        assert (np.abs(rows.values) * 2.0 ** (rows.shift - 16) >= 0.5).all()
    right = small.predict(*TEST[:3]).labels == TEST[3]
    assert right.mean() > 0.7


def test_later_levels_learn_from_more():
    """What is kept in use is the same as without: levels just learn from wider lattices."""
    settings = CascadeSettings(order=2, epsilon=0.05, epochs=2, final_epochs=2)
    first = Cascade(settings).fit(*TRAIN)
    wide = Cascade(replace(settings, learn_share=0.1)).fit(*TRAIN)
    assert wide.alpha == first.alpha
    assert wide.reports == first.reports
    assert wide.to_bytes() != first.to_bytes()


def test_nothing_to_learn_or_to_use(cascade):
    for arrays in (([], [0], [], []), ([1], [0, 1], [1], [-1])):
        with pytest.raises(ValueError, match="DS240"):
            Cascade(SMALL).fit(*arrays)
    for call in ("to_bytes", "predict"):
        with pytest.raises(ValueError, match="DS242"):
            getattr(Cascade(SMALL), call)(*(TEST[:3] if call == "predict" else ()))
    with pytest.raises(ValueError, match="DS241"):
        cascade.measure([1], [0, 1], [1], [4])
    with pytest.raises(ValueError, match="DS021"):
        cascade.predict(*TEST[:3], order=2)
    with pytest.raises(ValueError, match="DS022"):
        cascade.predict(*TEST[:3], n_threads=0)


def test_a_level_that_can_not_keep_its_promise_says_so():
    random = np.random.default_rng(0)
    n = 200
    arrays = (random.integers(0, 50, n), np.arange(n + 1), [n // 10] * 10)
    settings = CascadeSettings(order=2, folds=2, epochs=1, final_epochs=1, epsilon=0.0)
    with pytest.warns(UserWarning, match="DW240"):
        cascade = Cascade(settings).fit(*arrays, random.integers(0, 5, n))
    assert cascade.alpha == [None]
    assert cascade.reports[0].loss == 0
    assert cascade.predict(*arrays).grams == [5, (10 * 5 + 190 * 25) / 200]
    assert Cascade.from_bytes(cascade.to_bytes()).alpha == [None]


def test_alpha_is_the_largest_that_loses_no_more():
    limits = [0.1, 0.5, 0.2, 0.9, np.inf]
    for epsilon, n_lost in ((0.0, 0), (0.2, 1), (0.39, 1), (0.4, 2), (0.6, 3)):
        alpha = find_alpha(limits, epsilon)
        assert sum(limit < alpha for limit in limits) == n_lost
        assert sum(limit < alpha + 1e-6 for limit in limits) == n_lost + 1
    assert find_alpha([-np.inf, 0.5], 0.0) is None
    assert find_alpha([-0.1, 0.5], 0.0) is None
    assert 0.9 < find_alpha([np.inf], 0.0) < 1
    assert 0.9 < find_alpha([], 0.1) < 1


def change_file(data, change):
    meta, arrays = load_model(data)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(meta, arrays)
    return dump_model(meta, arrays)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda meta, arrays: meta.update(task="tagger"), "DS037"),
        (lambda meta, arrays: meta.pop("settings"), "DS035"),
        (lambda meta, arrays: meta["settings"].update(order=9), "DS035"),
        (lambda meta, arrays: meta["settings"].update(unknown=9), "DS035"),
        (lambda meta, arrays: meta.update(settings=[]), "DS035"),
        (lambda meta, arrays: meta.update(n_labels=0), "DS035"),
        (lambda meta, arrays: meta.update(n_labels=3), "DS035"),
        (lambda meta, arrays: meta.update(n_labels="4"), "DS035"),
        (lambda meta, arrays: meta.update(alphas=[0.1]), "DS035"),
        (lambda meta, arrays: meta.update(alphas=[0.1, 1.0]), "DS035"),
        (lambda meta, arrays: meta.update(alphas=7), "DS035"),
        (lambda meta, arrays: meta.update(reports=[]), "DS035"),
        (lambda meta, arrays: meta.pop("shifts"), "DS035"),
        (lambda meta, arrays: meta["shifts"].update(filter0=-1), "DS035"),
        (lambda meta, arrays: meta["shifts"].update(filter0=25), "DS035"),
        (lambda meta, arrays: meta["shifts"].pop("final3"), "DS035"),
        (lambda meta, arrays: arrays.pop("filter0_features"), "DS035"),
        (lambda meta, arrays: arrays.pop("final3_values"), "DS035"),
        (lambda meta, arrays: arrays["final3_values"].fill(0x7FFF), "DS035"),
        (lambda meta, arrays: arrays["final3_values"].fill(0x8000), "DS035"),
        (lambda meta, arrays: arrays["final3_labels"].fill(0), "DS035"),
        (lambda meta, arrays: arrays["final3_counts"].fill(0), "DS035"),
        (lambda meta, arrays: arrays["filter0_features"].fill(1), "DS035"),
        (lambda meta, arrays: arrays["final3_grams"].__ior__(0xF00), "DS035"),
        (lambda meta, arrays: arrays["final3_grams"].__ior__(7 << 60), "DS035"),
        (lambda meta, arrays: arrays["final3_grams"].__ior__(1 << 57), "DS035"),
    ],
)
def test_files_that_are_no_cascades(cascade, change, code):
    with pytest.raises(ValueError, match=code):
        Cascade.from_bytes(change_file(cascade.to_bytes(), change))


def test_damaged_files(cascade):
    data = bytearray(cascade.to_bytes())
    data[len(data) // 2] ^= 1
    with pytest.raises(ValueError, match="DS034"):
        Cascade.from_bytes(bytes(data))
    with pytest.raises(ValueError, match="DS030"):
        Cascade.from_bytes(b"pickle")
