"""Margins that come with a promise about the loss of accuracy.

Compared with all templates, a margin makes some units (tokens) wrong that were right,
and some right that were wrong. Both are counted on data that the model has not seen;
exact binomial bounds on the two rates bound the loss, whatever the distribution is.
Margins are tested one after the other, from the safest on, in an order that is fixed
before, and the first one that fails ends the search: then the confidence of a single
test is that of the whole search, however many margins are looked at.

Units count as drawn independently of each other.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base.errors import Errors

# Margins are looked at as parts of the margins of training, from the largest down.
LARGEST = 4.0
NOTCH = 2**-0.25
N_NOTCHES = 36
# A notch of the search for a margin for each stage, and the number of stages (or groups
# of them) up to which there is one.
COARSE = 2
MAX_KNOBS = 6


class Outcome(NamedTuple):
    """What margins lead to.

    right (array): Whether each unit is right.
    cost (float): The mean number of templates of a decision.
    """

    right: np.ndarray
    cost: float


# Factors of the margins of training, one for each knob, lead to an outcome.
Measure = Callable[[Sequence[float]], Outcome]


@dataclass(frozen=True)
class Verdict:
    """What is known about some margins.

    factors (tuple): The margins, as parts of the margins of training.
    bound (float): The share of units that is lost at most, with the confidence.
    loss (float): The share that was lost.
    n_worse (int), n_better (int): How many units became wrong, and right.
    cost (float): The mean number of templates.
    """

    factors: tuple[float, ...]
    bound: float
    loss: float
    n_worse: int
    n_better: int
    cost: float


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


def lower_rate(count: int, n: int, alpha: float) -> float:
    """The smallest rate at which so many of n happen with a probability of at least
    alpha: the lower bound of Clopper and Pearson."""
    if count == 0:
        return 0.0
    steps = np.log(np.arange(n, n - count + 1, -1)) - np.log(np.arange(1, count))
    ways = np.concatenate([[0.0], np.cumsum(steps)])
    found = np.arange(count)
    low, high = 0.0, count / n
    for _ in range(60):
        middle = (low + high) / 2
        logs = ways + found * math.log(middle) + (n - found) * math.log1p(-middle)
        # How likely so many or more are at this rate.
        if 1.0 - float(np.exp(logs).sum()) <= alpha:
            low = middle
        else:
            high = middle
    return low


def bound_loss(n_worse: int, n_better: int, n: int, alpha: float) -> float:
    """A share of units that is lost at most, with a confidence of 1 - alpha."""
    lost = upper_rate(n_worse, n, alpha / 2)
    return lost - lower_rate(n_better, n, alpha / 2)


def judge(
    factors: Sequence[float], full: np.ndarray, outcome: Outcome, alpha: float
) -> Verdict:
    """Compare margins with all templates."""
    n = len(full)
    n_worse = int((full & ~outcome.right).sum())
    n_better = int((~full & outcome.right).sum())
    return Verdict(
        tuple(factors),
        bound_loss(n_worse, n_better, n, alpha),
        (n_worse - n_better) / n,
        n_worse,
        n_better,
        outcome.cost,
    )


def count_needed(max_loss: float, alpha: float) -> int:
    """How many units are needed if not a single one differs."""
    return math.ceil(math.log(alpha / 2) / math.log1p(-max_loss))


def check_size(n: int, max_loss: float, alpha: float) -> None:
    needed = count_needed(max_loss, alpha)
    if n < needed:
        raise ValueError(
            Errors.DS136.format(
                n=n, max_loss=100 * max_loss, confidence=1 - alpha, needed=needed
            )
        )


def one_margin(n_knobs: int) -> list[tuple[float, ...]]:
    """The same part of the margins of training for all knobs, from the safest on."""
    return [(LARGEST * NOTCH**i,) * n_knobs for i in range(N_NOTCHES)]


def find_path(
    measure: Measure, full: np.ndarray, n_knobs: int, max_loss: float
) -> list[tuple[float, ...]]:
    """Margins for each knob, from the safest on: at each step, the knob is turned
    down by a notch that saves most templates for what is lost."""
    notches = [0] * n_knobs

    def factors() -> tuple[float, ...]:
        return tuple(LARGEST * NOTCH**notch for notch in notches)

    path = [factors()]
    cost = measure(path[0]).cost
    while True:
        best: tuple[float, int, float] | None = None
        for knob in range(n_knobs):
            if notches[knob] + COARSE >= N_NOTCHES:
                continue
            notches[knob] += COARSE
            outcome = measure(factors())
            notches[knob] -= COARSE
            loss = float((full & ~outcome.right).sum() - (~full & outcome.right).sum())
            loss /= len(full)
            # Going a bit further than allowed: the test decides where to stop.
            if loss <= 1.5 * max_loss:
                saved = (cost - outcome.cost) / (max(loss, 0.0) + 0.1 * max_loss)
                if best is None or saved > best[0]:
                    best = (saved, knob, outcome.cost)
        if best is None:
            return path
        notches[best[1]] += COARSE
        cost = best[2]
        path.append(factors())


def follow(
    path: Sequence[tuple[float, ...]],
    measure: Measure,
    full: np.ndarray,
    max_loss: float,
    alpha: float,
) -> Verdict | None:
    """Test margins in their order until one fails. RETURNS (Verdict): The last one
    that did not, or None."""
    last = None
    for factors in path:
        verdict = judge(factors, full, measure(factors), alpha)
        if verdict.bound > max_loss:
            break
        last = verdict
    return last
