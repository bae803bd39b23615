import numpy as np
from spacy.tokens import Doc

from ...core.forms.word_scorer import WordScorer
from ...core.learner import Learner
from ...core.lexicon import Lexicon
from ...spacy_io.lexemes import LexemeReader
from .history import History

MISSING: int
NOT: int

class WordExamples:
    def __init__(
        self,
        docs: list[Doc],
        gold: np.ndarray,
        ranges: np.ndarray,
        lexicon: Lexicon,
        reader: LexemeReader,
        history: History,
        n_early: int,
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
    def explain(
        self, scorer: WordScorer, labels: np.ndarray, guesses: np.ndarray
    ) -> tuple[np.ndarray, list[list[tuple[int, int, np.ndarray]]]]: ...
