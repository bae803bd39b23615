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

    @property
    def row_bytes(self) -> int: ...
    def combine(self, outputs: np.ndarray) -> np.ndarray: ...
