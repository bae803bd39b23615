import numpy as np

REACH: int

class History:
    columns: list[str]
    values: np.ndarray

    def __init__(
        self, columns: list[str], values: np.ndarray, carried: str | None = None
    ) -> None: ...
