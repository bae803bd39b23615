"""What users can feed: odd text, damaged files, configs that do not fit."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from helpers.contract import FACTORIES
from helpers.model_bytes import check_damaged_directory, check_forged, crafted
from helpers.tagger import SENTENCES, train_tagger
from helpers.words import STRANGE_WORDS
from spacy_dynsel.core.forms.packing import check_weights


@pytest.mark.parametrize("words", STRANGE_WORDS)
def test_odd_words(nlp, tagger, words):
    doc = tagger(Doc(nlp.vocab, words=words))
    for token in doc:
        assert token.tag_ == "_SP" if token.is_space else token.tag_ in tagger.labels
    assert len(tagger.explain(doc)) == len(words)


def test_lone_surrogates_never_get_into_a_doc(nlp, tagger):
    """spaCy itself refuses them; a text around them is not lost."""
    with pytest.raises(UnicodeEncodeError):
        nlp("a \ud800 b")
    assert [token.tag_ for token in nlp("Eat blue ham")] == ["VB", "JJ", "NN"]


def test_a_million_tokens(nlp, tagger):
    words = [word for text, _ in SENTENCES for word in text.split()]
    doc = Doc(nlp.vocab, words=(words * (1_000_000 // len(words) + 1))[:1_000_000])
    tagger(doc)
    tags = doc.to_array("TAG")
    assert (tags != 0).all()
    # Far from the ends every copy of the words is tagged alike, also where the text
    # is cut into blocks.
    copies = tags[len(words) : -len(words)][: len(words) * 40_000].reshape(
        -1, len(words)
    )
    assert (copies == copies[0]).all()


def test_long_docs_do_not_depend_on_the_cache(nlp, examples):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in rng.integers(0, 3000, 5000)]
    doc = Doc(nlp.vocab, words=words)
    tagger = train_tagger(nlp, examples)
    expected = tagger.predict([doc]).labels.tolist()
    for cache_size in (1, 100):
        tagger.cfg["cache_size"] = cache_size
        assert tagger.predict([doc]).labels.tolist() == expected


def test_damaged_model_directories(nlp, tagger, tmp_path):
    def annotate(nlp):
        return [token.tag_ for token in nlp("Eat blue ham")]

    assert annotate(nlp) == ["VB", "JJ", "NN"]
    check_damaged_directory(
        nlp,
        tmp_path,
        annotate,
        n_flipped=8,
        lengths=lambda n: (0, 1, 30, n // 2, n - 1),
    )


def test_a_bad_file_leaves_a_component_as_it_was(nlp, tagger):
    before = tagger.to_bytes()
    data = bytearray(tagger.engine.to_bytes())
    data[-1] ^= 1
    with pytest.raises(ValueError, match="DS034"):
        tagger.engine.from_bytes(bytes(data))
    assert tagger.to_bytes() == before


NEURAL = {
    "@architectures": "spacy.Tagger.v2",
    "tok2vec": {
        "@architectures": "spacy.HashEmbedCNN.v2",
        "width": 8,
        "depth": 1,
        "embed_size": 20,
        "window_size": 1,
        "maxout_pieces": 1,
        "subword_features": True,
        "pretrained_vectors": None,
    },
}


@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize("model", ["neural", "dynsel_tagger", "dynsel_ner"])
def test_models_of_others(factory, model):
    """Such as that of a config in which only the factory was changed."""
    nlp = spacy.blank("en")
    config = NEURAL
    if model != "neural":
        config = nlp.get_factory_meta(model).default_config["model"]
    if factory == model:
        assert nlp.add_pipe(factory, config={"model": config})
        return
    with pytest.raises(ValueError, match=r"DS047.*'spacy_dynsel\.Dynamic\w+\.v1'"):
        nlp.add_pipe(factory, config={"model": config})


def test_templates_of_another_config(nlp, tagger, tmp_path):
    nlp.to_disk(tmp_path)
    config = (tmp_path / "config.cfg").read_text()
    config = config.replace("lines = null", 'lines = ["word", "---", "lower"]')
    (tmp_path / "config.cfg").write_text(config)
    with pytest.raises(ValueError, match="DS036") as caught:
        spacy.load(tmp_path)
    assert "line 2" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m, a: m.update(task="parsing"), "DS037"),
        (lambda m, a: m.update(labels=[]), "DS035"),
        (lambda m, a: m.update(labels=["A", "A"]), "DS035"),
        (lambda m, a: m.update(labels=[1, 2]), "DS035"),
        (lambda m, a: m.update(labels=["", *m["labels"][1:]]), "DS035"),
        (lambda m, a: m.update(labels=m["labels"][:2]), "DS035"),
        (lambda m, a: m["parts"]["templates"].update(scale=0.0), "DS035"),
        (lambda m, a: m["parts"]["templates"].update(scale="1"), "DS035"),
        (lambda m, a: m.update(n_classes=-1), "DS035"),
        (lambda m, a: m.update(n_classes=None), "DS035"),
        (lambda m, a: m["parts"]["templates"].update(templates=None), "DS035"),
        (lambda m, a: m.update(parts=None), "DS035"),
        (lambda m, a: m.update(parts={}), "DS035"),
        (lambda m, a: m["parts"]["templates"].update(templates=["word"]), "DS036"),
        (lambda m, a: a.pop("templates_slots"), "DS035"),
        (
            lambda m, a: a.update(
                templates_slots=a["templates_slots"].astype("uint64")
            ),
            "DS035",
        ),
        (lambda m, a: a.update(templates_slots=a["templates_slots"][:-1]), "DS035"),
        (lambda m, a: a.update(templates_index=a["templates_index"][:-1]), "DS035"),
        (lambda m, a: a["templates_index"].__setitem__(7, 1 << 31), "DS035"),
        (lambda m, a: a["templates_slots"].__setitem__(0, 0xFFFFFFFF), "DS035"),
        (lambda m, a: a.update(class_keys=a["templates_slots"][:1]), "DS035"),
        (
            lambda m, a: a.update(
                class_keys=np.array([5], "uint64"),
                class_values=np.array([99], "uint32"),
            ),
            "DS035",
        ),
    ],
)
def test_contents_that_would_do_harm(tagger, change, code):
    data = crafted(tagger, change)
    with pytest.raises(ValueError, match=code):
        tagger.engine.from_bytes(data)


def test_bytes_with_a_forged_checksum(nlp, tagger):
    other = spacy.blank("en").add_pipe("dynsel_tagger")
    doc = nlp.make_doc("The hits saw her")
    good = tagger.engine.to_bytes()
    check_forged(good, other, doc, margin=1.0, n_tries=300, code="[DS0")


def test_index_must_fit_slots():
    index = np.zeros((1 << 16) + 1, dtype="uint32")
    check_weights(index, np.zeros(0, "uint32"), 10)
    with pytest.raises(ValueError, match="DS035"):
        check_weights(index, np.zeros(1, "uint32"), 10)


def test_a_model_is_not_a_pickle(tagger):
    assert b"pickle" not in tagger.engine.to_bytes()
    assert tagger.engine.to_bytes().startswith(b"DYNSEL\r\n")


def test_too_many_labels(nlp, examples):
    tagger = nlp.add_pipe("dynsel_tagger")
    found = {token.tag_ for example in examples for token in example.reference}
    tagger.cfg["labels"] = [*sorted(found), *(f"L{i}" for i in range(32_001))]
    with pytest.raises(ValueError, match="DS044"):
        tagger.initialize(lambda: examples, labels=[])
