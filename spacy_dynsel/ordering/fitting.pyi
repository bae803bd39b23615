import numpy as np

def padded(n_labels: int) -> int: ...
def new_weights(n_features: int, n_labels: int) -> np.ndarray: ...
def fit(
    ids: np.ndarray,
    costs: np.ndarray,
    columns: list[int],
    sizes: list[int],
    *,
    epochs: int,
    eta: float,
    delta: float,
    margin: float = 0.0,
    log_loss: bool = False,
    all_prefixes: bool = False,
    drop: float = 0.0,
    seed: int = 0,
    fixed: list[np.ndarray] | None = None,
) -> list[np.ndarray]: ...
def count_right(
    ids: np.ndarray, costs: np.ndarray, columns: list[int], values: list[np.ndarray]
) -> int: ...
def add_scores(
    ids: np.ndarray, column: int, values: np.ndarray, scores: np.ndarray
) -> None: ...
def log_loss_with(
    ids: np.ndarray,
    costs: np.ndarray,
    column: int,
    values: np.ndarray,
    scores: np.ndarray,
    scale: float = 1.0,
) -> float: ...
def find_residuals(scores: np.ndarray, costs: np.ndarray) -> np.ndarray: ...
def correlation(
    ids: np.ndarray, column: int, size: int, residuals: np.ndarray, penalty: float
) -> float: ...
def fit_groups(
    ids: np.ndarray,
    costs: np.ndarray,
    sizes: list[int],
    penalties: np.ndarray,
    *,
    gamma: float,
    epochs: int,
) -> tuple[np.ndarray, np.ndarray]: ...
def find_leads(
    ids: np.ndarray, costs: np.ndarray, columns: list[int], values: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]: ...
