import numpy as np

MAX_LISTS: int
MAX_ENTRY_TOKENS: int
N_CODES: int

class Gazetteer:
    def __init__(
        self, arrays: dict[str, np.ndarray], n_lists: int, lexical: list[str]
    ) -> None: ...

def compile_lists(
    lists: list[list[tuple[list[int], list[int]]]],
) -> dict[str, np.ndarray]: ...
def match_words(
    arrays: dict[str, np.ndarray],
    n_lists: int,
    words: np.ndarray,
    lowers: np.ndarray,
) -> np.ndarray: ...
