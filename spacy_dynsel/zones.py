"""Memory zones that several threads can share a pipeline with, one after the other."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from spacy.language import Language

from .base.atomic import new_lock

_LOCKS: WeakKeyDictionary[Language, Any] = WeakKeyDictionary()
_MAKING = threading.Lock()


@contextmanager
def exclusive(nlp: Language) -> Iterator[Language]:
    """Open a memory zone of a pipeline that no other thread is in. Others wait. A thread
    that is in it already stays in it.

    spaCy allows one zone of a vocabulary at a time, and while it is open no other thread
    may use the pipeline, be it in a zone or not: let all threads come this way. Docs, and
    strings that are new in them, are gone when the zone ends.

    nlp (Language): The pipeline.
    YIELDS (Language): The same.
    """
    with _MAKING:
        lock = _LOCKS.setdefault(nlp, new_lock())
    with lock:
        if nlp.vocab.in_memory_zone:
            yield nlp
        else:
            with nlp.memory_zone():
                yield nlp
