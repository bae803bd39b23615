"""What users can feed to the entity recognizer: odd text and gold, damaged files."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from helpers.model_bytes import check_forged, crafted
from helpers.ner import TRAIN_DATA, ents_of, make_examples, train_ner
from helpers.words import ODD_WORDS

ENTRIES = {"cities": ["London", "New York"], "people": ["Shaka Khan"]}
GAZETTEERS = {"@misc": "spacy_dynsel.gazetteers.v1", "entries": ENTRIES}


@pytest.fixture(params=["ltr", "rtl"])
def ner(nlp, request):
    model = {"direction": request.param, "gazetteers": GAZETTEERS}
    return train_ner(nlp, make_examples(nlp), model=model)


@pytest.mark.parametrize("words", [*ODD_WORDS, ["NOUN", "PERSON", "IS_ALPHA", "LOC"]])
def test_odd_words(nlp, ner, words):
    doc = ner(Doc(nlp.vocab, words=words))
    assert all(token.ent_iob in (1, 2, 3) for token in doc)
    assert not any(ent[0].is_space for ent in doc.ents)
    if len(words) < 100:
        assert len(ner.explain(doc)) == len(words)


def test_a_hundred_thousand_tokens(nlp, ner):
    words = [word for text, _ in TRAIN_DATA for word in text.split()]
    doc = Doc(nlp.vocab, words=(words * 10_000)[:100_000])
    ner(doc)
    assert (doc.to_array("ENT_IOB") != 0).all()


def test_the_cache_does_not_matter(nlp, ner):
    rng = np.random.default_rng(0)
    doc = Doc(nlp.vocab, words=[f"W{i}" for i in rng.integers(0, 3000, 5000)])
    expected = ner.predict([doc]).actions.tolist()
    for cache_size in (1, 100):
        ner.cfg["cache_size"] = cache_size
        assert ner.predict([doc]).actions.tolist() == expected


def test_gold_that_can_not_be_learned(nlp, ner):
    """Entities over white space only, or over a sentence start, teach nothing wrong."""
    spaces = Doc(nlp.vocab, words=["a", "\n", "b"], ents=["O", "B-LOC", "O"])
    crossing = Doc(
        nlp.vocab,
        words=["a", "b", "c", "d"],
        sent_starts=[True, False, True, False],
        ents=["O", "B-LOC", "I-LOC", "O"],
    )
    bare = [Doc(nlp.vocab, words=[t.text for t in doc]) for doc in (spaces, crossing)]
    for _ in range(5):
        ner.update(
            [
                *(Example(x, y) for x, y in zip(bare, (spaces, crossing), strict=True)),
                *make_examples(nlp),
            ]
        )
    assert [ents_of(nlp(text)) for text, _ in TRAIN_DATA] == [e for _, e in TRAIN_DATA]
    assert not ner(bare[0]).ents


def test_overlapping_gold(nlp):
    """spaCy refuses overlapping entities; overlapping negative spans are fine."""
    doc = nlp.make_doc("New York City is big")
    with pytest.raises(ValueError, match="E1010"):
        doc.set_ents([Span(doc, 0, 2, label="LOC"), Span(doc, 1, 3, label="LOC")])
    with pytest.raises(ValueError, match="E103"):
        Example.from_dict(doc, {"entities": [(0, 8, "LOC"), (4, 13, "LOC")]})
    ner = train_ner(nlp, make_examples(nlp), incorrect_spans_key="wrong")
    reference = nlp.make_doc("New York City is big")
    wrong = {(0, 2), (1, 3), (0, 3), (1, 2), (0, 1), (2, 3)}
    reference.spans["wrong"] = [
        Span(reference, start, end, label="LOC") for start, end in sorted(wrong)
    ]
    for _ in range(60):
        ner.update([Example(doc, reference)])
    assert wrong.isdisjoint(
        (ent.start, ent.end) for ent in ner(nlp.make_doc(doc.text)).ents
    )


def test_misaligned_entities(nlp, ner):
    """Entities that cut tokens are missing annotation, not an error."""
    reference = nlp.make_doc("I like London and Berlin.")
    with pytest.warns(UserWarning, match="W030"):
        example = Example.from_dict(reference, {"entities": [(7, 11, "LOC")]})
    assert ner.update([example]).keys() == {"dynsel_ner"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m, a: m.update(task="tagging"), "DS037"),
        (lambda m, a: m.update(direction="up"), "DS035"),
        (lambda m, a: m.pop("direction"), "DS035"),
        (lambda m, a: m.update(lists=["cities"]), "DS118"),
        (lambda m, a: m.pop("lists"), "DS118"),
        (lambda m, a: m.update(labels=["A", "A"]), "DS035"),
        (lambda m, a: m.update(labels=["A"]), "DS035"),
        (lambda m, a: m.update(labels=["", *m["labels"][1:]]), "DS035"),
        (lambda m, a: m["parts"]["templates"].update(scale=-1.0), "DS035"),
        (lambda m, a: a.pop("folded_keys"), "DS035"),
        (lambda m, a: a.update(exact_keys=a["exact_keys"][:-1]), "DS035"),
        (lambda m, a: a.update(exact_keys=a["exact_keys"][::-1].copy()), "DS035"),
        (lambda m, a: a["folded_keys"].__setitem__(0, 0), "DS035"),
        (lambda m, a: a["class_values"].__setitem__(0, 6), "DS035"),
        (lambda m, a: a["folded_lists"].__setitem__(0, 4), "DS035"),
        (lambda m, a: a.update(templates_slots=a["templates_slots"][:-1]), "DS035"),
    ],
)
def test_contents_that_would_do_harm(ner, change, code):
    before = ner.to_bytes()
    with pytest.raises(ValueError, match=code):
        ner.engine.from_bytes(crafted(ner, change))
    assert ner.to_bytes() == before


def test_bytes_with_a_forged_checksum(nlp, ner):
    other = spacy.blank("en").add_pipe(
        "dynsel_ner",
        config={"model": {"direction": ner.engine.direction, "gazetteers": GAZETTEERS}},
    )
    doc = nlp.make_doc("I like London and New York")
    check_forged(ner.engine.to_bytes(), other, doc, margin=1.0, n_tries=200)


def test_too_many_labels(nlp):
    ner = nlp.add_pipe("dynsel_ner")
    labels = [f"L{i}" for i in range(8000)]
    with pytest.raises(ValueError, match="DS044"):
        ner.initialize(lambda: make_examples(nlp), labels=labels)


def test_empty_labels(nlp, ner):
    """Tokens that are blocked have an empty label."""
    with pytest.raises(ValueError, match="DS041"):
        ner.add_label("")
    with pytest.raises(ValueError, match="DS041"):
        ner.initialize(lambda: make_examples(nlp), labels=["LOC", ""])
    assert ner.labels == ("LOC", "PERSON")


@pytest.mark.parametrize(
    ("labels", "code"),
    [(["NEW", 5], "DS041"), ([f"L{i}" for i in range(8000)], "DS044")],
)
def test_initialize_that_fails(nlp, ner, labels, code):
    """What was learned stays, with the labels that belong to it."""
    before = ner.to_bytes(exclude=["vocab"])
    with pytest.raises(ValueError, match=code):
        ner.initialize(lambda: make_examples(nlp), labels=labels)
    assert ner.to_bytes(exclude=["vocab"]) == before
    new = make_examples(nlp, [("Rex barks .", [(0, 3, "NEW")])])
    for _ in range(20):
        nlp.update([*new, *make_examples(nlp)])
    assert ents_of(nlp("Rex barks .")) == [(0, 3, "NEW")]


def test_data_that_fail_in_initialize(nlp, ner):
    before = ner.to_bytes(exclude=["vocab"])
    examples = make_examples(nlp, [("Rex barks .", [(0, 3, "!NEW")])])
    with pytest.raises(ValueError, match="DS102"):
        ner.initialize(lambda: examples, labels=["NEW"])
    assert ner.to_bytes(exclude=["vocab"]) == before
