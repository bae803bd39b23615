"""Few stages for a given order of templates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..base.errors import Errors
from .decisions import Decisions
from .fitting import find_leads

# Margins are looked at as parts of the margin of training.
MARGIN_PARTS = np.geomspace(2.0, 0.02, 41)


@dataclass(frozen=True)
class Stage:
    """What a stage does on held-out data.

    end (int): The number of templates up to its checkpoint.
    caught (float): The share of all decisions that is made there.
    accuracy (float): How many of these are correct.
    cost (float): What a decision has cost that is made there, in templates.
    """

    end: int
    caught: float
    accuracy: float
    cost: float


@dataclass(frozen=True)
class Proposal:
    """Stages, and what they come to.

    stages (list[Stage]): The stages.
    margin (float): The margin that they were measured with.
    cost (float): The mean cost of a decision, in templates; a checkpoint costs
        something, too.
    templates (float): The mean number of templates of a decision.
    accuracy (float): The accuracy.
    """

    stages: list[Stage]
    margin: float
    cost: float
    templates: float
    accuracy: float


@dataclass(frozen=True)
class Prefixes:
    """How all prefixes of the templates decide held-out decisions, see find_leads; and
    where the first checkpoint has to be, if that is not free."""

    leads: np.ndarray
    right: np.ndarray
    margin: float
    n_first: int = 0


def learn_prefixes(decisions: Decisions, *, epochs: int = 4) -> Prefixes:
    """Train the templates in their order so that each prefix is a classifier."""
    columns = list(range(len(decisions.templates)))
    values = decisions.fit(
        columns,
        epochs=epochs,
        margin=decisions.margin,
        all_prefixes=True,
    )
    held_out = decisions.held_out
    leads, right = find_leads(held_out.ids, held_out.costs, columns, values)
    return Prefixes(leads, right, decisions.margin, decisions.n_first)


def measure(
    prefixes: Prefixes, ends: Sequence[int], margin: float, overhead: float
) -> Proposal:
    """What some checkpoints come to.

    ends (Sequence[int]): The number of templates up to each checkpoint.
    overhead (float): What a checkpoint costs, in templates.
    """
    n = len(prefixes.leads)
    is_open = np.ones(n, dtype=bool)
    stages = []
    for number, end in enumerate(ends, start=1):
        here = is_open.copy()
        if end != ends[-1]:
            here &= prefixes.leads[:, end - 1] >= margin
        is_open &= ~here
        n_here = int(here.sum())
        n_right = int(prefixes.right[here, end - 1].sum())
        stages.append(
            Stage(end, n_here / n, n_right / max(1, n_here), end + number * overhead)
        )
    return Proposal(
        stages,
        margin,
        sum(stage.caught * stage.cost for stage in stages),
        sum(stage.caught * stage.end for stage in stages),
        sum(stage.caught * stage.accuracy for stage in stages),
    )


def propose(
    prefixes: Prefixes, n_stages: int, *, max_loss: float, overhead: float
) -> Proposal:
    """The checkpoints of a number of stages that cost least.

    max_loss (float): The share of held-out decisions that may be lost against all
        templates; it decides the margin.
    """
    n_templates = prefixes.leads.shape[1]
    least = 2 if prefixes.n_first else 1
    if not least <= n_stages <= n_templates - max(0, prefixes.n_first - 1):
        raise ValueError(Errors.DS138.format(wanted=n_stages, n_templates=n_templates))
    wanted = prefixes.right[:, -1].mean() - max_loss
    best: Proposal | None = None
    for part in MARGIN_PARTS:
        margin = float(part * prefixes.margin)
        exits = prefixes.leads >= margin
        ends = _cheapest(exits, n_stages, overhead, prefixes.n_first)
        found = measure(prefixes, ends, margin, overhead)
        if found.accuracy >= wanted and (best is None or found.cost < best.cost):
            best = found
    if best is None:
        # Only all templates are good enough.
        ends = [prefixes.n_first] if prefixes.n_first else []
        best = measure(prefixes, [*ends, n_templates], np.inf, overhead)
    return best


def _cheapest(
    exits: np.ndarray, n_stages: int, overhead: float, n_first: int
) -> list[int]:
    """The cheapest checkpoints, by dynamic programming. It takes a decision that could
    be made at one checkpoint for one that could be made at all later ones, too."""
    n_templates = exits.shape[1]
    # The share that goes on after a checkpoint; after none, all do.
    going_on = np.concatenate([[1.0], 1.0 - exits.mean(axis=0)])
    places = np.arange(n_templates + 1)
    costs = np.where(places == 0, 0.0, np.inf)
    came_from = []
    for _ in range(n_stages):
        step = going_on[:, None] * (places[None, :] - places[:, None] + overhead)
        step[places[:, None] >= places[None, :]] = np.inf
        if n_first:
            step[0, places != n_first] = np.inf
        totals = costs[:, None] + step
        came_from.append(totals.argmin(axis=0))
        costs = totals.min(axis=0)
    ends = [n_templates]
    for before in reversed(came_from):
        ends.append(int(before[ends[-1]]))
    return ends[-2::-1]
