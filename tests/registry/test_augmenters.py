"""Copies of examples in other cases."""

import random

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_dynsel.registry.augmenters import make_case_augmenter

WORDS = ["Ann", "lives", "in", "New", "York", "."]
TAGS = ["B-PER", "O", "O", "B-LOC", "I-LOC", "O"]


@pytest.fixture
def example():
    nlp = spacy.blank("en")
    gold = Doc(nlp.vocab, words=WORDS, ents=TAGS, sent_starts=[True] + [False] * 5)
    return Example(Doc(nlp.vocab, words=WORDS), gold)


def test_copies_have_the_same_entities(example):
    found = list(make_case_augmenter(upper=1.0, lower=1.0)(spacy.blank("en"), example))
    assert found[0] is example
    for copy, change in zip(found[1:], (str.upper, str.lower), strict=True):
        words = [change(word) for word in WORDS]
        assert [token.text for token in copy.predicted] == words
        assert [token.text for token in copy.reference] == words
        assert copy.predicted.text == change(example.reference.text)
        assert copy.get_aligned_ner() == example.get_aligned_ner()
        assert not copy.predicted.has_annotation("ENT_IOB")


def test_shares(example):
    random.seed(0)
    augment = make_case_augmenter(upper=0.5, lower=0.0)
    n_copies = sum(
        len(list(augment(spacy.blank("en"), example))) - 1 for _ in range(99)
    )
    assert 30 < n_copies < 70
    assert [*make_case_augmenter(0.0, 0.0)(spacy.blank("en"), example)] == [example]


@pytest.mark.parametrize("share", [-0.1, 1.1, "a"])
def test_bad_shares(share):
    with pytest.raises(ValueError, match="DS022"):
        make_case_augmenter(upper=share)
