"""The labels that frequent words were seen with."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ...core.model_file import require
from ...spacy_io.tokens import read_orths
from ..labelling.gold import GoldWords

# More than there can be.
N_LABELS = 1 << 16
SECTIONS = {"seen_keys": "uint64", "seen_starts": "uint32", "seen_labels": "uint16"}


class SeenLabels(NamedTuple):
    """For each frequent word the labels that it had in the training data.

    keys (array): The words, by the IDs of their forms, sorted.
    starts (array): Where the labels of each word start, and where those of the last end.
    labels (array): The labels, one word after the other.
    """

    keys: np.ndarray
    starts: np.ndarray
    labels: np.ndarray

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The sections of a file."""
        starts = self.starts.astype("uint32")
        return dict(zip(SECTIONS, (self.keys, starts, self.labels), strict=True))

    def with_words(self, golds: Iterable[GoldWords]) -> "SeenLabels":
        """The same and what frequent words are labelled with in these docs: what a
        model is shown later has to be possible as well."""
        words = np.repeat(np.arange(len(self.keys)), np.diff(self.starts))
        old = words * N_LABELS + self.labels
        found = [old]
        for gold in golds:
            orths = read_orths(gold.doc)[gold.words]
            places = np.searchsorted(self.keys, orths)
            is_known = np.append(self.keys, 0)[places] == orths
            is_known &= (places < len(self.keys)) & (gold.labels >= 0)
            found.append(places[is_known] * N_LABELS + gold.labels[is_known])
        pairs = np.unique(np.concatenate(found))
        if len(pairs) == len(old):
            return self
        words, labels = np.divmod(pairs, N_LABELS)
        starts = np.searchsorted(words, np.arange(len(self.keys) + 1))
        return SeenLabels(self.keys, starts.astype("int32"), labels.astype("uint16"))


def find_seen(golds: Iterable[GoldWords], min_count: int) -> SeenLabels:
    """Look at training data.

    min_count (int): How often a word has to occur.
    """
    counts: defaultdict[int, int] = defaultdict(int)
    labels: defaultdict[int, set[int]] = defaultdict(set)
    for gold in golds:
        orths = read_orths(gold.doc)[gold.words]
        for orth, label in zip(orths.tolist(), gold.labels.tolist(), strict=True):
            if label >= 0:
                counts[orth] += 1
                labels[orth].add(label)
    keys = sorted(orth for orth, count in counts.items() if count >= min_count)
    lists = [sorted(labels[orth]) for orth in keys]
    return SeenLabels(
        np.array(keys, dtype="uint64"),
        np.cumsum([0, *map(len, lists)], dtype="int32"),
        np.array([label for one in lists for label in one], dtype="uint16"),
    )


def read_seen(arrays: dict[str, np.ndarray]) -> SeenLabels:
    """Take the sections of a file. Whether they make sense, a scorer finds out."""
    for name, dtype in SECTIONS.items():
        require(
            name in arrays and arrays[name].dtype == dtype,
            "it lacks its labels of words",
        )
    keys, starts, labels = (arrays[name] for name in SECTIONS)
    require(int(starts.max(initial=0)) < 1 << 31, "its labels of words are malformed")
    return SeenLabels(keys, starts.astype("int32"), labels)
