"""A cascade as the model of a tagger and of a morphologizer."""

import copy
import math

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from helpers.cascade_tagger import MODEL, train_cascade
from helpers.contract import (
    check_copies,
    check_error_handler,
    check_memory_zones,
    check_processes,
)
from helpers.morphologizer import make_examples, morphs_of
from helpers.tagger import SENTENCES, make_example
from spacy_dynsel.pipeline.confidences import TAG
from spacy_dynsel.tasks.cascading.features import WordFeatures

TEXTS = [words for words, _ in SENTENCES]


def make_tagged(nlp):
    return [make_example(nlp, *sentence) for sentence in SENTENCES]


@pytest.fixture(scope="module")
def trained():
    nlp = spacy.blank("en")
    train_cascade(nlp, make_tagged(nlp))
    return nlp


@pytest.fixture
def nlp(trained):
    return copy.deepcopy(trained)


def tags_of(nlp, texts=TEXTS):
    return [[token.tag_ for token in doc] for doc in nlp.pipe(texts)]


def test_it_learns(nlp):
    assert tags_of(nlp) == [tags.split() for _, tags in SENTENCES]
    assert nlp.evaluate(make_tagged(nlp))["tag_acc"] == 1.0


def test_a_morphologizer_learns():
    nlp = spacy.blank("en")
    examples = make_examples(nlp)
    pipe = train_cascade(nlp, examples, "dynsel_morphologizer")
    docs = [nlp(example.reference.text) for example in examples]
    assert morphs_of(docs) == morphs_of([example.reference for example in examples])
    assert set(pipe.label_data) == {"morph", "pos"}
    # The knob is there, at any time.
    found = pipe.statistics(docs)["grams"]
    pipe.alpha = 0.999
    fewer = pipe.statistics(docs)["grams"]
    assert fewer[0] == found[0] and fewer[1] < found[1] and fewer[2] < found[2]
    with pytest.raises(ValueError, match="DS022"):
        pipe.alpha = 1.0
    pipe.alpha = None
    assert all(why.label for why in pipe.explain(docs[0]))
    check_copies(nlp, lambda nlp: morphs_of([nlp(TEXTS[0])]))


def test_it_keeps_the_contract(nlp):
    check_copies(nlp, tags_of)
    check_memory_zones(nlp, tags_of)
    check_processes(nlp, TEXTS, lambda doc: [token.tag_ for token in doc])
    check_error_handler(nlp, TEXTS, "ham")


def test_disk(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    assert tags_of(again) == tags_of(nlp)
    tagger = again.get_pipe("dynsel_tagger")
    assert tagger.to_bytes() == nlp.get_pipe("dynsel_tagger").to_bytes()
    assert tagger.alpha == nlp.get_pipe("dynsel_tagger").alpha


def test_training_is_deterministic(trained):
    nlp = spacy.blank("en")
    train_cascade(nlp, make_tagged(nlp))
    expected = trained.get_pipe("dynsel_tagger").to_bytes()
    assert nlp.get_pipe("dynsel_tagger").to_bytes() == expected


def test_a_doc_counts_once(trained):
    """A second epoch says nothing new."""
    nlp = spacy.blank("en")
    train_cascade(nlp, make_tagged(nlp), n_updates=1)
    expected = trained.get_pipe("dynsel_tagger").to_bytes()
    assert nlp.get_pipe("dynsel_tagger").to_bytes() == expected


def test_losses(nlp):
    other = spacy.blank("en")
    examples = make_tagged(other)
    train_cascade(other, examples, n_updates=0)
    n_words = sum(len(words.split()) for words, _ in SENTENCES)
    assert other.update(examples)["dynsel_tagger"] == n_words
    tags_of(other)
    assert other.update(examples)["dynsel_tagger"] == 0


def test_nothing_was_learned_yet():
    nlp = spacy.blank("en")
    tagger = train_cascade(nlp, make_tagged(nlp), n_updates=0)
    assert tags_of(nlp, ["What now"]) == [[tagger.labels[0]] * 2]
    assert tagger.alpha is None
    assert tagger.explain(nlp("What now"))[0].label == tagger.labels[0]
    again = copy.deepcopy(nlp)
    assert tags_of(again, ["What now"]) == tags_of(nlp, ["What now"])


def test_white_space_is_no_word(nlp):
    doc = nlp("I like \n\n green eggs")
    assert [t.tag_ for t in doc if not t.is_space] == ["PRP", "VBP", "JJ", "NNS"]
    assert {t.tag_ for t in doc if t.is_space} == {"_SP"}
    assert len(nlp.get_pipe("dynsel_tagger").explain(doc)) == len(doc)
    assert [t.tag_ for t in nlp("  ")] == ["_SP"]
    assert len(nlp("")) == 0


def test_sentences_are_read_apart(nlp):
    words = ["Eat", "blue", "ham", "Eat", "blue", "ham"]
    starts = [True, False, False] * 2
    doc = nlp(Doc(nlp.vocab, words=words, sent_starts=starts))
    assert [t.tag_ for t in doc] == ["VB", "JJ", "NN"] * 2


@pytest.mark.parametrize("alpha", [0, 0.5, 0.999, [0.1, 0.9], [None, 0.5]])
def test_alpha_is_the_knob(nlp, alpha, tmp_path):
    tagger = nlp.get_pipe("dynsel_tagger")
    tagger.alpha = alpha
    assert tagger.alpha == alpha
    tagger.n_threads = 3
    assert tags_of(nlp) == [tags.split() for _, tags in SENTENCES]
    nlp.to_disk(tmp_path)
    assert spacy.load(tmp_path).get_pipe("dynsel_tagger").alpha == alpha
    assert f"alpha {alpha}" in repr(tagger)


def test_a_larger_alpha_keeps_less(nlp):
    tagger = nlp.get_pipe("dynsel_tagger")
    docs = [nlp.make_doc(text) for text in TEXTS]
    grams = []
    for alpha in (None, 0.0, 0.9, 0.999):
        tagger.alpha = None if alpha is None else alpha
        found = tagger.statistics(docs)
        assert found["decisions"] == found["tokens"]
        assert len(found["grams"]) == 3
        assert found["grams"][0] == len(tagger.labels)
        grams.append(found["grams"])
    assert grams[1][1] >= grams[2][1] >= grams[3][1] >= 1


@pytest.mark.parametrize("alpha", [1.0, -0.1, math.nan, "much", True, [0.5], [0.5, 1]])
def test_bad_alpha(nlp, alpha):
    tagger = nlp.get_pipe("dynsel_tagger")
    before = tagger.alpha
    with pytest.raises(ValueError, match="DS022"):
        tagger.alpha = alpha
    assert tagger.alpha == before


def test_knobs_of_other_models(nlp):
    with pytest.raises(ValueError, match="DS247"):
        nlp.get_pipe("dynsel_tagger").margin = 3.0
    for factory in ("dynsel_tagger", "dynsel_morphologizer"):
        pipe = spacy.blank("en").add_pipe(factory)
        with pytest.raises(ValueError, match="DS248"):
            pipe.alpha = 0.5
        with pytest.raises(ValueError, match="DS248"):
            spacy.blank("en").add_pipe(factory, config={"alpha": 0.5})


def test_bad_settings():
    for setting, code in (
        ({"cascade": {"order": 9}}, "DS022"),
        ({"cascade": {"unknown": 9}}, "DS024"),
        ({"copies": "none"}, "copies"),
        ({"cutoff": 0}, "cutoff"),
        ({"templates": {"lines": ["tag[-1] word"]}}, "tag"),
    ):
        with pytest.raises(ValueError, match=code):
            spacy.blank("en").add_pipe(
                "dynsel_tagger", config={"model": {**MODEL, **setting}}
            )


def test_explanations(nlp):
    tagger = nlp.get_pipe("dynsel_tagger")
    tagger.alpha = 0.0
    doc = nlp("She hits the unknown ball")
    batch = tagger.predict_with_leads([doc])
    for token, why, lead in zip(doc, tagger.explain(doc), batch.leads, strict=True):
        assert why.label == token.tag_
        assert why.lead == pytest.approx(lead)
        assert 1 <= why.stage <= 3
        assert (why.runner_up == "") == (not why.contributions)
        assert why.runner_up != why.label
        assert math.isinf(why.lead) == (why.n_labels == 1)


def test_missing_labels_are_anything():
    nlp = spacy.blank("en")
    examples = make_tagged(nlp)
    for example in examples:
        example.reference[0].tag_ = ""
    pipe = train_cascade(nlp, examples)
    for doc, (_, tags) in zip(nlp.pipe(TEXTS), SENTENCES, strict=True):
        assert [token.tag_ for token in doc][1:] == tags.split()[1:]
    nothing = Example(nlp.make_doc("So what"), nlp.make_doc("So what"))
    before = pipe.to_bytes()
    nlp.update([nothing])
    assert pipe.to_bytes() == before


def test_a_loaded_cascade_is_corrected(nlp):
    again = copy.deepcopy(nlp)
    for _ in range(20):
        again.update([make_example(again, "They hits her", "PRP VBZ PRP$")])
    assert tags_of(again, ["They hits her"]) == [["PRP", "VBZ", "PRP$"]]
    assert tags_of(nlp) == [tags.split() for _, tags in SENTENCES]


def test_training_goes_on(tmp_path):
    """Half of the data before saving and half after it are as good as all at once."""
    whole = spacy.blank("en")
    train_cascade(whole, make_tagged(whole), keep_training_state=True)
    half = spacy.blank("en")
    examples = make_tagged(half)
    tagger = half.add_pipe(
        "dynsel_tagger", config={"model": MODEL, "keep_training_state": True}
    )
    half.initialize(lambda: examples)
    half.update(examples[:2])
    half.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    again.update([make_example(again, *one) for one in SENTENCES[2:]])
    expected = whole.get_pipe("dynsel_tagger").to_bytes()
    assert again.get_pipe("dynsel_tagger").to_bytes() == expected
    assert tagger.to_bytes() != expected


def test_damaged_models(nlp):
    tagger = nlp.get_pipe("dynsel_tagger")
    engine = tagger.engine
    data = bytearray(engine.to_bytes())
    data[len(data) // 2] ^= 1
    with pytest.raises(ValueError, match="DS034"):
        engine.from_bytes(bytes(data))
    other = spacy.blank("en").add_pipe(
        "dynsel_tagger", config={"model": {**MODEL, "cascade": {"order": 2}}}
    )
    with pytest.raises(ValueError, match="DS035"):
        other.engine.from_bytes(engine.to_bytes())
    assert not other.engine.is_initialized
    with pytest.raises(ValueError, match="DS037"):
        spacy.blank("en").add_pipe("dynsel_tagger").engine.from_bytes(engine.to_bytes())


def test_confidence_needs_a_map(nlp):
    tagger = nlp.get_pipe("dynsel_tagger")
    with pytest.raises(ValueError, match="DS190"):
        tagger.confidence = True
    assert TAG


def test_labels_of_data_to_come(nlp):
    with pytest.raises(ValueError, match="DS043"):
        nlp.get_pipe("dynsel_tagger").add_label("NEW")
    early = spacy.blank("en").add_pipe("dynsel_tagger", config={"model": MODEL})
    assert early.add_label("NEW") == 1
    assert early.labels == ("NEW",)


def test_a_long_sentence(nlp):
    n = 100_000
    doc = nlp(Doc(nlp.vocab, words=["Eat", "blue", "ham", "."] * (n // 4)))
    assert len({token.tag_ for token in list(doc)[1:-4:4]}) == 1


def test_keys_of_bad_ranges(nlp):
    engine = nlp.get_pipe("dynsel_tagger").engine
    snapshot = engine.get_snapshot()
    words = WordFeatures(
        [nlp.make_doc("I like ham")], snapshot.get_lexicon(10), snapshot.reader
    )
    keys = words.find_keys(engine.part.program, np.array([[0, 3], [1, 2]]))
    assert keys.shape == (4, len(engine.templates.templates))
    for ranges in ([[0, 4]], [[2, 1]], [[-1, 2]], [[0, 1, 2]]):
        with pytest.raises(ValueError, match="DS216"):
            words.find_keys(engine.part.program, np.array(ranges))
