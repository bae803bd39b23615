"""Margins that keep what they promise."""

import math
from pathlib import Path

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_dynsel.cli.calibrate import calibrate
from spacy_dynsel.ordering.calibration import (
    Outcome,
    bound_loss,
    count_needed,
    find_path,
    follow,
    lower_rate,
    one_margin,
    upper_rate,
)


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_binomial_bounds(data):
    n = data.draw(st.integers(1, 60))
    count = data.draw(st.integers(0, n))
    alpha = data.draw(st.floats(0.01, 0.4))

    def at_most(k, p):
        return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))

    upper, lower = upper_rate(count, n, alpha), lower_rate(count, n, alpha)
    assert lower <= count / n <= upper
    if count < n:
        assert at_most(count, upper) == pytest.approx(alpha, rel=1e-6)
    if count:
        assert 1 - at_most(count - 1, lower) == pytest.approx(alpha, rel=1e-6)


def test_number_of_units_needed():
    for max_loss, alpha in ((0.001, 0.05), (0.01, 0.01)):
        n = count_needed(max_loss, alpha)
        assert bound_loss(0, 0, n, alpha) <= max_loss < bound_loss(0, 0, n - 1, alpha)


N_UNITS = 8000


class World:
    """Units that are lost more often the smaller the margin is: how often is known,
    and so is whether a promise is kept."""

    def __init__(self, rng, n, max_loss, n_knobs):
        self.n = n
        self.max_loss = max_loss
        self.hardness = rng.random((n, n_knobs))
        self.luck = rng.random((n, n_knobs))
        self.full = rng.random(n) < 0.9

    @staticmethod
    def rates(factors, max_loss):
        """How often a knob makes a unit wrong, and right."""
        # Many margins are close to the limit, and one is just beyond it.
        worse = 1.02 / 0.9 / len(factors) * max_loss / np.sqrt(factors)
        return worse / 0.9, worse / 10 / 0.1

    def true_loss(self, factors):
        worse, better = self.rates(factors, self.max_loss)
        # A unit changes if any knob changes it.
        return float(0.9 * (1 - np.prod(1 - worse)) - 0.1 * (1 - np.prod(1 - better)))

    def __call__(self, factors):
        worse, better = self.rates(factors, self.max_loss)
        lost = (self.hardness < worse).any(axis=1)
        gained = (self.luck < better).any(axis=1)
        right = np.where(self.full, ~lost, gained)
        return Outcome(right, float(np.sum(factors)))


@pytest.mark.parametrize("n_knobs", [1, 2])
def test_promise_is_kept(n_knobs):
    """In at least the stated share of the cases, the true loss is below the bound,
    though dozens of margins are looked at; and margins are not just left open."""
    rng = np.random.default_rng(n_knobs)
    n_runs, max_loss, alpha = 200, 0.01, 0.1
    n_broken = n_useful = 0
    for _ in range(n_runs):
        world = World(rng, N_UNITS, max_loss, n_knobs)
        path = one_margin(n_knobs)
        if n_knobs > 1:
            seen = World(rng, N_UNITS, max_loss, n_knobs)
            path = find_path(seen, seen.full, n_knobs, max_loss)
        verdict = follow(path, world, world.full, max_loss, alpha)
        if verdict is not None:
            n_broken += world.true_loss(verdict.factors) > max_loss
            n_useful += min(verdict.factors) < 3
    assert n_broken / n_runs <= alpha
    assert n_useful / n_runs > 0.9


def test_a_point_estimate_would_break_it():
    """The simulation can fail: margins chosen by their measured loss do."""
    rng = np.random.default_rng(0)
    n_broken = 0
    for _ in range(100):
        world = World(rng, N_UNITS, 0.01, 1)
        chosen = None
        for factors in one_margin(1):
            right = world(factors).right
            if world.full.mean() - right.mean() > 0.01:
                break
            chosen = factors
        n_broken += chosen is not None and world.true_loss(chosen) > 0.01
    assert n_broken > 20


LABELS = "XYZ"


def make_docs(nlp, n):
    """Words whose label is their last letter, but for one in eight."""
    rng = np.random.default_rng(n)
    docs = []
    for _ in range(n):
        words = [
            f"{chr(97 + rng.integers(26))}{chr(97 + rng.integers(26))}{end}"
            for end in rng.choice(list("xyz"), 10)
        ]
        tags = [
            word[-1].upper() if rng.random() > 0.125 else LABELS[rng.integers(3)]
            for word in words
        ]
        doc = Doc(
            nlp.vocab,
            words=words,
            tags=tags,
            pos=["X"] * len(tags),
            morphs=[f"Kind={tag}" for tag in tags],
            heads=[max(0, i - 1 - (tag == "X")) for i, tag in enumerate(tags)],
            deps=[f"d{tag}" if i else "ROOT" for i, tag in enumerate(tags)],
        )
        doc.set_ents([Span(doc, i, i + 1, label=tags[i]) for i in range(0, 10, 2)])
        docs.append(doc)
    return docs


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A pipeline of several components, and data that it has not seen."""
    nlp = spacy.blank("en")
    for name in ("dynsel_tagger", "dynsel_morphologizer", "dynsel_ner"):
        nlp.add_pipe(name)
    nlp.add_pipe("dynsel_parser", config={"model": {"folds": 0}, "branches": 0})
    examples = [
        Example(Doc(nlp.vocab, [t.text for t in doc]), doc)
        for doc in make_docs(nlp, 100)
    ]
    nlp.initialize(lambda: examples)
    for _ in range(4):
        nlp.update(examples)
    folder = tmp_path_factory.mktemp("trained")
    nlp.to_disk(folder / "nlp")
    DocBin(docs=make_docs(nlp, 150)).to_disk(folder / "data.spacy")
    return folder


@pytest.mark.parametrize(
    "name", ["dynsel_tagger", "dynsel_morphologizer", "dynsel_ner", "dynsel_parser"]
)
def test_components(name, trained):
    path = trained / "nlp"
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    # Heads are hard here, so that many decisions change.
    result = calibrate(path, trained / "data.spacy", max_loss=3, name=name)
    component = spacy.load(path).get_pipe(name)
    for setting, value in result["margins"].items():
        assert getattr(component, setting) == (
            math.inf if value == "inf" else pytest.approx(value)
        )
    assert result["bound"] <= 3
    assert result["templates"] < result["all_templates"]
    changed = {file for file, data in before.items() if file.read_bytes() != data}
    assert changed <= {path / name / "cfg", path / "meta.json"}
    assert not list(path.rglob("*.part"))


def test_dry_run_writes_nothing(trained):
    cfg = trained / "nlp" / "dynsel_tagger" / "cfg"
    before = cfg.read_bytes()
    calibrate(trained / "nlp", trained / "data.spacy", max_loss=5, dry_run=True)
    assert cfg.read_bytes() == before


def test_bad_input(trained, tmp_path):
    path, data = trained / "nlp", trained / "data.spacy"
    for change, code in (
        ({"max_loss": 0.1, "confidence": 0.999}, "DS136"),
        ({"max_loss": 0.0}, "DS022"),
        ({"confidence": 1.0}, "DS022"),
        ({"name": "nobody"}, "DS134"),
    ):
        with pytest.raises(ValueError, match=code):
            calibrate(path, data, **change)
    with pytest.raises(ValueError, match="DS137"):
        calibrate(tmp_path, data)
    bare = tmp_path / "bare.spacy"
    DocBin(docs=[Doc(spacy.blank("en").vocab, words=["a"])]).to_disk(bare)
    with pytest.raises(ValueError, match="DS135"):
        calibrate(path, bare)


def test_real_tagger_is_found_by_default(trained):
    result = calibrate(
        Path(trained / "nlp"), trained / "data.spacy", max_loss=5, per_stage=False
    )
    assert list(result["margins"]) == ["margin"]
