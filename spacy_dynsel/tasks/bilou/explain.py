"""How sure entities are, and how their actions were found."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc

from ..explanation import Explanation
from .actions import KEEP


class EntityExplanation(NamedTuple):
    """How sure an entity is.

    start (int): Its first token.
    end (int): The token after its last.
    label (str): Its label.
    weakest_lead (float): The smallest lead among the decisions that made it; infinite
        for an entity that was set before.
    """

    start: int
    end: int
    label: str
    weakest_lead: float


class Explanations(list[Explanation]):
    """An explanation for each token, and one for each entity.

    entities (list[EntityExplanation]): The entities.
    """

    entities: list[EntityExplanation]


def explain_entities(
    doc: Doc,
    actions: np.ndarray,
    explanations: list[Explanation],
    labels: Sequence[str],
) -> list[EntityExplanation]:
    entities = [
        EntityExplanation(ent.start, ent.end, ent.label_, math.inf)
        for ent in doc.ents
        if (actions[ent.start : ent.end] == KEEP).all()
    ]
    start = 0
    for i, action in enumerate(actions.tolist()):
        if action in (0, KEEP):
            continue
        kind = (action - 1) % 4
        if kind in (0, 3):
            start = i
        if kind in (2, 3):
            # What had no rival says nothing.
            leads = [w.lead for w in explanations[start : i + 1] if w.runner_up]
            label = labels[(action - 1) // 4]
            weakest = min(leads, default=math.inf)
            entities.append(EntityExplanation(start, i + 1, label, weakest))
    return sorted(entities)
