import numpy as np

from .learner import Learner

class InducingLearner(Learner):
    def get_pairs(self) -> np.ndarray: ...
    def set_pairs(self, pairs: np.ndarray) -> None: ...
