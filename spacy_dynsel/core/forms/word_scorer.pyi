import numpy as np

from ..program import Program
from .packing import PackedWeights

class WordScorer:
    program: Program
    weights: PackedWeights
    scale: float
    n_labels: int
    n_outputs: int
    bias: np.ndarray | None
    pairs: np.ndarray | None

    @property
    def row_bytes(self) -> int: ...
    def find_pairs(self, keys: list[int]) -> list[tuple[int, int, np.ndarray]]: ...
    def combine(self, outputs: np.ndarray) -> np.ndarray: ...
