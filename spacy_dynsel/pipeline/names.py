"""What labels are to spaCy."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from spacy.strings import get_string_id
from spacy.vocab import Vocab

from ..base.errors import Errors

# What pipelines call attributes.
TAG_ATTRIBUTE = "token.tag"
POS_ATTRIBUTE = "token.pos"


class Names:
    """What labels are to spaCy. Components add what they need.

    labels (tuple[str]): The labels.
    """

    # What else than labels has to be in the vocabulary.
    others: tuple[str, ...] = ()
    # Whether they may vanish from the vocabulary, with a memory zone.
    is_transient = True

    def __init__(self, labels: tuple[str, ...]) -> None:
        self.labels = labels
        self.ids = get_ids(labels)

    def keep(self, vocab: Vocab) -> None:
        """Make sure that the names outlive memory zones. One that was first seen in a
        zone is lost with it, whoever asks for it, and comes back here."""
        for name in (*self.labels, *self.others):
            vocab.strings.add(name, allow_transient=False)  # type: ignore[call-arg]
        self.is_transient = vocab.in_memory_zone  # type: ignore[attr-defined]

    def reach(self, vocab: Vocab) -> None:
        """Make sure that the vocabulary of another pipeline has the names."""
        strings = vocab.strings
        for name in (*self.labels, *self.others):
            if name not in strings:
                strings.add(name, allow_transient=False)  # type: ignore[call-arg]


def get_ids(names: Iterable[str]) -> np.ndarray:
    """The string IDs of names, which are the same in each vocabulary."""
    return np.array([get_string_id(name) for name in names], dtype="uint64")


def check_label(name: str, label: Any) -> None:
    """Raise an error unless something can be a label of a component.

    name (str): The name of the component.
    """
    # To spaCy, an empty one means that there is none.
    if not isinstance(label, str) or not label or not _is_text(label):
        raise ValueError(Errors.DS041.format(name=name, label=label, type=type(label)))


def read_labels(labels: Any) -> list[str] | None:
    """The labels that are given as a list, or by the actions of spaCy's own component;
    None if they can't be read."""
    if isinstance(labels, dict) and all(
        isinstance(value, dict) for value in labels.values()
    ):
        return sorted({name for names in labels.values() for name in names if name})
    return None if isinstance(labels, str | dict) else list(labels)


def _is_text(label: str) -> bool:
    """Whether a string can be stored: halves of characters can't."""
    return label.isascii() or label == label.encode("utf8", "replace").decode("utf8")
