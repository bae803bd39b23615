"""All components whose classifiers can induce pairs do so, and go on as before."""

import pytest
import spacy

from helpers.embedded import learn, make_examples, read_docs, strip
from spacy_dynsel.registry.factories import (
    DEFAULT_LEMMATIZER_MODEL,
    DEFAULT_MORPHOLOGIZER_MODEL,
    DEFAULT_NER_MODEL,
    DEFAULT_PARSER_MODEL,
    DEFAULT_TAGGER_MODEL,
)

MODELS = {
    "dynsel_tagger": DEFAULT_TAGGER_MODEL,
    "dynsel_morphologizer": DEFAULT_MORPHOLOGIZER_MODEL,
    "dynsel_ner": DEFAULT_NER_MODEL,
    "dynsel_lemmatizer": DEFAULT_LEMMATIZER_MODEL,
}


def make_config(model: dict, **induction) -> dict:
    learner = {**model["learner"], "induction": induction}
    return {"model": {**model, "learner": learner}}


@pytest.mark.filterwarnings("ignore:.*DW231")
@pytest.mark.parametrize("factory", MODELS)
def test_pairs_in_all_components(factory):
    nlp = spacy.blank("en")
    docs = read_docs(nlp.vocab, "train", 60)
    config = make_config(MODELS[factory], sure_lead=1.0)
    component = nlp.add_pipe(factory, config=config)
    examples = make_examples(nlp, docs)
    nlp.initialize(lambda: examples)
    learn(nlp, examples, 2)
    scorers = component.engine.get_snapshot().scorers.values()
    assert all(len(scorer.pairs) for scorer in scorers)
    texts = [strip(doc) for doc in read_docs(nlp.vocab, "dev", 20)]
    n_pairs = 0
    for doc in texts:
        for one in component.explain(doc):
            n_pairs += sum(" & " in name for name in one.contributions)
            # The label that was predicted is the best one by slow sums.
            lead = sum(a - b for a, b in one.contributions.values())
            if one.contributions and one.runner_up:
                assert lead == pytest.approx(one.lead, abs=1e-3)
    assert n_pairs
    other = spacy.blank("en").add_pipe(factory, config=config)
    data = component.to_bytes(exclude=["vocab"])
    other.from_bytes(data, exclude=["vocab"])
    assert other.to_bytes(exclude=["vocab"]) == data


def test_parsers_say_that_they_can_not():
    with pytest.raises(ValueError, match="DS280"):
        spacy.blank("en").add_pipe(
            "dynsel_parser", config=make_config(DEFAULT_PARSER_MODEL)
        )


def test_lemmas_have_no_history():
    with pytest.raises(ValueError, match="DS025"):
        spacy.blank("en").add_pipe(
            "dynsel_lemmatizer",
            config=make_config(DEFAULT_LEMMATIZER_MODEL, reference=0.95),
        )


def test_settings_that_are_not_known():
    with pytest.raises(ValueError, match="DS024"):
        spacy.blank("en").add_pipe(
            "dynsel_tagger", config=make_config(DEFAULT_TAGGER_MODEL, hash_size=10)
        )
