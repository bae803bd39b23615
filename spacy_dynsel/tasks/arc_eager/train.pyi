import numpy as np
from spacy.tokens import Doc

from ...core.learner import Learner
from ...core.lexicon import Lexicon
from ...core.rank_learner import RankLearner
from ...spacy_io.lexemes import LexemeReader
from .features import Features, RankFeatures, TagMap

class TransitionExamples:
    def __init__(
        self,
        docs: list[Doc],
        heads: np.ndarray,
        labels: np.ndarray,
        starts: np.ndarray,
        lexicon: Lexicon,
        reader: LexemeReader,
        tags: TagMap,
    ) -> None: ...
    def update(
        self,
        actions: Features,
        labels: Features,
        action_learner: Learner,
        label_learner: Learner,
        drop: float,
        word_dropout: float,
        exploration: float,
    ) -> float: ...
    def update_boundaries(
        self,
        features: Features,
        learner: Learner,
        starts: np.ndarray,
        drop: float,
        word_dropout: float,
    ) -> float: ...
    def guess(
        self,
        actions: Features,
        labels: Features,
        action_learner: Learner,
        label_learner: Learner,
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def update_ranker(
        self,
        actions: Features,
        labels: Features,
        features: RankFeatures,
        action_learner: Learner,
        label_learner: Learner,
        ranker: RankLearner,
        n_branches: int,
        max_lead: float,
    ) -> float: ...
    def guess_boundaries(
        self, features: Features, learner: Learner, known: np.ndarray
    ) -> np.ndarray: ...
