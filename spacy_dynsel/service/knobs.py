"""The knobs of all components of a pipeline, turned together for one request."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from spacy.language import Language

from ..base.service_errors import ServiceErrors
from ..pipeline.component import DynselComponent

ALL = "all"
MOST_BRANCHES = 64


class Knobs(NamedTuple):
    """How much work to do.

    margin (float): What to multiply the margins of all components by. Infinity means all
        templates.
    branches (int): How many second-best transitions a parser tries. None: as it is set.
    """

    margin: float = 1.0
    branches: int | None = None


def read_knobs(values: dict[str, Any]) -> Knobs:
    """The knobs that a request names."""
    margin = values.get("margin", 1.0)
    margin = math.inf if margin == ALL else 1.0 if margin is None else margin
    branches = values.get("branches")
    is_number = isinstance(margin, int | float) and not isinstance(margin, bool)
    if not is_number or math.isnan(margin) or margin < 0:
        raise ValueError(
            ServiceErrors.DS332.format(
                name="margin", value=margin, what="a number from 0 on, or 'all'"
            )
        )
    if branches is not None and (
        isinstance(branches, bool)
        or not isinstance(branches, int)
        or not 0 <= branches <= MOST_BRANCHES
    ):
        what = f"a whole number from 0 to {MOST_BRANCHES}"
        raise ValueError(
            ServiceErrors.DS332.format(name="branches", value=branches, what=what)
        )
    return Knobs(float(margin), branches)


def get_branches(nlp: Language) -> int | None:
    """How many branches the parser of a pipeline tries. None if there is none."""
    for _, component in nlp.pipeline:
        if isinstance(component, DynselComponent) and hasattr(component, "branches"):
            return int(component.branches)
    return None


@contextmanager
def turned(nlp: Language, knobs: Knobs) -> Iterator[None]:
    """Turn the knobs of a pipeline for a while."""
    before = []
    try:
        for _, component in nlp.pipeline:
            if not isinstance(component, DynselComponent):
                continue
            for name in ("margin", "label_margin", "branches"):
                new = _turn(name, getattr(component, name, None), knobs)
                if new is not None and component.engine.has_margins:
                    before.append((component, name, getattr(component, name)))
                    setattr(component, name, new)
        yield
    finally:
        for component, name, value in reversed(before):
            setattr(component, name, value)


def _turn(name: str, value: Any, knobs: Knobs) -> Any:
    """What a setting becomes, or None if it stays."""
    if value is None:
        return None
    if name == "branches":
        return knobs.branches
    if knobs.margin == 1.0:
        return None
    if isinstance(value, list):
        return [_scale(one, knobs.margin) for one in value]
    return _scale(value, knobs.margin)


def _scale(margin: float, factor: float) -> float:
    return math.inf if math.isinf(factor) else margin * factor
