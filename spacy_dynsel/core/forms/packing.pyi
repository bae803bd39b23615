import numpy as np

MAX_LABELS: int
MAX_WEIGHT: int
MAX_SUM: int

def compile_weights(
    keys: np.ndarray,
    labels: np.ndarray,
    values: np.ndarray,
    n_labels: int,
    smallest: float,
    scale: float | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]: ...
def find_scale(values: np.ndarray) -> float: ...
def find_pair_scale(
    keys: np.ndarray, values: np.ndarray, pairs: np.ndarray, n_templates: int
) -> float: ...
def quantize(values: np.ndarray, scale: float) -> np.ndarray: ...
def pack_weights(
    keys: np.ndarray, labels: np.ndarray, weights: np.ndarray, n_labels: int
) -> tuple[np.ndarray, np.ndarray]: ...
def unpack_weights(
    index: np.ndarray, slots: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def find_labels(slots: np.ndarray, n_labels: int) -> list[int]: ...
def check_weights(index: np.ndarray, slots: np.ndarray, n_labels: int) -> None: ...

class PackedWeights:
    index: np.ndarray
    slots: np.ndarray
    n_labels: int

    def __init__(self, index: np.ndarray, slots: np.ndarray, n_labels: int) -> None: ...
