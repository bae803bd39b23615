"""What training data say about the labels of words, and the sequences to learn from."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc

from ...spacy_io.tokens import find_words, hand_on_starts, read_sent_starts
from .train import MISSING


class GoldDoc(NamedTuple):
    """A doc with what is known about its labels.

    doc (Doc): The doc.
    labels (array): For each token what WordExamples takes; white space does not count.
    sent_starts (array): For each token 1 if a sentence starts there.
    """

    doc: Doc
    labels: np.ndarray
    sent_starts: np.ndarray

    @property
    def is_known(self) -> bool:
        """Whether there is anything to learn."""
        return bool((self.labels != MISSING).any())


class GoldWords(NamedTuple):
    """A GoldDoc without white space: labels and sent_starts are those of its words."""

    doc: Doc
    words: np.ndarray
    labels: np.ndarray
    sent_starts: np.ndarray


def take_words(gold: GoldDoc) -> GoldWords:
    """Leave out white space."""
    words = find_words(gold.doc)
    starts = hand_on_starts(gold.sent_starts, words)
    return GoldWords(gold.doc, words, gold.labels[words], starts)


def with_labels(
    doc: Doc, words: np.ndarray, labels: Sequence[int], starts: np.ndarray
) -> GoldDoc:
    """A doc with what is known about its words.

    words (array): The words.
    labels (Sequence[int]), starts (array): Of each word its label and whether a
        sentence starts there.
    """
    of_tokens = np.full(len(doc), MISSING, dtype="int32")
    of_tokens.put(words, np.array(labels, dtype="int32"))
    sent_starts = np.zeros(len(doc), dtype="int32")
    sent_starts.put(words, starts)
    return GoldDoc(doc, of_tokens, sent_starts)


def without_labels(doc: Doc) -> GoldWords:
    """A doc that is to be tagged."""
    labels = np.full(len(doc), MISSING, dtype="int32")
    return take_words(GoldDoc(doc, labels, read_sent_starts(doc)))


def whole_docs(batch: Sequence[GoldWords]) -> np.ndarray:
    """Each doc as a sequence of its own: pairs of start and end, counted in words."""
    lengths = np.array([len(gold.words) for gold in batch], dtype="int64")
    ends = np.cumsum(lengths)
    return np.stack([ends - lengths, ends], axis=1)


def make_ranges(batch: Sequence[GoldWords], copies: str) -> np.ndarray:
    """The sequences to learn from.

    Sentences are what the gold sentence starts say, and documents the whole docs; but
    where docs are single sentences, the batch laid end to end stands in for a
    document, so that what happens at unmarked boundaries is learned all the same.
    """
    sentences: list[tuple[int, int]] = []
    documents: list[tuple[int, int]] = []
    open_document = False  # whether the last document can take in more sentences
    for (start, end), gold in zip(whole_docs(batch).tolist(), batch, strict=True):
        inner = np.flatnonzero(gold.sent_starts[1:] == 1) + 1 + start
        bounds = [start, *inner.tolist(), end]
        sentences += pairwise(bounds)
        is_sentence = len(bounds) == 2
        if is_sentence and open_document:
            documents[-1] = (documents[-1][0], end)
        else:
            documents.append((start, end))
        open_document = is_sentence
    if copies == "sentences":
        ranges = sentences
    elif copies == "documents":
        ranges = documents
    else:
        known = set(sentences)
        ranges = sentences + [pair for pair in documents if pair not in known]
    return np.array(ranges, dtype="int64").reshape(-1, 2)
