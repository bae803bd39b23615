from typing import Literal

import numpy as np

def classify_tree(
    heads: np.ndarray,
) -> Literal["projective", "crossing", "cyclic"]: ...
