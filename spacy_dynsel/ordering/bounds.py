"""Bounds that hold with a stated confidence, for any distribution and any size of the data.

What is drawn independently is a whole group of decisions, such as those of a sentence:
within it they may depend on each other in any way.
"""

import math
from functools import cache

import numpy as np

# The largest part of the capital to bet: a group that is lost altogether leaves the rest.
LARGEST_BET = 0.95


def bound_mean(losses: np.ndarray, alpha: float) -> float:
    """What the mean loss of groups is at most, with a confidence of 1 - alpha, by betting
    (Waudby-Smith and Ramdas 2023).

    Somebody bets that losses stay below a mean. If the true mean is above it, no way of
    betting on what comes next makes the capital grow by 1 / alpha, but with a probability
    of alpha. So means at which it did grow by that much are ruled out.

    losses (array): The loss of each group, at most 1; below 0 for what was gained.
    """
    n = len(losses)
    if not n:
        return 1.0
    # In an order that does not depend on how the data are sorted.
    losses = losses[np.random.default_rng(0).permutation(n)]
    number = np.arange(1, n + 1)
    means = np.cumsum(losses) / number
    # Each bet depends on what came before it alone: the variance so far, with a start.
    variances = (0.25 + np.cumsum((losses - means) ** 2)) / (number + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    bets = np.minimum(LARGEST_BET, np.sqrt(-2 * math.log(alpha) / (n * before)))

    def is_ruled_out(mean: float) -> bool:
        # Where a gain is bet on, the capital must outlive a group that is lost.
        allowed = np.minimum(bets, LARGEST_BET / max(1.0, 1 - mean))
        growth = np.cumsum(np.log1p(allowed * (mean - losses)))
        return float(growth.max()) >= -math.log(alpha)

    if not is_ruled_out(1.0):
        return 1.0
    low, high = -1.0, 1.0
    for _ in range(24):
        middle = (low + high) / 2
        if is_ruled_out(middle):
            high = middle
        else:
            low = middle
    return high


@cache
def count_needed(max_loss: float, alpha: float) -> int:
    """How many groups are needed for a bound if not a single one loses anything."""

    def is_enough(n: int) -> bool:
        return bound_mean(np.zeros(n), alpha) <= max_loss

    high = 1
    while not is_enough(high):
        high *= 2
    low = high // 2
    while low + 1 < high:
        middle = (low + high) // 2
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return high


def upper_rate(count: int, n: int, alpha: float) -> float:
    """The largest rate at which so few of n happen with a probability of at least
    alpha: the upper bound of Clopper and Pearson."""
    if count >= n:
        return 1.0
    # The logarithms of the numbers of ways to choose 0 .. count of n.
    steps = np.log(np.arange(n, n - count, -1)) - np.log(np.arange(1, count + 1))
    ways = np.concatenate([[0.0], np.cumsum(steps)])
    found = np.arange(count + 1)

    def probability(rate: float) -> float:
        logs = ways + found * math.log(rate) + (n - found) * math.log1p(-rate)
        return float(np.exp(logs).sum())

    low, high = count / n, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if probability(middle) >= alpha:
            low = middle
        else:
            high = middle
    return high
