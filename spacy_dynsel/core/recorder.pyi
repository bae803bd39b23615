import numpy as np

from ..base.settings import LearnerSettings
from .learner import Learner
from .program import Program

class Recorder(Learner):
    def __init__(
        self,
        program: Program,
        n_labels: int,
        settings: LearnerSettings,
        guide: Learner | None = None,
    ) -> None: ...
    def get_decisions(self) -> tuple[np.ndarray, np.ndarray]: ...
    def get_key_times(self) -> np.ndarray: ...
