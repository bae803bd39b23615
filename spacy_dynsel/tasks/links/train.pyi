import numpy as np

from ...core.learner import Learner
from ...core.link_learner import LinkLearner
from ..arc_eager.features import Features
from ..arc_eager.train import TransitionExamples
from .model import LinkModel

class LinkExamples(TransitionExamples):
    def update_trees(
        self,
        model: LinkModel,
        labels: Features,
        filter_learner: LinkLearner,
        learner: LinkLearner,
        label_learner: Learner,
        cost: float,
        drop: float,
        word_dropout: float,
        exploration: float,
    ) -> float: ...
    def update_labels(
        self,
        labels: Features,
        label_learner: Learner,
        drop: float,
        word_dropout: float,
        exploration: float,
    ) -> float: ...
    def guess_trees(
        self,
        model: LinkModel,
        labels: Features,
        filter_learner: LinkLearner,
        learner: LinkLearner,
        label_learner: Learner,
    ) -> tuple[np.ndarray, np.ndarray]: ...
