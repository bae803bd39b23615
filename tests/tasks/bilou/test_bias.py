"""Words that were analysed stay so when the bias changes, and predictions follow it."""

import spacy

from helpers.embedded import make_examples, read_docs


def test_a_new_bias_keeps_the_words():
    nlp = spacy.blank("en")
    ner = nlp.add_pipe("dynsel_ner")
    examples = make_examples(nlp, read_docs(nlp.vocab, "train", 60))
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    docs = [example.predicted for example in examples]
    found = {}
    for bias in (0.0, -2.0, 3.0, 0.0):
        ner.o_bias = bias
        found[bias] = ner.predict(docs).actions.tolist()
        afresh = spacy.blank("en").add_pipe("dynsel_ner").from_bytes(ner.to_bytes())
        assert found[bias] == afresh.predict(docs).actions.tolist()
        assert ner.n_cached == afresh.n_cached
    assert found[-2.0] != found[0.0] != found[3.0]
    ner.o_bias = -1.0
    ner.predict(docs[:1])
    assert ner.n_cached == afresh.n_cached
    # What was learned since makes other rows.
    nlp.update(examples)
    ner.o_bias = 0.0
    ner.predict(docs[:1])
    assert ner.n_cached < afresh.n_cached
    afresh = spacy.blank("en").add_pipe("dynsel_ner").from_bytes(ner.to_bytes())
    assert ner.predict(docs).actions.tolist() == afresh.predict(docs).actions.tolist()
