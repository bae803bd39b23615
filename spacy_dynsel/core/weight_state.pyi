import numpy as np

Weights = tuple[np.ndarray, np.ndarray, np.ndarray]

def mean_weights(parts: list[Weights]) -> Weights: ...
