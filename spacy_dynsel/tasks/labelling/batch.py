"""Predicted labels of words."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(slots=True)
class LabelBatch:
    """The predicted labels of some docs: for each an array of label indices.

    labels (array): The labels of all tokens of all docs, SPACE_TAG for white space.
    ends (array): The number of tokens up to the end of each doc.
    stage_counts (array): How many decisions were made at each stage.
    leads (array): By how much each decision was won, as an integer, or None.
    stages (array): The stage in which each decision was made, from 0, or None.
    guesses (array): What early stages said about each token, for templates that read
        the labels of words to come, or None.
    label_counts (array): How many labels were scored at each stage, or None if all were.
    made_by (Snapshot): What made the decisions, or None.
    """

    labels: np.ndarray
    ends: np.ndarray
    stage_counts: np.ndarray
    leads: Any = None
    stages: Any = None
    guesses: Any = None
    label_counts: Any = None
    made_by: Any = None

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, i: int) -> np.ndarray:
        i = range(len(self))[i]
        return self.labels[self.ends[i - 1] if i else 0 : self.ends[i]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))
