import numpy as np

from ..program import Program

def kernel_names() -> list[str]: ...
def run_kernels(
    kind: int, rows: np.ndarray, limits: np.ndarray, margin: int
) -> tuple[list[int], int, int]: ...

class CachedScorer:
    program: Program
    index: np.ndarray
    slots: np.ndarray
    scale: float
    cardinalities: dict[str, int]
    bias: np.ndarray | None

    def __init__(
        self,
        program: Program,
        n_labels: int,
        index: np.ndarray,
        slots: np.ndarray,
        scale: float,
        cardinalities: dict[str, int],
        bias: dict[int, int] | None = None,
    ) -> None: ...
    @property
    def n_labels(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
