"""What was predicted for some docs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(slots=True, eq=False, repr=False)
class EntityBatch:
    """The predicted actions of some docs.

    actions (array): The actions of all tokens of all docs, KEEP for tokens that keep
        their annotation. White space within an entity has the action I of its type,
        other white space O.
    ends (array): The number of tokens up to the end of each doc.
    stage_counts (array): How many decisions were made at each stage.
    has_kept (bool): Whether there are tokens that keep their annotation.
    support (array): What a second pass adds to the score of each of the actions, or
        None.
    leads (array): By how much each decision was won, as an integer, NO_DECISION for
        white space; or None.
    stages (array): The stage in which each decision was made, from 0, or None.
    made_by (Compiled): What made the decisions, or None.
    """

    actions: np.ndarray
    ends: np.ndarray
    stage_counts: np.ndarray
    has_kept: bool
    support: np.ndarray | None = None
    leads: Any = None
    stages: Any = None
    made_by: Any = field(default=None, init=False)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, i: int) -> np.ndarray:
        i = range(len(self))[i]
        return self.actions[self.ends[i - 1] if i else 0 : self.ends[i]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))
