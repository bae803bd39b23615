"""What a saved pipeline, and a package made of it, says about its components."""

from collections.abc import Callable

from spacy.language import Language

from ..pipeline.component import DynselComponent

META_KEY = "dynsel"


def describe_pipeline(nlp: Language) -> Language:
    """Write the templates and margins of the components into the meta."""
    nlp.meta[META_KEY] = {
        name: pipe.describe()
        for name, pipe in nlp.pipeline
        if isinstance(pipe, DynselComponent)
    }
    return nlp


def make_describer(
    first: Callable[[Language], Language] | None = None,
) -> Callable[[Language], Language]:
    """A callback for training.before_to_disk that describes the components.

    first (Callable): Another such callback, to be called before.
    """

    def describe(nlp: Language) -> Language:
        return describe_pipeline(nlp if first is None else first(nlp))

    return describe
