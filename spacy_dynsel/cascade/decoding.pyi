from typing import Any

import numpy as np

from .levels import Sequences

def decode(
    sequences: Sequences,
    levels: list[Any],
    alphas: list[float],
    first_order: int,
    with_leads: bool,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]: ...
