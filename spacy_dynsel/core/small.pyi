import numpy as np

from .program import Program

class SmallScorer:
    program: Program
    n_labels: int
    scale: float

    def __init__(
        self,
        program: Program,
        n_labels: int,
        index: np.ndarray,
        slots: np.ndarray,
        scale: float,
    ) -> None: ...
    def unpack(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
