"""What was predicted for some docs."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(slots=True, eq=False, repr=False)
class ParseBatch:
    """The predicted trees of some docs.

    heads (array): For each token of all docs the index of its head within the doc, its
        own for the root of a sentence.
    labels (array): The label of its arc, ROOT or SPACE.
    starts (array): Whether a sentence starts there.
    ends (array): The number of tokens up to the end of each doc.
    action_counts (array), label_counts (array): How many decisions about transitions
        and about labels were made at each stage.
    leads (array): For each token the smallest lead of the transitions that it took part
        in until it had a head, the lead of its label, and the smallest difference by
        which the reranker chose between its arc and another one, as integers; or None.
    stages (array): The stage of that transition, from 0; where a reranker had a choice,
        the number of stages, and one more where it changed the arc; or None.
    made_by (CompiledParser): What made the decisions, or None.
    """

    heads: np.ndarray
    labels: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    action_counts: np.ndarray
    label_counts: np.ndarray
    leads: Any = None
    stages: Any = None
    made_by: Any = field(default=None, init=False)

    def __len__(self) -> int:
        return len(self.ends)
