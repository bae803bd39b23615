import numpy as np

ROOT: int
MOST_WORDS: int
MOST_TREES: int
LARGEST_SCORE: int

class LinkForest:
    n_words: int
    with_siblings: bool
    def __init__(
        self,
        n_words: int,
        heads: np.ndarray,
        children: np.ndarray,
        scores: np.ndarray,
        with_siblings: bool = False,
    ) -> None: ...
    def get_siblings(self) -> np.ndarray: ...
    def set_sibling_scores(self, scores: np.ndarray) -> None: ...
    def find_best(self) -> tuple[np.ndarray, int] | None: ...
    def find_k_best(self, k: int) -> tuple[np.ndarray, np.ndarray]: ...
    def find_gaps(self) -> np.ndarray | None: ...
    def find_marginals(self, scale: float) -> np.ndarray | None: ...
