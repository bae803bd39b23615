import numpy as np
from spacy.tokens import Doc

from ...core.forms.cached import CachedScorer
from ...core.learner import Learner
from ...core.lexicon import Lexicon
from ...spacy_io.lexemes import LexemeReader
from .batch import EntityBatch
from .task import Task

MISSING: int

class Readings:
    def __init__(
        self,
        docs: list[Doc],
        starts: np.ndarray | None,
        task: Task,
        lexicon: Lexicon,
        reader: LexemeReader,
    ) -> None: ...

class EntityExamples(Readings):
    def __init__(
        self,
        docs: list[Doc],
        starts: np.ndarray | None,
        task: Task,
        lexicon: Lexicon,
        reader: LexemeReader,
        gold: np.ndarray,
        negatives: np.ndarray,
    ) -> None: ...
    def count(self, learner: Learner) -> None: ...
    def update(
        self,
        learner: Learner,
        drop: float,
        predicted_history: float,
        lone_sentences: float = 0.0,
    ) -> float: ...

class Guessing(Readings):
    def guess(self, learner: Learner) -> np.ndarray: ...

class Explaining(Readings):
    def explain(
        self,
        scorer: CachedScorer,
        actions: np.ndarray,
        first: EntityBatch | None = None,
    ) -> tuple[
        np.ndarray,
        np.ndarray,
        np.ndarray,
        np.ndarray,
        list[list[tuple[int, int, np.ndarray]]],
    ]: ...
