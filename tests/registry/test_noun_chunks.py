"""Noun chunks with relations of Universal Dependencies."""

import pickle

import pytest
import spacy
from spacy.tokens import Doc

CASES = [
    (
        "Barack Obama told the new boss of Apple in Paris that the old band hits the road",
        "PROPN PROPN VERB DET ADJ NOUN ADP PROPN ADP PROPN SCONJ DET ADJ NOUN VERB DET NOUN",
        [2, 0, 2, 5, 5, 2, 7, 5, 9, 2, 14, 13, 13, 14, 2, 16, 14],
        "nsubj flat ROOT det amod iobj case nmod case obl mark det amod nsubj ccomp det obj",
        ["Barack Obama", "the new boss", "Apple", "Paris", "the old band", "the road"],
    ),
    (
        "My sister 's two cats and I are the best friends",
        "PRON NOUN PART NUM NOUN CCONJ PRON AUX DET ADJ NOUN",
        [1, 4, 1, 4, 10, 6, 4, 10, 10, 10, 10],
        "nmod:poss nmod:poss case nummod nsubj cc conj cop det amod ROOT",
        ["My sister 's two cats", "I", "the best friends"],
    ),
    (
        "There is the man who sold all the fish soup",
        "PRON VERB DET NOUN PRON VERB DET DET NOUN NOUN",
        [1, 1, 3, 1, 5, 3, 9, 9, 9, 5],
        "expl ROOT det nsubj nsubj acl:relcl det:predet det compound obj",
        ["the man", "who", "all the fish soup"],
    ),
]


@pytest.fixture
def nlp():
    make = spacy.registry.callbacks.get("spacy_dynsel.noun_chunks.v1")
    return make()(spacy.blank("en"))


@pytest.mark.parametrize(("words", "pos", "heads", "deps", "chunks"), CASES)
def test_chunks(nlp, words, pos, heads, deps, chunks):
    doc = Doc(
        nlp.vocab, words=words.split(), pos=pos.split(), heads=heads, deps=deps.split()
    )
    assert [chunk.text for chunk in doc.noun_chunks] == chunks
    assert all(chunk.label_ == "NP" for chunk in doc.noun_chunks)
    # With the names of spaCy's English pipelines as well.
    nlp.add_pipe("dynsel_label_map")
    renamed = nlp(doc)
    assert [chunk.text for chunk in renamed.noun_chunks] == chunks


def test_a_config_keeps_the_rules(tmp_path):
    config = {"nlp": {"after_creation": {"@callbacks": "spacy_dynsel.noun_chunks.v1"}}}
    nlp = spacy.blank("en", config=config)
    nlp.to_disk(tmp_path)
    words, pos, heads, deps, chunks = CASES[0]
    for one in (nlp, spacy.load(tmp_path), pickle.loads(pickle.dumps(nlp))):
        doc = Doc(
            *(one.vocab, words.split()),
            pos=pos.split(),
            heads=heads,
            deps=deps.split(),
        )
        assert [chunk.text for chunk in doc.noun_chunks] == chunks
