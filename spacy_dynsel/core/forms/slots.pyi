import numpy as np

from ..program import Program

class SlotScorer:
    program: Program
    n_labels: int
    scale: float
    parts: tuple[str, ...]

    def __init__(
        self,
        program: Program,
        n_labels: int,
        arrays: dict[str, np.ndarray],
        scale: float,
    ) -> None: ...
    def arrays(self) -> dict[str, np.ndarray]: ...

class NarrowScorer(SlotScorer):
    @staticmethod
    def pack(
        keys: np.ndarray, labels: np.ndarray, weights: np.ndarray, n_labels: int
    ) -> dict[str, np.ndarray]: ...
    @staticmethod
    def check(arrays: dict[str, np.ndarray], n_labels: int) -> None: ...
    def unpack(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
    def sum(self, keys: list[int], kind: int) -> list[int]: ...

class WideScorer(SlotScorer):
    @staticmethod
    def pack(
        keys: np.ndarray, labels: np.ndarray, weights: np.ndarray, n_labels: int
    ) -> dict[str, np.ndarray]: ...
    @staticmethod
    def check(arrays: dict[str, np.ndarray], n_labels: int) -> None: ...
    def unpack(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
    def sum(self, keys: list[int], kind: int) -> list[int]: ...
