import numpy as np

from .program import Program

class SmallScorer:
    program: Program
    n_labels: int
    index: np.ndarray
    slots: np.ndarray
    scale: float

    def __init__(
        self,
        program: Program,
        n_labels: int,
        index: np.ndarray,
        slots: np.ndarray,
        scale: float,
    ) -> None: ...
