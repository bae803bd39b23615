"""Other names for labels."""

import pytest
import spacy
from spacy.tokens import Doc

WORDS = ["Ann", "was", "seen", "by", "Bo", "in", "York"]
DEPS = ["nsubj:pass", "aux:pass", "ROOT", "case", "obl:agent", "case", "obl"]
HEADS = [2, 2, 2, 4, 2, 6, 2]
ENTS = ["B-PER", "O", "O", "O", "B-PER", "O", "B-LOC"]


@pytest.fixture
def nlp():
    return spacy.blank("en")


def make_doc(nlp):
    return Doc(nlp.vocab, words=WORDS, deps=DEPS, heads=HEADS, ents=ENTS)


def test_names_of_spacys_english_pipelines(nlp):
    nlp.add_pipe("dynsel_label_map")
    doc = nlp(make_doc(nlp))
    assert [token.dep_ for token in doc] == [
        *("nsubjpass", "auxpass", "ROOT", "case", "agent", "case", "obl")
    ]
    assert [token.head.i for token in doc] == HEADS
    assert [(ent.text, ent.label_) for ent in doc.ents] == [
        *(("Ann", "PERSON"), ("Bo", "PERSON"), ("York", "LOC"))
    ]
    [piped] = nlp.pipe([make_doc(nlp)])
    assert piped.to_json() == doc.to_json()


def test_names_of_ones_own_are_saved(nlp, tmp_path):
    config = {"deps": {"obl": "where"}, "ents": {"LOC": "GPE"}}
    nlp.add_pipe("dynsel_label_map", config=config)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    doc = loaded(make_doc(loaded))
    assert [token.dep_ for token in doc] == [*DEPS[:-1], "where"]
    assert [ent.label_ for ent in doc.ents] == ["PER", "PER", "GPE"]


def test_what_is_not_annotated_stays(nlp):
    nlp.add_pipe("dynsel_label_map")
    doc = nlp("Ann was seen")
    assert not doc.has_annotation("DEP")
    assert not doc.has_annotation("ENT_IOB")


def test_an_empty_name_is_refused(nlp):
    with pytest.raises(ValueError, match="DS330"):
        nlp.add_pipe("dynsel_label_map", config={"deps": {"obl": ""}})
