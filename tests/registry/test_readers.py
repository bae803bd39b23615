"""Readers of training data."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from spacy_dynsel.registry.readers import make_gold_words_corpus


def test_words_are_those_of_the_annotation(tmp_path):
    nlp = spacy.blank("en")
    words, spaces = ["can", "not", "-", "do"], [False, False, False, False]
    docs = [Doc(nlp.vocab, words=words, spaces=spaces, tags=["MD", "RB", "HYPH", "VB"])]
    docs.append(Doc(nlp.vocab, words=["Yes"], tags=["UH"]))
    path = tmp_path / "train.spacy"
    DocBin(docs=docs).to_disk(path)
    examples = list(make_gold_words_corpus(path)(nlp))
    assert [[token.text for token in nlp.make_doc(doc.text)] for doc in docs] != [
        [token.text for token in doc] for doc in docs
    ]
    for example, doc in zip(examples, docs, strict=True):
        assert [token.text for token in example.predicted] == [t.text for t in doc]
        assert example.predicted.text == doc.text
        assert not example.predicted.has_annotation("TAG")
        assert example.get_aligned("TAG", as_string=True) == [t.tag_ for t in doc]
    assert len(list(make_gold_words_corpus(path, limit=1)(nlp))) == 1


def test_no_path():
    with pytest.raises(ValueError, match="E913"):
        make_gold_words_corpus(None)
