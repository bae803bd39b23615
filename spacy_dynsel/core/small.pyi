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
    def sum(self, keys: list[int], kind: int) -> list[int]: ...
    def unpack(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
