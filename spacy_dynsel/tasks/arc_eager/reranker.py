"""The reranker of a parser: all that it learns and stores."""

from typing import Any

import numpy as np

from ...base.settings import LearnerSettings
from ...base.templates import Templates
from ...core.forms.line_table import ShortLineTable, check_table
from ...core.model_file import require
from ...core.program import Program
from ...core.rank_learner import RankLearner
from ..classifier import Part, Stored, find_columns
from ..training_state import check_state
from .features import Features, RankFeatures
from .places import ACTION_PLACES, PLACES, TREE_PLACES

ETA = 0.05
DELTA = 1.0
# How many branches to learn from, and up to which lead: more than are ever tried.
TRAINING_BRANCHES = 40
TRAINING_LEAD = 10.0
# How often the data have to be seen before the parsers' trees are worth learning from.
FIRST_EPOCH = 3
# How often a feature has to come up to be kept, and how many first steps its weight has to
# be away from zero: of the rest, four fifths, there is nothing to be learned.
CUTOFF = 20
PRUNE = 2
# The integer that stands for a weight of 1.
SCALE = 512
MAX_WEIGHT = 32767


class Reranker(Part):
    """Chooses between a tree and another one that differs in a few arcs.

    branches (Templates): Looks at the decision at which they part.
    trees (Templates): Looks at the tokens for which they differ.
    """

    name = "reranker"

    def __init__(self, branches: Templates, trees: Templates) -> None:
        branches.check_atoms(PLACES["branches"])
        trees.check_atoms(PLACES["trees"])
        self.branches = branches
        self.trees = trees
        self.features: Any = None
        self._reset()

    def _reset(self) -> None:
        # It is there in training.
        self.learner: Any = None
        self._n_tokens = 0
        self._n_seen = 0
        self._lines: ShortLineTable | None = None

    @property
    def columns(self) -> set[str]:
        """The columns that the templates look at."""
        return find_columns(self.branches, self.trees)

    def bind(self, lexical: list[str]) -> None:
        """Say which columns lexemes have."""
        self.features = RankFeatures(
            _bind(self.branches, ACTION_PLACES, lexical),
            _bind(self.trees, TREE_PLACES, lexical),
        )

    def set_size(self, n_tokens: int) -> None:
        """Say how large the training data are."""
        self._n_tokens = n_tokens

    def start(self, n_labels: int, settings: LearnerSettings) -> None:
        self._n_seen = 0
        self.learner = RankLearner(ETA, DELTA)
        self._lines = None

    def resume(self) -> None:
        """A reranker that was loaded stays as it is: there are no folds to learn
        from."""

    def resize(self, n_labels: int) -> None:
        """Labels are to it what tokens have, and not what it decides."""

    def fit_learners(self) -> None:
        """See resize."""

    def get_learners(self) -> dict[str, Any]:
        return {} if self.learner is None else {self.name: self.learner}

    def training_meta(self) -> dict[str, Any]:
        return {
            "learns": self.learner is not None,
            "n_tokens": self._n_tokens,
            "n_seen": self._n_seen,
        }

    def start_again(self, meta: Any) -> None:
        check_state(isinstance(meta, dict), "it lacks its reranker")
        if meta.get("learns"):
            self.start(0, LearnerSettings())
            self._n_tokens, self._n_seen = meta["n_tokens"], meta["n_seen"]

    def count(self, n_tokens: int) -> bool:
        """Count tokens that are seen. RETURNS (bool): Whether it is time to learn."""
        self._n_seen += n_tokens
        return self._n_seen > FIRST_EPOCH * self._n_tokens

    def forget(self) -> list[tuple[Any, str, Any]]:
        return [] if self.learner is None else [(self, "_lines", None)]

    def compile(self, **options: Any) -> ShortLineTable:
        if self._lines is None:
            keys, values = self.learner.get_weights(CUTOFF)
            weights = np.rint(values * SCALE).clip(-MAX_WEIGHT, MAX_WEIGHT)
            kept = np.abs(values) > PRUNE * ETA / (1 + DELTA)
            self._lines = ShortLineTable(keys[kept], weights[kept].astype("int16"))
        return self._lines

    def meta(self) -> dict[str, Any]:
        return {
            "branches": self.branches.to_lines(),
            "trees": self.trees.to_lines(),
            "scale": SCALE,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        keys, weights = self.compile().to_arrays()
        return {"rank_keys": keys, "rank_weights": weights.view("uint16")}

    def load(self, stored: Stored) -> "Reranker":
        meta, arrays = stored.meta, stored.arrays
        require(isinstance(meta, dict), "its reranker is malformed")
        require(meta.get("scale") == SCALE, "the scale of its reranker is not known")
        self.branches.check_lines(meta.get("branches"))
        self.trees.check_lines(meta.get("trees"))
        require({"rank_keys", "rank_weights"} <= set(arrays), "it lacks its reranker")
        keys, weights = arrays["rank_keys"], arrays["rank_weights"]
        check_table(keys, weights, "uint16")
        loaded = self.blank()
        loaded._lines = ShortLineTable(keys, weights.view("int16"))
        return loaded


def _bind(templates: Templates, places: list[str], lexical: list[str]) -> Features:
    slots = dict.fromkeys(
        atom for template in templates.templates for atom in template.atoms
    )
    program = Program(templates, [], [], [], list(slots))
    return Features(program, places, lexical)
