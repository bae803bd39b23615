from collections.abc import Sequence

import numpy as np

from ..program import Program
from .word_scorer import WordScorer

def kernel_names() -> list[str]: ...
def run_kernels(
    kind: int, rows: np.ndarray, limits: np.ndarray, margin: int
) -> tuple[list[int], int, int]: ...

class CachedScorer(WordScorer):
    cardinalities: dict[str, int]

    def __init__(
        self,
        program: Program,
        n_labels: int,
        index: np.ndarray,
        slots: np.ndarray,
        scale: float,
        cardinalities: dict[str, int],
        bias: dict[int, int] | None = None,
        pairs: np.ndarray | None = None,
        n_outputs: int = 0,
        by_key: Sequence[int] = (),
    ) -> None: ...
    @property
    def width(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
