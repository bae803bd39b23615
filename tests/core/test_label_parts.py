"""Labels that are made of parts: their scores, and how their weights are learned."""

import pickle

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from helpers.reference_morphology import ReferenceMorphologizer, has_wholes
from spacy_dynsel.base.settings import LearnerSettings
from spacy_dynsel.base.templates import parse_templates
from spacy_dynsel.core.label_parts import LabelParts
from spacy_dynsel.tasks.engine import Start
from spacy_dynsel.tasks.labelling.gold import GoldDoc
from spacy_dynsel.tasks.morphology.engine import MorphologyEngine
from spacy_dynsel.tasks.morphology.labels import find_parts

NLP = spacy.blank("en")
LABELS = ["Number=Sing|POS=NOUN", "Number=Plur|POS=NOUN", "POS=VERB", "_"]
TEMPLATES = parse_templates(
    ["word", "suffix2", "---", "lower[-1]", "lower[-1] word", "---", "noun[-1]"]
)


def make_parts(*lists, n_parts=5):
    starts = np.cumsum([0, *map(len, lists)], dtype="int32")
    ids = np.array([part for one in lists for part in one], dtype="uint16")
    return LabelParts(n_parts, starts, ids)


def test_scores_add_up():
    parts = make_parts([0, 2], [], [4])
    assert (parts.n_parts, parts.n_labels, parts.n_outputs) == (5, 3, 8)
    outputs = np.array([1, 10, 100, 1000, 10_000, 5, 6, 7], dtype="int16")
    assert parts.combine(outputs).tolist() == [106, 6, 10_007]
    assert parts.combine(np.stack([outputs, -outputs])).tolist() == [
        [106, 6, 10_007],
        [-106, -6, -10_007],
    ]


def test_sums_do_not_overflow():
    parts = make_parts([0, 1, 2])
    assert parts.combine(np.full(6, 30_000, dtype="int16")).tolist() == [120_000]


def test_labels_may_have_no_parts():
    for labels in (["_"], ["_", "POS=X"]):
        parts = find_parts(labels)
        assert parts.n_labels == len(labels)
        scores = parts.combine(np.arange(1, parts.n_outputs + 1))
        assert len(scores) == len(labels)
    assert find_parts(["_"]).combine(np.array([3, 4])).tolist() == [4]


def test_parts_are_numbered_in_the_order_of_their_names():
    parts = find_parts(LABELS)
    names = ["Number=Plur", "Number=Sing", "POS=NOUN", "POS=VERB"]
    assert parts.n_parts == len(names)
    assert parts.starts.tolist() == [0, 2, 4, 5, 5]
    assert [names[i] for i in parts.ids] == [
        *("Number=Sing", "POS=NOUN", "Number=Plur", "POS=NOUN", "POS=VERB")
    ]


@pytest.mark.parametrize(
    ("n_parts", "starts", "ids"),
    [
        (0, [0, 1], [0]),
        (-1, [0, 1], [0]),
        (1, [0], []),
        (1, [], []),
        (1, [0, 1], [1]),
        (1, [0, 2], [0]),
        (1, [1, 1], [0]),
        (3, [0, 2, 1, 3], [0, 1, 2]),
        (3, [0, -1, 3], [0, 1, 2]),
    ],
)
def test_parts_that_do_not_fit(n_parts, starts, ids):
    with pytest.raises(ValueError, match="DS216"):
        LabelParts(n_parts, np.array(starts, "int32"), np.array(ids, "uint16"))


def test_parts_are_made_once():
    parts = make_parts([0], [1])
    with pytest.raises(ValueError, match="DS216"):
        parts.__init__(2, parts.starts, parts.ids)
    with pytest.raises(ValueError, match="DS216"):
        LabelParts.__new__(LabelParts).combine(np.zeros(3))


def test_pickle():
    parts = make_parts([0, 2], [], [4])
    again = pickle.loads(pickle.dumps(parts))
    assert again.n_parts == 5
    assert again.starts.tolist() == parts.starts.tolist()
    assert again.ids.tolist() == parts.ids.tolist()


class ReferenceLearner:
    """Hinge losses of prefixes, whose gradient goes to all outputs of a label. A wrong
    label that is three margins behind the best is given up."""

    def __init__(self, options):
        self.options = options
        parts = find_parts(LABELS)
        self.outputs = [
            [
                *parts.ids[parts.starts[i] : parts.starts[i + 1]].tolist(),
                parts.n_parts + i,
            ]
            for i in range(len(LABELS))
        ]
        self.n_parts = parts.n_parts
        # What the first of three checkpoints asks for is half as much.
        self.margins = [options.margin] * 3
        self.weights, self.squares = {}, {}
        self.has_tie = False
        self.n_lost = 0

    def step(self, keys, gold):
        scores = np.zeros(len(LABELS))
        is_lost = np.zeros(len(LABELS), dtype=bool)
        losses = []
        for rank, key in enumerate(keys, start=1):
            for label, outputs in enumerate(self.outputs):
                scores[label] += sum(self.weights.get((key, o), 0.0) for o in outputs)
            if rank not in TEMPLATES.checkpoints:
                continue
            is_rival = ~is_lost & (np.arange(len(LABELS)) != gold)
            if not is_rival.any():
                break
            rivals = np.where(is_rival, scores, -1e9)
            rival = int(rivals.argmax())
            second, first = np.sort(rivals)[-2:]
            self.has_tie |= bool(first != 0 and first - second < 1e-5)
            margin = self.margins[TEMPLATES.checkpoints.index(rank)]
            limit = max(scores[rival], scores[gold]) - 3 * margin
            self.has_tie |= bool(np.abs(scores - limit).min() < 1e-5)
            is_lost |= is_rival & (scores < limit)
            self.n_lost += int(is_lost.sum())
            hinge = scores[rival] - scores[gold] + margin
            if hinge > 0:
                losses.append((rank, hinge, rival))
        for rank, (key, template) in enumerate(
            zip(keys, TEMPLATES.templates, strict=True), start=1
        ):
            gradient = {}
            for end, _, rival in losses:
                if end >= rank:
                    for label, g in ((rival, 1), (gold, -1)):
                        for output in self.outputs[label]:
                            if output < self.n_parts or has_wholes(template):
                                gradient[output] = gradient.get(output, 0) + g
            for output, g in gradient.items():
                # What two labels share does not move.
                if g:
                    pair = (key, output)
                    self.squares[pair] = self.squares.get(pair, 0.0) + g * g
                    rate = self.options.delta + np.sqrt(self.squares[pair])
                    step = self.options.eta * g / rate
                    self.weights[pair] = self.weights.get(pair, 0.0) - step
        return sum(hinge for _, hinge, _ in losses)


def make_engine(options, golds):
    engine = MorphologyEngine(
        TEMPLATES, options, seeds=1, class_min_count=1, class_min_share=0.0
    )
    engine.initialize(LABELS, golds, Start(NLP.vocab, "en", is_complete=False))
    return engine


def gold_doc(pairs):
    doc = Doc(NLP.vocab, words=[word for word, _ in pairs])
    labels = np.array([label for _, label in pairs], "int32")
    return GoldDoc(doc, labels, np.zeros(len(doc), "int32"))


SENTENCES = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["a", "A", "bb", "c1"]), st.integers(0, 3)),
        min_size=1,
        max_size=5,
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(SENTENCES, st.sampled_from([0.1, 0.7]))
def test_weights_equal_the_reference(sentences, margin):
    check_weights(sentences, margin)


def test_labels_that_are_far_behind_are_given_up():
    assert check_weights([[("a", 0), ("bb", 2), ("a", 1)]] * 4, 0.1) > 0


def check_weights(sentences, margin):
    """Compare with the reference. RETURNS: How many labels that gave up."""
    options = LearnerSettings(
        margin=margin, predicted_history=0.0, word_dropout=0.0, copies="sentences"
    )
    golds = [gold_doc(pairs) for pairs in sentences]
    engine = make_engine(options, golds)
    reader = ReferenceMorphologizer(engine.to_bytes())
    reference = ReferenceLearner(options)
    for gold in golds:
        history, tokens = gold.labels.tolist(), list(gold.doc)
        expected = sum(
            reference.step(
                [
                    reader.find_key(one, tokens, i, history)
                    for one in TEMPLATES.templates
                ],
                history[i],
            )
            for i in range(len(tokens))
        )
        loss = engine.update([gold], drop=0.0)
        if reference.has_tie:
            return 0
        assert loss == pytest.approx(expected, abs=1e-4)
    keys, outputs, values = engine.main.learners[0].get_weights()
    pairs = zip(keys.tolist(), outputs.tolist(), strict=True)
    found = dict(zip(pairs, values.tolist(), strict=True))
    for pair, weight in reference.weights.items():
        assert found.get(pair, 0.0) == pytest.approx(weight, abs=1e-4)
    assert set(found) <= set(reference.weights)
    return reference.n_lost


def test_what_labels_share_is_learned_for_all():
    """A label that was never seen with a word gets what its parts got."""
    options = LearnerSettings(word_dropout=0.0, predicted_history=0.0)
    golds = [gold_doc([("a", 0)]), gold_doc([("bb", 1)]), gold_doc([("A", 2)])]
    engine = make_engine(options, golds)
    for _ in range(5):
        engine.update([golds[0]], drop=0.0)
    keys, outputs, values = engine.main.learners[0].get_weights()
    reader = ReferenceMorphologizer(engine.to_bytes())
    key = reader.find_key(TEMPLATES.templates[0], list(golds[0].doc), 0, [])
    of_word = dict(zip(outputs[keys == key].tolist(), values[keys == key], strict=True))
    names = ["Number=Plur", "Number=Sing", "POS=NOUN", "POS=VERB"]
    scores = {name: float(of_word.get(i, 0.0)) for i, name in enumerate(names)}
    assert scores["POS=NOUN"] > 0 > scores["Number=Plur"]
    assert scores["POS=NOUN"] > scores["POS=VERB"]
