"""What users can feed a morphologizer: odd text, odd features, damaged files."""

import json

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from helpers.model_bytes import check_damaged_directory, check_forged, crafted
from helpers.morphologizer import make_examples, morphs_of, train_morphologizer
from helpers.words import STRANGE_WORDS
from spacy_dynsel.tasks.morphology.engine import MIN_SEEN

NAME = "dynsel_morphologizer"


@pytest.fixture
def morphologizer(nlp):
    return train_morphologizer(nlp, make_examples(nlp))


@pytest.mark.parametrize("words", STRANGE_WORDS)
def test_odd_words(nlp, morphologizer, words):
    doc = Doc(nlp.vocab, words=words)
    assert len(morphologizer.explain(doc)) == len(words)
    for token in morphologizer(doc):
        assert token.has_morph()
        assert (token.pos_ == "SPACE") == token.is_space


def test_long_words_are_learned(nlp):
    words = ["ab" * 50_000, "a"]
    gold = Doc(nlp.vocab, words=words, pos=["NOUN", "X"])
    train_morphologizer(nlp, [Example(Doc(nlp.vocab, words=words), gold)])
    assert [t.pos_ for t in nlp(Doc(nlp.vocab, words=words))] == ["NOUN", "X"]


def train_on(nlp, labels, n_updates=8, **config):
    """A morphologizer that knows a word for each label."""
    words = [f"w{i}x" for i in range(len(labels))]
    gold = Doc(nlp.vocab, words=words, pos=["X"] * len(labels), morphs=labels)
    example = Example(Doc(nlp.vocab, words=words), gold)
    pipe = train_morphologizer(nlp, [example], n_updates, **config)
    return pipe, gold, Doc(nlp.vocab, words=words)


def test_long_features(nlp):
    """A list of features of 100,000 characters, and a value of as many."""
    many = "|".join(f"F{i:05}=v" for i in range(11_000))
    long = "A=" + "b" * 100_000
    pipe, gold, doc = train_on(nlp, [many, long, "", "F00001=v"])
    assert morphs_of([pipe(doc)]) == morphs_of([gold])
    other = spacy.blank("en").add_pipe(NAME).from_bytes(pipe.to_bytes())
    again = Doc(other.vocab, words=[token.text for token in doc])
    assert morphs_of([other(again)]) == morphs_of([gold])
    assert len(pipe.explain(doc)) == 4


@pytest.mark.filterwarnings("ignore:.*DW110")
def test_more_parts_than_there_can_be(nlp):
    morphologizer = nlp.add_pipe(NAME)
    labels = [f"A=v{i}|B=v{i}|C=v{i}|D=v{i}|E=v{i}" for i in range(14_000)]
    with pytest.raises(ValueError, match="DS073"):
        morphologizer.initialize(lambda: make_examples(nlp), labels=labels)
    assert not morphologizer.engine.is_initialized


def test_thousands_of_labels(nlp):
    labels = [f"A={i % 60}|B={i // 60}" for i in range(3000)]
    pipe, _, doc = train_on(nlp, labels, n_updates=2, model={"seeds": 1})
    assert len(pipe.labels) == 3000
    other = spacy.blank("en").add_pipe(NAME).from_bytes(pipe.to_bytes())
    for margin in (15.0, float("inf")):
        pipe.margin = other.margin = margin
        found = pipe.predict([doc])
        assert len(set(found.labels.tolist())) > 10
        assert other.predict([doc]).labels.tolist() == found.labels.tolist()
    assert pipe.statistics([doc])["labels"] == [3000.0] * 4


@pytest.mark.parametrize(
    "lines",
    [
        ["lower[-1]"],
        ["word", "word lower[+1]", "---", "suffix1"],
        ["word", "morph[-1]", "---", "suffix1"],
        ["noun[-1]"],
    ],
)
def test_first_stages_that_read_more_than_the_word(nlp, lines):
    model = {"templates": {"lines": lines}}
    with pytest.raises(ValueError, match="DS071"):
        nlp.add_pipe(NAME, config={"model": model})


@pytest.mark.parametrize("line", ["noun[+1]", "noun[-2]", "morph", "tag[-1]", "pos[0]"])
def test_places_that_are_none(nlp, line):
    model = {"templates": {"lines": ["word", "---", line]}}
    with pytest.raises(ValueError, match=r"DS00"):
        nlp.add_pipe(NAME, config={"model": model})


def test_damaged_model_directories(nlp, morphologizer, tmp_path):
    check_damaged_directory(
        nlp,
        tmp_path,
        lambda nlp: morphs_of([nlp("She likes eggs x")]),
        n_flipped=8,
        lengths=lambda n: (0, 1, 30, n // 2),
    )


@pytest.fixture(scope="module")
def frequent():
    """A morphologizer that knows some words well."""
    nlp = spacy.blank("en")
    golds = [
        Doc(nlp.vocab, words=["x", "run"], pos=["X", "VERB" if i % 2 else "NOUN"])
        for i in range(MIN_SEEN)
    ]
    examples = [Example(Doc(nlp.vocab, words=["x", "run"]), gold) for gold in golds]
    return train_morphologizer(nlp, examples, n_updates=2)


def change_at(name, place, value):
    def change(meta, arrays):
        arrays[name][place] = value

    return change


def resize(name, n):
    def change(meta, arrays):
        arrays[name] = np.resize(arrays[name], len(arrays[name]) + n)

    return change


def retype(name, dtype):
    def change(meta, arrays):
        arrays[name] = arrays[name].astype(dtype)

    return change


def reverse(name):
    def change(meta, arrays):
        arrays[name] = arrays[name][::-1].copy()

    return change


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m, a: m.update(task="tagging"), "DS037"),
        (lambda m, a: m.update(labels=m["labels"][:2]), "DS035"),
        (lambda m, a: m.update(labels=["NOUN", *m["labels"][1:]]), "DS035"),
        (lambda m, a: m.update(labels=["POS=NOPE", *m["labels"][1:]]), "DS035"),
        (lambda m, a: m.update(labels=[3, *m["labels"][1:]]), "DS035"),
        (lambda m, a: m.update(n_classes=-1), "DS035"),
        (lambda m, a: m["parts"]["templates"].update(templates=["word"]), "DS036"),
        (lambda m, a: m["parts"]["templates"].update(scale=0.0), "DS035"),
        *(
            (lambda m, a, name=name: a.pop(name), "DS035")
            for name in (
                *("seen_keys", "seen_starts", "seen_labels"),
                *("templates_index", "templates_slots"),
            )
        ),
        *((resize(name, 1), "DS035") for name in ("seen_keys", "seen_starts")),
        *((resize(name, -1), "DS035") for name in ("seen_keys", "seen_starts")),
        *((resize("seen_labels", n), "DS035") for n in (-1, 1)),
        (retype("seen_keys", "int64"), "DS035"),
        (retype("seen_starts", "int32"), "DS035"),
        (retype("seen_labels", "uint32"), "DS035"),
        (reverse("seen_keys"), "DS035"),
        (change_at("seen_labels", 0, 3), "DS035"),
        (change_at("seen_labels", 0, 65_535), "DS035"),
        (change_at("seen_starts", 0, 1), "DS035"),
        (change_at("seen_starts", 1, 0), "DS035"),
        (change_at("seen_starts", 1, 3), "DS035"),
        (change_at("seen_starts", 1, 2**32 - 1), "DS035"),
        (change_at("seen_starts", -1, 2**31), "DS035"),
        (change_at("templates_index", -1, 5), "DS035"),
        (change_at("templates_index", 0, 5), "DS035"),
        (resize("templates_index", 1), "DS035"),
        (resize("templates_slots", -1), "DS035"),
        (retype("templates_index", "uint64"), "DS035"),
        (
            lambda m, a: a.update(templates_slots=np.zeros_like(a["templates_slots"])),
            "DS035",
        ),
    ],
)
def test_contents_that_would_do_harm(frequent, change, code):
    data = crafted(frequent, change)
    other = spacy.blank("en").add_pipe(NAME)
    with pytest.raises(ValueError, match=code):
        other.engine.from_bytes(data)
    assert not other.engine.is_initialized


def test_bytes_with_a_forged_checksum(frequent):
    other = spacy.blank("en").add_pipe(NAME)
    doc = Doc(other.vocab, words=["x", "run", "runs"])
    good = frequent.engine.to_bytes()
    check_forged(good, other, doc, margin=1.0, n_tries=300, code="[DS0")


@pytest.mark.filterwarnings("ignore:.*DW110")
def test_a_model_of_another_label_set(nlp, morphologizer):
    """Loading takes the labels of the file, whatever was there."""
    other = spacy.blank("en").add_pipe(NAME)
    other.add_label("POS=INTJ")
    other.from_bytes(morphologizer.to_bytes())
    assert other.labels == morphologizer.labels
    batch = morphologizer.predict([Doc(nlp.vocab, words=["eggs"])])
    fewer = spacy.blank("en").add_pipe(NAME)
    fewer.initialize(lambda: make_examples(nlp), labels=["POS=X"])
    # A prediction knows what made it.
    doc = Doc(fewer.vocab, words=["eggs"])
    fewer.set_annotations([doc], batch)
    assert morphs_of([doc]) == [[("NOUN", "Number=Plur")]]


def test_settings_with_labels_that_are_none(nlp, tmp_path):
    nlp.add_pipe(NAME).add_label("POS=X")
    nlp.to_disk(tmp_path)
    path = tmp_path / NAME / "cfg"
    cfg = json.loads(path.read_text("utf8"))
    for labels, code in ((["POS=NOPE"], "DS072"), (["X"], "DS072"), ("_", "DS054")):
        path.write_text(json.dumps({**cfg, "labels": labels}), "utf8")
        with pytest.raises(ValueError, match=code):
            spacy.load(tmp_path)
    for setting in ("overwrite", "extend"):
        path.write_text(json.dumps({**cfg, setting: "yes"}), "utf8")
        with pytest.raises(ValueError, match="DS021"):
            spacy.load(tmp_path)
