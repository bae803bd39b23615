import numpy as np

AFFIXES: range
CLUSTER_BITS: tuple[int, ...]
LEXICAL_COLUMNS: dict[str, tuple[int, int]]
N_CASES: int

class LexemeReader:
    columns: list[str]
    class_keys: np.ndarray
    class_values: np.ndarray
    cluster_keys: np.ndarray
    cluster_values: np.ndarray

    def __init__(
        self,
        columns: list[str],
        class_keys: np.ndarray,
        class_values: np.ndarray,
        cluster_keys: np.ndarray,
        cluster_values: np.ndarray,
    ) -> None: ...

def is_blank_line(text: str) -> bool: ...
