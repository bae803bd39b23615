import numpy as np
from spacy.tokens import Doc

from ...core.forms.cached import CachedScorer
from ...core.learner import Learner
from ...core.lexicon import Lexicon
from ...spacy_io.lexemes import LexemeReader

MISSING: int
NOT: int

class TaggingExamples:
    def __init__(
        self,
        docs: list[Doc],
        gold: np.ndarray,
        ranges: np.ndarray,
        lexicon: Lexicon,
        reader: LexemeReader,
    ) -> None: ...
    def count(self, learner: Learner) -> None: ...
    def update(
        self,
        learner: Learner,
        drop: float,
        word_dropout: float,
        predicted_history: float,
    ) -> float: ...
    def guess(self, learner: Learner) -> np.ndarray: ...
    def explain(self, scorer: CachedScorer, labels: np.ndarray) -> np.ndarray: ...
