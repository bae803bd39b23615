"""By how much decisions are won, as what confidence is drawn from, and which are right."""

from typing import NamedTuple

import numpy as np

from ..core.leads import NO_RIVAL


class Evidence(NamedTuple):
    """What speaks for some units: tags, arcs or entities.

    leads (array): For each unit one or more leads.
    groups (array): For each unit the number of its group, such as the stage.
    """

    leads: np.ndarray
    groups: np.ndarray

    def take(self, chosen: np.ndarray) -> "Evidence":
        return Evidence(self.leads[chosen], self.groups[chosen])


def scale_leads(leads: np.ndarray, *scales: float) -> np.ndarray:
    """Turn integer leads into those of margins, infinite where there was no rival, or
    nothing to decide.

    leads (array): One or more for each unit.
    scales (float): The scale of each kind.
    """
    table = leads.reshape(-1, len(scales))
    return np.where(table >= NO_RIVAL, np.inf, table / np.array(scales))


def mark_known(right: np.ndarray, known: np.ndarray) -> np.ndarray:
    """For each token 1 if it is right, 0 if it is wrong, and -1 if that is not known."""
    return np.where(known, right, -1).astype("int8")
