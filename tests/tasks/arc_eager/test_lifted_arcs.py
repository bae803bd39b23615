"""Trees that are not projective: arcs are lifted for training, and given back."""

import numpy as np
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.pipeline._parser_internals.nonproj import deprojectivize, projectivize
from spacy.tokens import Doc
from spacy.training import Example

from helpers.parser import train_parser
from helpers.trees import assert_well_formed, projective_trees
from spacy_dynsel.tasks.arc_eager.gold import lift_arcs, read_tree
from spacy_dynsel.tasks.arc_eager.trees import restore_arcs

VOCAB = spacy.blank("en").vocab
PLAIN = ["a", "b", "c"]
LIFTED = [f"{label}||{head}" for label in PLAIN for head in [*PLAIN, "ROOT"]]
ATTRIBUTES = ["HEAD", "DEP", "SENT_START"]


def restore(doc):
    """What the parser does with labels of lifted arcs."""
    strings = doc.vocab.strings
    labels = {
        strings[name]: tuple(strings[part] for part in name.split("||"))
        for name in LIFTED
    }
    lifted = [token.i for token in doc if token.dep in labels]
    restore_arcs(doc, lifted, labels)
    return doc


def edges_of(doc):
    return [(t.left_edge.i, t.right_edge.i, t.n_lefts, t.n_rights) for t in doc]


@settings(deadline=None)
@given(st.lists(projective_trees(max_size=20), min_size=1, max_size=3), st.data())
def test_arcs_are_given_back_as_by_spacy(trees, data):
    words, heads, deps = [], [], []
    for tree in trees:
        start = len(words)
        for i, head in enumerate(tree):
            is_leaf = i not in tree
            words.append(data.draw(st.sampled_from(["w", "\n"])) if is_leaf else "w")
            heads.append(start + head)
            label = data.draw(st.sampled_from(PLAIN * 2 + LIFTED))
            deps.append("ROOT" if head == i else label)
    ours = Doc(VOCAB, words=words, heads=heads, deps=deps)
    expected = deprojectivize(ours.copy())
    restore(ours)
    assert ours.to_array(ATTRIBUTES).tolist() == expected.to_array(ATTRIBUTES).tolist()
    assert edges_of(ours) == edges_of(expected)


def test_many_lifted_arcs_on_one_head():
    """No search goes through all of them."""
    n = 50_000
    deps = ["ROOT", "b", *["a||b", "c||a"] * (n // 2 - 1)]
    doc = restore(Doc(VOCAB, words=["w"] * n, heads=[0] * n, deps=deps))
    assert [token.dep_ for token in doc[:6]] == ["ROOT", "b", "a", "c", "a", "c"]
    assert [token.head.i for token in doc[:6]] == [0, 0, 1, 0, 1, 0]
    assert doc[n - 2].head.i == 1


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 99), max_size=12), max_size=4))
def test_sentences_are_lifted_one_by_one(parser_pipeline, numbers):
    """The same arcs as if it were done for the whole doc."""
    heads = []
    for sentence in numbers:
        start = len(heads)
        # Each token hangs on one that comes before it in some order.
        order = sorted(range(len(sentence)), key=lambda i: (7 * sentence[i] % 12, i))
        own = [0] * len(sentence)
        for place, token in enumerate(order):
            own[token] = order[sentence[token] % place] if place else token
        heads += [start + head for head in own]
    deps = ["ROOT" if i == head else PLAIN[i % 3] for i, head in enumerate(heads)]
    doc = Doc(parser_pipeline.vocab, words=["w"] * len(heads), heads=heads, deps=deps)
    found = lift_arcs(read_tree(doc))
    assert found == tuple(map(list, projectivize(heads, deps)))


def test_a_very_long_sentence_of_lifted_arcs(nlp):
    words = ["A", "hearing", "is", "scheduled", "on", "this", "today", "."]
    gold = Doc(
        nlp.vocab,
        words=words,
        heads=[1, 2, 2, 2, 1, 4, 3, 2],
        deps=["det", "nsubj", "ROOT", "acomp", "prep", "pobj", "advmod", "punct"],
    )
    parser = train_parser(nlp, [Example(Doc(nlp.vocab, words=words), gold)])
    n = 20_000
    long = Doc(
        nlp.vocab, words=words * (n // 8), sent_starts=[True, *[False] * (n - 1)]
    )
    assert parser._names.is_lifted[parser.predict([long]).labels].sum() > n / 10
    parser(long)
    assert not any("||" in dep for dep in {token.dep_ for token in long})
    assert (long.to_array(["HEAD"]).astype("int64") == 0).sum() == 1
    assert_well_formed(parser(gold.copy()))
    assert np.array_equal(parser(gold.copy()).to_array("HEAD"), gold.to_array("HEAD"))
