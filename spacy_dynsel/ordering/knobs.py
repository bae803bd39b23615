"""The margins of a component, turned on data whose gold annotation is known."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example

from ..base.timing import seconds
from .calibration import MAX_KNOBS, Outcome


class Turning(Protocol):
    """A trained component, as far as margins are concerned; see DynselComponent."""

    @property
    def engine(self) -> Any: ...
    def predict_afresh(self, docs: list[Doc]) -> Any: ...
    def predict_with_leads(self, docs: list[Doc]) -> Any: ...
    def get_gold(self, example: Example) -> Any: ...


class Knob(NamedTuple):
    """A margin, or several of neighbouring stages that are turned together.

    setting (str): "margin" or "label_margin".
    stages (range): The stages.
    base (float): The margin of training.
    """

    setting: str
    stages: range
    base: float


def make_knobs(component: Turning) -> list[Knob]:
    """The margins that can be turned."""
    engine = component.engine
    knobs = []
    for setting, name in engine.knobs.items():
        part = engine.classifiers[name]
        last = part.n_stages - 1
        bounds = np.linspace(0, last, min(last, MAX_KNOBS) + 1).round().astype(int)
        bases = part.settings.stage_margins(part.n_stages)
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            knobs.append(Knob(setting, range(start, end), bases[start]))
    return knobs


def turn(component: Turning, knobs: Sequence[Knob], factors: Sequence[float]) -> None:
    """Set the margins of a component."""
    margins: dict[str, list[float]] = {}
    for knob, factor in zip(knobs, factors, strict=True):
        values = [round(knob.base * factor, 4)] * len(knob.stages)
        margins.setdefault(knob.setting, []).extend(values)
    for setting, values in margins.items():
        # One number where it says the same.
        same = len(set(values)) == 1
        setattr(component, setting, values[0] if same else values)


def number_groups(examples: Sequence[Example], unit: str) -> np.ndarray:
    """The number of the group of each token: what is drawn independently of each other.

    unit (str): "token", "sentence" or "doc". Where a reference has no sentence starts,
        its sentence is the doc.
    """
    starts = [np.zeros(0, dtype=bool)]
    for example in examples:
        found = np.full(len(example.reference), unit == "token")
        if unit == "sentence":
            found = example.reference.to_array("SENT_START") == 1
        found[:1] = True
        starts.append(found)
    return np.cumsum(np.concatenate(starts)) - 1


class Measured:
    """A component on some data: which words are right with which margins."""

    def __init__(
        self,
        component: Turning,
        knobs: list[Knob],
        examples: list[Example],
        *,
        unit: str,
        with_stages: bool = False,
    ) -> None:
        self.component = component
        self.knobs = knobs
        self.with_stages = with_stages
        self.docs = [example.predicted for example in examples]
        self.golds = [component.get_gold(example) for example in examples]
        self.everything = self([math.inf] * len(knobs))
        self.full = self.everything.judged
        self.groups = number_groups(examples, unit)
        self.n_groups = len(np.unique(self.groups[self.full >= 0]))

    def __call__(self, factors: Sequence[float]) -> Outcome:
        turn(self.component, self.knobs, factors)
        if not self.docs:
            return Outcome(np.zeros(0, dtype="int8"), 0.0)
        engine = self.component.engine
        if self.with_stages:
            batch = self.component.predict_with_leads(self.docs)
        else:
            batch = self.component.predict_afresh(self.docs)
        cost = engine.main.mean_templates(engine.get_counts(batch)[engine.main.name])
        stages = batch.stages if self.with_stages else None
        return Outcome(engine.judge(batch, self.golds), cost, stages)

    def time(self, factors: Sequence[float]) -> float:
        """The seconds that a prediction takes."""
        turn(self.component, self.knobs, factors)
        start = seconds()
        self.component.predict_afresh(self.docs)
        return seconds() - start
