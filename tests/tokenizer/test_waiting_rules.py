"""Special cases wait for the first text, and are then those of spaCy's tokenizer."""

import pickle
import threading

import pytest
import spacy
from spacy.tokenizer import Tokenizer
from spacy.vocab import Vocab

from spacy_dynsel.tokenizer.cached import CachedTokenizer

CONFIG = {"nlp": {"tokenizer": {"@tokenizers": "spacy_dynsel.CachedTokenizer.v1"}}}
TEXT = "I don't know (it's 5km), e.g. what Mr. O'Neill can't :) do."


def tokens_of(doc):
    return [(token.text, token.norm_, token.whitespace_) for token in doc]


@pytest.fixture(scope="module")
def expected():
    return tokens_of(spacy.blank("en")(TEXT))


@pytest.fixture
def nlp():
    return spacy.blank("en", config=CONFIG)


def test_loading_makes_no_lexemes(nlp, expected, tmp_path):
    assert len(nlp.vocab) == 0
    rules = spacy.blank("en").tokenizer.rules
    assert nlp.tokenizer.rules == rules
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert len(loaded.vocab) == 0
    assert loaded.tokenizer.rules == rules
    assert tokens_of(loaded(TEXT)) == expected
    assert len(loaded.vocab) > 500
    assert loaded.tokenizer.rules == rules


def test_bytes_do_not_depend_on_it(nlp):
    before = nlp.tokenizer.to_bytes(exclude=["vocab"])
    nlp(TEXT)
    assert nlp.tokenizer.to_bytes(exclude=["vocab"]) == before


def test_copies_before_and_after_the_first_text(nlp, expected):
    for _ in range(2):
        copied = pickle.loads(pickle.dumps(nlp.tokenizer))
        assert tokens_of(copied(TEXT)) == expected
        assert tokens_of(nlp(TEXT)) == expected


def test_explaining_is_a_first_text(nlp):
    assert nlp.tokenizer.explain(TEXT) == spacy.blank("en").tokenizer.explain(TEXT)


def test_rules_are_added_to_those_that_wait(nlp, expected):
    nlp.tokenizer.add_special_case("5km", [{"ORTH": "5k"}, {"ORTH": "m"}])
    nlp.tokenizer.add_special_case("don't", [{"ORTH": "don't"}])
    other = spacy.blank("en")
    other.tokenizer.add_special_case("5km", [{"ORTH": "5k"}, {"ORTH": "m"}])
    other.tokenizer.add_special_case("don't", [{"ORTH": "don't"}])
    assert tokens_of(nlp(TEXT)) == tokens_of(other(TEXT)) != expected


def test_rules_can_be_replaced_while_they_wait(nlp):
    nlp.tokenizer.rules = {"km),": [{65: "km"}, {65: "),"}]}
    nlp.tokenizer.infix_finditer = None
    other = spacy.blank("en")
    other.tokenizer.rules = {"km),": [{65: "km"}, {65: "),"}]}
    other.tokenizer.infix_finditer = None
    assert tokens_of(nlp(TEXT)) == tokens_of(other(TEXT))
    nlp.tokenizer.rules = {}
    other.tokenizer.rules = {}
    assert tokens_of(nlp(TEXT)) == tokens_of(other(TEXT))


@pytest.mark.parametrize(
    "rules",
    [
        {"ab": [{65: "a"}]},
        {"ab": [{65: "a"}, {65: "c"}]},
        {"ab": [{65: "ab", "TAG": "X"}]},
        {"ab": [{65: "ab", 67: "x", 74: 1}]},
        {"ab": [{67: "ab"}]},
        {"ab": [{"ORTH": "a"}]},
        {"ab": "ab"},
        {"ab": None},
        {1: [{65: "1"}]},
    ],
)
def test_malformed_rules_are_refused_at_once(rules):
    with pytest.raises(Exception) as expected:
        Tokenizer(Vocab(), rules)
    with pytest.raises(expected.type):
        CachedTokenizer(Vocab(), rules)


def test_a_first_text_in_a_memory_zone(nlp, expected):
    for _ in range(3):
        with nlp.memory_zone():
            assert tokens_of(nlp(TEXT)) == expected
            words = [f"word{i}" for i in range(1000)]
            nlp(" ".join(words))
        # What a zone leaves behind is written over.
        with nlp.memory_zone():
            nlp(" ".join(f"other{i}" for i in range(2000)))
    assert tokens_of(nlp(TEXT)) == expected
    assert "don" not in nlp.vocab.strings or nlp.vocab["don"].text == "don"
    assert nlp.vocab["n't"].norm_ == "n't"


@pytest.mark.parametrize("has_words", [False, True])
def test_a_first_text_in_a_zone_of_the_vocab_alone(nlp, expected, has_words):
    with nlp.vocab.memory_zone():
        if has_words:
            # Lexemes that rules need as well, and that will not stay.
            assert [nlp.vocab[word].text for word in ("do", "n't")] == ["do", "n't"]
        for _ in range(2):
            assert tokens_of(nlp(TEXT)) == expected
    for i in range(3):
        with nlp.vocab.memory_zone():
            assert [nlp.vocab[f"word{j}"].text for j in range(1000)][i] == f"word{i}"
            assert tokens_of(nlp(TEXT)) == expected
        assert tokens_of(nlp(TEXT)) == expected


def test_first_texts_in_several_threads(nlp, expected):
    found = []
    barrier = threading.Barrier(8)

    def tokenize():
        barrier.wait()
        found.append(tokens_of(nlp.tokenizer(TEXT)))

    threads = [threading.Thread(target=tokenize) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == 8 * [expected]
