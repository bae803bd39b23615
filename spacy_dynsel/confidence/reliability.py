"""Confidence that can be relied on: fitted to data that were not trained on, and
measured on others."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from spacy.training import Example

from ..pipeline.ner import DynselNER
from ..pipeline.parser import DynselParser
from ..pipeline.tagger import DynselTagger
from ..tasks.arc_eager.engine import SPACE
from ..tasks.bilou.engine import MISSING
from ..tasks.engine import get_fold
from ..tasks.tagging.engine import SPACE_TAG
from .maps import Choice, choose


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


def judge(component: Any, examples: Iterable[Example]) -> Judged:
    """Annotate the predicted docs of examples and compare them with their references.

    component (DynselComponent): A trained component.
    examples (Iterable[Example]): The data. What comes before the component has to have
        run on the predicted docs.
    """
    examples = list(examples)
    docs = [example.predicted for example in examples]
    batch = component.predict_with_leads(docs)
    component.set_annotations(docs, batch)
    compare = next(
        compare for kind, compare in COMPARE.items() if isinstance(component, kind)
    )
    verdicts = compare(component, examples, batch)
    # For each unit whether it is right, None if that is not known, and its doc.
    known = np.array([verdict is not None for verdict, _ in verdicts], dtype=bool)
    folds = [get_fold(example.reference, 2) for example in examples]
    return Judged(
        batch,
        known,
        np.array([bool(v) for v, _ in verdicts if v is not None], dtype=bool),
        np.array([folds[doc] for v, doc in verdicts if v is not None], dtype=int),
    )


def fit_confidence(component: Any, examples: Iterable[Example]) -> Choice:
    """Fit the confidence of a component to data that it was not trained on, and turn it
    on.

    component (DynselComponent): A trained component.
    examples (Iterable[Example]): See judge.
    RETURNS (Choice): What was chosen, and how the methods did.
    """
    judged = judge(component, examples)
    evidence = component.engine.get_evidence(judged.batch).take(judged.known)
    choice = choose(evidence, judged.right, judged.folds, component.engine.n_groups)
    component.calibrate(choice.calibration)
    component.confidence = True
    return choice


def measure_confidence(
    component: Any, examples: Iterable[Example]
) -> tuple[np.ndarray, np.ndarray]:
    """How sure a component is of each unit that has gold annotation, and which of them
    are right."""
    judged = judge(component, examples)
    return component.get_probabilities(judged.batch)[judged.known], judged.right


Verdicts = list[tuple[bool | None, int]]


def _compare_tags(
    component: DynselTagger, examples: list[Example], batch: Any
) -> Verdicts:
    return [
        (None if not gold or label == SPACE_TAG else gold == token.tag_, number)
        for number, (example, labels) in enumerate(zip(examples, batch, strict=True))
        for token, gold, label in zip(
            example.predicted,
            example.get_aligned("TAG", as_string=True),
            labels.tolist(),
            strict=True,
        )
    ]


def _compare_arcs(
    component: DynselParser, examples: list[Example], batch: Any
) -> Verdicts:
    verdicts: Verdicts = []
    for number, example in enumerate(examples):
        heads, deps = example.get_aligned_parse(projectivize=False)
        for token, head, dep in zip(example.predicted, heads, deps, strict=True):
            is_space = batch.labels[len(verdicts)] == SPACE
            if head is None or not dep or is_space:
                verdicts.append((None, number))
                continue
            # However a corpus calls its roots.
            same = token.dep_ == dep or head == token.i
            verdicts.append((same and token.head.i == head, number))
    return verdicts


def _compare_entities(
    component: DynselNER, examples: list[Example], batch: Any
) -> Verdicts:
    golds = [component.get_gold(example).actions.tolist() for example in examples]
    verdicts: Verdicts = []
    for doc, start, end, label in component.engine.find_entities(batch):
        found = golds[doc][start:end]
        if MISSING in found:
            verdicts.append((None, doc))
            continue
        first = 1 + 4 * label
        expected = [first, *[first + 1] * (end - start - 2), first + 2]
        verdicts.append((found == (expected if end > start + 1 else [first + 3]), doc))
    return verdicts


COMPARE: dict[type, Callable[..., Verdicts]] = {
    DynselTagger: _compare_tags,
    DynselParser: _compare_arcs,
    DynselNER: _compare_entities,
}
