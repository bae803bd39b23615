import numpy as np

from ...core.program import Program

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

class RankFeatures:
    branches: Features
    trees: Features

    def __init__(self, branches: Features, trees: Features) -> None: ...
