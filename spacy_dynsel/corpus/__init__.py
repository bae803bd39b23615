"""Corpora: readers, and what annotates them.

from spacy_dynsel.corpus import Annotator, annotate_files, to_docs
"""

from importlib import import_module
from typing import Any

# They load pipelines, and so stand in a layer above this one.
ABOVE = {
    "Annotator": "annotator",
    "annotate_files": "files",
    "to_docs": "docs",
}
__all__ = sorted(ABOVE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in ABOVE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"spacy_dynsel.annotating.{ABOVE[name]}"), name)
