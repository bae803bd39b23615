"""Conjunctions of templates that induction has found, in the order of what they add."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.templates import CHECKPOINT, MAX_ATOMS, Template, Templates
from ..core.pairs import find_pair_keys
from ..tasks.classifier import Classifier

CORRECT, WRONG = 0, 1
# How many conjunctions are tried for each that is wanted: those of most weight.
TRIED = 3


@dataclass(frozen=True)
class Conjunction:
    """Two templates whose features make pairs.

    template (Template): The conjunction.
    stage (int): The stage of the later template.
    n_pairs (int): How many pairs of features have weights.
    gain (float): The points of accuracy on held-out decisions that it adds to those
        before it.
    """

    template: Template
    stage: int
    n_pairs: int
    gain: float


class Rows:
    """Weights by the keys of features.

    keys (array), labels (array), values (array): See Learner.get_weights.
    """

    def __init__(
        self, keys: np.ndarray, labels: np.ndarray, values: np.ndarray
    ) -> None:
        self.keys, self.starts, self.counts = np.unique(
            keys, return_index=True, return_counts=True
        )
        self.labels = labels
        self.values = values

    def find(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What features add. RETURNS (tuple): Indices of the keys, labels and values."""
        places = np.searchsorted(self.keys, keys).clip(max=max(0, len(self.keys) - 1))
        known = np.empty(0, dtype="int64")
        if len(self.keys):
            known = np.flatnonzero(self.keys[places] == keys)
        starts, counts = self.starts[places[known]], self.counts[places[known]]
        ranks = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        weights = np.repeat(starts, counts) + ranks
        return np.repeat(known, counts), self.labels[weights], self.values[weights]


def find_conjunctions(
    classifier: Classifier,
    decisions: tuple[np.ndarray, np.ndarray],
    n_wanted: int,
) -> list[Conjunction]:
    """Find the conjunctions whose pairs carry most weight, and put them in the order in
    which each makes the loss on held-out decisions as small as possible.

    classifier (Classifier): It has induced pairs.
    decisions (tuple): Held-out ones, see Recorder.get_decisions.
    n_wanted (int): How many conjunctions to find at most.
    """
    keys, costs = decisions
    rows = Rows(*classifier.learners[0].get_weights())
    scores = np.zeros(costs.shape, dtype="float32")
    for column in keys.T:
        places, labels, values = rows.find(column)
        np.add.at(scores, (places, labels), values)
    margin = classifier.used_settings.stage_margins(classifier.n_stages)[-1]
    groups = _group_pairs(classifier, rows)[: TRIED * n_wanted]
    added = [_add_up(keys, group, rows) for *_, group in groups]
    found: list[Conjunction] = []
    left = list(range(len(groups)))
    while left and len(found) < n_wanted:
        gains = [_gain(scores, costs, added[i], margin) for i in left]
        best = int(np.argmax(gains))
        if gains[best] <= 0:
            break
        chosen = left.pop(best)
        before = _count_right(scores, costs)
        places, labels, values = added[chosen]
        np.add.at(scores, (places, labels), values)
        gain = 100 * (_count_right(scores, costs) - before) / len(costs)
        template, stage, group = groups[chosen]
        n_pairs = sum(len(pairs) for pairs in group.values())
        found.append(Conjunction(template, stage, n_pairs, gain))
    return found


def write_lines(templates: Templates, found: list[Conjunction]) -> list[str]:
    """A template list with conjunctions: those of one place stand in the stage of their
    later template, others in the last one, which decides least."""
    ends = templates.checkpoints
    lines: list[str] = []
    for stage, (first, end) in enumerate(zip((0, *ends), ends, strict=False)):
        if stage:
            lines.append(CHECKPOINT)
        lines += [str(template) for template in templates.templates[first:end]]
        for rank, one in enumerate(found, start=1):
            is_last = stage + 1 == len(ends)
            places = {atom.place for atom in one.template.atoms}
            if stage == one.stage and (len(places) == 1 or is_last):
                own = True
            else:
                own = is_last and len(places) > 1
            if own:
                note = f"{rank}: {one.gain:+.3f} points, {one.n_pairs} pairs"
                lines.append(f"{one.template}  # {note}")
    return lines


Group = dict[tuple[int, int], np.ndarray]


def _group_pairs(
    classifier: Classifier, rows: Rows
) -> list[tuple[Template, int, Group]]:
    """The pairs of each conjunction that is not a template already, those of most weight
    first."""
    specs = classifier.templates.templates
    known = {frozenset(spec.atoms) for spec in specs}
    learner: Any = classifier.learners[0]
    pairs = learner.get_pairs().reshape(-1, 4)
    pair_keys = find_pair_keys(pairs.ravel())
    places, _, values = rows.find(pair_keys)
    weights = np.bincount(places, weights=np.abs(values), minlength=len(pairs))
    ranks = np.sort(pairs[:, 2:], axis=1)
    groups: defaultdict[frozenset, Group] = defaultdict(dict)
    totals: defaultdict[frozenset, float] = defaultdict(float)
    for one, other in np.unique(ranks, axis=0).tolist():
        atoms = frozenset((*specs[one].atoms, *specs[other].atoms))
        if atoms in known or len(atoms) > MAX_ATOMS:
            continue
        is_own = (ranks == (one, other)).all(axis=1) & (weights > 0)
        groups[atoms][one, other] = np.sort(pair_keys[is_own])
        totals[atoms] += float(weights[is_own].sum())
    ends = np.array(classifier.templates.checkpoints)
    result = []
    for atoms in sorted(groups, key=lambda atoms: (-totals[atoms], sorted(atoms))):
        if totals[atoms]:
            later = max(max(ranks) for ranks in groups[atoms])
            stage = int(np.searchsorted(ends, later, side="right"))
            template = Template(tuple(sorted(atoms)))
            result.append((template, stage, groups[atoms]))
    return result


def _add_up(
    keys: np.ndarray, group: Group, rows: Rows
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the pairs of a conjunction add to decisions."""
    parts = []
    for (one, other), own in group.items():
        columns = np.zeros((len(keys), 4), dtype="uint32")
        columns[:, 0], columns[:, 1] = keys[:, one], keys[:, other]
        pair_keys = find_pair_keys(columns.ravel())
        met = np.flatnonzero(np.isin(pair_keys, own))
        places, labels, values = rows.find(pair_keys[met])
        parts.append((met[places], labels, values))
    places, labels, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return places, labels, values


def _find_best(scores: np.ndarray, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scores of the best correct and of the best wrong label."""
    lowest = np.float32(-1e9)
    good = np.where(costs == CORRECT, scores, lowest).max(axis=1)
    bad = np.where(costs == WRONG, scores, lowest).max(axis=1)
    return good, bad


def _count_right(scores: np.ndarray, costs: np.ndarray) -> int:
    good, bad = _find_best(scores, costs)
    return int((good > bad).sum())


def _gain(
    scores: np.ndarray,
    costs: np.ndarray,
    added: tuple[np.ndarray, np.ndarray, np.ndarray],
    margin: float,
) -> float:
    """By how much the loss gets smaller."""
    places, labels, values = added
    rows, inverse = np.unique(places, return_inverse=True)
    changed = scores[rows]
    np.add.at(changed, (inverse, labels), values)
    losses = []
    for part in (scores[rows], changed):
        good, bad = _find_best(part, costs[rows])
        losses.append(np.maximum(0, bad - good + margin).sum(dtype="float64"))
    return float(losses[0] - losses[1])
