import numpy as np

from ..program import Program

MAX_LABELS: int
MAX_WEIGHT: int

def quantize(values: np.ndarray, scale: float) -> np.ndarray: ...
def pack_weights(
    keys: np.ndarray, labels: np.ndarray, weights: np.ndarray, n_labels: int
) -> tuple[np.ndarray, np.ndarray]: ...
def unpack_weights(
    index: np.ndarray, slots: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def find_labels(slots: np.ndarray, n_labels: int) -> list[int]: ...
def check_weights(index: np.ndarray, slots: np.ndarray, n_labels: int) -> None: ...
def kernel_names() -> list[str]: ...
def run_kernels(
    kind: int, rows: np.ndarray, limits: np.ndarray, margin: int
) -> tuple[list[int], int, int]: ...

class Scorer:
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
    def margins(self, margin: float | list[float]) -> list[int]: ...
