"""Thresholds of cascades that come with a promise about what they lose.

Weiss and Taskar (2010) bound the loss in expectation. Here, an exact binomial bound on
whole sequences bounds it with a stated confidence, whatever the distribution is:
thresholds are tested on data that the cascade has not seen, one after the other, from the
safest on, in an order that is fixed before, and the first one that fails ends the search.
Sequences count as drawn independently of each other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.settings import check_number
from ..base.system_errors import SystemErrors
from ..cascade.model import Cascade
from ..cascade.settings import LARGEST_ALPHA
from .bounds import upper_rate

# How far thresholds go: from those that keep most (0) by those of training (1) to those
# that keep the best path alone (2).
N_STEPS = 40


@dataclass(frozen=True)
class CascadeVerdict:
    """What is known about the thresholds of a cascade.

    alphas (tuple): One for each level that filters.
    bound (float): The share of sequences that is lost at most, with the confidence.
    loss (float): The share that was lost.
    n (int): The number of sequences.
    """

    alphas: tuple[float, ...]
    bound: float
    loss: float
    n: int


def make_path(trained: Sequence[float | None]) -> list[tuple[float, ...]]:
    """Thresholds to test, from the safest on: all levels go from 0 to what they have from
    training, and from there on towards 1. They have few digits, so that what is written is
    what was tested."""
    path = []
    for step in range(N_STEPS):
        part = 2 * step / N_STEPS
        path.append(
            tuple(
                round(
                    part * (alpha or 0.0)
                    if part <= 1
                    else (alpha or 0.0) + (part - 1) * (LARGEST_ALPHA - (alpha or 0.0)),
                    6,
                )
                for alpha in trained
            )
        )
    return path


def follow_alphas(
    path: Sequence[tuple[float, ...]],
    find_lost: Callable[[tuple[float, ...]], np.ndarray],
    max_loss: float,
    confidence: float,
) -> CascadeVerdict | None:
    """Test thresholds in their order until one fails.

    find_lost (Callable): Says of each sequence whether thresholds lose it.
    RETURNS (CascadeVerdict): The last ones that did not fail, or None.
    """
    last = None
    for alphas in path:
        lost = find_lost(alphas)
        bound = upper_rate(int(lost.sum()), len(lost), 1 - confidence)
        if bound > max_loss:
            break
        last = CascadeVerdict(alphas, bound, float(lost.mean()), len(lost))
    return last


def calibrate_cascade(
    cascade: Cascade,
    features: Any,
    offsets: Any,
    lengths: Any,
    labels: Any,
    *,
    max_loss: float,
    confidence: float = 0.95,
) -> CascadeVerdict:
    """Choose the thresholds of a cascade, so that it loses the labels of at most a share of
    sequences, and set its alpha to them.

    cascade (Cascade): A cascade that has learned.
    features (array), offsets (array), lengths (array), labels (array): Sequences that the
        cascade has not learned from, as in Cascade.fit.
    max_loss (float): The largest share of sequences of which a filter may lose a label.
    confidence (float): How sure that has to be.
    RETURNS (CascadeVerdict): The thresholds, and what is known about them.
    """
    verdict = choose_alphas(
        cascade,
        features,
        offsets,
        lengths,
        labels,
        max_loss=max_loss,
        confidence=confidence,
    )
    cascade.alpha = list(verdict.alphas)
    return verdict


def choose_alphas(
    cascade: Cascade,
    features: Any,
    offsets: Any,
    lengths: Any,
    labels: Any,
    *,
    max_loss: float,
    confidence: float = 0.95,
) -> CascadeVerdict:
    """The same without setting them."""
    for name, value in (("max_loss", max_loss), ("confidence", confidence)):
        check_number(name, value, 1e-9, 1 - 1e-9, whole=False)
    # Sequences without positions can't lose any.
    full = np.asarray(lengths) > 0

    def find_lost(alphas: tuple[float, ...]) -> np.ndarray:
        lost = cascade.find_lost(features, offsets, lengths, labels, alpha=alphas)
        return lost[full]

    path = make_path(cascade.alpha)
    verdict = follow_alphas(path, find_lost, max_loss, confidence)
    if verdict is None:
        raise ValueError(
            SystemErrors.DS246.format(
                loss=100 * float(find_lost(path[0]).mean()) if full.any() else 0.0,
                n=int(full.sum()),
                max_loss=100 * max_loss,
                confidence=confidence,
            )
        )
    return verdict
