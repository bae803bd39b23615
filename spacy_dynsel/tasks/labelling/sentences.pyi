from collections.abc import Iterator
from typing import Any

import numpy as np

class LabelBatch:
    labels: np.ndarray
    ends: np.ndarray
    stage_counts: np.ndarray
    leads: Any
    stages: Any
    guesses: Any
    label_counts: Any
    made_by: Any

    def __init__(
        self,
        labels: np.ndarray,
        ends: np.ndarray,
        stage_counts: np.ndarray,
        leads: np.ndarray | None = None,
        stages: np.ndarray | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, i: int) -> np.ndarray: ...
    def __iter__(self) -> Iterator[np.ndarray]: ...
