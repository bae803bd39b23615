"""What labels of morphology are made of.

A label is a part of speech and features, in one string as spaCy writes it, such as
`Gender=Fem|Number=Sing|POS=NOUN`. Each `name=value` is a part.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from spacy.parts_of_speech import IDS as POS_IDS

from ...core.label_parts import LabelParts
from ..labelling.history import History

POS = "POS"
SEPARATOR = "|"
EMPTY = "_"
# Whose gender, number and case words nearby agree with.
NOMINAL = ("NOUN", "PROPN", "PRON", "DET")
AGREEING = ("Gender", "Number", "Case")
# What templates read of labels: the label, its part of speech, and with what the last
# nominal word agrees.
MORPH_COLUMN, POS_COLUMN, NOUN_COLUMN = COLUMNS = ("morph", "pos", "noun")
# Loading asks for the parts of each label several times.
MAX_KEPT = 1 << 13


def split_label(label: str) -> dict[str, str]:
    """The parts of a label by their names. One without a value has an empty one."""
    return dict(_split(label))


@lru_cache(MAX_KEPT)
def _split(label: str) -> tuple[tuple[str, str], ...]:
    if label == EMPTY:
        return ()
    return tuple(part.partition("=")[::2] for part in label.split(SEPARATOR))


@lru_cache(MAX_KEPT)
def find_fault(label: str) -> str:
    """Say why something is no label; empty for one that is."""
    if label == EMPTY:
        return ""
    pairs = _split(label)
    parts = dict(pairs)
    if not all(map(all, pairs)):
        return "each feature needs a name and a value"
    if len(parts) < len(pairs):
        return "a feature has two values"
    if parts.get(POS, "") not in POS_IDS:
        return f"there is no part of speech {parts[POS]}"
    return ""


def list_parts(labels: Sequence[str]) -> list[str]:
    """All parts that labels have, in the order of their names."""
    split = map(split_label, labels)
    return sorted({f"{k}={v}" for parts in split for k, v in parts.items()})


def find_parts(labels: Sequence[str]) -> LabelParts:
    """The parts of labels, by numbers in the order of their names."""
    own = [[f"{k}={v}" for k, v in split_label(label).items()] for label in labels]
    # A label may have no part, and there has to be one.
    names = list_parts(labels) or [EMPTY]
    numbers = {name: i for i, name in enumerate(names)}
    ids = [numbers[name] for parts in own for name in parts]
    starts = np.cumsum([0, *map(len, own)], dtype="int32")
    return LabelParts(len(names), starts, np.array(ids, dtype="uint16"))


def make_history(labels: Sequence[str]) -> History:
    """What templates read of labels. Values are numbered in the order of labels."""
    values = np.zeros((len(labels) + 1, len(COLUMNS)), dtype="uint32")
    tags: dict[str, int] = {}
    agreements: dict[tuple[tuple[str, str], ...], int] = {}
    for number, label in enumerate(labels, start=1):
        parts = split_label(label)
        tag = parts.get(POS, "")
        values[number, 0] = number
        values[number, 1] = tags.setdefault(tag, len(tags) + 1)
        agreement = tuple((name, parts[name]) for name in AGREEING if name in parts)
        if tag in NOMINAL and agreement:
            values[number, 2] = agreements.setdefault(agreement, len(agreements) + 1)
    return History([*COLUMNS], values, NOUN_COLUMN)
