"""Settings of the learner, as they stand in a config."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .config_blocks import read_block
from .errors import Errors

OBJECTIVES = ("all_prefixes", "first_satisfied", "full")
OPTIMIZERS = ("adagrad", "rda")
# What not every task makes use of.
TASK_SETTINGS = ("predicted_history", "word_dropout", "copies", "lone_sentences")
OPTIONAL = (*TASK_SETTINGS, "seed")


@dataclass(frozen=True)
class InductionSettings:
    """How pairs of features are induced, see Choi (2016).

    strongest (int): How many of the features that speak most for the correct label, and
        against the wrong one, make pairs: the first with each of the others.
    sure_lead (float): The lead of the correct label, as a part of the margin, from which
        on no pairs are made; 1 is the rule of the paper, 0 means: mistakes only.
    max_pairs (int): How many pairs there are at most.
    reference (float): How often, in the first epoch, decisions see true labels of earlier
        words in place of predicted ones. After each epoch it is multiplied by itself:
        locally optimal learning to search. If missing, predicted_history says how often.
    mini_batch (int): After how many sequences weights are changed; 0: after each
        decision.
    """

    strongest: int = 3
    sure_lead: float = 0.0
    max_pairs: int = 1_000_000
    reference: float | None = None
    mini_batch: int = 0

    def __post_init__(self) -> None:
        check_number("strongest", self.strongest, 2, 100)
        check_number("sure_lead", self.sure_lead, 0.0, 1.0, whole=False)
        check_number("max_pairs", self.max_pairs, 1, 100_000_000)
        check_number("mini_batch", self.mini_batch, 0, 1_000_000)
        if self.reference is not None:
            check_number("reference", self.reference, 0.0, 1.0, whole=False)


@dataclass(frozen=True)
class LearnerSettings:
    """How weights are learned.

    objective (str): "all_prefixes": the hinge losses at all checkpoints are added.
        "first_satisfied": only those up to the first checkpoint at which the true
        label leads by the margin, the objective of Strubell et al. (2015). "full":
        only the loss of the whole sum, a model without early exit.
    optimizer (str): "adagrad", or "rda": AdaGrad with regularized dual averaging.
    margin (float or list[float]): By how much the true label has to lead, at all
        checkpoints or at each.
    eta (float): The step size.
    delta (float): Added to the root of the summed squared gradients.
    l1 (float), l2 (float): The penalties of "rda".
    cutoff (int): How often a feature has to occur in the training data.
    prune (float): Drop weights no larger than this many initial steps when training is
        over; 1 drops those that an error moved once and no other confirmed. Cutoff,
        pruning and word dropout apply to corpora only: small data are used as they are.
    predicted_history (float): How often the decisions after a token see its
        predicted label in place of the true one.
    word_dropout (float): How often a word is treated as if it were unknown.
    copies (str): Which copies of the data to learn from: "sentences", "documents"
        or "both".
    lone_sentences (float): How often the sentences of a Doc are learned as if each
        were a Doc of its own, so that one model serves documents and sentences.
        If one of these four is missing, the task has its own default, see for_task.
    seed (int): The seed of random choices; if missing, that of the training.
    induction (InductionSettings): How pairs of features are induced; if missing, none
        are.
    """

    objective: str = "all_prefixes"
    optimizer: str = "adagrad"
    margin: float | list[float] = 6.5
    eta: float = 0.1
    delta: float = 0.3
    l1: float = 0.0
    l2: float = 0.0
    cutoff: int = 1
    prune: float = 1.0
    # Numbers and a string, once a task has filled them in.
    predicted_history: Any = None
    word_dropout: Any = None
    copies: Any = None
    lone_sentences: Any = None
    seed: int | None = None
    induction: InductionSettings | None = None

    def __post_init__(self) -> None:
        for name, known in (
            ("objective", OBJECTIVES),
            ("optimizer", OPTIMIZERS),
            ("copies", ("sentences", "documents", "both")),
        ):
            value = getattr(self, name)
            if value not in known and not (name in OPTIONAL and value is None):
                raise ValueError(
                    Errors.DS021.format(name=name, value=value, known=", ".join(known))
                )
        for name, low, high in (
            ("eta", 0.0, math.inf),
            ("delta", 0.0, math.inf),
            ("l1", 0.0, math.inf),
            ("l2", 0.0, math.inf),
            ("cutoff", 1, 1000),
            ("prune", 0.0, math.inf),
            ("predicted_history", 0.0, 1.0),
            ("word_dropout", 0.0, 1.0),
            ("lone_sentences", 0.0, 1.0),
            ("seed", 0, 2**32 - 1),
        ):
            value = getattr(self, name)
            if name in OPTIONAL and value is None:
                continue
            if not low <= value <= high or math.isinf(value):
                raise ValueError(
                    Errors.DS022.format(
                        name=name, value=value, range=f"between {low} and {high}"
                    )
                )
        if self.optimizer != "rda" and (self.l1 or self.l2):
            raise ValueError(Errors.DS023)

    def for_small_data(self) -> "LearnerSettings":
        """The same, with nothing left out for being rare or by chance."""
        word_dropout = None if self.word_dropout is None else 0.0
        return replace(self, cutoff=1, prune=0.0, word_dropout=word_dropout)

    def for_task(self, name: str, **defaults: Any) -> "LearnerSettings":
        """The same, with the defaults of a task. A setting for which it has none, it
        makes no use of.

        name (str): What the settings are for.
        """
        for setting in TASK_SETTINGS:
            value = getattr(self, setting)
            if value is not None and setting not in defaults:
                raise ValueError(
                    Errors.DS025.format(setting=setting, value=value, name=name)
                )
        induction = self.induction
        if (
            induction
            and induction.reference is not None
            and "predicted_history" not in defaults
        ):
            raise ValueError(
                Errors.DS025.format(
                    setting="reference", value=induction.reference, name=name
                )
            )
        missing = {key: defaults[key] for key in defaults if getattr(self, key) is None}
        return replace(self, **missing)

    def seeded(self, seed: int | None) -> "LearnerSettings":
        """The same, with a seed where there is none."""
        return replace(self, seed=(seed or 0) if self.seed is None else self.seed)

    @property
    def smallest_weight(self) -> float:
        """The size up to which weights are pruned. Rounding must not save any."""
        return 1.001 * self.prune * self.eta / (1 + self.delta)

    def stage_margins(self, n_stages: int) -> list[float]:
        """The margin at each checkpoint, the last one included."""
        return check_margins(self.margin, n_stages, in_training=True)


def check_number(
    name: str, value: Any, low: float, high: float, *, whole: bool = True
) -> None:
    """Raise an error unless a setting is a number within its bounds.

    whole (bool): Whether it has to be an integer.
    """
    kinds = int if whole else int | float
    if (
        not isinstance(value, kinds)
        or isinstance(value, bool)
        or not low <= value <= high
    ):
        raise ValueError(
            Errors.DS022.format(
                name=name, value=value, range=f"between {low} and {high}"
            )
        )


def check_choice(name: str, value: Any, known: Sequence[Any]) -> None:
    """Raise an error unless a setting is one of some values."""
    if not any(
        value is one or (value == one and type(value) is type(one)) for one in known
    ):
        raise ValueError(
            Errors.DS021.format(
                name=name, value=value, known=", ".join(map(str, known))
            )
        )


def check_margins(
    margin: float | Sequence[float], n_margins: int, *, in_training: bool = False
) -> list[float]:
    """One margin for each place that needs one, or a clear error.

    n_margins (int): How many there are: one for each stage but the last, at which
        nothing is left to exit from.
    in_training (bool): Whether these are margins to learn, of which the last stage
        has one as well, and none is infinite.
    """
    values = [margin] * n_margins if isinstance(margin, int | float) else margin
    if (
        not isinstance(values, list | tuple)
        or len(values) != n_margins
        or any(
            not isinstance(value, int | float)
            or isinstance(value, bool)
            or not value >= 0
            or (in_training and math.isinf(value))
            for value in values
        )
    ):
        number, stage = "a finite number of at least 0", "stage"
        if not in_training:
            number = "a number of at least 0 (infinity means: use all templates)"
            stage = "stage but the last"
        raise ValueError(
            Errors.DS020.format(
                number=number, n_margins=n_margins, stage=stage, margin=margin
            )
        )
    return [float(value) for value in values]


def make_learner_settings(
    objective: str = "all_prefixes",
    optimizer: str = "adagrad",
    margin: float | list[float] = 6.5,
    eta: float = 0.1,
    delta: float = 0.3,
    l1: float = 0.0,
    l2: float = 0.0,
    cutoff: int = 1,
    prune: float = 1.0,
    predicted_history: float | None = None,
    word_dropout: float | None = None,
    copies: str | None = None,
    lone_sentences: float | None = None,
    seed: int | None = None,
    induction: dict | InductionSettings | None = None,
) -> LearnerSettings:
    """Settings of the learner for a config; see LearnerSettings."""
    return LearnerSettings(
        objective=objective,
        optimizer=optimizer,
        margin=margin,
        eta=eta,
        delta=delta,
        l1=l1,
        l2=l2,
        cutoff=cutoff,
        prune=prune,
        predicted_history=predicted_history,
        word_dropout=word_dropout,
        copies=copies,
        lone_sentences=lone_sentences,
        seed=seed,
        induction=read_block("induction", induction, make_induction_settings),
    )


def make_induction_settings(
    strongest: int = 3,
    sure_lead: float = 0.0,
    max_pairs: int = 1_000_000,
    reference: float | None = None,
    mini_batch: int = 0,
) -> InductionSettings:
    """Settings of induction for a config; see InductionSettings."""
    return InductionSettings(
        strongest=strongest,
        sure_lead=sure_lead,
        max_pairs=max_pairs,
        reference=reference,
        mini_batch=mini_batch,
    )
