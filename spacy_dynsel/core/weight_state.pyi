from collections.abc import Iterable

import numpy as np

Weights = tuple[np.ndarray, np.ndarray, np.ndarray]

def mean_weights(parts: Iterable[Weights]) -> Weights: ...
