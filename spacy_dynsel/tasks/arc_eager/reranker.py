"""The reranker of a parser: all that it learns and stores."""

from typing import Any

import numpy as np

from ...base.atomic import Replaceable
from ...base.templates import Templates
from ...core.forms.line_table import ShortLineTable, check_table
from ...core.learner import Learner
from ...core.program import Program
from ...core.rank_learner import RankLearner
from ..classifier import Classifier
from ..engine import require
from .features import ACTION_PLACES, Features
from .places import PLACES
from .ranking import TREE_PLACES, RankFeatures

ETA = 0.05
DELTA = 1.0
# How many branches to learn from, and up to which lead: more than are ever tried.
TRAINING_BRANCHES = 40
TRAINING_LEAD = 10.0
# How often the data have to be seen before the parsers' trees are worth learning from.
FIRST_EPOCH = 3
# How often a feature has to come up to be kept.
CUTOFF = 20
# The integer that stands for a weight of 1.
SCALE = 512
MAX_WEIGHT = 32767


class Reranker(Replaceable):
    """Chooses between a tree and another one that differs in a few arcs.

    branches (Templates): Looks at the decision at which they part.
    trees (Templates): Looks at the tokens for which they differ.
    n_folds (int): The number of parsers that make trees to learn from.
    """

    def __init__(self, branches: Templates, trees: Templates, n_folds: int) -> None:
        branches.check_atoms(PLACES["branches"])
        trees.check_atoms(PLACES["trees"])
        self.branches = branches
        self.trees = trees
        self.n_folds = n_folds
        self.features: Any = None
        self._reset()

    def _reset(self) -> None:
        # These are there in training.
        self.learner: Any = None
        self.learners: list[tuple[Learner, Learner]] = []
        self._n_tokens = 0
        self._n_seen = 0
        self._lines: ShortLineTable | None = None

    @property
    def columns(self) -> set[str]:
        """The columns that the templates look at."""
        specs = (*self.branches.templates, *self.trees.templates)
        return {atom.column for spec in specs for atom in spec.atoms}

    @property
    def lines(self) -> ShortLineTable:
        """The compiled form of the weights as they are now."""
        if self._lines is None:
            keys, values = self.learner.get_weights(CUTOFF)
            weights = np.rint(values * SCALE).clip(-MAX_WEIGHT, MAX_WEIGHT)
            kept = weights != 0
            self._lines = ShortLineTable(keys[kept], weights[kept].astype("int16"))
        return self._lines

    def bind(self, lexical: list[str]) -> None:
        """Say which columns lexemes have."""
        self.features = RankFeatures(
            _bind(self.branches, ACTION_PLACES, lexical),
            _bind(self.trees, TREE_PLACES, lexical),
        )

    def start(self, actions: Classifier, arcs: Classifier, n_tokens: int) -> None:
        """Start to learn, from nothing.

        n_tokens (int): The size of the training data.
        """
        self._n_tokens = n_tokens
        self._n_seen = 0
        self.learner = RankLearner(ETA, DELTA)
        self.learners = [
            (actions.new_learner(fold + 1), arcs.new_learner(fold + 1))
            for fold in range(self.n_folds)
        ]
        self.changed()

    def get_learners(self) -> dict[str, Any]:
        """The learners, if there is training."""
        if self.learner is None:
            return {}
        names = {"reranker": self.learner}
        for fold, (actions, arcs) in enumerate(self.learners):
            names |= {f"fold {fold} actions": actions, f"fold {fold} labels": arcs}
        return names

    def training_meta(self) -> dict[str, int]:
        return {"n_tokens": self._n_tokens, "n_seen": self._n_seen}

    def start_again(
        self, actions: Classifier, arcs: Classifier, meta: dict[str, int]
    ) -> None:
        """Make learners that are as yet empty; see training_meta."""
        self.start(actions, arcs, meta["n_tokens"])
        self._n_seen = meta["n_seen"]

    def count(self, n_tokens: int) -> bool:
        """Count tokens that are seen. RETURNS (bool): Whether it is time to learn."""
        self._n_seen += n_tokens
        return self._n_seen > FIRST_EPOCH * self._n_tokens

    def changed(self) -> None:
        """Say that the learner, if there is one, has learned something."""
        if self.learner is not None:
            self._lines = None

    def meta(self) -> dict[str, Any]:
        return {
            "branches": self.branches.to_lines(),
            "trees": self.trees.to_lines(),
            "scale": SCALE,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        keys, weights = self.lines.to_arrays()
        return {"rank_keys": keys, "rank_weights": weights.view("uint16")}

    def load(self, meta: Any, arrays: dict[str, np.ndarray]) -> "Reranker":
        """A reranker with the weights of a file, if they can be used without harm."""
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
