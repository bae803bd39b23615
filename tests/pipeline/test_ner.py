"""What users of spaCy's own entity recognizer expect."""

import numpy as np
import pytest
import spacy
import srsly
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import load_config

from helpers.contract import (
    check_copies,
    check_error_handler,
    check_memory_zones,
    check_processes,
    make_stock,
)
from helpers.ner import TEXTS, TRAIN_DATA, ents_of, make_examples, train_ner
from helpers.paths import CONFIGS
from spacy_dynsel.base.templates import default_templates
from spacy_dynsel.core.weight_state import mean_weights
from spacy_dynsel.registry.tuning import tune_o_bias
from spacy_dynsel.tasks.bilou.batch import EntityBatch
from spacy_dynsel.tasks.bilou.gold import entity_f


@pytest.fixture(params=["ltr", "rtl"])
def direction(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["one", "two"])
def two_passes(request):
    return request.param


@pytest.fixture
def ner(nlp, direction, two_passes):
    """A recognizer that knows the texts above by heart, within its pipeline `nlp`."""
    model = {"direction": direction, "two_passes": two_passes}
    return train_ner(nlp, make_examples(nlp), model=model)


def test_learns_by_heart(nlp, ner):
    losses = nlp.update(make_examples(nlp), losses={})
    assert losses == {"dynsel_ner": 0.0}
    for text, entities in TRAIN_DATA:
        doc = nlp(text)
        assert ents_of(doc) == entities
        assert all(token.ent_iob in (1, 2, 3) for token in doc)


def test_pipe_equals_call(nlp, ner):
    docs = list(nlp.pipe(TEXTS * 3, batch_size=4))
    assert [ents_of(doc) for doc in docs] == [ents_of(nlp(text)) for text in TEXTS * 3]
    ner.n_threads = 3
    assert [ents_of(doc) for doc in nlp.pipe(TEXTS * 3)] == [ents_of(d) for d in docs]


def test_predict_changes_nothing(nlp, ner):
    doc = nlp.make_doc(TEXTS[3])
    before = doc.to_bytes()
    batch = ner.predict([doc])
    assert len(batch) == 1
    assert len(batch[0]) == len(doc)
    assert doc.to_bytes() == before
    assert len(ner.predict([])) == 0
    empty = nlp("")
    assert len(empty) == 0
    ner.set_annotations([doc], [batch[0]])
    assert ents_of(doc) == [(7, 13, "LOC")]


@pytest.mark.parametrize("predictions", [[np.zeros(3)], [np.full(5, 99)], []])
def test_predictions_that_do_not_fit(nlp, ner, predictions):
    with pytest.raises(ValueError, match="DS103"):
        ner.set_annotations([nlp.make_doc("I like London .")], predictions)


def test_labels(nlp):
    ner = nlp.add_pipe("dynsel_ner")
    assert ner.add_label("Z") == 1
    assert ner.add_label("Z") == 0
    for label in (5, ""):
        with pytest.raises(ValueError, match="DS041"):
            ner.add_label(label)
    nlp.initialize(lambda: make_examples(nlp))
    assert ner.labels == ("LOC", "PERSON", "Z")
    assert ner.label_data == ner.labels
    assert ner.move_names[:5] == ["O", "B-Z", "I-Z", "L-Z", "U-Z"]
    assert nlp.pipe_labels["dynsel_ner"] == ["LOC", "PERSON", "Z"]
    assert ner.model.get_dim("nO") == len(ner.move_names)


def test_labels_can_be_added_any_time(nlp, ner):
    expected = [ents_of(nlp(text)) for text in TEXTS]
    for i in range(70):
        assert ner.add_label(f"NEW-{i}") == 1
    assert [ents_of(nlp(text)) for text in TEXTS] == expected
    new = make_examples(nlp, [("Rex barks .", [(0, 3, "DOG")])])
    for _ in range(20):
        nlp.update([*new, *make_examples(nlp)])
    assert "DOG" in ner.labels
    assert ents_of(nlp("Rex barks .")) == [(0, 3, "DOG")]
    assert [ents_of(nlp(text)) for text, _ in TRAIN_DATA] == [e for _, e in TRAIN_DATA]


def test_label_data_round_trips(nlp, ner, tmp_path):
    path = tmp_path / "labels.json"
    srsly.write_json(path, ner.label_data)
    other = spacy.blank("en").add_pipe("dynsel_ner")
    other.initialize(lambda: make_examples(nlp), labels=srsly.read_json(path))
    assert other.labels == ner.labels


def test_labels_of_spacys_own_component(nlp):
    """What `spacy init labels` writes for ner can be given."""
    theirs, labels = make_stock("ner", make_examples)
    ner = nlp.add_pipe("dynsel_ner")
    ner.initialize(lambda: make_examples(nlp), labels=labels)
    assert ner.labels == theirs.labels
    for bad in ("LOC", {"LOC": 3}):
        with pytest.raises(ValueError, match="DS104"):
            ner.initialize(lambda: make_examples(nlp), labels=bad)


def test_without_labels_all_is_outside(nlp):
    nlp.add_pipe("dynsel_ner")
    nlp.initialize()
    doc = nlp("I live in New York")
    assert [token.ent_iob_ for token in doc] == ["O"] * 5
    assert [token.ent_type_ for token in doc] == [""] * 5


def test_use_before_initialize(nlp):
    nlp.add_pipe("dynsel_ner")
    with pytest.raises(ValueError, match="DS040"):
        nlp("Some text")


def test_preset_entities_are_kept(nlp, ner):
    doc = nlp.make_doc("I like London and London.")
    doc.ents = [Span(doc, 2, 3, label="LOC", kb_id=1234, span_id=7)]
    ner(doc)
    assert [(ent.text, ent.label_, ent.kb_id) for ent in doc.ents] == [
        ("London", "LOC", 1234),
        ("London", "LOC", 0),
    ]
    assert doc.ents[0].id == 7
    doc = nlp.make_doc("Who is Shaka Khan?")
    doc.ents = [Span(doc, 3, 4, label="UNHEARD")]
    ner(doc)
    assert ("Khan", "UNHEARD") in [(ent.text, ent.label_) for ent in doc.ents]


def test_preset_labels_are_added(nlp, ner, tmp_path):
    """As spaCy's own component does; they are not found, since nothing was learned
    about them, whatever the other labels score."""
    expected = [ents_of(nlp(text)) for text in TEXTS]
    with nlp.memory_zone():
        doc = nlp.make_doc("Who is Shaka Khan?")
        doc.ents = [Span(doc, 3, 4, label="UNHEARD"), Span(doc, 0, 1, label="NEW")]
        before = doc.copy()
        batch = ner.predict([doc])
        ner.set_annotations([doc], batch)
        assert ner.labels == ("LOC", "NEW", "PERSON", "UNHEARD")
        # The same as if the labels had been there before.
        assert (ner.predict([before]).actions == batch.actions).all()
    assert len(ner.move_names) == ner.model.get_dim("nO")
    assert [ents_of(nlp(text)) for text in TEXTS] == expected
    ner.o_bias = -32.0
    found = {ent.label_ for doc in nlp.pipe(TEXTS) for ent in doc.ents}
    assert found <= {"LOC", "PERSON"}
    ner.to_disk(tmp_path)
    model = {
        "direction": ner.engine.direction,
        "two_passes": ner.engine.two_passes,
    }
    other = spacy.blank("en").add_pipe("dynsel_ner", config={"model": model})
    assert other.from_disk(tmp_path).labels == ner.labels
    # Then they can be learned.
    ner.o_bias = 0.0
    new = make_examples(nlp, [("Rex barks .", [(0, 3, "NEW")])])
    for _ in range(20):
        nlp.update([*new, *make_examples(nlp)])
    assert ents_of(nlp("Rex barks .")) == [(0, 3, "NEW")]


def test_preset_labels_without_room(nlp, ner, monkeypatch):
    monkeypatch.setattr("spacy_dynsel.pipeline.ner.MAX_TYPES", 3)
    doc = nlp.make_doc("Who is Shaka Khan?")
    labels = ("UNHEARD", "!NEW", "NEW")
    doc.ents = [Span(doc, i, i + 1, label=label) for i, label in enumerate(labels)]
    ner(doc)
    assert [ent.label_ for ent in doc.ents if ent.start < 3] == list(labels)
    assert ner.labels == ("LOC", "NEW", "PERSON")


def test_blocked_tokens_stay_blocked(nlp, ner):
    doc = nlp.make_doc("I like London and Berlin.")
    doc.set_ents([], blocked=[doc[2:3]], default="missing")
    ner(doc)
    assert [token.ent_iob_ for token in doc] == ["O", "O", "B", "O", "B", "O"]
    assert [token.ent_type_ for token in doc] == ["", "", "", "", "LOC", ""]


def test_outside_can_be_overwritten(nlp, ner):
    doc = nlp.make_doc("I like London and Berlin.")
    doc.set_ents([], default="outside")
    assert ents_of(ner(doc)) == [(7, 13, "LOC"), (18, 24, "LOC")]


def test_ruler_before_and_after(nlp):
    ruler = nlp.add_pipe("entity_ruler")
    ner = nlp.add_pipe("dynsel_ner")
    ner.add_label("MY_LABEL")
    nlp.initialize()
    ruler.add_patterns([{"label": "THING", "pattern": "This"}])
    doc = nlp("This is Antti Korhonen speaking")
    assert [token.ent_iob_ for token in doc] == ["B", "O", "O", "O", "O"]
    assert doc[0].ent_type_ == "THING"


def test_sentences_are_not_crossed(nlp, direction):
    examples = make_examples(nlp)
    ner = train_ner(nlp, examples, model={"direction": direction})
    words = ["New", "York", "is", "not", "far", "from", "Boston", "."]
    assert ner(Doc(nlp.vocab, words=words)).ents[0].text == "New York"
    starts = [True, True, *[False] * 6]
    divided = ner(Doc(nlp.vocab, words=words, sent_starts=starts))
    assert "New York" not in [ent.text for ent in divided.ents]
    assert all(ent.end <= ent.sent.end for ent in divided.ents)


def test_entities_do_not_start_on_white_space(nlp, direction):
    data = [("Who is\n Shaka Khan?", [(6, 18, "PERSON")])]
    reference = nlp.make_doc(data[0][0])
    tags = ["O", "O", "B-PERSON", "I-PERSON", "L-PERSON", "O"]
    assert reference[2].is_space
    ents = Doc(
        nlp.vocab,
        words=[t.text for t in reference],
        ents=[tag.replace("L-", "I-") for tag in tags],
    )
    example = Example(nlp.make_doc(data[0][0]), ents)
    train_ner(nlp, [example], model={"direction": direction})
    doc = nlp(data[0][0])
    assert not any(ent[0].is_space for ent in doc.ents)
    inside = nlp("Shaka \n Khan?")
    assert all(not ent[0].is_space for ent in inside.ents)


def test_partial_annotation(nlp, direction):
    """Tokens without annotation are not learned from."""
    words = ["I", "like", "London", "and", "Berlin", "."]
    full = Doc(nlp.vocab, words=words, ents=["O", "O", "B-LOC", "O", "B-LOC", "O"])
    partial = Doc(nlp.vocab, words=words)
    partial.set_ents(
        [Span(partial, 2, 3, label="LOC")], outside=[partial[:2]], default="missing"
    )
    bare = Doc(nlp.vocab, words=words)
    train_ner(nlp, [Example(bare, full)], model={"direction": direction})
    before = [ents_of(nlp("I like London and Berlin."))]
    for _ in range(20):
        nlp.update([Example(bare, partial)])
    assert [ents_of(nlp("I like London and Berlin."))] == before
    none = Doc(nlp.vocab, words=words)
    assert nlp.update([Example(bare, none)], losses={}) == {"dynsel_ner": 0.0}


def test_misaligned_words(nlp, direction):
    reference = Doc(
        nlp.vocab,
        words=["I", "like", "Lon", "don", "and", "Ber", "lin", "."],
        spaces=[True, True, False, True, True, False, False, False],
        ents=["O", "O", "B-LOC", "I-LOC", "O", "B-LOC", "I-LOC", "O"],
    )
    example = Example(nlp.make_doc("I like London and Berlin."), reference)
    train_ner(nlp, [example], model={"direction": direction})
    assert ents_of(nlp("I like London and Berlin.")) == [
        (7, 13, "LOC"),
        (18, 24, "LOC"),
    ]
    halves = Doc(
        nlp.vocab,
        words=["I", "like", "Londonand", "Berlin", "."],
        spaces=[True, True, True, False, False],
        ents=["O", "O", "B-LOC", "O", "O"],
    )
    nlp.update(
        [
            Example(
                Doc(
                    nlp.vocab,
                    words=["I", "like", "London", "and", "Berlin", "."],
                    spaces=[True, True, False, True, False, False],
                ),
                halves,
            )
        ]
    )


def test_incorrect_spans(nlp, direction):
    """Spans that are known to be wrong are unlearned."""
    key = "wrong"
    ner = train_ner(
        nlp,
        make_examples(nlp),
        incorrect_spans_key=key,
        model={"direction": direction},
    )
    assert ner.incorrect_spans_key == key
    for text, start, end, label in (
        ("I like London.", 2, 3, "LOC"),
        ("New York is not far.", 0, 2, "LOC"),
    ):
        assert (start, end, label) in [
            (e.start, e.end, e.label_) for e in nlp(text).ents
        ]
        reference = nlp.make_doc(text)
        reference.spans[key] = [Span(reference, start, end, label=label)]
        for _ in range(40):
            nlp.update([Example(nlp.make_doc(text), reference)])
        found = [(e.start, e.end, e.label_) for e in nlp(text).ents]
        assert (start, end, label) not in found


def test_incorrect_spans_of_several_docs(nlp, direction):
    """Each is unlearned in its own doc, whatever stands beside it."""
    ner = train_ner(
        nlp,
        make_examples(nlp),
        incorrect_spans_key="wrong",
        model={"direction": direction},
    )
    texts = ["I like London.", "Who knows?", "New York is not far.", "I like Berlin."]
    batch = []
    for text in texts:
        found = nlp(text).ents
        reference = nlp.make_doc(text)
        reference.spans["wrong"] = [
            Span(reference, ent.start, ent.end, label=ent.label_) for ent in found
        ]
        batch.append(Example(nlp.make_doc(text), reference))
    wrong = [
        {(s.start, s.end, s.label_) for s in example.reference.spans["wrong"]}
        for example in batch
    ]
    assert sum(map(len, wrong)) == 3
    for _ in range(40):
        ner.update(batch)
    for text, spans in zip(texts, wrong, strict=True):
        assert spans.isdisjoint((e.start, e.end, e.label_) for e in nlp(text).ents)


def test_contradictory_spans(nlp):
    examples = make_examples(nlp)
    ner = train_ner(nlp, examples, n_updates=1, incorrect_spans_key="wrong")
    reference = examples[0].reference
    reference.spans["wrong"] = [Span(reference, 2, 4, label="PERSON")]
    with pytest.raises(ValueError, match="DS101"):
        ner.update(examples)


def test_old_mark_of_wrong_entities(nlp):
    ner = train_ner(nlp, make_examples(nlp), n_updates=1)
    bad = make_examples(nlp, [("Who is Shaka Khan?", [(7, 17, "!PERSON")])])
    with pytest.raises(ValueError, match="DS102"):
        ner.update(bad)


def test_two_word_input_with_negatives(nlp):
    """Where every way out is closed, nothing is learned and nothing gets stuck."""
    ner = train_ner(nlp, make_examples(nlp), incorrect_spans_key="wrong")
    doc = Doc(nlp.vocab, words=["New", "York"])
    reference = Doc(nlp.vocab, words=["New", "York"])
    reference.spans["wrong"] = [
        Span(reference, 0, 1, label="O"),
        Span(reference, 0, 2, label="LOC"),
        Span(reference, 1, 2, label="LOC"),
    ]
    for _ in range(40):
        ner.update([Example(doc, reference)])
    found = [(e.start, e.end, e.label_) for e in ner(doc).ents]
    assert (0, 2, "LOC") not in found


def test_empty_docs_everywhere(nlp, ner):
    empty = Example(nlp.make_doc(""), nlp.make_doc(""))
    assert nlp.update([empty], losses={}) == {"dynsel_ner": 0.0}
    nlp.update([empty, *make_examples(nlp)])
    assert ner.statistics([nlp.make_doc("")])["tokens"] == 0
    assert list(ner.explain(nlp.make_doc(""))) == []
    scores = nlp.evaluate([empty])
    assert scores["ents_f"] is None


def test_score(nlp, ner):
    scores = nlp.evaluate(make_examples(nlp))
    assert scores["ents_f"] == 1.0
    assert set(scores["ents_per_type"]) == {"LOC", "PERSON"}
    first, last = ner.engine.templates.checkpoints
    assert first <= ner.describe()["mean_templates"] <= last
    unknown = [Example(nlp.make_doc("a b"), nlp.make_doc("a b"))]
    assert nlp.evaluate(unknown)["ents_f"] is None


def test_bytes_and_disk(nlp, ner, direction, two_passes, tmp_path):
    expected = [ents_of(nlp(text)) for text in TEXTS]
    ner.o_bias = -0.5
    ner.o_bias = 0.25
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    other = loaded.get_pipe("dynsel_ner")
    assert other.to_bytes() == ner.to_bytes()
    assert other.labels == ner.labels
    assert other.o_bias == 0.25
    ner.o_bias = other.o_bias = 0.0
    assert [ents_of(loaded(text)) for text in TEXTS] == expected
    fresh = spacy.blank("en").add_pipe(
        "dynsel_ner",
        config={"model": {"direction": direction, "two_passes": two_passes}},
    )
    fresh.from_bytes(ner.to_bytes(exclude=["vocab"]), exclude=["vocab"])
    assert fresh.to_bytes(exclude=["vocab"]) == ner.to_bytes(exclude=["vocab"])
    assert all(label in fresh.vocab.strings for label in ner.labels)
    uninitialized = spacy.blank("en").add_pipe("dynsel_ner")
    again = (
        spacy.blank("en").add_pipe("dynsel_ner").from_bytes(uninitialized.to_bytes())
    )
    assert again.to_bytes() == uninitialized.to_bytes()


def test_another_config(nlp, ner, direction, two_passes):
    wrong = {"ltr": "rtl", "rtl": "ltr"}[direction]
    for model, code in (
        ({"direction": wrong, "two_passes": two_passes}, "DS100"),
        ({"direction": direction, "two_passes": not two_passes}, "DS106"),
    ):
        other = spacy.blank("en").add_pipe("dynsel_ner", config={"model": model})
        with pytest.raises(ValueError, match=code):
            other.from_bytes(ner.to_bytes())


def test_a_second_pass_sees_the_first(nlp):
    model = {"direction": "ltr", "two_passes": True, "seeds": 1}
    learner = {"lone_sentences": 0.0}
    ner = train_ner(nlp, make_examples(nlp), model={**model, "learner": learner})
    engine = ner.engine
    assert list(engine.parts) == ["templates", "second"]
    doc = nlp.make_doc("I like London and Berlin.")
    for why in ner.explain(doc):
        label, runner_up = why.contributions["first pass"]
        assert label > 0
        assert runner_up == 0
    # If it is sure enough, the second follows it.
    doc = nlp.make_doc("I like tea .")
    for support, expected in ((0, [0, 0, 0, 0]), (10_000, [0, 0, 4, 0])):
        first = EntityBatch(
            np.array([0, 0, 4, 0], dtype="uint16"),
            np.array([4]),
            np.zeros(2),
            False,
            np.full(4, support, dtype="int16"),
        )
        batch = engine._read(engine.get_snapshot(), 1, [doc], 4.0, False, first=first)
        assert batch.actions.tolist() == expected


def predict_ents(nlp):
    return [ents_of(nlp(text)) for text in TEXTS]


def test_copies(nlp, ner):
    check_copies(nlp, predict_ents)


def test_processes(nlp, ner, start_method):
    check_processes(nlp, TEXTS, ents_of)


def test_training_goes_on_after_loading(nlp, ner, tmp_path):
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    examples = make_examples(loaded, [*TRAIN_DATA, ("Rex barks .", [(0, 3, "DOG")])])
    for _ in range(20):
        loaded.update(examples)
    for text, entities in [*TRAIN_DATA, ("Rex barks .", [(0, 3, "DOG")])]:
        assert ents_of(loaded(text)) == entities


def test_predictions_between_updates(nlp, direction):
    examples = make_examples(nlp)
    nlp.add_pipe("dynsel_ner", config={"model": {"direction": direction}})
    nlp.initialize(lambda: examples)
    for _ in range(25):
        nlp.update(examples, annotates=["dynsel_ner"])
    assert [ents_of(nlp(text)) for text, _ in TRAIN_DATA] == [e for _, e in TRAIN_DATA]


def test_seeds_are_averaged(nlp):
    ner = train_ner(nlp, make_examples(nlp), model={"seeds": 3})
    learners = ner.engine.main.learners
    keys, labels, values = mean_weights([one.get_weights() for one in learners])
    total = {}
    for learner in learners:
        for key, label, value in zip(*learner.get_weights(), strict=True):
            total[int(key), int(label)] = (
                total.get((int(key), int(label)), 0) + value / 3
            )
    found = dict(
        zip(zip(keys.tolist(), labels.tolist(), strict=True), values, strict=True)
    )
    assert found.keys() == total.keys()
    assert all(found[pair] == pytest.approx(total[pair], abs=1e-5) for pair in total)
    assert [ents_of(nlp(text)) for text, _ in TRAIN_DATA] == [e for _, e in TRAIN_DATA]


@pytest.mark.parametrize(
    ("model", "code"),
    [
        ({"seeds": 0}, "DS022"),
        ({"seeds": 1000}, "DS022"),
        ({"direction": "up"}, "direction"),
    ],
)
def test_bad_architecture_settings(nlp, model, code):
    with pytest.raises(ValueError, match=code):
        nlp.add_pipe("dynsel_ner", config={"model": model})


def test_o_bias(nlp, ner):
    docs = [nlp.make_doc(text) for text in TEXTS]
    sizes = []
    for bias in (30.0, 0.0, -30.0):
        ner.o_bias = bias
        copies = [doc.copy() for doc in docs]
        ner.set_annotations(copies, ner.predict(copies))
        sizes.append(sum(len(ent) for doc in copies for ent in doc.ents))
    assert sizes[0] == 0
    assert sizes[0] < sizes[1] < sizes[2]
    for bad in (float("nan"), 1e9, "much", None, True):
        with pytest.raises(ValueError, match="DS022"):
            ner.o_bias = bad
    assert ner.o_bias == -30.0


def test_o_bias_without_weights(nlp):
    """A pipeline may have a recognizer, and its data no entities."""
    ner = nlp.add_pipe("dynsel_ner")
    nlp.initialize()
    assert tune_o_bias(ner, [Example(nlp.make_doc("a b"), nlp.make_doc("a b"))]) == 0
    for bias in (32.0, -32.0):
        ner.o_bias = bias
        assert not nlp("Some text").ents


def test_tuning_o_bias(nlp, ner):
    ner.o_bias = 30.0
    examples = make_examples(nlp)
    assert tune_o_bias(ner, examples) == 0.0
    assert ner.o_bias == 0.0
    assert not any(example.predicted.ents for example in examples)


def test_f_score_is_that_of_spacy(nlp):
    rng = np.random.default_rng(0)
    ner = train_ner(nlp, make_examples(nlp), n_updates=1)
    words = ["I", "like", "New", "York", "and", "Shaka", "Khan", "."]
    parts = [["O"], [""], ["B-LOC"], ["B-LOC", "I-LOC"], ["B-PERSON", "I-PERSON"]]
    scores = []
    for _ in range(20):
        examples = []
        for _ in range(5):
            chosen = rng.integers(0, len(parts), 8)
            tags = [tag for i in chosen for tag in parts[i]][:8]
            gold = Doc(nlp.vocab, words=words, ents=tags)
            examples.append(Example(Doc(nlp.vocab, words=words), gold))
        docs = [example.predicted for example in examples]
        known = np.concatenate([ner.get_gold(example).actions for example in examples])
        ner.o_bias = float(rng.uniform(-5, 0))
        batch = ner.predict(docs)
        ner.set_annotations(docs, batch)
        scores.append(entity_f(batch.actions, known))
        assert scores[-1] == pytest.approx(ner.scorer(examples)["ents_f"])
    assert len(set(scores)) > 5


@pytest.mark.parametrize("best", [-8.0, -6.75, -0.5, 1.75, 3.0])
def test_tuning_looks_around(nlp, best, monkeypatch):
    """A lucky value among worse ones is not taken."""
    ner = train_ner(nlp, make_examples(nlp), n_updates=1)
    lucky = -4.0

    def score(actions, gold):
        return 0.6 if ner.o_bias == lucky else 1 / (2 + abs(ner.o_bias - best))

    monkeypatch.setattr("spacy_dynsel.registry.tuning.entity_f", score)
    assert tune_o_bias(ner, make_examples(nlp)) == best
    assert ner.o_bias == best


def test_explanations(nlp, ner, direction):
    ner.o_bias = 0.125
    for margin in (0.0, 4.0, float("inf")):
        ner.margin = margin
        for text, _ in TRAIN_DATA:
            doc = nlp(text)
            explained = ner.explain(doc)
            assert [(e.start, e.end, e.label) for e in explained.entities] == [
                (ent.start, ent.end, ent.label_) for ent in doc.ents
            ]
            for ent in explained.entities:
                # What had no rival says nothing.
                leads = [w.lead for w in explained[ent.start : ent.end] if w.runner_up]
                assert ent.weakest_lead == min(leads)
            for token, why in zip(doc, explained, strict=True):
                assert why.label[2:] == token.ent_type_
                label, runner_up = np.sum(list(why.contributions.values()), axis=0)
                if why.runner_up:
                    assert label - runner_up == pytest.approx(why.lead)
                assert "bias" in why.contributions
    kept = ner.explain(nlp("I like London."), keep_entities=True)
    assert [e.weakest_lead for e in kept.entities] == [float("inf")]


def test_margin_is_monotone(nlp, ner):
    docs = [nlp(text) for text in TEXTS]
    used = []
    for margin in (0.0, 1.0, 4.0, float("inf")):
        ner.margin = margin
        used.append(ner.statistics(docs)["templates"])
    assert used == sorted(used)
    first, last = ner.engine.templates.checkpoints
    assert used[0] == first
    # Where only one action is valid, no more templates are needed.
    assert last - 1 <= used[-1] <= last


def test_memory_zones(nlp, ner):
    check_memory_zones(nlp, predict_ents)


def test_documents_help(nlp):
    """A word that is clear in one sentence is recognized in another of the doc."""
    data = []
    for name in ("Xan", "Yor", "Zif", "Wub", "Kel", "Dob"):
        words = f"Mr. {name} came . and {name} left .".split()
        tags = ["O", "B-PER", "O", "O", "O", "B-PER", "O", "O"]
        data.append((words, tags))
        data.append((f"an {name} came . and {name} left .".split(), ["O"] * 8))
    starts = [True, False, False, False, True, False, False, False]
    examples = [
        Example(
            Doc(nlp.vocab, words=words, sent_starts=starts),
            Doc(nlp.vocab, words=words, sent_starts=starts, ents=tags),
        )
        for words, tags in data
    ]
    ner = train_ner(nlp, examples, n_updates=20)
    new = Doc(
        nlp.vocab,
        words=["Mr.", "Gam", "came", ".", "and", "Gam", "left", "."],
        sent_starts=starts,
    )
    assert [(ent.start, ent.label_) for ent in ner(new).ents] == [
        (1, "PER"),
        (5, "PER"),
    ]
    other = Doc(
        nlp.vocab,
        words=["an", "Gam", "came", ".", "and", "Gam", "left", "."],
        sent_starts=starts,
    )
    assert not ner(other).ents


def test_tags_can_be_used(nlp):
    lines = ["tag", "tag[-1]", "tag[+1]", "word", "action[-1]"]
    templates = {"@misc": "spacy_dynsel.templates.v1", "lines": lines}
    words = ["a", "b", "c"]
    example = Example(
        Doc(nlp.vocab, words=words, tags=["X", "N", "X"]),
        Doc(nlp.vocab, words=words, ents=["O", "B-P", "O"]),
    )
    ner = nlp.add_pipe("dynsel_ner", config={"model": {"templates": templates}})
    nlp.initialize(lambda: [example])
    for _ in range(20):
        ner.update([example])
    doc = ner(Doc(nlp.vocab, words=["d", "e", "f"], tags=["N", "X", "X"]))
    assert [ent.start for ent in doc.ents] == [0]


def test_error_handler_drops_the_bad_batch_only(nlp, ner):
    check_error_handler(nlp, TEXTS, "like")


def test_frozen_sourced_and_annotating(nlp, tmp_path):
    """Through `spacy train`: a sourced recognizer stays as it is, and another one keeps
    what the first has found."""
    train_ner(nlp, make_examples(nlp))
    nlp.to_disk(tmp_path / "first")
    docs = [example.reference for example in make_examples(nlp)]
    DocBin(docs=docs * 5).to_disk(tmp_path / "data.spacy")
    path = str(tmp_path / "data.spacy")
    config = load_config(
        CONFIGS / "ner.cfg",
        overrides={"paths.train": path, "paths.dev": path, "training.max_epochs": 1},
    )
    config["nlp"]["pipeline"] = ["first", "ner"]
    config["components"]["first"] = {
        "source": str(tmp_path / "first"),
        "component": "dynsel_ner",
    }
    config["training"]["frozen_components"] = ["first"]
    config["training"]["annotating_components"] = ["first"]
    config.to_disk(tmp_path / "config.cfg")
    train(tmp_path / "config.cfg", tmp_path / "both")
    both = spacy.load(tmp_path / "both" / "model-last")
    original = tmp_path / "first" / "dynsel_ner" / "model"
    frozen = tmp_path / "both" / "model-last" / "first" / "model"
    assert frozen.read_bytes() == original.read_bytes()
    for found, kept in zip(predict_ents(both), predict_ents(nlp), strict=True):
        assert set(kept) <= set(found)


@pytest.mark.parametrize("name", ["ner", "ner_resources"])
def test_shipped_configs_train(nlp, name, tmp_path):
    docs = [example.reference for example in make_examples(nlp)]
    DocBin(docs=docs * 5).to_disk(tmp_path / "data.spacy")
    path = str(tmp_path / "data.spacy")
    overrides = {"paths.train": path, "paths.dev": path, "training.max_epochs": 2}
    lists = []
    if name == "ner_resources":
        lists = ["cities", "countries", "family", "given", "states"]
        for each in lists:
            (tmp_path / f"{each}.txt").write_text(f"{each}\n", encoding="utf8")
        # The clusters of English would take most of the time.
        overrides |= {"paths.gazetteers": str(tmp_path), "nlp.lang": "xx"}
    train(CONFIGS / f"{name}.cfg", tmp_path / "out", overrides=overrides)
    ner = spacy.load(tmp_path / "out" / "model-best").get_pipe("ner")
    assert ner.labels == ("LOC", "PERSON")
    used = {
        atom.column for spec in ner.engine.templates.templates for atom in spec.atoms
    }
    assert used >= {f"list_{each}" for each in lists}
    assert any(column.startswith("cluster") for column in used) == bool(lists)


def test_least_sure_entities_come_first(nlp, ner):
    docs = [nlp.make_doc(text) for text in TEXTS]
    ranked = ner.rank_entities(docs)
    assert not any(token.ent_iob for doc in docs for token in doc)
    found = [(entity.doc, entity.span.start, entity.span.label_) for entity in ranked]
    annotated = [nlp(text) for text in TEXTS]
    expected = [
        (i, ent.start, ent.label_)
        for i, doc in enumerate(annotated)
        for ent in doc.ents
    ]
    assert sorted(found) == sorted(expected)
    leads = [entity.lead for entity in ranked]
    assert leads == sorted(leads)
    for entity in ranked:
        assert entity.probability is None
        why = ner.explain(docs[entity.doc]).entities
        [same] = [one for one in why if one.start == entity.span.start]
        assert entity.lead == pytest.approx(same.weakest_lead)
    # What is set is sure.
    assert ner.rank_entities(annotated) == []
    assert ner.rank_entities([]) == []


@pytest.mark.parametrize("passes", [1, 2])
def test_lone_sentences_know_nothing_of_each_other(nlp, passes):
    """A doc that is always learned by lone sentences is learned like its sentences."""
    words = ["Ann", "met", "ann", ".", "Ann", "left", "."]
    tags = ["B-PER", "O", "B-PER", "O", "B-PER", "O", "O"]
    starts = [True, False, False, False, True, False, False]
    whole = Doc(nlp.vocab, words=words, ents=tags, sent_starts=starts)
    sentences = [sent.as_doc() for sent in whole.sents]
    # The column class counts Docs, of which there are more.
    lines = default_templates("ner").to_lines()
    templates = {"default": None, "lines": [x for x in lines if "class" not in x]}

    def learn(golds, lone_sentences):
        other = spacy.blank("en")
        # Nothing may depend on chance: a doc takes one random number more.
        learner = {"lone_sentences": lone_sentences, "predicted_history": 0.0}
        model = {"learner": learner, "seeds": 1, "two_passes": passes == 2}
        model["templates"] = templates
        pipe = other.add_pipe("dynsel_ner", config={"model": model})
        examples = [Example(gold.copy(), gold) for gold in golds]
        for example in examples:
            example.predicted.set_ents([], default="missing")
        other.initialize(lambda: examples)
        for _ in range(3):
            other.update(examples)
        return pipe.engine.to_bytes()

    assert learn([whole], 1.0) == learn(sentences, 0.0)
    assert learn([whole], 0.0) != learn(sentences, 0.0)
