import numpy as np

from ...core.program import Program

TOKEN_COLUMNS: list[str]
STATE_COLUMNS: list[str]
STATE_PLACE: str
ACTION_PLACES: list[str]
LABEL_PLACES: list[str]
BOUNDARY_PLACES: list[str]
ACTIONS: list[str]

class Features:
    program: Program

    def __init__(
        self, program: Program, places: list[str], lexical: list[str]
    ) -> None: ...

class TagMap:
    keys: np.ndarray
    values: np.ndarray

    def __init__(self, keys: np.ndarray, values: np.ndarray) -> None: ...

def tag_keys(tags: np.ndarray, lowers: np.ndarray) -> np.ndarray: ...
