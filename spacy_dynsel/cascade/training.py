"""Learns the levels of a cascade, one after the other.

A level that learned from sequences knows their labels better than those of others. Its
filter would leave less of them than of new ones, and what follows would learn from
lattices that are too easy. So each level is learned several times, without one part of the
data each time: the part that was left out says what the level loses and keeps, chooses its
threshold, and goes filtered to the next level.
"""

import warnings
from collections.abc import Sequence
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
    """A level as it was learned with one alpha: once for each part of the data."""

    folds: list[Level]
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
        """Learn a level that labels, from all sequences: the mean of what is learned with
        several seeds."""
        settings = self.settings
        level = self._learn_labels(settings.seed)
        if settings.seeds > 1:
            parts = [level.get_weights()]
            for i in range(1, settings.seeds):
                parts.append(self._learn_labels(settings.seed + i).get_weights())
            level = make_level(settings, self.n_labels)
            keys, weights = find_mean(parts)
            level.set_weights(keys, weights.reshape(-1))
        level.tidy(settings.least_weight)
        return level

    def _learn_labels(self, seed: int) -> Level:
        settings = self.settings
        level = make_level(settings, self.n_labels)
        random = np.random.default_rng(seed)
        cost = settings.cost if settings.final == "hinge" else 0.0
        for epoch in range(settings.final_epochs):
            level.learn_labels(
                self.sequences,
                self.lattices,
                random.permutation(self.everything),
                cost,
                settings.dropout,
                # The first seed is followed by those of its epochs.
                settings.seed + epoch + 10_000 * (seed - settings.seed),
            )
        level.average()
        return level

    def attempt(self, alpha: float, epsilon: float) -> Attempt:
        """Learn a level once for each part of the data, and find its threshold."""
        limits = np.empty(self.sequences.n_positions)
        levels = []
        for part in self.parts:
            others = np.setdiff1d(self.everything, part)
            level = self.learn_filter(others, alpha)
            level.judge(self.sequences, self.lattices, part, limits)
            levels.append(level)
        units = limits[self.sequences.gold_labels >= 0]
        if self.settings.unit == "sequence":
            units = join_positions(self.sequences, limits, np.minimum)
        chosen = find_alpha(units, epsilon)
        if chosen is None and not self.settings.keep_all:
            chosen = 0.0
        counts = [
            level.count_kept(self.sequences, self.lattices, part, to_number(chosen))
            for level, part in zip(levels, self.parts, strict=True)
        ]
        n_cliques, n_kept = np.sum(counts, axis=0)
        return Attempt(
            levels,
            chosen,
            alpha,
            float((units < to_number(chosen)).mean()) if len(units) else 0.0,
            float(n_kept / max(n_cliques, 1)),
        )

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
        following = Lattices(len(self.sequences), self.n_labels)
        for level, part in zip(best.folds, self.parts, strict=True):
            level.filter(
                self.sequences,
                self.lattices,
                part,
                to_number(best.alpha),
                True,
                following,
            )
        whole = self.learn_filter(self.everything, best.learned_alpha)
        self.lattices = following
        return Filter(whole, best.alpha, best.learned_alpha, best.loss, best.kept)


def find_mean(
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of rows of weights by their keys; a row that is missing is zero."""
    keys = np.unique(np.concatenate([part[0] for part in parts]))
    weights = np.zeros((len(keys), parts[0][1].shape[1]), dtype="float32")
    for own, rows in parts:
        weights[np.searchsorted(keys, own)] += rows / len(parts)
    return keys, weights


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
