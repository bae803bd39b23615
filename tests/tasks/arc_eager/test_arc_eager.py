"""Transitions, their costs and gold trees, against a slow reference."""

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from helpers import reference_parser as reference
from helpers.trees import projective_trees
from spacy_dynsel.tasks.arc_eager.trees import classify_tree, follow


@st.composite
def any_heads(draw, max_size=6):
    n = draw(st.integers(1, max_size))
    return draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))


def as_gold(heads):
    return np.array([-1 if head is None else head for head in heads], dtype="int32")


def has_cycle(heads):
    for start in range(len(heads)):
        token = start
        for _ in heads:
            token = heads[token]
        if heads[token] != token:
            return True
    return False


@given(any_heads())
def test_kinds_of_trees(heads):
    kind = classify_tree(as_gold(heads))
    if has_cycle(heads):
        assert kind == "cyclic"
    else:
        assert (kind == "projective") == reference.is_projective(heads)


@given(projective_trees(max_size=40))
def test_projective_trees_are_projective(heads):
    assert reference.is_projective(heads)
    assert classify_tree(as_gold(heads)) == "projective"


def test_kinds_of_long_trees():
    n = 100_000
    for heads in ([0] * n, [n - 1] * n, [0, *range(n - 1)], [*range(1, n), n - 1]):
        assert classify_tree(as_gold(heads)) == "projective"
    assert classify_tree(as_gold([*range(1, n), 0])) == "cyclic"
    assert classify_tree(as_gold([])) == "projective"
    with pytest.raises(IndexError):
        classify_tree(as_gold([0, 2]))


@given(projective_trees(), st.randoms(use_true_random=False))
def test_free_of_cost_to_the_gold_tree(heads, random):
    """Whichever actions cost nothing, all of them lead to the gold tree."""

    def choose(costs):
        free = [action for action, cost in costs.items() if cost == 0]
        assert free
        return random.choice(free)

    assert follow(as_gold(heads), choose) == heads


@settings(deadline=None)
@given(any_heads(max_size=12), st.data())
def test_costs_equal_the_reference(heads, data):
    """In each state on any way, whatever the heads, of which some are not known."""
    n = len(heads)
    known = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    gold = tuple(head if k else None for head, k in zip(heads, known, strict=True))
    state = reference.first_state(n)

    def choose(costs):
        nonlocal state
        assert costs == reference.get_costs(state, gold)
        action = data.draw(st.sampled_from(sorted(costs)))
        state = reference.apply(state, action)
        return action

    follow(as_gold(gold), choose)
    assert reference.is_final(state)


@settings(deadline=None)
@given(projective_trees(max_size=6), st.randoms(use_true_random=False))
def test_any_way_through_the_states(heads, random):
    """The actions that are possible, and the tree at the end, are those of the
    reference; as long as the gold tree can be reached, what costs nothing is right.
    Other actions may be as well, since tokens can come back from the stack."""
    gold = tuple(heads)
    state = reference.first_state(len(heads))

    def choose(costs):
        nonlocal state
        assert sorted(costs) == reference.get_valid(state)
        if reference.get_loss(state, gold) == 0:
            free = [action for action, cost in costs.items() if cost == 0]
            assert free
            assert set(free) <= set(reference.get_best(state, gold))
        action = random.choice(sorted(costs))
        state = reference.apply(state, action)
        return action

    found = follow(as_gold(heads), choose)
    assert reference.is_final(state)
    assert found == [i if head is None else head for i, head in enumerate(state.heads)]
    # One root, and no crossing arcs.
    assert sum(i == head for i, head in enumerate(found)) == 1
    assert classify_tree(as_gold(found)) == "projective"


@settings(deadline=None)
@given(
    projective_trees(max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.randoms(use_true_random=False),
)
def test_missing_heads_cost_nothing(heads, known, random):
    """Free actions lead to a tree with all the heads that are known."""
    partial = [head if keep else None for head, keep in zip(heads, known, strict=False)]

    def choose(costs):
        free = [action for action, cost in costs.items() if cost == 0]
        assert free
        return random.choice(free)

    found = follow(as_gold(partial), choose)
    ends = [None if head == i else head for i, head in enumerate(found)]
    assert reference.count_wrong(ends, partial) == 0


def test_bad_actions():
    with pytest.raises(ValueError, match="1"):
        follow(as_gold([1, 1]), lambda costs: reference.REDUCE)
    assert follow(as_gold([]), None) == []
    assert follow(as_gold([0]), None) == [0]


@settings(deadline=None, max_examples=5)
@given(st.lists(projective_trees(), min_size=1, max_size=4))
def test_any_projective_tree_can_be_learned(trees):
    """Words that occur once say all there is to know. A reranker, which learns from the
    trees of parsers that have not seen them, is another matter."""
    nlp = spacy.blank("en")
    parser = nlp.add_pipe("dynsel_parser", config={"branches": 0})
    examples = []
    for number, heads in enumerate(trees):
        words = [f"w{number}x{i}" for i in range(len(heads))]
        deps = ["ROOT" if i == head else f"d{i % 3}" for i, head in enumerate(heads)]
        gold = Doc(nlp.vocab, words=words, heads=heads, deps=deps)
        examples.append(Example(Doc(nlp.vocab, words=words), gold))
    nlp.initialize(lambda: examples)
    for _ in range(300):
        if parser.update(examples)["dynsel_parser"] == 0:
            break
    for example in examples:
        found = parser(example.predicted)
        assert [token.head.i for token in found] == [
            token.head.i for token in example.reference
        ]
        assert [token.dep_ for token in found] == [
            token.dep_ for token in example.reference
        ]
