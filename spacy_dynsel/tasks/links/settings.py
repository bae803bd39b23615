"""Settings of a parser by links."""

from dataclasses import dataclass

from ...base.settings import check_choice, check_number

TRAININGS = ("structured", "boosting")
BOOSTERS = ("additive", "adaboost")


@dataclass(frozen=True)
class LinkSettings:
    """How links are learned, and how many are looked at.

    training (str): "structured": trees are learned as wholes, online, by the hinge loss;
        "boosting": links are learned by themselves, by logistic regression, from all data
        at once, and learned again with more weight for those that trees got wrong.
    eta (float), delta (float): The step size of AdaGrad, and what is added to the root of
        the summed squared gradients.
    cost (float): Of "structured": that of a wrong link.
    word_dropout (float): How often a word is treated as if it were unknown.
    l1 (float): Of "boosting": the penalty of the size of weights.
    passes (int): Of "boosting": how often a round sees the data.
    rounds (int): How often links are learned again, at most. Each evaluation of `spacy
        train` has the next one.
    raise_by (float): What is added to the weight of a link that a tree got wrong.
    booster (str): "additive": just that, and the last weights are those that count;
        "adaboost": AdaBoost.M1, all of them count.
    max_heads (int): How many heads of a word the filter leaves at most.
    epsilon (float): The share of links that the filter may lose. Its threshold is a part of
        the best score, the rest is the mean; data of some size decide which.
    """

    training: str = "structured"
    eta: float = 0.07
    delta: float = 0.3
    cost: float = 2.0
    word_dropout: float = 0.05
    l1: float = 1e-5
    passes: int = 3
    rounds: int = 3
    raise_by: float = 1.0
    booster: str = "additive"
    max_heads: int = 16
    epsilon: float = 0.005

    def __post_init__(self) -> None:
        check_choice("training", self.training, TRAININGS)
        check_choice("booster", self.booster, BOOSTERS)
        for name, low, high in (
            ("passes", 1, 1000),
            ("rounds", 0, 1000),
            ("max_heads", 1, 1000),
        ):
            check_number(name, getattr(self, name), low, high)
        for name, least, most in (
            ("eta", 1e-6, 1e6),
            ("delta", 1e-6, 1e6),
            ("cost", 0.0, 1e4),
            ("word_dropout", 0.0, 1.0),
            ("l1", 0.0, 1.0),
            ("raise_by", 0.0, 1e4),
            ("epsilon", 0.0, 1.0),
        ):
            check_number(name, getattr(self, name), least, most, whole=False)


def make_link_settings(
    training: str = "structured",
    eta: float = 0.07,
    delta: float = 0.3,
    cost: float = 2.0,
    word_dropout: float = 0.05,
    l1: float = 1e-5,
    passes: int = 3,
    rounds: int = 3,
    raise_by: float = 1.0,
    booster: str = "additive",
    max_heads: int = 16,
    epsilon: float = 0.005,
) -> LinkSettings:
    """Settings of a parser by links, see LinkSettings."""
    return LinkSettings(
        training=training,
        eta=eta,
        delta=delta,
        cost=cost,
        word_dropout=word_dropout,
        l1=l1,
        passes=passes,
        rounds=rounds,
        raise_by=raise_by,
        booster=booster,
        max_heads=max_heads,
        epsilon=epsilon,
    )
