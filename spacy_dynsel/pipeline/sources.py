"""Where the docs that a component learns from get what it reads of them."""

import warnings
import weakref
from dataclasses import dataclass
from typing import Any

from spacy.tokens import Doc

from ..base.warnings import Warnings
from ..spacy_io.tokens import find_bare
from .component import DynselComponent
from .names import POS_ATTRIBUTE, TAG_ATTRIBUTE


@dataclass(frozen=True)
class Kind:
    """What is read.

    attribute (str): The attribute, as pipelines call it.
    missing (str): The warning about docs without, at prediction.
    unlearned (str), other (str): The same in training, where no component of ours sets
        it; and where one sets it that is not ours. Empty for no warning.
    """

    attribute: str
    missing: str
    unlearned: str = ""
    other: str = ""

    def find_bare(self, docs: list[Doc]) -> list[int]:
        """The numbers of the docs without it."""
        return find_bare(docs, self.attribute == TAG_ATTRIBUTE)


TAGS = Kind(TAG_ATTRIBUTE, Warnings.DW121, Warnings.DW122, Warnings.DW120)
PARTS_OF_SPEECH = Kind(POS_ATTRIBUTE, Warnings.DW123)


class Source:
    """The component before another in a pipeline that sets what the latter reads. That
    must not learn without it what it will then do with it: where docs have none in
    training, since the component is not among training.annotating_components, they
    get what they would have got.

    kind (Kind): What is read.
    nlp (Language): The pipeline.
    component: The component that reads it.
    """

    def __init__(self, kind: Kind, nlp: Any = None, component: Any = None) -> None:
        self._kind = kind
        self._name, found = _find_setter(kind.attribute, nlp, component)
        # Not kept alive, nor copied with the component.
        self._setter = (lambda: None) if found is None else weakref.ref(found)
        self._has_warned = False
        self._has_missed = False

    def annotate(self, docs: list[Doc], reader: str, *, are_known: bool) -> list[Doc]:
        """Docs to learn from, and copies of those that had nothing, as far as possible.

        reader (str): The name of the component that reads them.
        are_known (bool): Whether it has learned from others before that had something.
        """
        setter: Any = self._setter()
        bare = [] if setter is None and not are_known else self._kind.find_bare(docs)
        if not bare:
            return docs
        if not isinstance(setter, DynselComponent) or not setter.engine.is_initialized:
            message = self._kind.unlearned if setter is None else self._kind.other
            if message and not self._has_warned:
                self._has_warned = True
                message = message.format(name=reader, tagger=self._name)
                warnings.warn(message, stacklevel=3)
            return docs
        copies = {number: docs[number].copy() for number in bare}
        setter.annotate_for_training(list(copies.values()))
        return [copies.get(number, doc) for number, doc in enumerate(docs)]

    def check(self, docs: list[Doc], reader: str, *, are_known: bool) -> None:
        """Warn, once, about docs to predict that have nothing."""
        if are_known and not self._has_missed and self._kind.find_bare(docs):
            self._has_missed = True
            warnings.warn(self._kind.missing.format(name=reader), stacklevel=3)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Source, (self._kind,))


def _find_setter(attribute: str, nlp: Any, component: Any) -> tuple[str, Any]:
    """The last component before another that sets an attribute, and its name."""
    name, found = "", None
    if nlp is not None:
        disabled = nlp.config["nlp"].get("disabled", [])
        for other_name, other in nlp.components:
            if other is component:
                return name, found
            assigns = nlp.get_pipe_meta(other_name).assigns
            if attribute in assigns and other_name not in disabled:
                name, found = other_name, other
    return "", None
