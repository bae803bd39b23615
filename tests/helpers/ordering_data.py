"""Decisions whose right order of templates is known."""

import numpy as np

from spacy_dynsel.base.settings import LearnerSettings
from spacy_dynsel.ordering.decisions import Decisions, make_decisions

N_LABELS = 4
# A decision is of one kind, and only the template of that kind tells its label.
SHARES = {"least": 0.05, "most": 0.5, "some": 0.15, "many": 0.3}
RIGHT_ORDER = ["most", "many", "some", "least"]
NOISE = "noise"


def make_split(n: int, seed: int, noise: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    kinds = rng.choice(len(SHARES), size=n, p=list(SHARES.values()))
    labels = rng.integers(0, N_LABELS, n)
    keys = np.where(kinds[:, None] == np.arange(len(SHARES)), labels[:, None] + 1, 0)
    if noise:
        # No two decisions share a feature: all can be learned by heart.
        keys = np.column_stack([np.arange(n) + 10 + seed * n, keys])
    costs = np.ones((n, N_LABELS), dtype="uint8")
    costs[np.arange(n), labels] = 0
    return keys.astype("uint32"), costs


def make_known(
    *, noise: bool = False, n: int = 3000, nanoseconds: np.ndarray | None = None
) -> Decisions:
    names = [NOISE, *SHARES] if noise else list(SHARES)
    return make_decisions(
        names,
        make_split(n, 0, noise),
        make_split(n, 1, noise),
        LearnerSettings(margin=1.0),
        nanoseconds=nanoseconds,
    )
