"""Choosing o_bias where there are no development data."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_dynsel.registry.tuning import find_o_bias, make_o_bias_finder, tune_o_bias

NAMES = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn")


def make_docs(vocab):
    """Names after some verbs, half of which are not annotated."""
    docs = []
    for i in range(60):
        words = ["we", ("met", "saw")[i % 2], NAMES[i % len(NAMES)], "today"]
        tags = ["O", "O", "U-PER" if i % 4 else "O", "O"]
        tags = [tag.replace("U-", "B-") for tag in tags]
        docs.append(Doc(vocab, words=words, ents=tags))
    return docs


def make_examples(nlp):
    return [
        Example(Doc(nlp.vocab, words=[token.text for token in doc]), doc)
        for doc in make_docs(nlp.vocab)
    ]


@pytest.fixture
def nlp():
    nlp = spacy.blank("en")
    nlp.add_pipe("dynsel_ner", config={"model": {"seeds": 1}})
    return nlp


def test_find_o_bias_tunes_a_copy_on_what_it_has_not_learned(nlp, monkeypatch):
    seen = {}

    def tune(component, examples):
        seen.update(component=component, examples=list(examples))
        component.o_bias = -1.25
        return -1.25

    monkeypatch.setattr("spacy_dynsel.registry.tuning.tune_o_bias", tune)
    examples = make_examples(nlp)
    nlp.initialize(lambda: examples)
    before = nlp.get_pipe("dynsel_ner").model.to_bytes()
    assert find_o_bias(nlp, examples, held_out=0.2, n_epochs=1) == -1.25
    assert nlp.get_pipe("dynsel_ner").o_bias == -1.25
    assert nlp.get_pipe("dynsel_ner").model.to_bytes() == before
    assert seen["component"] is not nlp.get_pipe("dynsel_ner")
    assert seen["component"].labels == ("PER",)
    assert seen["examples"] == examples[4::5]


def test_find_o_bias_is_deterministic(nlp):
    found = [find_o_bias(nlp, make_examples(nlp), n_epochs=1) for _ in range(2)]
    assert found[0] == found[1] == nlp.get_pipe("dynsel_ner").o_bias


def test_without_enough_examples_nothing_changes(nlp):
    nlp.get_pipe("dynsel_ner").o_bias = 0.75
    assert find_o_bias(nlp, make_examples(nlp)[:9]) == 0.75


@pytest.mark.parametrize("held_out", [0.0, 0.6, True])
def test_bad_shares(nlp, held_out):
    with pytest.raises(ValueError, match="DS022"):
        find_o_bias(nlp, make_examples(nlp), held_out=held_out)


def test_a_component_is_needed():
    with pytest.raises(ValueError, match="DS105"):
        find_o_bias(spacy.blank("en"), [])


def test_as_a_callback(nlp, tmp_path, monkeypatch):
    """When the pipeline is initialized, and not once more for the copy."""
    calls = []

    def tune(component, examples):
        calls.append(component)
        return tune_o_bias(component, examples)

    monkeypatch.setattr("spacy_dynsel.registry.tuning.tune_o_bias", tune)
    path = tmp_path / "train.spacy"
    DocBin(docs=make_docs(nlp.vocab)).to_disk(path)
    nlp.config["initialize"]["after_init"] = {
        "@callbacks": "spacy_dynsel.find_o_bias.v1",
        "path": str(path),
    }
    nlp.initialize(lambda: make_examples(nlp))
    assert len(calls) == 1
    assert nlp.get_pipe("dynsel_ner").o_bias == calls[0].o_bias
    assert make_o_bias_finder(path)(nlp) is nlp
