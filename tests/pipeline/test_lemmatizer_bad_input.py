"""What users can feed a lemmatizer: odd text, damaged files, tables that are none."""

import json
import warnings

import numpy as np
import pytest
import spacy
from spacy.lookups import Lookups
from spacy.tokens import Doc
from spacy.training import Example

from helpers.lemmatizer import lemmatize, make_examples, train_lemmatizer
from helpers.model_bytes import check_damaged_directory, check_forged, crafted
from helpers.words import STRANGE_WORDS
from spacy_dynsel.tasks.lemmas.tables import SECTION, read_lookups

NAME = "dynsel_lemmatizer"


@pytest.fixture
def lemmatizer(nlp):
    return train_lemmatizer(nlp, make_examples(nlp))


@pytest.mark.parametrize("words", STRANGE_WORDS)
def test_odd_words(nlp, lemmatizer, words):
    doc = Doc(nlp.vocab, words=words, pos=["NOUN"] * len(words))
    assert len(lemmatizer.explain(doc)) == len(words)
    for token in lemmatizer(doc):
        assert token.lemma_
        if token.is_space:
            assert token.lemma_ == token.text


def test_empty_words_never_get_into_a_doc(nlp):
    with pytest.raises(ValueError, match="E031"):
        Doc(nlp.vocab, words=["", "eggs"])


def test_lone_surrogates_never_get_into_a_doc(nlp, lemmatizer):
    with pytest.raises(UnicodeEncodeError):
        nlp("a \ud800 b")


@pytest.mark.parametrize(
    ("form", "lemma"),
    [
        ("w/", "with"),
        ("a", "antidisestablishmentarianism"),
        ("ice-cream", "ice cream"),
        ("dunno", "do not know"),
        ("ﬁnds", "find"),
        ("e\u0301s", "é"),
        ("日本語", "日本"),
        ("İ", "i"),
        ("$^>\\", "\\ >^$"),
    ],
)
def test_odd_lemmas_are_learned(nlp, form, lemma):
    gold = Doc(nlp.vocab, words=[form], lemmas=[lemma])
    lemmatizer = train_lemmatizer(nlp, [Example(Doc(nlp.vocab, words=[form]), gold)])
    assert lemmatize(lemmatizer, gold) == [lemma]
    other = spacy.blank("en").add_pipe(NAME).from_bytes(lemmatizer.to_bytes())
    assert lemmatize(other, gold) == [lemma]


def test_long_words_and_lemmas(nlp):
    """A lemma that is another text altogether is not learned, and costs no time."""
    long = "ab" * 50_000
    words = ["eggs", long + "s", long]
    lemmas = ["egg", long, "ba" * 49_000]
    gold = Doc(nlp.vocab, words=words, lemmas=lemmas)
    lemmatizer = train_lemmatizer(nlp, [Example(Doc(nlp.vocab, words=words), gold)])
    assert lemmatizer.labels == ("lower s>$",)
    assert lemmatize(lemmatizer, gold) == ["egg", long, long]


def test_only_lemmas_that_are_missing(nlp):
    words = ["a", "b"]
    for lemmas in (["", ""], ["_", "_"]):
        gold = Doc(nlp.vocab, words=words, lemmas=lemmas)
        example = Example(Doc(nlp.vocab, words=words), gold)
        with pytest.raises(ValueError, match="DS231"):
            spacy.blank("en").add_pipe(NAME).initialize(lambda e=example: [e])


@pytest.mark.parametrize(
    "lookups",
    [
        3,
        "eggs",
        [("eggs", "egg")],
        {"eggs": 3},
        {"eggs": ""},
        {"eggs": []},
        {"eggs": [["egg"]]},
        {"": "egg"},
        {5.0: "egg"},
        {"eggs": "\ud800"},
        {"THING": {"eggs": "egg"}},
        {"NOUN": {"eggs": None}},
    ],
)
def test_tables_that_are_none(nlp, lemmatizer, lookups):
    before = lemmatizer.to_bytes()
    with pytest.raises(ValueError, match="DS234"):
        lemmatizer.set_lookups(lookups)
    with pytest.raises(ValueError, match="DS234"):
        lemmatizer.initialize(lambda: make_examples(nlp), lookups=lookups)
    assert lemmatizer.to_bytes() == before


def test_tables_of_another_kind(lemmatizer):
    lookups = Lookups()
    lookups.add_table("lexeme_prob", {"eggs": -3.0})
    with pytest.raises(ValueError, match=r"DS234.*lexeme_prob"):
        lemmatizer.set_lookups(lookups)


@pytest.mark.parametrize("lookups", [None, {}, Lookups(), {"NOUN": {}}])
def test_tables_without_entries(lemmatizer, lookups):
    before = lemmatizer.to_bytes()
    lemmatizer.set_lookups(lookups)
    assert lemmatizer.to_bytes() == before
    assert read_lookups(lookups) is None


def test_damaged_model_directories(nlp, lemmatizer, tmp_path):
    lemmatizer.set_lookups({"x": "y"})

    def annotate(nlp):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [token.lemma_ for token in nlp("She likes eggs x")]

    check_damaged_directory(
        nlp, tmp_path, annotate, n_flipped=8, lengths=lambda n: (0, 1, 30, n // 2)
    )


def as_section(value):
    return np.frombuffer(json.dumps(value).encode(), dtype="uint8")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m, a: m.update(task="tagging"), "DS037"),
        (lambda m, a: m.update(labels=["NOUN", *m["labels"][1:]]), "DS035"),
        (lambda m, a: m.update(labels=m["labels"][:2]), "DS035"),
        (lambda m, a: m.update(labels=[*m["labels"], "lower "]), "DS035"),
        (lambda m, a: m.update(reads_pos=1), "DS035"),
        (lambda m, a: m.pop("reads_pos"), "DS035"),
        (lambda m, a: a.pop("templates_slots"), "DS035"),
        (lambda m, a: a.update({SECTION: a["templates_index"]}), "DS035"),
        (lambda m, a: a.update({SECTION: as_section([])[:1]}), "DS035"),
        (lambda m, a: a.update({SECTION: as_section({"a": 1})}), "DS035"),
        (lambda m, a: a.update({SECTION: as_section([[0, [[5, 3]]]])}), "DS035"),
        (lambda m, a: a.update({SECTION: as_section([[0, [[5, ""]]]])}), "DS035"),
        (lambda m, a: a.update({SECTION: as_section([["0", [[5, "x"]]]])}), "DS035"),
        (lambda m, a: a.update({SECTION: as_section([[0, [[5.5, "x"]]]])}), "DS035"),
        (lambda m, a: m["parts"]["templates"].update(templates=["word"]), "DS036"),
    ],
)
def test_contents_that_would_do_harm(lemmatizer, change, code):
    data = crafted(lemmatizer, change)
    before = lemmatizer.to_bytes()
    with pytest.raises(ValueError, match=code):
        lemmatizer.engine.from_bytes(data)
    assert lemmatizer.to_bytes() == before


def test_bytes_with_a_forged_checksum(nlp, lemmatizer):
    lemmatizer.set_lookups({"x": "y", "NOUN": {"eggs": "egg"}})
    other = spacy.blank("en").add_pipe(NAME)
    doc = Doc(nlp.vocab, words=["She", "likes", "x", "eggs"], pos=["NOUN"] * 4)
    good = lemmatizer.engine.to_bytes()
    check_forged(good, other, doc, margin=1.0, n_tries=300, code="[DS0")


def test_a_model_of_another_label_set(nlp, lemmatizer):
    """Loading takes the labels of the file, whatever was there."""
    other = spacy.blank("en").add_pipe(NAME)
    other.add_label("lower xyz>$")
    other.from_bytes(lemmatizer.to_bytes())
    assert other.labels == lemmatizer.labels
    batch = lemmatizer.predict([Doc(nlp.vocab, words=["eggs"], pos=["NOUN"])])
    fewer = spacy.blank("en").add_pipe(NAME)
    fewer.initialize(lambda: make_examples(nlp), labels=["lower"])
    # A prediction knows what made it.
    doc = Doc(fewer.vocab, words=["eggs"], pos=["NOUN"])
    fewer.set_annotations([doc], batch)
    assert doc[0].lemma_ == "egg"


def test_settings_with_labels_that_are_none(nlp, lemmatizer, tmp_path):
    nlp.to_disk(tmp_path)
    path = tmp_path / NAME / "cfg"
    cfg = json.loads(path.read_text("utf8"))
    path.write_text(json.dumps({**cfg, "labels": ["NOUN"]}), "utf8")
    with pytest.raises(ValueError, match="DS230"):
        spacy.load(tmp_path)
    path.write_text(json.dumps({**cfg, "labels": "lower"}), "utf8")
    with pytest.raises(ValueError, match="DS054"):
        spacy.load(tmp_path)
