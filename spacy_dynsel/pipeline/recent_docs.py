"""Docs that a component has just learned from."""

import weakref
from collections.abc import Iterable
from typing import Any

from spacy.tokens import Doc


class RecentDocs:
    """The docs of the last update, as long as they are in use. An annotating component
    gets them next: then the weights as they are must do, since compiling them after
    each update would cost more than the update."""

    def __init__(self, engine: Any = None, docs: Iterable[Doc] = ()) -> None:
        self._engine = engine
        self._docs = weakref.WeakSet(docs)

    def take(self, engine: Any, docs: list[Doc]) -> bool:
        """Whether an engine has learned from all of some docs just now. Each doc counts
        once: what is asked for later is asked for its own sake."""
        if engine is not self._engine or not all(doc in self._docs for doc in docs):
            return False
        self._docs.difference_update(docs)
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return (RecentDocs, ())
