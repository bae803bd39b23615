from collections.abc import Callable

import numpy as np

FORMS: dict[str, list[str]]
SMALLEST: int
LEAST_GAIN: float
WRITERS: dict[str, Callable[[np.ndarray], bytes | None]]
READERS: dict[str, Callable[[np.ndarray, str], np.ndarray | None]]

def compact(array: np.ndarray) -> tuple[str, bytes]: ...
def expand(letter: str, data: np.ndarray, dtype: str) -> np.ndarray | None: ...
