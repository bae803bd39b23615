import numpy as np

from ..settings import LearnerSettings
from .program import Program

class Learner:
    program: Program
    n_labels: int

    def __init__(
        self, program: Program, n_labels: int, settings: LearnerSettings
    ) -> None: ...
    def resize(self, n_labels: int) -> None: ...
    def reject_rare(self) -> None: ...
    def get_weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
    def set_weights(
        self,
        keys: np.ndarray,
        labels: np.ndarray,
        values: np.ndarray,
        squares: float,
    ) -> None: ...
