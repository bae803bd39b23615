"""Where the docs that a component learns from get their tags."""

import warnings
import weakref
from typing import Any

from spacy.tokens import Doc

from ..base.warnings import Warnings
from ..spacy_io.tokens import find_untagged
from .tagger import TAG_ATTRIBUTE, DynselTagger


class TagSource:
    """The tagger that stands before a component in a pipeline. A component that reads
    tags must not learn without them what it will then do with them: where docs have
    none in training, since the tagger is not among training.annotating_components, they
    get those that they would have got.

    nlp (Language): The pipeline.
    component: The component that reads tags.
    """

    def __init__(self, nlp: Any = None, component: Any = None) -> None:
        self._name, found = _find_tagger(nlp, component)
        # Not kept alive, nor copied with the component.
        self._tagger = (lambda: None) if found is None else weakref.ref(found)
        self._has_warned = False

    def tag(self, docs: list[Doc], reader: str, *, are_known: bool) -> list[Doc]:
        """Docs with tags, copies of those that had none, as far as that is possible.

        reader (str): The name of the component that reads tags.
        are_known (bool): Whether it has learned from tags before.
        """
        tagger: Any = self._tagger()
        untagged = [] if tagger is None and not are_known else find_untagged(docs)
        if not untagged:
            return docs
        if not isinstance(tagger, DynselTagger) or not tagger.engine.is_initialized:
            message = Warnings.DW122.format(name=reader)
            if tagger is not None:
                message = Warnings.DW120.format(name=reader, tagger=self._name)
            if not self._has_warned:
                self._has_warned = True
                warnings.warn(message, stacklevel=3)
            return docs
        copies = {number: docs[number].copy() for number in untagged}
        tagger.tag_for_training(list(copies.values()))
        return [copies.get(number, doc) for number, doc in enumerate(docs)]

    def __reduce__(self) -> tuple[Any, ...]:
        return (TagSource, ())


def _find_tagger(nlp: Any, component: Any) -> tuple[str, Any]:
    """The last component before another that sets tags, and its name."""
    name, found = "", None
    if nlp is not None:
        disabled = nlp.config["nlp"].get("disabled", [])
        for other_name, other in nlp.components:
            if other is component:
                return name, found
            assigns = nlp.get_pipe_meta(other_name).assigns
            if TAG_ATTRIBUTE in assigns and other_name not in disabled:
                name, found = other_name, other
    return "", None
