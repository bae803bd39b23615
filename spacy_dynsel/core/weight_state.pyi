from collections.abc import Iterable

import numpy as np

def mean_weights(
    parts: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
