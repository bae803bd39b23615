"""Whether the search among trees finds what trying all of them finds."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.reference_links import links_of, score_tree, score_trees
from spacy_dynsel.core.eisner import LARGEST_SCORE, MOST_WORDS, LinkForest

MAX_WORDS = 6


@st.composite
def sparse_links(draw):
    """Words, and some links between them with scores."""
    n = draw(st.integers(1, MAX_WORDS))
    possible = [
        (head, child) for head in range(-1, n) for child in range(n) if head != child
    ]
    share = draw(st.sampled_from([0.3, 0.6, 1.0]))
    longest = draw(st.integers(1, n))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([2, 1000]))
    links = {
        link: int(random.integers(-spread, spread + 1))
        for link in map(tuple, random.permutation(possible).tolist())
        if random.random() < share
        and (link[0] < 0 or abs(link[0] - link[1]) <= longest)
    }
    return n, links, random


def make_forest(n, links, siblings=None):
    heads = np.array([head for head, _ in links], dtype="int32")
    children = np.array([child for _, child in links], dtype="int32")
    scores = np.array(list(links.values()), dtype="int64")
    return LinkForest(n, heads, children, scores, siblings is not None)


def make_case(case, with_siblings):
    """RETURNS: A forest, the scores of siblings, and all trees from the best on."""
    n, links, random = case
    siblings = {} if with_siblings else None
    forest = make_forest(n, links, siblings)
    if with_siblings:
        parts = [tuple(part) for part in forest.get_siblings().tolist()]
        scores = random.integers(-500, 501, len(parts))
        forest.set_sibling_scores(scores)
        siblings = dict(zip(parts, scores.tolist(), strict=True))
    return forest, siblings or {}, score_trees(n, links, siblings or {})


@pytest.mark.parametrize("with_siblings", [False, True])
@settings(deadline=None)
@given(case=sparse_links())
def test_the_best_tree_is_the_best_of_all(with_siblings, case):
    forest, siblings, trees = make_case(case, with_siblings)
    found = forest.find_best()
    if not trees:
        assert found is None
        return
    heads, score = found
    assert score == trees[0][0]
    assert score_tree(tuple(heads.tolist()), case[1], siblings) == score


@pytest.mark.parametrize("with_siblings", [False, True])
@settings(deadline=None)
@given(case=sparse_links(), k=st.integers(1, 60))
def test_the_k_best_trees_are_the_first_of_all(with_siblings, case, k):
    forest, siblings, trees = make_case(case, with_siblings)
    heads, scores = forest.find_k_best(k)
    assert scores.tolist() == [score for score, _ in trees[:k]]
    found = [tuple(row) for row in heads.tolist()]
    assert len(set(found)) == len(found)
    assert [score_tree(row, case[1], siblings) for row in found] == scores.tolist()


@given(case=sparse_links())
@settings(max_examples=30, deadline=None)
def test_all_trees_are_found(case):
    forest, _, trees = make_case(case, False)
    heads, _ = forest.find_k_best(1 << 16)
    found = {tuple(row) for row in heads.tolist()}
    assert found == {heads for _, heads in trees}


@pytest.mark.parametrize("with_siblings", [False, True])
@settings(deadline=None)
@given(case=sparse_links(), scale=st.sampled_from([1.0, 37.0, 1e5]))
def test_marginals_are_shares_of_all_trees(with_siblings, case, scale):
    forest, _, trees = make_case(case, with_siblings)
    found = forest.find_marginals(scale)
    if not trees:
        assert found is None
        return
    weights = np.exp((np.array([score for score, _ in trees]) - trees[0][0]) / scale)
    weights /= weights.sum()
    shares = dict.fromkeys(case[1], 0.0)
    for weight, (_, heads) in zip(weights.tolist(), trees, strict=True):
        for link in links_of(heads):
            shares[link] += weight
    np.testing.assert_allclose(found, list(shares.values()), atol=1e-9)


@pytest.mark.parametrize("with_siblings", [False, True])
@settings(deadline=None)
@given(case=sparse_links())
def test_gaps_are_those_to_the_best_tree_with_a_link(with_siblings, case):
    forest, _, trees = make_case(case, with_siblings)
    found = forest.find_gaps()
    if not trees:
        assert found is None
        return
    gaps = dict.fromkeys(case[1], -1)
    for score, heads in reversed(trees):
        for link in links_of(heads):
            gaps[link] = trees[0][0] - score
    assert found.tolist() == list(gaps.values())


def test_questions_from_several_threads():
    random = np.random.default_rng(0)
    links = {
        (head, child): int(random.integers(-100, 100))
        for head in range(-1, 30)
        for child in range(30)
        if head != child
    }
    forest = make_forest(30, links)
    expected = forest.find_k_best(5)[1].tolist()
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(forest.find_k_best, 5) for _ in range(20)]
        others = [pool.submit(forest.find_marginals, 50.0) for _ in range(20)]
        assert all(job.result()[1].tolist() == expected for job in jobs)
        assert len({job.result().tobytes() for job in others}) == 1


def test_a_forest_is_used_again():
    links = {(-1, 0): 3, (0, 1): 1, (-1, 1): 2, (1, 0): 5}
    forest = make_forest(2, links)
    first = forest.find_k_best(5)
    forest.find_marginals(1.0)
    again = forest.find_k_best(5)
    assert forest.find_best()[0].tolist() == [1, -1]
    for one, other in zip(first, again, strict=True):
        assert one.tolist() == other.tolist()


@given(seed=st.integers(0, 1000))
@example(seed=0)
@settings(max_examples=3, deadline=None)
def test_long_sentences_with_few_links(seed):
    """Chains, and links to a few random words."""
    n = 1500
    random = np.random.default_rng(seed)
    links = {(-1, word): 0 for word in range(n)}
    links |= {(word, word + 1): -5 for word in range(n - 1)}
    links |= {(word + 1, word): -5 for word in range(n - 1)}
    for child in range(n):
        for head in random.integers(max(0, child - 40), min(n, child + 40), 4).tolist():
            if head != child:
                links[head, child] = int(random.integers(0, 100))
    forest = make_forest(n, links)
    heads, score = forest.find_best()
    assert sum(links[link] for link in links_of(heads.tolist())) == score
    assert (heads == -1).sum() == 1
    trees, scores = forest.find_k_best(20)
    assert scores[0] == score and (np.diff(scores) <= 0).all()
    assert len({tuple(row) for row in trees.tolist()}) == 20
    marginals = forest.find_marginals(10.0)
    sums = np.bincount([child for _, child in links], weights=marginals)
    np.testing.assert_allclose(sums, 1, atol=1e-6)


@pytest.mark.parametrize(
    "n, heads, children, scores",
    [
        (0, [], [], []),
        (MOST_WORDS + 1, [], [], []),
        (2, [0], [0], [0]),
        (2, [-2], [0], [0]),
        (2, [2], [0], [0]),
        (2, [-1], [2], [0]),
        (2, [-1], [-1], [0]),
        (2, [-1, 0], [1], [0]),
        (2, [-1], [1], [0, 0]),
        (2, [0, 0], [1, 1], [3, 4]),
        (2, [-1], [1], [LARGEST_SCORE + 1]),
    ],
)
def test_bad_links_are_refused(n, heads, children, scores):
    with pytest.raises(ValueError, match="DS216"):
        LinkForest(
            n,
            np.array(heads, dtype="int32"),
            np.array(children, dtype="int32"),
            np.array(scores, dtype="int64"),
        )


def test_bad_questions_are_refused():
    forest = make_forest(1, {(-1, 0): 0}, siblings={})
    for ask in (
        lambda: forest.find_k_best(0),
        lambda: forest.find_marginals(0.0),
        lambda: forest.find_marginals(float("nan")),
        lambda: forest.set_sibling_scores(np.zeros(1, dtype="int64")),
        lambda: LinkForest.__new__(LinkForest).find_best(),
    ):
        with pytest.raises(ValueError, match="DS216"):
            ask()
    assert forest.find_best()[0].tolist() == [-1]
    assert forest.get_siblings().shape == (0, 3)
