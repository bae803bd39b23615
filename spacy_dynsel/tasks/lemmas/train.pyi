import numpy as np
from spacy.tokens import Doc

from ...core.forms.cached import CachedScorer
from ...core.learner import Learner
from ...spacy_io.lexemes import LexemeReader
from .script_set import ScriptSet

class LemmaItems:
    scripts: ScriptSet

    def __init__(
        self, scripts: ScriptSet, reader: LexemeReader, reads_pos: bool
    ) -> None: ...
    def __len__(self) -> int: ...
    def add(
        self,
        doc: Doc,
        words: np.ndarray,
        pos: np.ndarray,
        morphs: np.ndarray,
        lemmas: list[str | None],
    ) -> np.ndarray: ...
    def is_reachable(self, numbers: np.ndarray) -> np.ndarray: ...
    def count(self, learner: Learner, numbers: np.ndarray) -> None: ...
    def update(self, learner: Learner, numbers: np.ndarray, drop: float) -> float: ...
    def guess(self, learner: Learner, numbers: np.ndarray) -> np.ndarray: ...
    def explain(
        self, scorer: CachedScorer, numbers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, list[list[tuple[int, int, np.ndarray]]]]: ...
