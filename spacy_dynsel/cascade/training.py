"""Learns the levels of a cascade, one after the other.

A level that learned from sequences knows their labels better than those of others. Its
filter would leave less of them than of new ones, and what follows would learn from
lattices that are too easy. So each level is learned several times, without one part of the
data each time: the part that was left out says what the level loses and keeps, chooses its
threshold, and goes filtered to the next level.
"""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base.warnings import Warnings
from .levels import Lattices, Level, Sequences
from .settings import CascadeSettings, find_alpha, to_number


class Filter(NamedTuple):
    """A level that was learned, and its threshold.

    level (Level): Its weights.
    alpha (float): The part of the best path in its threshold, or None to keep everything.
    learned_alpha (float): The same, when it was learned.
    loss (float): The share of units that it lost of data that it had not seen.
    kept (float): The share of cliques that it kept of those.
    """

    level: Level
    alpha: float | None
    learned_alpha: float
    loss: float
    kept: float


class Attempt(NamedTuple):
    """A level as it was learned with one alpha: once for each part of the data. What it
    leaves to the next level to learn from is filtered by the easy alpha."""

    folds: list[Level]
    easy_alpha: float | None
    alpha: float | None
    learned_alpha: float
    loss: float
    kept: float


@dataclass
class Training:
    """The data of one training, and what is possible for them at the order at hand.

    sequences (Sequences): The data.
    n_labels (int): The number of labels.
    folds (array): The part to which each sequence belongs.
    """

    settings: CascadeSettings
    sequences: Sequences
    n_labels: int
    folds: np.ndarray

    def __post_init__(self) -> None:
        self.lattices = Lattices(len(self.sequences), self.n_labels)
        self.lattices.start(self.sequences, self.settings.first_order)
        # What is left when the cascade is used: less than what levels learn from.
        self.narrow = self.lattices
        # The levels that filter, each learned from all sequences.
        self.filters: list[Level] = []
        self.everything = np.arange(len(self.sequences), dtype="int64")
        self.parts = [
            np.flatnonzero(self.folds == fold).astype("int64")
            for fold in range(self.settings.folds)
        ]

    def learn_filter(self, ids: np.ndarray, alpha: float) -> Level:
        """Learn a level that filters, from some of the sequences."""
        settings = self.settings
        level = make_level(settings, self.n_labels)
        random = np.random.default_rng(settings.seed)
        for epoch in range(settings.epochs):
            level.learn_filter(
                self.sequences,
                self.lattices,
                random.permutation(ids),
                alpha,
                settings.margin,
                settings.dropout,
                settings.seed + epoch,
            )
        level.finish(settings.least_weight)
        return level

    def learn_labels(self) -> Level:
        """Learn a level that labels, from all sequences."""
        settings = self.settings
        level = make_level(settings, self.n_labels)
        lattices = self._carry()
        random = np.random.default_rng(settings.seed)
        cost = settings.cost if settings.final == "hinge" else 0.0
        for epoch in range(settings.final_epochs):
            level.learn_labels(
                self.sequences,
                lattices,
                random.permutation(self.everything),
                cost,
                settings.dropout,
                settings.seed + epoch,
            )
        level.finish(settings.least_weight)
        return level

    def _carry(self) -> Lattices:
        """What to learn labels in: lattices with the sums that learning adds to."""
        if self.settings.carry == "folds" or not self.filters:
            return self.lattices
        is_last = self.lattices.order == self.settings.order
        lattices = self.lattices if is_last else self.lattices.copy()
        for i, level in enumerate(self.filters):
            level.carry(self.sequences, lattices, i == 0)
        return lattices

    def attempt(self, alpha: float, epsilon: float) -> Attempt:
        """Learn a level once for each part of the data, and find its threshold."""
        limits = np.empty(self.sequences.n_positions)
        levels = []
        for part in self.parts:
            others = np.setdiff1d(self.everything, part)
            level = self.learn_filter(others, alpha)
            level.judge(self.sequences, self.narrow, part, limits)
            levels.append(level)
        units = limits[self.sequences.gold_labels >= 0]
        if self.settings.unit == "sequence":
            units = join_positions(self.sequences, limits, np.minimum)
        chosen, easy = (
            self.find_alpha(units, one)
            for one in (epsilon, self.settings.learn_share * epsilon)
        )
        counts = [
            level.count_kept(self.sequences, self.narrow, part, to_number(chosen))
            for level, part in zip(levels, self.parts, strict=True)
        ]
        n_cliques, n_kept = np.sum(counts, axis=0)
        return Attempt(
            levels,
            easy,
            chosen,
            alpha,
            float((units < to_number(chosen)).mean()) if len(units) else 0.0,
            float(n_kept / max(n_cliques, 1)),
        )

    def find_alpha(self, limits: np.ndarray, epsilon: float) -> float | None:
        found = find_alpha(limits, epsilon)
        return 0.0 if found is None and not self.settings.keep_all else found

    def add_filter(self, epsilon: float) -> Filter:
        """Learn the next level, and go on with the lattices that it leaves."""
        attempts = [self.attempt(alpha, epsilon) for alpha in self.settings.alphas]
        best = min(attempts, key=lambda one: one.kept)
        if best.alpha is None:
            warnings.warn(
                Warnings.DW240.format(
                    order=self.lattices.order,
                    epsilon=100 * epsilon,
                    unit=self.settings.unit,
                ),
                stacklevel=3,
            )
        whole = self.learn_filter(self.everything, best.learned_alpha)
        self.filters.append(whole)
        narrow = self._filter(best, self.narrow, best.alpha)
        is_same = self.narrow is self.lattices and best.easy_alpha == best.alpha
        self.lattices = (
            narrow if is_same else self._filter(best, self.lattices, best.easy_alpha)
        )
        self.narrow = narrow
        return Filter(whole, best.alpha, best.learned_alpha, best.loss, best.kept)

    def _filter(
        self, attempt: Attempt, lattices: Lattices, alpha: float | None
    ) -> Lattices:
        """Filter each part of the data by the level that has not seen it. The truth stays."""
        following = Lattices(len(self.sequences), self.n_labels)
        for level, part in zip(attempt.folds, self.parts, strict=True):
            level.filter(
                self.sequences, lattices, part, to_number(alpha), True, following
            )
        return following


def join_positions(
    sequences: Sequences, values: np.ndarray, join: np.ufunc
) -> np.ndarray:
    """One value for each sequence that is not empty."""
    bounds = sequences.bounds
    starts = bounds[:-1][np.diff(bounds) > 0]
    return join.reduceat(values, starts) if len(starts) else np.empty(0, values.dtype)


def make_level(settings: CascadeSettings, n_labels: int) -> Level:
    """A level without weights."""
    return Level(
        n_labels,
        settings.cliques == "states",
        settings.pairs,
        settings.optimizer == "adagrad",
        settings.eta,
        settings.delta,
    )
