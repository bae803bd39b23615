"""The learner does what the paper's equations say."""

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from helpers.reference import template_key
from spacy_dynsel.base.settings import LearnerSettings
from spacy_dynsel.base.templates import Templates, parse_templates
from spacy_dynsel.core.forms.packing import unpack_weights
from spacy_dynsel.core.weight_state import mean_weights
from spacy_dynsel.tasks.engine import Start
from spacy_dynsel.tasks.labelling.gold import GoldDoc
from spacy_dynsel.tasks.tagging.engine import TaggingEngine

NLP = spacy.blank("en")
TEMPLATES = parse_templates(
    ["word", "suffix2", "---", "lower[-1]", "tag[-1] word", "---", "shape[+1]"]
)
TABLES = {"class": {}, "cluster": {}}


class ReferenceLearner:
    """Algorithms 1 and 2 of Strubell et al. (2015), written out."""

    def __init__(self, templates: Templates, options: LearnerSettings, n_labels: int):
        self.templates = templates
        self.options = options
        self.n_labels = n_labels
        self.n_steps = 0
        self.has_tie = False
        self.summed: dict[tuple[int, int], float] = {}
        self.squares: dict[tuple[int, int], float] = {}
        self.weights: dict[tuple[int, int], float] = {}

    def weight(self, key: int, label: int) -> float:
        if self.options.optimizer == "adagrad":
            return self.weights.get((key, label), 0.0)
        u = self.summed.get((key, label), 0.0)
        h = self.options.delta + np.sqrt(self.squares.get((key, label), 0.0))
        t = self.n_steps
        shrunk = max(0.0, abs(u) - self.options.l1 * t)
        return (
            -np.sign(u)
            * self.options.eta
            * shrunk
            / (h + self.options.eta * self.options.l2 * t)
        )

    def step(self, tokens, position: int, history: list[int], gold: int) -> float:
        self.n_steps += 1
        keys = [
            template_key(template, tokens, position, history, TABLES)
            for template in self.templates.templates
        ]
        prefix = np.zeros(self.n_labels)
        losses = []  # (end of the prefix, loss, the label that is too strong)
        for rank, key in enumerate(keys, start=1):
            prefix += [self.weight(key, label) for label in range(self.n_labels)]
            if rank not in self.templates.checkpoints:
                continue
            if self.options.objective == "full" and rank < len(keys):
                continue
            rivals = prefix.copy()
            rivals[gold] = -np.inf
            rival = int(rivals.argmax())
            second, first = np.sort(rivals)[-2:]
            # Single and double precision may round equal scores to different ones.
            self.has_tie |= bool(first != 0 and first - second < 1e-5)
            hinge = max(0.0, prefix[rival] - prefix[gold] + self.options.margin)
            if hinge:
                losses.append((rank, hinge, rival))
            elif self.options.objective == "first_satisfied":
                break
        for rank, key in enumerate(keys, start=1):
            gradient: dict[int, int] = {}
            for end, _, rival in losses:
                if end >= rank:
                    gradient[rival] = gradient.get(rival, 0) + 1
                    gradient[gold] = gradient.get(gold, 0) - 1
            for label, g in gradient.items():
                pair = (key, label)
                self.squares[pair] = self.squares.get(pair, 0.0) + g * g
                self.summed[pair] = self.summed.get(pair, 0.0) + g
                self.weights[pair] = self.weights.get(pair, 0.0) - (
                    self.options.eta
                    * g
                    / (self.options.delta + np.sqrt(self.squares[pair]))
                )
        return sum(hinge for _, hinge, _ in losses)


def new_model(options: LearnerSettings, templates: Templates = TEMPLATES):
    return TaggingEngine(templates, options, class_min_count=1, class_min_share=0.0)


def scorer_of(model: TaggingEngine):
    return model.get_snapshot().scorers["templates"]


def gold_doc(words: list[str], labels: list[int]) -> GoldDoc:
    doc = Doc(NLP.vocab, words=words)
    return GoldDoc(doc, np.array(labels, "int32"), np.zeros(len(doc), "int32"))


SENTENCES = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["a", "A", "bb", "c1", "dd"]), st.integers(0, 3)),
        min_size=1,
        max_size=5,
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(
    SENTENCES,
    st.sampled_from(["all_prefixes", "first_satisfied", "full"]),
    st.sampled_from(
        [("adagrad", 0, 0), ("rda", 0, 0), ("rda", 0, 0.1), ("rda", 0.05, 0.1)]
    ),
)
def test_weights_equal_the_reference(sentences, objective, optimizer):
    name, l1, l2 = optimizer
    options = LearnerSettings(
        objective=objective,
        optimizer=name,
        l1=l1,
        l2=l2,
        margin=0.7,
        predicted_history=0.0,
        word_dropout=0.0,
        copies="sentences",
    )
    golds = [
        gold_doc([word for word, _ in pairs], [label for _, label in pairs])
        for pairs in sentences
    ]
    model = new_model(options)
    labels = ["A", "B", "C", "D"]
    model.initialize(labels, golds, Start(NLP.vocab, "en", is_complete=False))
    reference = ReferenceLearner(TEMPLATES, options, len(labels))
    for gold in golds:
        history = gold.labels.tolist()
        expected = sum(
            reference.step(list(gold.doc), i, history, history[i])
            for i in range(len(gold.doc))
        )
        loss = model.update([gold], drop=0.0)
        if reference.has_tie:
            return
        assert loss == pytest.approx(expected, abs=1e-4)
    keys, found_labels, values = model.main.learners[0].get_weights()
    found = {
        (int(key), int(label)): float(value)
        for key, label, value in zip(keys, found_labels, values, strict=True)
    }
    for pair in reference.summed:
        assert found.get(pair, 0.0) == pytest.approx(reference.weight(*pair), abs=1e-4)
    assert set(found) <= set(reference.summed)


def random_corpus(n_sentences: int, seed: int = 0) -> list[GoldDoc]:
    """Words whose label mostly depends on them, sometimes on the word before."""
    rng = np.random.default_rng(seed)
    golds = []
    for _ in range(n_sentences):
        ids = rng.integers(0, 40, rng.integers(3, 12))
        labels = [
            int(word) % 5 if word < 30 or not i else int(ids[i - 1]) % 5
            for i, word in enumerate(ids)
        ]
        golds.append(gold_doc([f"w{word}" for word in ids], labels))
    return golds


def accuracy(model: TaggingEngine, golds: list[GoldDoc], margin: float) -> float:
    batch = model.predict([gold.doc for gold in golds], margin=margin)
    return float((batch.labels == np.concatenate([g.labels for g in golds])).mean())


def train(options: LearnerSettings, templates: Templates, n_epochs: int = 5):
    golds = random_corpus(300)
    model = new_model(options, templates)
    labels = [f"L{i}" for i in range(5)]
    model.initialize(labels, golds, Start(NLP.vocab, "en", is_complete=False))
    for _ in range(n_epochs):
        for start in range(0, len(golds), 20):
            model.update(golds[start : start + 20], drop=0.0)
    return model


LEARNABLE = parse_templates(["word", "---", "word lower[-1]", "lower[-1]"])


def test_every_prefix_is_a_good_classifier():
    """With all prefixes in the objective, the first stage alone is as good as its
    templates allow; without, it is not trained to stand alone."""
    test = random_corpus(100, seed=1)
    all_prefixes = train(LearnerSettings(margin=1.0), LEARNABLE)
    assert accuracy(all_prefixes, test, float("inf")) > 0.97
    assert accuracy(all_prefixes, test, 0.0) > 0.75
    exits = all_prefixes.predict([g.doc for g in test], margin=0.5).stage_counts
    assert 0.5 < exits[0] / exits.sum() < 0.9
    assert accuracy(all_prefixes, test, 0.5) > 0.95


def test_full_objective_ignores_checkpoints():
    without = parse_templates(LEARNABLE.to_lines(), checkpoints=[])
    options = LearnerSettings(
        margin=1.0, objective="full", predicted_history=0.0, word_dropout=0.0
    )
    with_stage = train(options, LEARNABLE)
    plain = train(
        LearnerSettings(margin=1.0, predicted_history=0.0, word_dropout=0.0), without
    )
    for ours, theirs in zip(
        with_stage.main.learners[0].get_weights(),
        plain.main.learners[0].get_weights(),
        strict=True,
    ):
        assert ours.tolist() == theirs.tolist()


def test_template_order_does_not_change_keys():
    """Weights belong to templates, whatever their rank: a full model is the same in
    any order of its templates."""
    options = LearnerSettings(
        margin=1.0, objective="full", predicted_history=0.0, word_dropout=0.0
    )
    reverse = parse_templates(["lower[-1]", "word lower[-1]", "word"])
    forward = parse_templates(["word", "word lower[-1]", "lower[-1]"])
    one = train(options, forward, n_epochs=1).main.learners[0].get_weights()
    other = train(options, reverse, n_epochs=1).main.learners[0].get_weights()
    assert set(one[0].tolist()) == set(other[0].tolist())


def test_l1_makes_sparse_and_l2_small():
    def weights(**penalty: float):
        options = LearnerSettings(optimizer="rda", margin=1.0, **penalty)
        return train(options, LEARNABLE, n_epochs=2).main.learners[0].get_weights()[2]

    plain, l1, l2 = weights(), weights(l1=0.001), weights(l2=0.01)
    assert len(l1) < 0.9 * len(plain)
    assert np.abs(l2).mean() < 0.9 * np.abs(plain).mean()


def test_rare_features_get_no_weights():
    golds = random_corpus(1500)
    golds.append(gold_doc(["once", "w1"], [0, 1]))
    options = LearnerSettings(margin=1.0, cutoff=2)
    model = new_model(options, parse_templates(["word"]))
    labels = [f"L{i}" for i in range(5)]
    model.initialize(labels, golds, Start(NLP.vocab, "en", is_complete=True))
    for _ in range(3):
        model.update(golds, drop=0.0)
    keys = set(model.main.learners[0].get_weights()[0].tolist())
    word = model.templates.templates[0]

    def key(text: str) -> int:
        return template_key(word, list(Doc(NLP.vocab, words=[text])), 0, [], TABLES)

    assert key("w1") in keys
    assert key("once") not in keys
    # What was not there to be counted gets its weights once it is seen often enough.
    for _ in range(3):
        model.update([gold_doc(["new"], [3])], drop=0.0)
    assert key("new") in set(model.main.learners[0].get_weights()[0].tolist())


def test_features_without_weights_take_no_room():
    state = train(LearnerSettings(margin=1.0), LEARNABLE).main.learners[0].get_state()
    assert 0 < len(state["keys"]) < state["states"].sum()
    assert state["states"].min() > 0


def test_the_mean_of_weights():
    rng = np.random.default_rng(0)
    parts, sums = [], {}
    for _ in range(3):
        ids = np.sort(rng.choice(500, 200, replace=False))
        values = rng.normal(size=200).astype("float32")
        keys, labels = (ids // 7 << 24).astype("uint32"), (ids % 7).astype("uint32")
        parts.append((keys, labels, values))
        for key, label, value in zip(*map(np.ndarray.tolist, parts[-1]), strict=True):
            sums[key, label] = sums.get((key, label), 0.0) + value
    keys, labels, values = mean_weights(iter(parts))
    assert list(zip(keys.tolist(), labels.tolist(), strict=True)) == sorted(sums)
    expected = np.array([sums[one] / 3 for one in sorted(sums)]).astype("float32")
    assert values.dtype == "float32" and (values == expected).all()
    # That of one is what it has.
    for found, own in zip(mean_weights(parts[:1]), parts[0], strict=True):
        assert (found == own).all()


def test_weights_of_a_single_step_are_pruned():
    golds = random_corpus(1500)
    models = {}
    for prune in (0.0, 1.0):
        model = new_model(LearnerSettings(margin=1.0, prune=prune), LEARNABLE)
        labels = [f"L{i}" for i in range(5)]
        model.initialize(labels, golds, Start(NLP.vocab, "en", is_complete=True))
        for start in range(0, len(golds), 20):
            model.update(golds[start : start + 20], drop=0.0)
        models[prune] = model
    sizes = {
        prune: len(scorer_of(model).weights.slots) for prune, model in models.items()
    }
    assert 0 < sizes[1.0] < sizes[0.0]
    smallest = np.abs(
        unpack_weights(
            scorer_of(models[1.0]).weights.index, scorer_of(models[1.0]).weights.slots
        )[2]
    )
    first_step = models[1.0].settings.eta / (1 + models[1.0].settings.delta)
    assert smallest.min() / scorer_of(models[1.0]).scale > 0.9 * first_step


def test_resumed_weights_are_those_of_the_file():
    model = train(LearnerSettings(margin=1.0), LEARNABLE)
    data = model.to_bytes()
    other = new_model(LearnerSettings(margin=1.0), LEARNABLE)
    other.from_bytes(data)
    other.make_trainable()
    other._forget_compiled()
    keys, labels, weights = unpack_weights(
        scorer_of(other).weights.index, scorer_of(other).weights.slots
    )
    old = unpack_weights(scorer_of(model).weights.index, scorer_of(model).weights.slots)
    assert keys.tolist() == old[0].tolist()
    assert labels.tolist() == old[1].tolist()
    assert weights.tolist() == old[2].tolist()


def test_word_dropout_hides_the_word_and_nothing_else():
    golds = random_corpus(1500)
    templates = parse_templates(["word", "suffix2", "lower[-1] suffix2"])
    labels = [f"L{i}" for i in range(5)]
    keys = {}
    for word_dropout in (0.0, 1.0):
        options = LearnerSettings(margin=1.0, word_dropout=word_dropout)
        model = new_model(options, templates)
        model.initialize(labels, golds, Start(NLP.vocab, "en", is_complete=False))
        model.update(golds, drop=0.0)
        keys[word_dropout] = set(model.main.learners[0].get_weights()[0].tolist())
    doc = golds[0].doc
    word, suffix, _ = (
        template_key(template, list(doc), 1, [0], TABLES)
        for template in templates.templates
    )
    assert {word, suffix} <= keys[0.0]
    assert suffix in keys[1.0]
    assert word not in keys[1.0]


def test_dropout_leaves_templates_out():
    golds = random_corpus(20)
    sizes = {}
    for drop in (0.0, 0.9):
        model = new_model(LearnerSettings(margin=1.0), LEARNABLE)
        labels = [f"L{i}" for i in range(5)]
        model.initialize(labels, golds, Start(NLP.vocab, "en", is_complete=False))
        model.update(golds, drop=drop)
        sizes[drop] = len(model.main.learners[0].get_weights()[0])
    assert 0 < sizes[0.9] < 0.5 * sizes[0.0]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"objective": "some"}, "DS021"),
        ({"optimizer": "adam"}, "DS021"),
        ({"copies": "none"}, "DS021"),
        ({"eta": -1.0}, "DS022"),
        ({"eta": float("nan")}, "DS022"),
        ({"cutoff": 0}, "DS022"),
        ({"predicted_history": 1.5}, "DS022"),
        ({"l2": 0.1}, "DS023"),
        ({"margin": -1.0}, "DS020"),
        ({"margin": float("nan")}, "DS020"),
        ({"margin": float("inf")}, "DS020"),
        ({"margin": [1.0]}, "DS020"),
    ],
)
def test_bad_settings(options, code):
    with pytest.raises(ValueError, match=code):
        new_model(LearnerSettings(**options))
