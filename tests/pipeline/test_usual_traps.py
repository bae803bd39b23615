"""Usual ways to set up a pipeline that used to cost accuracy without a word."""

import pickle
import warnings

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from helpers.embedded import make_examples, read_docs

N_DOCS = 60


def start(*factories, **configs):
    nlp = spacy.blank("en")
    for factory in factories:
        nlp.add_pipe(factory, config=configs.get(factory, {}))
    examples = make_examples(nlp, read_docs(nlp.vocab, "train", N_DOCS))
    nlp.initialize(lambda: examples)
    return nlp, examples


def learn(nlp, examples, n_epochs=2, **settings):
    for _ in range(n_epochs):
        for i in range(0, len(examples), 20):
            nlp.update(examples[i : i + 20], **settings)


def get_parser(nlp):
    return nlp.get_pipe("dynsel_parser")


def test_a_parser_learns_with_the_tags_that_it_will_get():
    """Whether the tagger is among the annotating components or not."""
    models = []
    for annotates in (["dynsel_tagger"], []):
        nlp, examples = start("dynsel_tagger", "dynsel_parser")
        assert nlp.get_pipe("dynsel_tagger").engine.n_folds == 4
        learn(nlp, examples, annotates=annotates)
        models.append(nlp.to_bytes(exclude=["vocab", "tokenizer"]))
        assert get_parser(nlp).engine.reads_tags
    assert models[0] == models[1]


def test_what_is_learned_from_is_not_changed():
    nlp, examples = start("dynsel_tagger", "dynsel_parser")
    before = [example.predicted.to_bytes() for example in examples[:5]]
    get_parser(nlp).update(examples[:5])
    assert [example.predicted.to_bytes() for example in examples[:5]] == before


def test_folds_are_trained_where_they_are_needed():
    assert start("dynsel_tagger")[0].get_pipe("dynsel_tagger").engine.n_folds == 0
    nlp, _ = start("dynsel_parser", "dynsel_tagger")
    assert nlp.get_pipe("dynsel_tagger").engine.n_folds == 0
    config = {"dynsel_tagger": {"model": {"folds": 0}}}
    nlp, _ = start("dynsel_tagger", "dynsel_parser", **config)
    assert nlp.get_pipe("dynsel_tagger").engine.n_folds == 0


BOTH = ("dynsel_tagger", "dynsel_morphologizer")


def test_a_parser_learns_with_the_parts_of_speech_that_it_will_get(tmp_path):
    models = []
    for annotates in (BOTH, BOTH[:1], ()):
        nlp, examples = start(*BOTH, "dynsel_parser")
        assert nlp.get_pipe("dynsel_morphologizer").engine.n_folds == 4
        learn(nlp, examples, annotates=list(annotates))
        assert get_parser(nlp).engine.reads_pos
        models.append(nlp.to_bytes(exclude=["vocab", "tokenizer"]))
    assert models[0] == models[1] == models[2]
    nlp.to_disk(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spacy.load(tmp_path)("All is well .")
    alone = spacy.load(tmp_path, exclude=["dynsel_morphologizer"])
    with pytest.warns(UserWarning, match="DW123") as found:
        alone("No parts of speech here .")
        alone("Nor here .")
    assert len(found) == 1


def test_no_folds_for_those_who_learn_from_gold():
    nlp, _ = start("dynsel_morphologizer", "dynsel_lemmatizer")
    assert nlp.get_pipe("dynsel_morphologizer").engine.n_folds == 0
    nlp, examples = start("dynsel_tagger", "dynsel_parser", "dynsel_morphologizer")
    assert nlp.get_pipe("dynsel_morphologizer").engine.n_folds == 0
    learn(nlp, examples, 1)
    assert not get_parser(nlp).engine.reads_pos


def test_a_tagger_that_is_disabled_gives_no_tags():
    nlp, examples = start("dynsel_parser")
    learn(nlp, examples, 1)
    assert not get_parser(nlp).engine.reads_tags
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp("No tags here .")


def test_a_frozen_tagger_gives_its_tags():
    nlp, examples = start("dynsel_tagger", "dynsel_parser")
    tagger = nlp.get_pipe("dynsel_tagger")
    learn(nlp, examples, 1)
    before = tagger.to_bytes()
    parser = get_parser(nlp)
    parser.initialize(lambda: examples, nlp=nlp)
    with nlp.select_pipes(disable=["dynsel_tagger"]):
        learn(nlp, examples, 1)
    assert parser.engine.reads_tags
    assert tagger.to_bytes() == before


def test_another_tagger_has_to_be_among_the_annotating_components():
    nlp, examples = start("tagger", "dynsel_parser")
    with pytest.warns(UserWarning, match=r"DW120.*annotating_components") as found:
        learn(nlp, examples, 2)
    assert len([one for one in found if "DW120" in str(one.message)]) == 1
    assert not get_parser(nlp).engine.reads_tags


def test_docs_without_tags_are_told_of_once(tmp_path):
    nlp, examples = start("dynsel_tagger", "dynsel_parser")
    learn(nlp, examples, 1)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded("All is well .")
        loaded("")
        loaded(" \n ")
    alone = spacy.load(tmp_path, exclude=["dynsel_tagger"])
    assert alone.analyze_pipes()["problems"]["dynsel_parser"] == ["token.tag"]
    with pytest.warns(UserWarning, match="DW121"):
        alone("No tags here .")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone("Nor here .")
    with pytest.warns(UserWarning, match="DW121"):
        list(spacy.load(tmp_path, disable=["dynsel_tagger"]).pipe(["Nor here ."]))


def test_a_loaded_parser_is_corrected_with_tags(tmp_path):
    nlp, examples = start("dynsel_tagger", "dynsel_parser")
    learn(nlp, examples, 1)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    some = make_examples(loaded, read_docs(loaded.vocab, "train", 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded.update(some, annotates=["dynsel_tagger"])
    with pytest.warns(UserWarning, match=r"DW122.*annotates") as found:
        loaded.update(some)
        loaded.update(some)
    assert len(found) == 1


def test_a_copy_does_not_bring_the_tagger_along():
    nlp, examples = start("dynsel_tagger", "dynsel_parser")
    learn(nlp, examples[:20], 1)
    parser = get_parser(nlp)
    assert len(pickle.dumps(parser)) < len(pickle.dumps(nlp)) / 1.2
    copied = pickle.loads(pickle.dumps(parser))
    with pytest.warns(UserWarning, match="DW122"):
        copied.update(examples[:2])


def test_data_without_entities_are_told_of():
    nlp = spacy.blank("en")
    ner = nlp.add_pipe("dynsel_ner")
    docs = [Doc(nlp.vocab, words=["no", "names", "here"]) for _ in range(3)]
    with pytest.warns(UserWarning, match=r"DW101.*dynsel convert"):
        nlp.initialize(lambda: [Example(doc.copy(), doc) for doc in docs])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Without data, or with labels, nothing is amiss.
        spacy.blank("en").add_pipe("dynsel_ner")
        nlp.initialize()
        examples = [Example(doc.copy(), doc) for doc in docs]
        ner.initialize(lambda: examples, labels=["PER"])


@pytest.mark.parametrize(
    ("factory", "block", "setting", "value"),
    [
        ("dynsel_ner", "learner", "word_dropout", 0.1),
        ("dynsel_ner", "learner", "word_dropout", 0.0),
        ("dynsel_parser", "learner", "copies", "sentences"),
        ("dynsel_parser", "label_learner", "copies", "both"),
        ("dynsel_parser", "label_learner", "predicted_history", 0.5),
        ("dynsel_parser", "label_learner", "word_dropout", 0.1),
        ("dynsel_lemmatizer", "learner", "copies", "both"),
        ("dynsel_lemmatizer", "learner", "predicted_history", 0.5),
        ("dynsel_lemmatizer", "learner", "word_dropout", 0.1),
    ],
)
def test_settings_without_effect_are_refused(factory, block, setting, value):
    nlp = spacy.blank("en")
    with pytest.raises(ValueError, match=rf"DS025.*{setting}"):
        nlp.add_pipe(factory, config={"model": {block: {setting: value}}})
    nlp.add_pipe(factory, config={"model": {block: {setting: None}}})


def test_a_bias_without_room_is_told_of():
    affixes = [f"{kind}{size}" for kind in ("prefix", "suffix") for size in range(1, 6)]
    places = (-2, -1, 0, 1, 2)
    single = [f"{column}[{place}]" for column in affixes for place in places]
    lines = [*single, *(f"{line} word[{place}]" for line in single for place in places)]
    model = {"templates": {"lines": lines[:250]}}
    nlp, examples = start("dynsel_ner", dynsel_ner={"model": model})
    learn(nlp, examples)
    nlp("All is well .")
    nlp.get_pipe("dynsel_ner").o_bias = 30.0
    with pytest.warns(UserWarning, match="DW102"):
        nlp("All is well .")
