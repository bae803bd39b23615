from collections.abc import Sequence

import numpy as np

from ..base.settings import LearnerSettings
from .label_parts import LabelParts
from .program import Program

class Learner:
    program: Program
    n_labels: int
    parts: LabelParts | None

    def __init__(
        self,
        program: Program,
        n_labels: int,
        settings: LearnerSettings,
        parts: LabelParts | None = None,
        wholes: Sequence[bool] = (),
    ) -> None: ...
    def resize(self, n_labels: int) -> None: ...
    def reject_rare(self) -> None: ...
    def get_weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
    def correct_from(
        self, keys: np.ndarray, labels: np.ndarray, values: np.ndarray
    ) -> None: ...
    def get_state(self) -> dict[str, np.ndarray]: ...
    def set_state(self, state: dict[str, np.ndarray]) -> None: ...
