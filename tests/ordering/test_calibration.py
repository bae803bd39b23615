"""Margins that keep what they promise."""

import math
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_dynsel.cli.calibrate import calibrate
from spacy_dynsel.ordering.calibration import (
    Outcome,
    find_path,
    follow,
    one_margin,
    skip_failing,
)

N_GROUPS = 8000


class World:
    """Words that are lost more often the smaller the margin is: how often is known,
    and so is whether a promise is kept.

    length (int): That of sentences, of which all words share a fate.
    """

    def __init__(self, rng, n, max_loss, n_knobs, length=1):
        self.max_loss = max_loss
        self.groups = np.arange(n) // length
        self.hardness = rng.random((n // length, n_knobs))[self.groups]
        self.luck = rng.random((n // length, n_knobs))[self.groups]
        self.full = (rng.random(n // length) < 0.9).astype("int8")[self.groups]

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
        judged = np.where(self.full == 1, ~lost, gained).astype("int8")
        return Outcome(judged, float(np.sum(factors)))


def count_broken(rng, n_knobs, length, n_groups=N_GROUPS, *, by_words, n_runs=100):
    """RETURNS (tuple): How often a promise is broken, and how often margins are not just
    left open."""
    max_loss, alpha = 0.01, 0.1
    n_broken = n_useful = 0
    for _ in range(n_runs):
        world = World(rng, n_groups * length, max_loss, n_knobs, length)
        path = one_margin(n_knobs)
        if n_knobs > 1:
            seen = World(rng, n_groups * length, max_loss, n_knobs, length)
            path = find_path(seen, seen.full, n_knobs, max_loss)
        groups = np.arange(len(world.full)) if by_words else world.groups
        verdict = follow(path, world, world.full, groups, max_loss, alpha)
        if verdict is not None:
            n_broken += world.true_loss(verdict.factors) > max_loss
            n_useful += min(verdict.factors) < 3
    return n_broken / n_runs, n_useful / n_runs


@pytest.mark.parametrize("n_knobs", [1, 2])
def test_promise_is_kept(n_knobs):
    """In at least the stated share of the cases, the true loss is below the bound,
    though dozens of margins are looked at; and margins are not just left open."""
    rng = np.random.default_rng(n_knobs)
    broken, useful = count_broken(rng, n_knobs, 1, by_words=True)
    assert broken <= 0.1
    assert useful > 0.9


def test_promise_is_kept_where_words_of_a_sentence_share_a_fate():
    """And it would not be if words counted as independent."""
    rng = np.random.default_rng(0)
    broken, useful = count_broken(rng, 1, 10, 3000, by_words=False)
    assert broken <= 0.1
    assert useful > 0.4
    broken, _ = count_broken(rng, 1, 10, 500, by_words=True)
    assert broken > 0.15


def test_a_point_estimate_would_break_it():
    """The simulation can fail: margins chosen by their measured loss do."""
    rng = np.random.default_rng(0)
    n_broken = 0
    for _ in range(100):
        world = World(rng, N_GROUPS, 0.01, 1)
        chosen = None
        for factors in one_margin(1):
            if (world.full - world(factors).judged).mean() > 0.01:
                break
            chosen = factors
        n_broken += chosen is not None and world.true_loss(chosen) > 0.01
    assert n_broken > 20


def test_an_average_can_hide_a_bad_stage():
    """One word in twenty leaves at the first stage, where a tenth is lost."""
    n = 20_000
    full = np.ones(n, dtype="int8")
    groups = np.arange(n) // 10
    stages = (np.arange(n) % 20 != 0).astype("uint8")
    judged = full.copy()
    judged[np.flatnonzero(stages == 0)[::10]] = 0
    path = [(1.0,)]

    def measure(factors, stages=None):
        return Outcome(judged, 1.0, stages)

    def by_stage(factors):
        return measure(factors, stages)

    case = (full, groups, 0.02, 0.05)
    assert follow(path, measure, *case) is not None
    assert follow(path, by_stage, *case) is None
    assert skip_failing(path, by_stage, *case) == []
    assert skip_failing(path, measure, *case) == path


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
    result = calibrate(
        path, trained / "data.spacy", max_loss=3, name=name, unit="token"
    )
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
    calibrate(trained / "nlp", trained / "data.spacy", max_loss=20, dry_run=True)
    assert cfg.read_bytes() == before


@pytest.mark.parametrize("unit", ["sentence", "doc"])
def test_units(unit, trained):
    """The docs are single sentences, so that both say the same."""
    result = calibrate(
        trained / "nlp",
        trained / "data.spacy",
        max_loss=20,
        unit=unit,
        dry_run=True,
        per_stage=False,
    )
    assert (result["units"], result["tokens"]) == (150, 1500)
    assert result["templates"] < result["all_templates"]


def test_every_stage(trained):
    results = [
        calibrate(
            trained / "nlp",
            trained / "data.spacy",
            max_loss=20,
            every_stage=every_stage,
            dry_run=True,
        )
        for every_stage in (False, True)
    ]
    assert results[1]["bound"] <= 20
    # To promise more takes at least as many templates.
    assert results[0]["templates"] <= results[1]["templates"]


def test_bad_input(trained, tmp_path):
    path, data = trained / "nlp", trained / "data.spacy"
    for change, code in (
        ({"max_loss": 0.1, "confidence": 0.999}, "DS136"),
        ({"max_loss": 0.0}, "DS022"),
        ({"unit": "word"}, "DS021"),
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
        Path(trained / "nlp"), trained / "data.spacy", max_loss=20, per_stage=False
    )
    assert list(result["margins"]) == ["margin"]
