import numpy as np

class Lines:
    def __init__(self, keys: np.ndarray, values: np.ndarray) -> None: ...
