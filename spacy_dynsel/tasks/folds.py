"""Parts of the data: a doc always falls into the same one."""

import zlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

from spacy.tokens import Doc

from ..spacy_io.tokens import find_words

T = TypeVar("T")


def get_number(doc: Doc) -> int:
    """A number for a doc: always the same for its text. White space that makes tokens
    does not count."""
    words = find_words(doc)
    text = doc.text
    if len(words) < len(doc):
        text = "".join(doc[int(word)].text_with_ws for word in words)
    return zlib.crc32(text.encode("utf8"))


def get_fold(doc: Doc, n_folds: int) -> int:
    """The part of the data to which a doc belongs."""
    return get_number(doc) % n_folds


def minibatch(examples: Iterable[T], size: int) -> Iterator[list[T]]:
    """Divide examples into batches."""
    batch: list[T] = []
    for example in examples:
        batch.append(example)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
