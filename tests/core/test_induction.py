"""Induction finds the pairs that the data need, as the algorithm of the paper says."""

from itertools import pairwise

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from helpers.reference import ReferenceTagger, pair_key, template_key
from spacy_dynsel.base.settings import InductionSettings, LearnerSettings
from spacy_dynsel.base.templates import Templates, parse_templates
from spacy_dynsel.core.forms.packing import MAX_SUM, find_pair_scale, find_scale
from spacy_dynsel.core.pairs import check_pairs, find_pair_keys
from spacy_dynsel.tasks.engine import Start
from spacy_dynsel.tasks.labelling.gold import GoldDoc
from spacy_dynsel.tasks.tagging.engine import TaggingEngine

NLP = spacy.blank("en")
LABELS = ["A", "B", "C"]
PLAIN = {"predicted_history": 0.0, "word_dropout": 0.0, "copies": "sentences"}
STAGES = parse_templates(
    ["word", "suffix1", "lower[+1]", "---", "tag[-1]", "---", "lower[-1]", "tag[-2]"]
)
TABLES: dict = {"class": {}, "cluster": {}}


def make_engine(templates: Templates, induction: dict | None = None, **options):
    given = None if induction is None else InductionSettings(**induction)
    return TaggingEngine(
        templates,
        LearnerSettings(induction=given, **{"margin": 1.0, **PLAIN, **options}),
        class_min_count=1,
        class_min_share=0.0,
    )


def make_gold(words: list[str], labels: list[int]) -> GoldDoc:
    doc = Doc(NLP.vocab, words=words)
    return GoldDoc(doc, np.array(labels, "int32"), np.zeros(len(doc), "int32"))


def make_xor(n: int, seed: int) -> list[GoldDoc]:
    """The label says whether a word is like the one before: no feature alone does."""
    rng = np.random.default_rng(seed)
    golds = []
    for _ in range(n):
        bits = rng.integers(0, 2, 8)
        labels = [2, *(int(a != b) for a, b in pairwise(bits))]
        golds.append(make_gold([f"{'xy'[bit]}" for bit in bits], labels))
    return golds


def learn(engine: TaggingEngine, golds: list[GoldDoc], n_epochs: int = 5) -> None:
    if not engine.is_initialized:
        engine.initialize(LABELS, golds, Start(NLP.vocab, "en", is_complete=False))
    for _ in range(n_epochs):
        for start in range(0, len(golds), 10):
            engine.update(golds[start : start + 10], drop=0.0)


def score(engine: TaggingEngine, golds: list[GoldDoc]) -> float:
    batch = engine.predict([gold.doc for gold in golds], margin=float("inf"))
    return float((batch.labels == np.concatenate([g.labels for g in golds])).mean())


XOR = parse_templates(["word", "suffix1[+1]", "---", "lower[-1]"])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"optimizer": "rda", "l1": 1e-4},
        {"induction": {"reference": 0.95, "mini_batch": 5}},
        {"induction": {"sure_lead": 1.0, "strongest": 2}},
    ],
)
def test_exclusive_or_needs_pairs(options):
    train, test = make_xor(60, 0), make_xor(30, 1)
    induction = {"induction": {}, **options}
    alone, joined = (
        make_engine(XOR, **i) for i in (induction | {"induction": None}, induction)
    )
    learn(alone, train)
    learn(joined, train)
    assert score(alone, test) < 0.8
    assert score(joined, test) == 1.0
    # The pairs are those of the word and the one before.
    pairs = joined.get_snapshot().scorers["templates"].pairs.reshape(-1, 4)
    ranks = {tuple(sorted(row[2:].tolist())) for row in pairs}
    assert (0, 2) in ranks
    words = {
        template_key(XOR.templates[0], [token], 0, [], TABLES)
        for token in Doc(NLP.vocab, words=["x", "y"])
    }
    found = {key for row in pairs if set(row[2:]) == {0, 2} for key in row[:2].tolist()}
    assert words <= found


class Reference:
    """Algorithms 1 and 2 of Choi (2016), written out, for one stage."""

    def __init__(self, templates: Templates, options: LearnerSettings) -> None:
        self.templates = templates
        self.options = options
        self.summed: dict[tuple[int, int], float] = {}
        self.squares: dict[tuple[int, int], float] = {}
        self.pairs: set[frozenset[int]] = set()
        self.t = 0
        self.has_tie = False

    def weight(self, key: int, label: int) -> float:
        c = self.summed.get((key, label), 0.0)
        rate = self.options.eta / (
            self.options.delta + self.squares.get((key, label), 0.0) ** 0.5
        )
        return -np.sign(c) * rate * max(0.0, abs(c) - self.options.l1 * self.t)

    def expand(self, low: list[int]) -> list[int]:
        return low + [
            pair_key(a, b)
            for j, b in enumerate(low)
            for a in low[:j]
            if frozenset((a, b)) in self.pairs
        ]

    def step(self, low: list[int], gold: int) -> None:
        self.t += 1
        keys = self.expand(low)
        scores = np.array(
            [sum(self.weight(k, y) for k in keys) for y in range(len(LABELS))]
        )
        rivals = scores - np.eye(len(LABELS))[gold] * 1e9
        other = int(rivals.argmax())
        first, second = np.sort(rivals)[::-1][:2]
        self.has_tie |= bool(first != 0 and first - second < 1e-5)
        lead = scores[gold] - scores[other]
        self.has_tie |= bool(abs(lead) < 1e-5 and lead != 0)
        if lead >= self.options.margin:
            return
        for key in keys:
            for label, gradient in ((gold, -1.0), (other, 1.0)):
                place = (key, label)
                self.summed[place] = self.summed.get(place, 0.0) + gradient
                self.squares[place] = self.squares.get(place, 0.0) + 1
        if lead >= self.options.induction.sure_lead * self.options.margin:
            return
        strengths = [self.weight(k, gold) - self.weight(k, other) for k in low]
        ranked = sorted((-v, i) for i, v in enumerate(strengths) if v > 0)
        for (a, _), (b, _) in pairwise(ranked):
            self.has_tie |= bool(a != b and b - a < 1e-5)
        for _, i in ranked[1 : self.options.induction.strongest]:
            self.pairs.add(frozenset((low[ranked[0][1]], low[i])))


SENTENCES = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["a", "A", "ba", "c"]), st.integers(0, 2)),
        min_size=1,
        max_size=5,
    ),
    min_size=2,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(SENTENCES, st.sampled_from([0.0, 0.02]), st.sampled_from([0.0, 1.0]))
def test_learner_equals_the_reference(sentences, l1, sure_lead):
    templates = parse_templates(["word", "suffix1", "lower[-1]", "tag[-1]"])
    induction = {"sure_lead": sure_lead}
    engine = make_engine(templates, induction, optimizer="rda", l1=l1)
    reference = Reference(templates, engine.settings)
    golds = [make_gold(*map(list, zip(*words, strict=True))) for words in sentences]
    engine.initialize(LABELS, golds, Start(NLP.vocab, "en", is_complete=False))
    for _ in range(2):
        for gold in golds:
            engine.update([gold], drop=0.0)
            labels = gold.labels.tolist()
            for i, label in enumerate(labels):
                low = [
                    template_key(one, list(gold.doc), i, labels, TABLES)
                    for one in templates.templates
                ]
                reference.step(low, label)
    if reference.has_tie:
        return
    learner = engine.main.learners[0]
    pairs = learner.get_pairs().reshape(-1, 4)
    assert {frozenset(row[:2].tolist()) for row in pairs} == reference.pairs
    for key, label, value in zip(*learner.get_weights(), strict=True):
        assert value == pytest.approx(reference.weight(int(key), int(label)), abs=1e-4)


@pytest.fixture(scope="module")
def trained() -> TaggingEngine:
    engine = make_engine(STAGES, {"sure_lead": 1.0}, margin=0.5)
    learn(engine, make_xor(40, 2), n_epochs=2)
    return engine


@pytest.mark.parametrize("margin", [0.0, 0.3, 1.0, float("inf")])
def test_compiled_equals_the_slow_scorer(trained, margin):
    reference = ReferenceTagger(trained.to_bytes())
    assert len(reference.pairs) > 10
    for gold in make_xor(20, 3):
        batch = trained.predict([gold.doc], margin=margin)
        labels, ranks = reference.predict(gold.doc, margin)
        assert batch.labels.tolist() == labels
        ends = np.array(STAGES.checkpoints)
        assert batch.stage_counts @ ends == sum(ranks)


def test_explanations_add_up_and_name_pairs(trained):
    doc = make_xor(1, 4)[0].doc
    explained = trained.explain(doc, margin=float("inf"))
    labels = trained.predict([doc], margin=float("inf")).labels
    assert [one.label for one in explained] == [LABELS[label] for label in labels]
    assert any(" & " in name for one in explained for name in one.contributions)
    for one in explained:
        lead = sum(a - b for a, b in one.contributions.values())
        assert lead == pytest.approx(one.lead, abs=1e-4)


def test_files_hold_pairs(trained):
    data = trained.to_bytes()
    other = make_engine(STAGES, {"sure_lead": 1.0}, margin=0.5)
    other.from_bytes(data)
    assert other.to_bytes() == data
    docs = [gold.doc for gold in make_xor(10, 5)]
    ours, theirs = (e.predict(docs, margin=0.3).labels for e in (trained, other))
    assert ours.tolist() == theirs.tolist()
    with pytest.raises(ValueError, match="DS281"):
        make_engine(STAGES, margin=0.5).from_bytes(data)
    # What was loaded can be corrected, and keeps its pairs.
    wrong = make_gold(["x", "y", "q"], [2, 1, 0])
    for _ in range(3):
        other.update([wrong], drop=0.0)
    assert other.predict([wrong.doc], margin=float("inf")).labels[2] == 0
    pairs = other.get_snapshot().scorers["templates"].pairs
    assert len(pairs) == len(trained.get_snapshot().scorers["templates"].pairs)


def test_training_is_deterministic_and_can_be_resumed():
    golds = make_xor(30, 6)
    induction = {"reference": 0.9, "mini_batch": 3}
    one, other = (make_engine(STAGES, induction) for _ in range(2))
    for engine in (one, other):
        learn(engine, golds, n_epochs=2)
    assert one.to_bytes() == other.to_bytes()
    model, state = other.to_bytes(), other.training_to_bytes()
    resumed = make_engine(STAGES, induction)
    resumed.from_bytes(model)
    resumed.training_from_bytes(state)
    for engine in (one, resumed):
        learn(engine, golds, n_epochs=2)
    assert one.to_bytes() == resumed.to_bytes()


def test_there_are_at_most_so_many_pairs():
    engine = make_engine(STAGES, {"max_pairs": 5, "sure_lead": 1.0})
    learn(engine, make_xor(20, 7), n_epochs=1)
    assert 0 < len(engine.main.learners[0].get_pairs()) // 4 <= 6


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
def test_no_sum_is_too_large(seed, n_templates):
    """Whatever a decision meets, its sum has room."""
    rng = np.random.default_rng(seed)
    ranks = np.sort(
        rng.permuted(np.tile(np.arange(n_templates), (400, 1)), axis=1)[:, :2]
    )
    keys = rng.integers(0, 2**32, (400, 2))
    pairs = np.hstack([keys, ranks]).astype("uint32").ravel()
    pair_keys = find_pair_keys(pairs)
    others = rng.integers(0, 2**32, 100).astype("uint32")
    values = rng.normal(0, 1, 500).astype("float32")
    scale = find_pair_scale(np.hstack([pair_keys, others]), values, pairs, n_templates)
    assert scale <= find_scale(values)
    weights = np.abs(np.rint(values * scale))
    largest: dict[tuple[int, int], float] = {}
    for pair, weight in zip(map(tuple, ranks.tolist()), weights, strict=False):
        largest[pair] = max(largest.get(pair, 0.0), weight)
    total = sum(largest.values()) + n_templates * weights[400:].max()
    assert total <= MAX_SUM


@pytest.mark.parametrize(
    "bad",
    [
        {"strongest": 1},
        {"strongest": 2.5},
        {"sure_lead": -1.0},
        {"max_pairs": 0},
        {"reference": 1.5},
        {"mini_batch": -1},
    ],
)
def test_settings_that_make_no_sense(bad):
    with pytest.raises(ValueError, match="DS022"):
        InductionSettings(**bad)


@pytest.mark.parametrize(
    "pairs",
    [
        np.zeros(3, dtype="uint32"),
        np.zeros(4, dtype="int64"),
        np.array([1, 2, 0, 9], dtype="uint32"),
    ],
)
def test_damaged_pairs_are_refused(pairs):
    with pytest.raises(ValueError, match="DS035"):
        check_pairs(pairs, 9)
