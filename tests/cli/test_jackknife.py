"""Tags from taggers that have not seen the doc, and a reader that shows them."""

import subprocess
import sys

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from helpers.paths import CONFIGS
from spacy_dynsel.cli.jackknife import jackknife
from spacy_dynsel.registry.readers import make_tagged_corpus

CONFIG = CONFIGS / "tagger.cfg"


@pytest.fixture
def corpus(tmp_path):
    """Each doc has a word of its own, whose tag no other doc gives away."""
    nlp = spacy.blank("en")
    docs = [
        Doc(
            nlp.vocab,
            words=["the", f"w{i}"],
            tags=["DT", "AB"[i % 2]],
            heads=[1, 1],
            deps=["det", "ROOT"],
        )
        for i in range(40)
    ]
    path = tmp_path / "train.spacy"
    DocBin(docs=docs).to_disk(path)
    return path


def test_taggers_have_not_seen_the_doc(corpus, tmp_path):
    output = tmp_path / "jackknifed.spacy"
    share = jackknife(CONFIG, corpus, output, folds=4, epochs=4)
    vocab = spacy.blank("en").vocab
    before = list(DocBin().from_disk(corpus).get_docs(vocab))
    after = list(DocBin().from_disk(output).get_docs(vocab))
    assert [doc.text for doc in after] == [doc.text for doc in before]
    assert all(doc[0].tag_ == "DT" for doc in after)
    assert any(
        one[1].tag_ != other[1].tag_ for one, other in zip(before, after, strict=True)
    )
    assert share == pytest.approx(
        sum(
            one.tag_ == other.tag_
            for a, b in zip(before, after, strict=True)
            for one, other in zip(a, b, strict=True)
        )
        / 80
    )
    # All else is as it was.
    assert all(doc[0].dep_ == "det" and doc[0].head.i == 1 for doc in after)


def test_same_seed_same_bytes(corpus, tmp_path):
    for name in ("a", "b"):
        jackknife(CONFIG, corpus, tmp_path / name, folds=2, epochs=1)
    vocab = spacy.blank("en").vocab
    tags = [
        [
            token.tag_
            for doc in DocBin().from_disk(tmp_path / name).get_docs(vocab)
            for token in doc
        ]
        for name in ("a", "b")
    ]
    assert tags[0] == tags[1]


def test_reader_shows_the_tags(corpus):
    examples = list(make_tagged_corpus(corpus)(spacy.blank("en")))
    assert len(examples) == 40
    for example in examples:
        assert example.predicted[0].tag_ == "DT"
        assert not example.predicted.has_annotation("DEP")
        assert example.reference[0].dep_ == "det"


def test_missing_component(corpus, tmp_path):
    with pytest.raises(ValueError, match="DS125"):
        jackknife(CONFIG, corpus, tmp_path / "out.spacy", name="nobody")
    assert not (tmp_path / "out.spacy").exists()


@pytest.mark.parametrize("n_docs", [0, 1])
def test_too_few_docs(tmp_path, n_docs):
    nlp = spacy.blank("en")
    path = tmp_path / "one.spacy"
    docs = [Doc(nlp.vocab, words=["a"], tags=["A"])]
    DocBin(docs=docs[:n_docs]).to_disk(path)
    with pytest.raises(ValueError, match="DS126"):
        jackknife(CONFIG, path, tmp_path / "out.spacy", folds=2)
    assert not (tmp_path / "out.spacy").exists()


def test_settings_of_the_config_can_be_replaced(corpus, tmp_path):
    overrides = {"nlp.lang": "nowhere"}
    with pytest.raises(ValueError, match=r"DS153.*nowhere"):
        jackknife(CONFIG, corpus, tmp_path / "out.spacy", overrides=overrides)


def test_command(corpus, tmp_path):
    output = tmp_path / "out.spacy"
    command = [sys.executable, "-m", "spacy", "dynsel", "jackknife", str(CONFIG)]
    arguments = [
        str(corpus),
        str(output),
        "--folds",
        "2",
        "--epochs",
        "1",
        "--nlp.lang",
        "pt",
    ]
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert output.exists()
