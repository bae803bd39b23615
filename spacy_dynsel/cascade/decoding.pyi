import numpy as np

from .levels import Sequences
from .rows import Rows

class Decoder:
    def __init__(
        self,
        levels: list[Rows],
        n_labels: int,
        first_order: int,
        by_state: bool,
        pairs: bool,
    ) -> None: ...
    def decode(
        self,
        sequences: Sequences,
        alphas: list[float],
        with_leads: bool,
        n_threads: int,
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]: ...
