"""Trees with links that are set or forbidden."""

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from helpers.parser import TRAIN_DATA, make_examples, train_parser
from helpers.reference_links import all_trees
from helpers.trees import assert_well_formed, heads_of, projective_trees, tree_of
from spacy_dynsel.tasks.arc_eager.constraints import FREE, Constraints, mend_trees
from spacy_dynsel.tasks.arc_eager.rules import Rules, find_joined

WORDS = ["I", "like", "London", "and", "Nobody", "knows", "securities", "today", "."]


@pytest.fixture(scope="module")
def nlp():
    nlp = spacy.blank("en")
    train_parser(nlp, make_examples(nlp), n_updates=30)
    return nlp


@pytest.fixture(scope="module")
def parser(nlp):
    return nlp.get_pipe("dynsel_parser")


def make_doc(nlp, n, *, one_sentence=True):
    starts = [i == 0 for i in range(n)] if one_sentence else None
    return Doc(nlp.vocab, words=(WORDS * n)[:n], sent_starts=starts)


@settings(deadline=None, max_examples=200)
@given(tree=projective_trees(max_size=9), data=st.data())
def test_links_that_are_set_are_kept(nlp, parser, tree, data):
    doc = make_doc(nlp, len(tree), one_sentence=data.draw(st.booleans()))
    chosen = data.draw(st.sets(st.sampled_from(range(len(tree)))))
    heads = {child: tree[child] for child in chosen}
    parser.parse(doc, heads=heads)
    assert_well_formed(doc)
    found = heads_of(doc)
    assert {child: found[child] for child in chosen} == heads


@settings(deadline=None, max_examples=200)
@given(n=st.integers(1, 6), data=st.data())
def test_whatever_is_possible_is_done(nlp, parser, n, data):
    """Links that are set and forbidden at random, compared with all trees there are."""
    index = st.integers(0, n - 1)
    heads = data.draw(st.dictionaries(index, index, max_size=3))
    forbid = data.draw(st.sets(st.tuples(index, index), max_size=3 * n))
    forbid -= set(heads.items())

    def is_good(tree):
        tree = [child if head == -1 else head for child, head in enumerate(tree)]
        return all(tree[child] == head for child, head in heads.items()) and not any(
            tree[child] == head for child, head in forbid
        )

    doc = make_doc(nlp, n)
    if not any(map(is_good, all_trees(n))):
        with pytest.raises(ValueError, match="DS261"):
            parser.parse(doc, heads=heads, forbid=forbid)
        assert not doc.has_annotation("DEP")
        return
    parser.parse(doc, heads=heads, forbid=forbid)
    assert_well_formed(doc)
    assert is_good([-1 if t.head.i == t.i else t.head.i for t in doc])


def test_without_constraints_it_is_a_call(nlp, parser):
    for text, *_ in TRAIN_DATA:
        assert tree_of(parser.parse(nlp.make_doc(text))) == tree_of(nlp(text))


def test_links_join_sentences(nlp, parser):
    text = "They trade securities . I like Berlin ."
    assert len(list(nlp(text).sents)) == 2
    doc = parser.parse(nlp.make_doc(text), heads={5: 1})
    assert len(list(doc.sents)) == 1
    assert doc[5].head.i == 1


def test_white_space_stands_between(nlp, parser):
    doc = parser.parse(nlp.make_doc("I like \n London  and Berlin ."), heads={0: 3})
    assert doc[0].head.i == 3
    assert_well_formed(doc)


def test_lifted_arcs_do_not_move_what_is_set(nlp, parser):
    text = "A hearing is scheduled on this today ."
    doc = nlp(text)
    assert doc[4].head.i == 1
    lifted = parser.parse(nlp.make_doc(text), heads={4: 2})
    assert lifted[4].head.i == 2
    assert "||" not in lifted[4].dep_


@settings(deadline=None, max_examples=50)
@given(tree=projective_trees(max_size=9), data=st.data())
def test_several_trees(nlp, parser, tree, data):
    n = len(tree)
    chosen = data.draw(st.sets(st.sampled_from(range(n)), max_size=3))
    heads = {child: tree[child] for child in chosen}
    k = data.draw(st.integers(1, 2 * n))
    doc = make_doc(nlp, n)
    found = parser.k_best(doc, k, heads=heads)
    assert not doc.has_annotation("DEP")
    assert 1 <= len(found) <= k
    assert len({tuple(heads_of(one)) for one in found}) == len(found)
    assert tree_of(found[0]) == tree_of(parser.parse(make_doc(nlp, n), heads=heads))
    for one in found:
        assert_well_formed(one)
        assert all(one[child].head.i == head for child, head in heads.items())
    if k > 1 and n > 1 and len(chosen) == 0:
        assert len(found) > 1


def test_there_may_be_fewer_trees(nlp, parser):
    assert len(parser.k_best(make_doc(nlp, 1), 5)) == 1
    assert len(parser.k_best(make_doc(nlp, 2), 5)) == 2
    assert len(parser.k_best(nlp.make_doc(""), 5)) == 1
    assert len(parser.k_best(make_doc(nlp, 4), 5, heads={0: 1, 1: 1, 2: 1, 3: 2})) == 1


@pytest.mark.parametrize("k", [0, -1, 1.5, "2", 10**9])
def test_bad_numbers_of_trees(nlp, parser, k):
    with pytest.raises(ValueError, match="DS"):
        parser.k_best(make_doc(nlp, 3), k)


@pytest.mark.parametrize("n", [301, 1200])
def test_long_sentences_are_mended(nlp, n):
    """All links that are set, of a tree that is far from the old one."""
    doc = make_doc(nlp, n)
    random = np.random.default_rng(n)
    heads = np.full(n, FREE, dtype="int32")
    # Nested links, with words between them that are free.
    heads[10:100:3] = np.arange(n - 10, n - 100, -3)[:30]
    heads[110:140] = 105
    old = np.maximum(np.arange(n) - 1, 0).astype("int32")
    old[random.integers(1, n, 20)] = 0
    starts = np.zeros(n, dtype="uint8")
    starts[0] = 1
    constraints = Constraints(heads, np.zeros(0, dtype="int64"))
    found = mend_trees(doc, old, starts, constraints)
    assert (found[heads != FREE] == heads[heads != FREE]).all()
    assert (found == np.arange(n)).sum() == 1


@pytest.mark.parametrize(
    "heads, forbid, what",
    [
        ({0: 9}, (), "no token 9"),
        ({-1: 0}, (), "no token -1"),
        ({0: 1.5}, (), "no index"),
        ({0: True}, (), "no index"),
        ({0: None}, (), "no index"),
        ({3: 1}, (), "white space"),
        ({1: 3}, (), "white space"),
        ({0: 1}, {(0, 1)}, "both set and forbidden"),
        ({}, [(0, 1, 2)], "no pair"),
        ({}, [3], "no pair"),
        ({}, 3, "no set of pairs"),
        ([(0, 1)], (), "no dict"),
        ({0: 5}, (), "crosses the sentence start"),
    ],
)
def test_links_that_do_not_fit(nlp, parser, heads, forbid, what):
    doc = Doc(nlp.vocab, words=["I", "like", "London", "\n", "Nobody", "knows"])
    doc[4].is_sent_start = True
    with pytest.raises(ValueError, match=rf"DS260.*{what}"):
        parser.parse(doc, heads=heads, forbid=forbid)
    assert not doc.has_annotation("DEP")


@pytest.mark.parametrize(
    "heads", [{0: 1, 1: 0}, {0: 2, 1: 3}, {0: 2, 1: 1}, {0: 0, 3: 3}]
)
def test_links_that_contradict_each_other(nlp, parser, heads):
    doc = make_doc(nlp, 4)
    with pytest.raises(ValueError, match="DS261"):
        parser.parse(doc, heads=heads)
    assert not doc.has_annotation("DEP")


def test_a_blank_parser_says_so():
    nlp = spacy.blank("en")
    parser = nlp.add_pipe("dynsel_parser")
    with pytest.raises(ValueError, match="DS040"):
        parser.parse(nlp.make_doc("I like"), heads={0: 1})


def test_empty_docs(nlp, parser):
    assert len(parser.parse(nlp.make_doc(""))) == 0
    with pytest.raises(ValueError, match="DS260"):
        parser.parse(nlp.make_doc(""), heads={0: 0})


def test_what_is_no_doc(parser):
    with pytest.raises(TypeError, match="DS215"):
        parser.parse(None, heads={0: 1})


def test_rules_are_for_one_doc(nlp, parser):
    one = Constraints(np.full(3, FREE, dtype="int32"), np.zeros(0, dtype="int64"))
    for docs in ([make_doc(nlp, 4)], [make_doc(nlp, 1), make_doc(nlp, 2)]):
        with pytest.raises(ValueError, match="DS216"):
            parser.engine.predict(docs, margin=1.0, label_margin=1.0, constraints=one)


def test_bad_rules_are_refused():
    none = np.zeros(0, dtype="int64")
    for heads, forbidden in (
        ([1], none),
        ([-2], none),
        ([-1, -1], np.array([3, 1], dtype="int64")),
    ):
        with pytest.raises(ValueError, match="DS216"):
            Rules(np.array(heads, dtype="int32"), forbidden)
    assert find_joined(np.array([2, -1, -1, 3], dtype="int32")).tolist() == [0, 1, 1, 0]
