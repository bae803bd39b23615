"""What training data say about trees, their words and their tags."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from spacy.pipeline._parser_internals.nonproj import projectivize
from spacy.tokens import Doc

from ...spacy_io.annotations import read_parse, read_pos, read_tags
from ...spacy_io.tokens import (
    find_blank_lines,
    find_words,
    hand_on_starts,
    read_lowers,
    read_sent_starts,
)
from ..word_tables import lookup_arrays, make_classes
from .features import TagMap, tag_keys
from .trees import classify_tree

MISSING = -1
# How often a word has to occur with a tag to have a part of speech of its own there.
MIN_PAIRS = 5
CLASS_MIN_COUNT = 10
CLASS_MIN_SHARE = 0.1


class GoldParse(NamedTuple):
    """A doc with what is known about its tree; nothing is known about white space.

    doc (Doc): The doc.
    heads (array): For each token the index of its head, its own for a root, -1 where
        it is not known.
    labels (array): For each token the index of its label, -1 where it is not known.
    sent_starts (array): For each token 1 if a sentence starts there, -1 if not, 0
        where it is not known.
    """

    doc: Doc
    heads: np.ndarray
    labels: np.ndarray
    sent_starts: np.ndarray

    @property
    def is_known(self) -> bool:
        """Whether there is anything to learn: arcs, or sentence starts within the
        doc."""
        inner = find_words(self.doc)[1:]
        return bool((self.heads != MISSING).any() or self.sent_starts[inner].any())


class TaggedWords(NamedTuple):
    """What training data say about the words of a doc.

    lowers (array), tags (array), pos (array): For each word string IDs and numbers.
    n_blank_lines (int): How many blank lines there are between words of which it is
        known whether a sentence starts there.
    n_split (int): After how many of them one does.
    """

    lowers: np.ndarray
    tags: np.ndarray
    pos: np.ndarray
    n_blank_lines: int = 0
    n_split: int = 0


class WordFacts(NamedTuple):
    """What training data as a whole say about words.

    classes (tuple): The ambiguity classes of words, as arrays for binary search.
    tags (TagMap): The parts of speech that go with tags.
    n_tokens (int): The number of words.
    splits_blank_lines (bool): Whether blank lines end sentences.
    """

    classes: tuple[np.ndarray, np.ndarray]
    tags: TagMap
    n_tokens: int
    splits_blank_lines: bool


class WordTree(NamedTuple):
    """The trees of a doc without its white space.

    doc (Doc): The doc.
    heads (array): For each word the number of its head among the words, its own for a
        root, MISSING where it is not known or white space.
    deps (array): For each word the string ID of its label.
    starts (array): For each word 1 if a sentence starts there, -1 if not, 0 where it
        is not known.
    is_partial (bool): Whether there are words without annotation.
    """

    doc: Doc
    heads: np.ndarray
    deps: np.ndarray
    starts: np.ndarray
    is_partial: bool


def read_tree(doc: Doc) -> WordTree:
    words = find_words(doc)
    all_heads, deps = read_parse(doc)
    # The last place is for heads that are missing, which have the number -1.
    numbers = np.full(len(doc) + 1, MISSING, dtype="int32")
    numbers.put(words, np.arange(len(words)))
    is_missing = all_heads[words] == MISSING
    starts = hand_on_starts(read_sent_starts(doc), words)
    if is_missing.any() and not is_missing.all():
        # spaCy derives from heads where sentences do not start, missing or not.
        starts[starts == -1] = 0
    heads = numbers.take(all_heads[words])
    return WordTree(doc, heads, deps[words], starts, bool(is_missing.any()))


def lift_arcs(tree: WordTree) -> tuple[list[int], list[str]]:
    """The heads and labels of a gold tree, which is made projective if all of it is
    known: arcs are lifted, and their labels say from where."""
    heads = tree.heads.tolist()
    deps = [tree.doc.vocab.strings[dep] for dep in tree.deps.tolist()]
    if classify_tree(tree.heads) == "crossing" and MISSING not in heads:
        # One by one: it takes time that grows with the square of the length.
        for start, end in find_parts(tree.heads):
            found, labels = projectivize(
                [head - start for head in heads[start:end]], deps[start:end]
            )
            heads[start:end] = [head + start for head in found]
            deps[start:end] = labels
    return heads, deps


def find_parts(heads: np.ndarray) -> list[tuple[int, int]]:
    """The parts of a doc that no arc leaves."""
    tokens = np.arange(len(heads))
    last = np.maximum.accumulate(np.maximum(tokens, heads))
    first = np.minimum.accumulate(np.minimum(tokens, heads)[::-1])[::-1]
    is_end = (last == tokens) & (np.append(first[1:], len(heads)) > tokens)
    ends = (np.flatnonzero(is_end) + 1).tolist()
    return list(pairwise([0, *ends]))


def read_words(doc: Doc) -> TaggedWords:
    words = find_words(doc)
    n_blank_lines = n_split = 0
    if len(words) < len(doc):
        starts = read_tree(doc).starts[find_blank_lines(doc)]
        n_blank_lines = int((starts != 0).sum())
        n_split = int((starts == 1).sum())
    return TaggedWords(
        read_lowers(doc)[words],
        read_tags(doc)[words],
        read_pos(doc)[words],
        n_blank_lines,
        n_split,
    )


def learn_words(examples: Iterable[TaggedWords]) -> WordFacts:
    """Learn which tags a word can have, and the parts of speech that go with tags."""
    words: defaultdict[int, Counter[int]] = defaultdict(Counter)
    by_tag: defaultdict[int, Counter[int]] = defaultdict(Counter)
    by_pair: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    n_tokens = n_blank_lines = n_split = 0
    for example in examples:
        n_tokens += len(example.tags)
        n_blank_lines += example.n_blank_lines
        n_split += example.n_split
        for lower, tag, pos in zip(
            example.lowers.tolist(),
            example.tags.tolist(),
            example.pos.tolist(),
            strict=True,
        ):
            if tag:
                words[lower][tag] += 1
                if pos:
                    by_tag[tag][pos] += 1
                    by_pair[tag, lower][pos] += 1
    by_word = make_classes(words, CLASS_MIN_COUNT, CLASS_MIN_SHARE)
    table = {tag: _most_common(counts) for tag, counts in by_tag.items()}
    pairs = [
        (tag, lower, _most_common(counts))
        for (tag, lower), counts in by_pair.items()
        if counts.total() >= MIN_PAIRS and _most_common(counts) != table[tag]
    ]
    keys = tag_keys(
        np.array([tag for tag, _, _ in pairs], dtype="uint64"),
        np.array([lower for _, lower, _ in pairs], dtype="uint64"),
    )
    table.update(zip(keys.tolist(), (pos for _, _, pos in pairs), strict=True))
    ordered = sorted(table)
    tag_map = TagMap(
        np.array(ordered, dtype="uint64"),
        np.array([table[key] for key in ordered], dtype="uint8"),
    )
    splits = n_blank_lines == 0 or 2 * n_split > n_blank_lines
    return WordFacts(lookup_arrays(by_word), tag_map, n_tokens, splits)


def _most_common(counts: Counter[int]) -> int:
    """The most common value, the smallest of several."""
    return min(counts, key=lambda value: (-counts[value], value))


def gold_starts(batch: list[GoldParse]) -> np.ndarray:
    starts = np.concatenate([gold.sent_starts == 1 for gold in batch])
    return starts.astype("uint8")


def boundary_gold(batch: list[GoldParse]) -> np.ndarray:
    """Where sentences start, as far as it is known and to be learned. Docs of one
    sentence stand in for the sentences of a document, laid end to end."""
    parts = []
    for gold in batch:
        words = find_words(gold.doc)
        known = gold.sent_starts[words]
        starts = np.where(known == 0, -1, known == 1)
        if (starts[1:] == 1).any():
            starts[:1] = -1
        else:
            starts[:1] = 1
        parts.append(np.full(len(gold.doc), -1))
        parts[-1].put(words, starts)
    return np.concatenate(parts).astype("int8")


def find_anchors(gold: GoldParse, split_blank_lines: bool) -> tuple[np.ndarray, ...]:
    """Words and white space.

    split_blank_lines (bool): Whether a blank line ends a sentence.
    RETURNS (tuple): For words what is known about sentence starts, 0 for white space,
        where a start is as good as one at the next word; and for each token itself if
        it is a word, else the word that it hangs on.
    """
    n = len(gold.doc)
    words = find_words(gold.doc)
    known = np.zeros(n, dtype="int32")
    known.put(words, hand_on_starts(gold.sent_starts, words))
    if split_blank_lines and len(words) < n:
        known[words[find_blank_lines(gold.doc) & (known[words] == 0)]] = 1
    known[words[:1]] = 1
    anchors = np.zeros(n, dtype="int32")
    anchors.put(words, words)
    # The last word up to each token; before the first one, that.
    anchors = np.maximum.accumulate(anchors)
    anchors[: words[0] if len(words) else 0] = words[:1]
    return known, anchors
