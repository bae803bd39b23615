"""From leads to probabilities: how likely a decision is right, given by how much and at
which stage it was won.

What is known about a unit (a tag, an arc, an entity) is one or more leads and the group
that it belongs to, such as the stage. Three maps from there to a probability are known:

- "temperature": the logistic function of the smallest lead, divided by one number;
- "platt": a logistic regression on the leads, for each group;
- "isotonic": a rising curve over what that regression says.

Which of them is used is decided on data that it was not fitted to.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import Errors
from ..tasks.evidence import Evidence

METHODS = ("temperature", "platt", "isotonic")
# The bins of equal width over which the calibration error is a mean.
N_BINS = 15
# What draws the regression of a group to that of all, in units.
PULL = 100.0
# The fewest units to fit anything to; the most points of a curve, and their units.
MIN_UNITS = 100
MAX_POINTS = 200
POINT_UNITS = 50
STEPS = 50
MAX_SCORE = 30.0
MAX_VALUE = 1e9
DIGITS = 6


class Bin(NamedTuple):
    """Units of similar confidence: how many, their mean confidence, and the share of
    them that is right."""

    n: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class ConfidenceMap:
    """A map from evidence to probabilities.

    method (str): One of METHODS.
    largest (list[float]): The largest lead of each kind that was seen: larger ones
        count as this.
    temperature (float): That of "temperature".
    weights (list): For each group the constant and the weights of the leads.
    scores (list[float]), values (list[float]): The points of the curve of "isotonic".
    """

    method: str
    largest: list[float]
    temperature: float
    weights: list[list[float]]
    scores: list[float]
    values: list[float]

    def __call__(self, evidence: Evidence) -> np.ndarray:
        """The probabilities of some units."""
        leads = np.minimum(evidence.leads, np.array(self.largest))
        if self.method == "temperature":
            return _logistic(leads.min(axis=1) / self.temperature)
        scores = _score(leads, evidence.groups, np.array(self.weights))
        if self.method == "platt":
            return _logistic(scores)
        return np.interp(scores, self.scores, self.values)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> "ConfidenceMap":
        """Read what to_dict gave, or raise a clear error."""
        names = {"method", "largest", "temperature", "weights", "scores", "values"}
        try:
            if set(data) != names or data["method"] not in METHODS:
                raise ValueError
            # Reading JSON may change the last bit: rounding restores it.
            largest = [round(float(value), DIGITS) for value in data["largest"]]
            weights = [
                [round(float(value), DIGITS) for value in row]
                for row in data["weights"]
            ]
            scores = [round(float(value), DIGITS) for value in data["scores"]]
            values = [round(float(value), DIGITS) for value in data["values"]]
            temperature = round(float(data["temperature"]), DIGITS)
            rows = [largest, *weights, scores, values, [temperature]]
            numbers = [number for row in rows for number in row]
            good = (
                all(abs(number) <= MAX_VALUE for number in numbers)
                and temperature > 0
                and len(largest) > 0
                and len(weights) > 0
                and all(len(row) == len(largest) + 1 for row in weights)
                and len(scores) == len(values) > 0
                and sorted(scores) == scores
                and all(0 <= value <= 1 for value in values)
            )
        except (KeyError, TypeError, ValueError):
            good = False
        if not good:
            raise ValueError(Errors.DS191)
        return cls(data["method"], largest, temperature, weights, scores, values)


def fit(
    evidence: Evidence, right: np.ndarray, method: str, n_groups: int
) -> ConfidenceMap:
    """Fit a map to units of which it is known whether they are right.

    evidence (Evidence): The units.
    right (array): Whether each is right.
    method (str): One of METHODS.
    n_groups (int): The number of groups, some of which may have no units.
    """
    # The lead of what has no rival is no number to go by.
    is_known = evidence.leads < MAX_VALUE
    largest = np.where(is_known, evidence.leads, 0.0).max(axis=0, initial=0.0)
    leads = np.minimum(evidence.leads, largest)
    weights = _fit_weights(leads, evidence.groups, right, n_groups)
    scores = _score(leads, evidence.groups, weights)
    points, values = _fit_curve(scores, right)
    temperature = _fit_temperature(leads.min(axis=1), right)
    return ConfidenceMap(
        method,
        _round(largest),
        _round(temperature),
        _round(weights),
        _round(points),
        _round(values),
    )


class Choice(NamedTuple):
    """A map, and for each method its loss and its calibration error on data
    that it was not fitted to."""

    chosen: ConfidenceMap
    losses: dict[str, float]
    errors: dict[str, float]


def choose(
    evidence: Evidence, right: np.ndarray, folds: np.ndarray, n_groups: int
) -> Choice:
    """Fit the method that says most about data which it was not fitted to.

    folds (array): For each unit 0 or 1: each half is what a map that is fitted to the
        other one is measured on.
    """
    if len(right) < MIN_UNITS or len(set(folds.tolist())) < 2:
        raise ValueError(Errors.DS192.format(n=len(right), needed=MIN_UNITS))
    losses: dict[str, float] = {}
    errors: dict[str, float] = {}
    for method in METHODS:
        held_out = np.zeros(len(right))
        for fold in (0, 1):
            known = folds != fold
            found = fit(evidence.take(known), right[known], method, n_groups)
            held_out[~known] = found(evidence.take(~known))
        losses[method] = log_loss(held_out, right)
        errors[method] = calibration_error(held_out, right)
    best = min(METHODS, key=lambda method: losses[method])
    return Choice(fit(evidence, right, best, n_groups), losses, errors)


def log_loss(probabilities: np.ndarray, right: np.ndarray) -> float:
    """How much is not known about units, in nats each."""
    clipped = np.clip(probabilities, 1e-6, 1 - 1e-6)
    return float(-np.log(np.where(right, clipped, 1 - clipped)).mean())


def make_bins(
    probabilities: np.ndarray, right: np.ndarray, n_bins: int = N_BINS
) -> list[Bin]:
    """Units in bins of equal width; those without units are left out."""
    numbers = np.minimum((probabilities * n_bins).astype(int), n_bins - 1)
    return [
        Bin(
            int((numbers == number).sum()),
            float(probabilities[numbers == number].mean()),
            float(right[numbers == number].mean()),
        )
        for number in np.unique(numbers)
    ]


def calibration_error(
    probabilities: np.ndarray, right: np.ndarray, n_bins: int = N_BINS
) -> float:
    """The expected calibration error: by how much confidence and accuracy differ, in
    the mean over bins of equal width, weighted by their units."""
    bins = make_bins(probabilities, right, n_bins)
    total = max(1, len(right))
    return sum(one.n * abs(one.confidence - one.accuracy) for one in bins) / total


class Handed(NamedTuple):
    """What is left when the least sure units are handed to somebody else.

    share (float): The share that is handed on.
    below (float): The confidence below which that happens.
    accuracy (float): The accuracy of the rest.
    caught (float): The share of all errors that is handed on.
    """

    share: float
    below: float
    accuracy: float
    caught: float


def hand_on(
    probabilities: np.ndarray, right: np.ndarray, shares: Sequence[float]
) -> list[Handed]:
    """What is left when the given shares of the least sure units are handed on."""
    order = np.argsort(probabilities, kind="stable")
    result = []
    for share in shares:
        n = round(share * len(order))
        rest = order[n:]
        below = probabilities[rest[0]] if len(rest) else 1.0
        result.append(
            Handed(
                share,
                float(below),
                float(right[rest].mean()) if len(rest) else 1.0,
                float((~right[order[:n]]).sum() / max(1, (~right).sum())),
            )
        )
    return result


def _round(numbers: Any) -> Any:
    """Numbers that a file keeps as they are."""
    return np.round(numbers, DIGITS).tolist()


def _logistic(scores: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(scores, -MAX_SCORE, MAX_SCORE)))


def _score(leads: np.ndarray, groups: np.ndarray, weights: np.ndarray) -> np.ndarray:
    chosen = weights[np.minimum(groups, len(weights) - 1)]
    return chosen[:, 0] + (chosen[:, 1:] * leads).sum(axis=1)


def _fit_temperature(leads: np.ndarray, right: np.ndarray) -> float:
    """The temperature of least loss, by golden section on a logarithmic scale."""
    low, high = math.log(1e-3), math.log(1e3)
    ratio = (math.sqrt(5) - 1) / 2

    def loss(x: float) -> float:
        return log_loss(_logistic(leads / math.exp(x)), right)

    for _ in range(STEPS):
        left, middle = high - ratio * (high - low), low + ratio * (high - low)
        if loss(left) <= loss(middle):
            high = middle
        else:
            low = left
    return math.exp((low + high) / 2)


def _fit_weights(
    leads: np.ndarray, groups: np.ndarray, right: np.ndarray, n_groups: int
) -> np.ndarray:
    """A logistic regression for each group, drawn to the one for all units."""
    inputs = np.concatenate([np.ones((len(leads), 1)), leads], axis=1)
    target = right.astype("float64")
    start = np.zeros(inputs.shape[1])
    shared = _regress(inputs, target, start, 1.0)
    return np.stack(
        [
            _regress(inputs[groups == group], target[groups == group], shared, PULL)
            for group in range(n_groups)
        ]
    )


def _regress(
    inputs: np.ndarray, target: np.ndarray, start: np.ndarray, pull: float
) -> np.ndarray:
    """A logistic regression by Newton's method, drawn to given weights."""
    weights = start.copy()
    for _ in range(STEPS):
        guess = _logistic(inputs @ weights)
        gradient = inputs.T @ (guess - target) + pull * (weights - start)
        curvature = inputs.T @ (inputs * (guess * (1 - guess))[:, None])
        curvature += pull * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        # A long step would overshoot where the curve is flat.
        weights -= step * min(1.0, 5.0 / max(1e-9, float(np.abs(step).max())))
        if float(np.abs(step).max()) < 1e-8:
            break
    return weights


def _fit_curve(scores: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rising curve that is nearest to the shares of right units: neighbours that
    would fall are taken together."""
    order = np.argsort(scores, kind="stable")
    n_parts = min(MAX_POINTS, max(1, len(order) // POINT_UNITS))
    parts = np.array_split(order, n_parts)
    blocks: list[tuple[float, float, float]] = []  # units, right ones, summed scores
    for part in parts:
        block = (float(len(part)), float(right[part].sum()), float(scores[part].sum()))
        while blocks and blocks[-1][1] / blocks[-1][0] >= block[1] / block[0]:
            last = blocks.pop()
            block = (last[0] + block[0], last[1] + block[1], last[2] + block[2])
        blocks.append(block)
    points = np.array([total / n for n, _, total in blocks])
    # Half a unit of each kind more, so that nothing is certain.
    values = np.array([(count + 0.5) / (n + 1) for n, count, _ in blocks])
    return np.maximum.accumulate(points), np.maximum.accumulate(values)
