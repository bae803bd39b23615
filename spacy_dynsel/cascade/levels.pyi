import numpy as np

from .rows import Rows

MOST_LABELS: int
LONGEST: int
HIGHEST_ORDER: int

class Sequences:
    def __init__(
        self,
        features: np.ndarray,
        offsets: np.ndarray,
        lengths: np.ndarray,
        labels: np.ndarray,
        allowed: np.ndarray | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def n_labels(self) -> int: ...
    def has_labels(self, n_labels: int) -> bool: ...
    @property
    def n_positions(self) -> int: ...
    @property
    def gold_labels(self) -> np.ndarray: ...
    @property
    def bounds(self) -> np.ndarray: ...

class Lattices:
    def __init__(self, n: int, n_labels: int) -> None: ...
    def __len__(self) -> int: ...
    @property
    def n_labels(self) -> int: ...
    @property
    def order(self) -> int: ...
    def start(self, sequences: Sequences, order: int) -> None: ...
    def count(self, states: bool = False) -> int: ...
    def get_grams(self, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...

class Level:
    def __init__(
        self,
        n_labels: int,
        by_state: bool,
        pairs: bool,
        adagrad: bool,
        eta: float,
        delta: float,
    ) -> None: ...
    @property
    def by_state(self) -> bool: ...
    def learn_filter(
        self,
        sequences: Sequences,
        lattices: Lattices,
        ids: np.ndarray,
        alpha: float,
        margin: float,
        dropout: float = 0.0,
        seed: int = 0,
    ) -> float: ...
    def learn_labels(
        self,
        sequences: Sequences,
        lattices: Lattices,
        ids: np.ndarray,
        cost: float,
        dropout: float = 0.0,
        seed: int = 0,
    ) -> float: ...
    def average(self) -> None: ...
    def tidy(self, least: float = 0.0) -> None: ...
    def finish(self, least: float = 0.0) -> None: ...
    def pack(self) -> Rows: ...
    def unpack(self, rows: Rows) -> None: ...
    def judge(
        self,
        sequences: Sequences,
        lattices: Lattices,
        ids: np.ndarray,
        limits: np.ndarray,
    ) -> None: ...
    def count_kept(
        self, sequences: Sequences, lattices: Lattices, ids: np.ndarray, alpha: float
    ) -> tuple[int, int]: ...
    def filter(
        self,
        sequences: Sequences,
        lattices: Lattices,
        ids: np.ndarray,
        alpha: float,
        keep_truth: bool,
        result: Lattices,
    ) -> None: ...
    def get_gaps(
        self, sequences: Sequences, lattices: Lattices, i: int
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def get_weights(self) -> tuple[np.ndarray, np.ndarray]: ...
    def set_weights(self, keys: np.ndarray, values: np.ndarray) -> None: ...
