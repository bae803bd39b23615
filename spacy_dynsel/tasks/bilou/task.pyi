import numpy as np

from .gazetteer import Gazetteer

REACH: int
N_CASE_SETS: int
COLUMNS: list[str]
NAMED_PLACES: list[str]

class Task:
    def __init__(
        self,
        types: np.ndarray,
        backwards: bool,
        lexical: list[str],
        remembers: bool,
        n_dynamic: int,
        keeps: bool,
        gazetteer: Gazetteer | None,
    ) -> None: ...
