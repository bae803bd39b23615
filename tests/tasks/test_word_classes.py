"""What raw text says about words, in components."""

import pickle

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_dynsel.cli.classes import make_word_labels
from spacy_dynsel.cli.init_config import make_config
from spacy_dynsel.corpus.raw_text import RawText
from spacy_dynsel.tasks.word_classes import WordClasses

WORDS = ["dog", "cat", "bird", "runs", "sings", "sleeps"]


@pytest.fixture
def clusters(tmp_path):
    """Nouns and verbs: paths 0 and 1."""
    path = tmp_path / "en.clusters"
    values = np.array([1, 1, 1, 2, 2, 2])
    WordClasses("clusters", "en", WORDS, {"cluster": values}).to_disk(path)
    return path


def make_examples(nlp, pairs, **others):
    docs = [
        Doc(nlp.vocab, words=words.split(), tags=tags.split()) for words, tags in pairs
    ]
    return [Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc) for doc in docs]


def train(paths, lines, lang="en"):
    nlp = spacy.blank(lang)
    resources = {
        "@misc": "spacy_dynsel.word_classes.v1",
        "paths": list(map(str, paths)),
    }
    config = {"model": {"templates": {"lines": lines}, "resources": resources}}
    nlp.add_pipe("dynsel_tagger", config=config)
    examples = make_examples(nlp, [("dog runs", "N V"), ("cat sings", "N V")])
    nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples)
    return nlp


def tag(nlp, text):
    return [token.tag_ for token in nlp(text)]


def test_clusters_tell_about_words_that_were_never_seen(clusters, tmp_path):
    nlp = train([clusters], ["cluster4"])
    assert tag(nlp, "bird sleeps Bird") == ["N", "V", "N"]
    nlp.to_disk(tmp_path / "model")
    # The model has all that it needs.
    clusters.unlink()
    loaded = spacy.load(tmp_path / "model")
    assert tag(loaded, "bird sleeps Bird") == ["N", "V", "N"]
    again = pickle.loads(pickle.dumps(nlp.get_pipe("dynsel_tagger")))
    assert again.engine.to_bytes() == nlp.get_pipe("dynsel_tagger").engine.to_bytes()


def test_classes_of_words_that_are_rare_in_the_training_data(tmp_path):
    path = tmp_path / "en.classes"
    classes = {"tag": [["N"], ["V", "unknown"], ["unknown"]]}
    values = np.array([1, 1, 1, 2, 2, 3])
    WordClasses("classes", "en", WORDS, {"tag": values}, {}, classes).to_disk(path)
    nlp = train([path], ["class"])
    assert tag(nlp, "bird") == ["N"]
    assert tag(nlp, "runs") == ["V"]
    reader = nlp.get_pipe("dynsel_tagger").engine._reader
    # Not the word whose only label nobody knows.
    assert len(reader.class_keys) == len(WORDS) - 1


def test_bad_resources(clusters, tmp_path):
    with pytest.raises(ValueError, match="DS254"):
        train([clusters], ["cluster"], lang="de")
    with pytest.raises(ValueError, match="DS253"):
        train([tmp_path / "none"], ["cluster"])


def test_a_pipeline_makes_classes(clusters, tmp_path):
    nlp = train([clusters], ["cluster4"])
    raw = tmp_path / "raw.txt"
    raw.write_text("Bird sleeps\n" * 12 + "\ndog\n")
    found = make_word_labels(nlp, RawText([raw]), tmp_path / "out")
    assert found.words == ["bird", "sleeps"]
    assert found.classes == {"tag": [["N"], ["V"]]}
    assert WordClasses.from_disk(tmp_path / "out").to_bytes() == found.to_bytes()
    with pytest.raises(ValueError, match="DS256"):
        make_word_labels(spacy.blank("en"), RawText([raw]), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_configs_name_resources():
    text = make_config("pipeline", resources=["a.clusters", "b.classes"])
    assert 'resources = ["a.clusters", "b.classes"]' in text
    assert text.count("paths = ${paths.resources}") == 4
    assert 'default = "tagger_clusters"' in text
