"""Margins that come with a promise about the loss of accuracy.

Compared with all templates, a margin makes some words wrong that were right, and some
right that were wrong. Both are counted on data that the model has not seen, in groups:
words of a sentence depend on each other, so what is drawn independently is the sentence,
or the doc. A bound on the mean loss of groups holds whatever the distribution is.
Margins are tested one after the other, from the safest on, in an order that is fixed
before, and the first one that fails ends the search: then the confidence of a single
test is that of the whole search, however many margins are looked at.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import Errors
from .bounds import bound_mean, count_needed

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

    judged (array): For each token whether it is right (1), wrong (0) or not known (-1).
    cost (float): The mean number of templates of a decision.
    stages (array): The stage that decided each token, or None.
    """

    judged: np.ndarray
    cost: float
    stages: Any = None


# Factors of the margins of training, one for each knob, lead to an outcome.
Measure = Callable[[Sequence[float]], Outcome]


@dataclass(frozen=True)
class Verdict:
    """What is known about some margins.

    factors (tuple): The margins, as parts of the margins of training.
    bound (float): The share of a group that is lost at most, on average and with the
        confidence; of each stage, if that was asked for, the largest.
    loss (float): The share that was lost.
    n_worse (int), n_better (int): How many words became wrong, and right.
    cost (float): The mean number of templates.
    """

    factors: tuple[float, ...]
    bound: float
    loss: float
    n_worse: int
    n_better: int
    cost: float


def find_losses(
    full: np.ndarray, judged: np.ndarray, groups: np.ndarray, among: np.ndarray
) -> np.ndarray:
    """The share of its words that each group loses. Groups without words are left out.

    full (array), judged (array): What is right by all templates, and by some margins.
    groups (array): The number of the group of each token.
    among (array): Which tokens to look at.
    """
    among = among & (full >= 0)
    sizes = np.bincount(groups[among])
    lost = np.bincount(groups[among], weights=(full - judged)[among])
    return lost[sizes > 0] / sizes[sizes > 0]


def judge(
    factors: Sequence[float],
    full: np.ndarray,
    outcome: Outcome,
    groups: np.ndarray,
    alpha: float,
) -> Verdict:
    """Compare margins with all templates."""
    everywhere = np.ones(len(full), dtype=bool)
    losses = find_losses(full, outcome.judged, groups, everywhere)
    if outcome.stages is None:
        bound = bound_mean(losses, alpha)
    else:
        # What is promised for each stage is promised for all of them together.
        parts = [
            outcome.stages == stage for stage in np.unique(outcome.stages[full >= 0])
        ]
        bound = max(
            bound_mean(
                find_losses(full, outcome.judged, groups, part), alpha / len(parts)
            )
            for part in parts
        )
    return Verdict(
        tuple(factors),
        bound,
        float(losses.mean()),
        int((full > outcome.judged).sum()),
        int((full < outcome.judged).sum()),
        outcome.cost,
    )


def check_size(n: int, unit: str, max_loss: float, alpha: float) -> None:
    needed = count_needed(max_loss, alpha)
    if n < needed:
        raise ValueError(
            Errors.DS136.format(
                n=n,
                unit=unit,
                max_loss=100 * max_loss,
                confidence=1 - alpha,
                needed=needed,
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
            loss = float((full - outcome.judged)[full >= 0].mean())
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
    groups: np.ndarray,
    max_loss: float,
    alpha: float,
) -> Verdict | None:
    """Test margins in their order until one fails. RETURNS (Verdict): The last one
    that did not, or None."""
    last = None
    for factors in path:
        verdict = judge(factors, full, measure(factors), groups, alpha)
        if verdict.bound > max_loss:
            break
        last = verdict
    return last


def skip_failing(
    path: Sequence[tuple[float, ...]],
    measure: Measure,
    full: np.ndarray,
    groups: np.ndarray,
    max_loss: float,
    alpha: float,
) -> list[tuple[float, ...]]:
    """Margins from the first on that does not fail on data that will not test them: with
    the safest ones, an early stage decides too few words to say anything about it."""
    for start, factors in enumerate(path):
        if judge(factors, full, measure(factors), groups, alpha).bound <= max_loss:
            return list(path[start:])
    return []
