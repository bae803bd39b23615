"""A slow and obvious cascade: it looks at all label sequences, one after the other."""

from itertools import product
from typing import Any

import numpy as np

LABEL_BITS = 12
Path = tuple[int, ...]


def context_key(labels: Path) -> int:
    """The key of the labels before a label."""
    key = len(labels) << 60
    for i, label in enumerate(reversed(labels)):
        key |= label << (LABEL_BITS * i)
    return key


def feature_key(feature: int) -> int:
    return 5 << 60 | feature


def pair_key(feature: int, label: int) -> int:
    return 6 << 60 | label << 32 | feature


def cliques(path: Path, n: int, n_labels: int) -> list[tuple[int, Path]]:
    """All n-grams of a path, each with the position at which it ends."""
    padded = (n_labels,) * n + path
    return [(t, padded[t + 1 : t + 1 + n]) for t in range(len(path))]


class ReferenceCascade:
    """Levels that look at all paths.

    weights (list[dict]): For each level its rows of weights by their keys.
    """

    def __init__(
        self,
        n_labels: int,
        first_order: int,
        weights: list[dict[int, np.ndarray]],
        alphas: list[float],
        *,
        by_state: bool,
        pairs: bool,
    ) -> None:
        self.n_labels = n_labels
        self.first_order = first_order
        self.weights = weights
        self.alphas = alphas
        self.by_state = by_state
        self.pairs = pairs

    def score(self, level: int, features: list[list[int]], path: Path) -> float:
        """What one level adds to the score of a path."""
        rows = self.weights[level]
        nothing = np.zeros(self.n_labels + 1)
        order = self.first_order + level
        padded = (self.n_labels,) * order + path
        total = 0.0
        for t, label in enumerate(path):
            before = padded[: t + order]
            keys = [0, *map(feature_key, features[t])]
            keys += [context_key(before[-n:]) for n in range(1, order)]
            if self.pairs and order > 1:
                keys += [pair_key(feature, before[-1]) for feature in features[t]]
            total += sum(float(rows.get(key, nothing)[label]) for key in keys)
        if path:
            ends = [context_key(padded[-n:]) for n in range(1, order)]
            total += sum(float(rows.get(key, nothing)[self.n_labels]) for key in ends)
        return total

    def run(self, features: list[list[int]]) -> list[dict[str, Any]]:
        """For each level: the n-grams that it looks at, by how much the best path through
        each is worse than the best of all, the paths with their scores, and what it
        filters, with its mean gap."""
        scores = dict.fromkeys(product(range(self.n_labels), repeat=len(features)), 0.0)
        results = []
        for level in range(len(self.weights)):
            order = self.first_order + level
            scores = {
                path: score + self.score(level, features, path)
                for path, score in scores.items()
            }
            best = max(scores.values())
            size = order - 1 if self.by_state and order > 1 else order
            grams = self.find_gaps(scores, order)
            filtered = self.find_gaps(scores, size)
            mean = sum(filtered.values()) / max(len(filtered), 1)
            results.append(
                {
                    "scores": scores,
                    "best": best,
                    "grams": grams,
                    "filtered": filtered,
                    "mean": mean,
                }
            )
            if level < len(self.alphas):
                limit = (1 - self.alphas[level]) * mean
                scores = {
                    path: score
                    for path, score in scores.items()
                    if all(
                        filtered[clique] <= limit
                        for clique in cliques(path, size, self.n_labels)
                    )
                }
        return results

    def find_gaps(
        self, scores: dict[Path, float], n: int
    ) -> dict[tuple[int, Path], float]:
        """By how much the best path through each n-gram is worse than the best."""
        best = max(scores.values())
        gaps: dict[tuple[int, Path], float] = {}
        for path, score in scores.items():
            for clique in cliques(path, n, self.n_labels):
                gaps[clique] = min(gaps.get(clique, np.inf), best - score)
        return gaps
