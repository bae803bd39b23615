"""What the components of a pipeline say about a text, one after the other."""

from collections.abc import Callable
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..base.errors import Errors
from ..pipeline.component import DynselComponent
from .explained import Explained


def check_components(nlp: Language) -> None:
    """Raise an error unless a pipeline has components that can be explained."""
    if not any(isinstance(component, DynselComponent) for _, component in nlp.pipeline):
        known = ", ".join(nlp.pipe_names) or "none"
        raise ValueError(Errors.DS161.format(known=known))


def walk(
    nlp: Language, text: str, look: Callable[[str, Any, Doc, Explained], None]
) -> Doc:
    """Run a pipeline, and look at each component of ours, at the doc as the component
    meets it, and at what it says about it. RETURNS (Doc): What becomes of the text."""
    doc = nlp.make_doc(text)
    if len(doc) == 0:
        raise ValueError(Errors.DS160)
    check_components(nlp)
    for name, component in nlp.pipeline:
        # Before the component itself, since those after it may change what it saw.
        if isinstance(component, DynselComponent):
            pipe: Any = component
            look(name, pipe, doc, pipe.explain_call(doc))
        doc = component(doc)
    return doc


def find_share(component: Any, counts: list[int]) -> float:
    """How much of its templates a component used for a word: from 0 at the first
    checkpoint to 1 with all."""
    templates = component.engine.templates
    total, least = len(templates.templates), templates.checkpoints[0]
    if not counts:
        return 0.0
    mean = sum(counts) / len(counts)
    return (mean - least) / max(1, total - least)
