"""Recorded decisions: what ordering methods work on, whatever the task."""

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch

from ..base.errors import Errors
from ..base.settings import LearnerSettings
from ..base.system_errors import SystemErrors
from ..tasks.classifier import Classifier
from ..tasks.folds import get_fold
from .fitting import fit

BATCH = 64
# Where the loop of an epoch starts does not matter, but that it is the same each time.
SHUFFLE_SEED = 20150709


@dataclass(frozen=True)
class Split:
    """Decisions in arrays.

    ids (array): For each decision and template the number of its feature, -1 where it
        is rare or was never seen in training.
    costs (array): For each decision what each label costs, see core.learner.
    """

    ids: np.ndarray
    costs: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Decisions:
    """The decisions of training and of held-out data.

    templates (list[str]): The templates.
    train (Split), held_out (Split): The decisions.
    sizes (list[int]): The number of features of each template.
    nanoseconds (array): What it takes to find the key of each template.
    settings (LearnerSettings): How the weights are to be learned.
    n_first (int): The number of templates of the first stage, where others read what
        it says, so that it has to stay what it is; else 0.
    """

    templates: list[str]
    train: Split
    held_out: Split
    sizes: list[int]
    nanoseconds: np.ndarray
    settings: LearnerSettings
    n_first: int = 0

    @property
    def n_labels(self) -> int:
        return self.train.costs.shape[1]

    @property
    def margin(self) -> float:
        """By how much the sum of all templates has to lead."""
        margin = self.settings.margin
        return float(margin[-1] if isinstance(margin, list) else margin)

    def fit(
        self, columns: list[int], *, epochs: int, **options: Any
    ) -> list[np.ndarray]:
        """Learn the weights of some templates from the training decisions.

        options: See ordering.fitting.fit.
        """
        return fit(
            self.train.ids,
            self.train.costs,
            columns,
            self.sizes,
            epochs=epochs,
            eta=self.settings.eta,
            delta=self.settings.delta,
            **options,
        )

    def digest(self) -> str:
        """A fingerprint of all but the times."""
        digest = hashlib.sha256()
        digest.update(repr((self.templates, self.settings)).encode("utf8"))
        for split in (self.train, self.held_out):
            digest.update(split.ids.tobytes())
            digest.update(split.costs.tobytes())
        return digest.hexdigest()


def make_decisions(
    templates: Sequence[str],
    train: tuple[np.ndarray, np.ndarray],
    held_out: tuple[np.ndarray, np.ndarray],
    settings: LearnerSettings,
    *,
    nanoseconds: np.ndarray | None = None,
    n_first: int = 0,
) -> Decisions:
    """Number the features of recorded decisions.

    train (tuple), held_out (tuple): Keys and costs, see Recorder.get_decisions.
    settings (LearnerSettings): Features that are rarer than its cutoff get no number.
    nanoseconds (array): What it takes to find the key of each template.
    n_first (int): See Decisions.
    """
    for name, (keys, _) in (("training", train), ("held-out", held_out)):
        if not len(keys):
            raise ValueError(Errors.DS127.format(name=name))
    order = np.random.default_rng(SHUFFLE_SEED).permutation(len(train[0]))
    train_keys = train[0][order]
    train_ids = np.empty(train_keys.shape, dtype="int32")
    held_ids = np.empty(held_out[0].shape, dtype="int32")
    sizes = []
    for t in range(len(templates)):
        unique, inverse, counts = np.unique(
            train_keys[:, t], return_inverse=True, return_counts=True
        )
        is_kept = counts >= settings.cutoff
        numbers = np.where(is_kept, np.cumsum(is_kept) - 1, -1).astype("int32")
        train_ids[:, t] = numbers[inverse]
        place = np.searchsorted(unique, held_out[0][:, t]).clip(max=len(unique) - 1)
        known = unique[place] == held_out[0][:, t]
        held_ids[:, t] = np.where(known, numbers[place], -1)
        sizes.append(int(is_kept.sum()))
    return Decisions(
        list(templates),
        Split(train_ids, train[1][order]),
        Split(held_ids, held_out[1]),
        sizes,
        np.zeros(len(templates)) if nanoseconds is None else nanoseconds,
        settings,
        n_first,
    )


def split_examples(
    examples: Sequence[Example], share: float
) -> tuple[list[Example], list[Example]]:
    """Hold out a share of some examples: always the same ones, by their texts."""
    if not 0 < share <= 0.5:
        raise ValueError(
            Errors.DS022.format(
                name="share", value=share, range="larger than 0 and at most 0.5"
            )
        )
    n_folds = round(1 / share)
    folds = [get_fold(example.reference, n_folds) for example in examples]
    return (
        [example for example, fold in zip(examples, folds, strict=True) if fold],
        [example for example, fold in zip(examples, folds, strict=True) if not fold],
    )


class Learning(Protocol):
    """A component, as far as ordering is concerned; see DynselComponent."""

    name: str

    @property
    def engine(self) -> Any: ...
    def initialize(
        self, get_examples: Callable[[], list[Example]], *, nlp: Language
    ) -> None: ...
    def update(self, examples: list[Example], *, drop: float) -> Any: ...
    def get_gold(self, example: Example) -> Any: ...


def get_classifier(component: Learning, part: str | None) -> Classifier:
    """A classifier of a component: the one that is named, or the one that the component
    is about."""
    known = component.engine.classifiers
    if not known:
        raise ValueError(
            SystemErrors.DS247.format(name=component.name, what="order of templates")
        )
    if part is None:
        return component.engine.main
    if part not in known:
        raise ValueError(
            Errors.DS128.format(part=part, name=component.name, known=", ".join(known))
        )
    return known[part]


def train_guide(
    component: Learning,
    examples: Sequence[Example],
    *,
    nlp: Language,
    epochs: int,
    drop: float,
    seed: int,
) -> None:
    """Train a component, so that its guesses can serve as history."""
    component.initialize(lambda: list(examples), nlp=nlp)
    order = list(examples)
    shuffler = random.Random(seed)
    for _ in range(epochs):
        shuffler.shuffle(order)
        for batch in minibatch(order, BATCH):
            component.update(list(batch), drop=drop)


def record_decisions(
    component: Learning,
    part: str | None,
    train: Sequence[Example],
    held_out: Sequence[Example],
) -> Decisions:
    """Record the decisions of a trained component.

    component: The component, whose guesses are the history of the decisions.
    part (str): Which of its classifiers: "templates", or "actions", "labels" or
        "boundaries" of a parser.
    train (Sequence[Example]), held_out (Sequence[Example]): The data.
    """
    classifier = get_classifier(component, part)
    templates = classifier.templates
    keys, costs, _ = record_split(component, classifier.name, train)
    held_keys, held_costs, times = record_split(component, classifier.name, held_out)
    needs_first = component.engine.needs_first_stage
    return make_decisions(
        [str(template) for template in templates.templates],
        (keys, costs),
        (held_keys, held_costs),
        classifier.settings,
        nanoseconds=times,
        n_first=templates.checkpoints[0] if needs_first else 0,
    )


def record_split(
    component: Learning, part: str, examples: Sequence[Example]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Record decisions. RETURNS (tuple): Their keys and costs, see
    Recorder.get_decisions; and the nanoseconds of each template's key."""
    recorders = component.engine.new_recorders()
    for batch in minibatch(examples, BATCH):
        component.engine.record([component.get_gold(one) for one in batch], recorders)
    recorder = recorders[part]
    return (*recorder.get_decisions(), recorder.get_key_times())
