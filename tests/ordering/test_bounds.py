"""Bounds that hold as often as they say."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spacy_dynsel.ordering.bounds import bound_mean, count_needed, upper_rate

ALPHA = 0.1


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_binomial_bound(data):
    n = data.draw(st.integers(1, 60))
    count = data.draw(st.integers(0, n))
    alpha = data.draw(st.floats(0.01, 0.4))

    def at_most(k, p):
        return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))

    upper = upper_rate(count, n, alpha)
    assert count / n <= upper
    if count < n:
        assert at_most(count, upper) == pytest.approx(alpha, rel=1e-6)


def test_number_of_groups_needed():
    for max_loss, alpha in ((0.01, 0.05), (0.05, 0.01)):
        n = count_needed(max_loss, alpha)
        assert bound_mean(np.zeros(n), alpha) <= max_loss
        assert bound_mean(np.zeros(n - 1), alpha) > max_loss
        # Hardly more than what an exact test of whole groups needs.
        assert n <= 1.15 * math.log(alpha) / math.log1p(-max_loss)


def test_of_nothing_and_of_everything():
    assert bound_mean(np.zeros(0), ALPHA) == 1
    assert bound_mean(np.ones(500), ALPHA) == 1
    assert bound_mean(np.full(5000, -1.0), ALPHA) < -0.9


def test_does_not_depend_on_the_order_of_genres():
    losses = np.repeat([0.0, 0.2], 500)
    shuffled = np.random.default_rng(1).permutation(losses)
    bounds = [bound_mean(one, ALPHA) for one in (losses, losses[::-1], shuffled)]
    assert max(bounds) - min(bounds) < 0.01
    assert 0.1 < min(bounds) < 0.12


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=80), st.floats(0.01, 0.3))
@example([0.0, 0.0, 0.0, 0.0, 0.0, -1.0, -1.0, 1.0], 0.28125)
@settings(max_examples=50, deadline=None)
def test_more_confidence_is_a_larger_bound(losses, alpha):
    losses = np.array(losses)
    assert bound_mean(losses, alpha) <= bound_mean(losses, alpha / 2) + 1e-9
    assert (
        bound_mean(losses, alpha)
        <= bound_mean(np.minimum(losses + 0.1, 1), alpha) + 1e-9
    )


def draw_rare(rng, n):
    """All is well, but for a group in fifty, which is lost altogether."""
    return (rng.random(n) < 0.02).astype(float), 0.02


def draw_shares(rng, n):
    """Groups lose some of their words, and gain others."""
    return rng.binomial(10, 0.03, n) / 10 - rng.binomial(10, 0.01, n) / 10, 0.02


def draw_clusters(rng, n):
    """Few groups lose much, many gain a little."""
    bad = rng.random(n) < 0.05
    return np.where(
        bad, rng.random(n), -rng.random(n) * 0.01
    ), 0.05 * 0.5 - 0.95 * 0.005


@pytest.mark.parametrize("draw", [draw_rare, draw_shares, draw_clusters])
@pytest.mark.parametrize("n", [30, 400])
def test_holds_as_often_as_it_says(draw, n):
    rng = np.random.default_rng(n)
    n_runs = 1000
    n_broken = 0
    for _ in range(n_runs):
        losses, mean = draw(rng, n)
        n_broken += bound_mean(losses, ALPHA) < mean
    assert n_broken / n_runs <= ALPHA
