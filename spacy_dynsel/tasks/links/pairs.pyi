import numpy as np

from ...core.link_learner import LinkLearner
from .model import LinkModel
from .train import LinkExamples

class PairExamples(LinkExamples):
    def teach_filters(self, model: LinkModel, filter_learner: LinkLearner) -> None: ...
    def fit_pairs(
        self,
        model: LinkModel,
        filter_learner: LinkLearner,
        learner: LinkLearner,
        n_passes: int,
        raised: np.ndarray,
        weights: np.ndarray,
        base_weight: float,
        seed: int,
    ) -> None: ...
    def find_heads(
        self, model: LinkModel, filter_learner: LinkLearner, learner: LinkLearner
    ) -> tuple[np.ndarray, np.ndarray, int]: ...
