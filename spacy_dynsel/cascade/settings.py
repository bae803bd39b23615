"""Settings of a cascade."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import Errors
from ..base.settings import check_choice, check_number

HIGHEST_ORDER = 5
CLIQUES = ("full", "states")
OPTIMIZERS = ("perceptron", "adagrad")
FINALS = ("perceptron", "hinge")
# What is chosen if every alpha would do.
LARGEST_ALPHA = 1 - 1e-6
UNITS = ("position", "sequence")
CARRIES = ("folds", "whole")


def check_alpha(value: Any) -> float:
    """A part of the best path in a threshold, or a clear error."""
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not 0 <= value < 1
    ):
        raise ValueError(
            Errors.DS022.format(name="alpha", value=value, range="in [0, 1)")
        )
    return float(value)


@dataclass(frozen=True)
class CascadeSettings:
    """What a cascade is made of, and how it is learned.

    order (int): The length of the longest label n-grams, from 1 to 5.
    first_order (int): Of the first level, which looks at all n-grams of its length.
    cliques (str): What a level of order n filters: "full": n-grams; "states": (n-1)-grams,
        the sub-cliques of Weiss and Taskar's experiments on tags. Order 1 filters labels.
    pairs (bool): Whether features of a position are looked at with the pair of its label
        and the label before it, beside the label alone. Slower; from order 2 on.
    epsilon (float or list[float]): The largest share of units that a level may lose on
        data that it has not seen, for all levels that filter or for each. One that would
        lose more with any alpha filters nothing, and says so by a warning.
    learn_share (float): The levels after a filter learn from what it leaves if it loses
        at most this share of epsilon. Below 1 they have more to choose from.
    unit (str): What may be lost: the n-gram of a "position", or a whole "sequence", for
        which one of its n-grams is enough.
    alphas (list[float]): The parts of the best path in the threshold to learn with. The
        one is used that loses no more than epsilon and keeps least. What it becomes after
        learning is not bound to these.
    optimizer (str): "perceptron": steps of equal size, and averaged weights; "adagrad".
    eta (float): The step size.
    delta (float): Of AdaGrad: added to the root of the summed squared gradients.
    margin (float): By how much the labels have to be above the threshold, for each
        position of a sequence.
    epochs (int): How often the levels that filter see the data.
    final (str): How the last level learns: by the structured "perceptron", or by the
        structured "hinge" loss, with a cost of a wrong label.
    cost (float): That cost.
    final_epochs (int): How often the last level sees the data.
    carry (str): What the last level adds to while it learns: what levels of the "folds" say
        that have not seen the sequence, as they filter it; or what the levels say that
        are used in the end ("whole"), so that it goes on where these stopped.
    dropout (float): How often a feature of a position is left out while a level learns.
    least_weight (float): Smaller weights are dropped when a level has learned, so that
        files are smaller and features are looked at in less time.
    folds (int): The number of parts of the data. What a level learns from was filtered by
        levels that have not seen it.
    every_order (bool): Whether to learn to label at all orders, and not just at the
        highest.
    keep_all (bool): What a level does that would lose more than epsilon with any alpha:
        keep everything, or else filter with an alpha of 0, so that little data never
        needs much time and memory.
    seed (int): The seed of the shuffling.
    """

    order: int = 3
    first_order: int = 1
    cliques: str = "full"
    pairs: bool = False
    epsilon: float | Sequence[float] = 0.01
    learn_share: float = 1.0
    unit: str = "position"
    alphas: Sequence[float] = (0.9,)
    optimizer: str = "perceptron"
    eta: float = 1.0
    delta: float = 0.3
    margin: float = 1.0
    epochs: int = 10
    final: str = "hinge"
    cost: float = 1.0
    final_epochs: int = 10
    carry: str = "folds"
    dropout: float = 0.0
    least_weight: float = 0.0
    folds: int = 5
    every_order: bool = False
    keep_all: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("order", 1, HIGHEST_ORDER),
            ("first_order", 1, self.order),
            ("epochs", 1, 10_000),
            ("final_epochs", 1, 10_000),
            ("folds", 2, 1_000),
            ("seed", 0, 2**32 - 1),
        ):
            check_number(name, getattr(self, name), low, high)
        for name, least in (
            ("eta", 1e-6),
            ("delta", 0.0),
            ("margin", 0.0),
            ("cost", 0.0),
            ("least_weight", 0.0),
        ):
            check_number(name, getattr(self, name), least, 1e6, whole=False)
        check_number("learn_share", self.learn_share, 0.0, 1.0, whole=False)
        check_number("dropout", self.dropout, 0.0, 0.99, whole=False)
        for name, known in (
            ("cliques", CLIQUES),
            ("optimizer", OPTIMIZERS),
            ("final", FINALS),
            ("unit", UNITS),
            ("carry", CARRIES),
            ("pairs", (False, True)),
            ("every_order", (False, True)),
            ("keep_all", (False, True)),
        ):
            check_choice(name, getattr(self, name), known)
        # Equal settings are equal, be they written as lists or as tuples.
        object.__setattr__(self, "alphas", tuple(map(check_alpha, self.alphas)))
        if not isinstance(self.epsilon, int | float):
            object.__setattr__(self, "epsilon", tuple(self.epsilon))
        if not self.alphas:
            raise ValueError(
                Errors.DS022.format(name="alphas", value=[], range="numbers in [0, 1)")
            )
        self.get_epsilons()

    @property
    def n_filters(self) -> int:
        """The number of levels that filter."""
        return self.order - self.first_order

    def get_epsilons(self) -> list[float]:
        """The share of units that each level may lose."""
        if isinstance(self.epsilon, int | float):
            values: list[Any] = [self.epsilon] * self.n_filters
        else:
            values = list(self.epsilon)
        for value in values:
            check_number("epsilon", value, 0.0, 1.0, whole=False)
        if len(values) != self.n_filters:
            raise ValueError(
                Errors.DS022.format(
                    name="epsilon",
                    value=self.epsilon,
                    range=f"a number, or a list of {self.n_filters}, one for each "
                    "level but the last",
                )
            )
        return [float(value) for value in values]


def make_cascade_settings(
    order: int = 3,
    cliques: str = "full",
    pairs: bool = False,
    epsilon: float | list[float] = 0.008,
    learn_share: float = 0.25,
    unit: str = "position",
    alphas: list[float] | None = None,
    optimizer: str = "adagrad",
    eta: float = 0.1,
    delta: float = 0.3,
    margin: float = 4.0,
    epochs: int = 3,
    final: str = "hinge",
    cost: float = 6.5,
    final_epochs: int = 20,
    carry: str = "whole",
    dropout: float = 0.3,
    least_weight: float = 0.02,
    folds: int = 2,
    seed: int = 0,
) -> CascadeSettings:
    """Settings of a cascade over words for a config; see CascadeSettings. The seed of the
    training is added to its seed."""
    return CascadeSettings(
        order=order,
        cliques=cliques,
        pairs=pairs,
        epsilon=epsilon,
        learn_share=learn_share,
        unit=unit,
        alphas=(0.9,) if alphas is None else alphas,
        optimizer=optimizer,
        eta=eta,
        delta=delta,
        margin=margin,
        epochs=epochs,
        final=final,
        cost=cost,
        final_epochs=final_epochs,
        carry=carry,
        dropout=dropout,
        least_weight=least_weight,
        folds=folds,
        keep_all=False,
        seed=seed,
    )


def find_alpha(limits: Sequence[float] | np.ndarray, epsilon: float) -> float | None:
    """The largest alpha that loses at most a share of units, by equation 7 of Weiss and
    Taskar (2010): the larger it is, the less is kept. None if each loses more.

    limits (Sequence[float]): For each unit the largest alpha that keeps it.
    """
    ordered = np.sort(limits)
    n_lost = math.floor(epsilon * len(ordered))
    if n_lost >= len(ordered):
        return LARGEST_ALPHA
    # Rounding must not lose the unit at the limit.
    alpha = float(min(ordered[n_lost] - 1e-9, LARGEST_ALPHA))
    return alpha if alpha >= 0 else None


def to_number(alpha: float | None) -> float:
    """The alpha that keeps everything is minus infinity where arithmetic is done."""
    return -math.inf if alpha is None else alpha
