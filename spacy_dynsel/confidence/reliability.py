"""Confidence that can be relied on: fitted to data that were not trained on, and
measured on others."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example

from ..tasks.folds import get_fold
from .maps import Choice, ConfidenceMap, choose


class Judging(Protocol):
    """A trained component, as far as confidence is concerned; see DynselComponent."""

    confidence: bool

    @property
    def engine(self) -> Any: ...
    def predict_with_leads(self, docs: list[Doc]) -> Any: ...
    def set_annotations(self, docs: list[Doc], batch: Any) -> None: ...
    def compare(
        self, examples: list[Example], batch: Any
    ) -> list[tuple[bool | None, int]]: ...
    def set_confidence_map(self, found: ConfidenceMap) -> None: ...
    def get_probabilities(self, batch: Any) -> np.ndarray: ...


class Judged(NamedTuple):
    """The annotations of a component on some data.

    batch: The prediction, with leads.
    known (array): Which of its units have gold annotation.
    right (array): Which of these are right.
    folds (array): For each of these 0 or 1, the same for all of a doc.
    """

    batch: Any
    known: np.ndarray
    right: np.ndarray
    folds: np.ndarray


def judge(component: Judging, examples: Iterable[Example]) -> Judged:
    """Annotate the predicted docs of examples and compare them with their references.

    component (DynselComponent): A trained component.
    examples (Iterable[Example]): The data. What comes before the component has to have
        run on the predicted docs.
    """
    examples = list(examples)
    docs = [example.predicted for example in examples]
    batch = component.predict_with_leads(docs)
    component.set_annotations(docs, batch)
    verdicts = component.compare(examples, batch)
    known = np.array([verdict is not None for verdict, _ in verdicts], dtype=bool)
    folds = [get_fold(example.reference, 2) for example in examples]
    return Judged(
        batch,
        known,
        np.array([bool(v) for v, _ in verdicts if v is not None], dtype=bool),
        np.array([folds[doc] for v, doc in verdicts if v is not None], dtype=int),
    )


def fit_confidence(component: Judging, examples: Iterable[Example]) -> Choice:
    """Fit the confidence of a component to data that it was not trained on, and turn it
    on.

    component (DynselComponent): A trained component.
    examples (Iterable[Example]): See judge.
    RETURNS (Choice): What was chosen, and how the methods did.
    """
    judged = judge(component, examples)
    evidence = component.engine.get_evidence(judged.batch).take(judged.known)
    choice = choose(evidence, judged.right, judged.folds, component.engine.n_groups)
    component.set_confidence_map(choice.chosen)
    component.confidence = True
    return choice


def measure_confidence(
    component: Judging, examples: Iterable[Example]
) -> tuple[np.ndarray, np.ndarray]:
    """How sure a component is of each unit that has gold annotation, and which of them
    are right."""
    judged = judge(component, examples)
    return component.get_probabilities(judged.batch)[judged.known], judged.right
