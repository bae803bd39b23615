"""Links that a user sets or forbids, and the nearest tree that respects them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc

from ...base.errors import Errors
from ...base.system_errors import SystemErrors
from ...core.eisner import ROOT, LinkForest
from ...spacy_io.tokens import find_words, hand_on_starts, read_sent_starts
from .rules import Rules, find_joined

FREE = -1
# Up to this many words, all links are tried to mend a tree; in longer sentences those of
# the tree, and those that connect what is set.
MAX_WORDS_FOR_ALL = 300
# What a link of the old tree is worth: more than the lengths of all others.
KEPT = 1 << 24


class Constraints(NamedTuple):
    """What is set for the tree of a doc.

    heads (array): For each token the index of its head, its own for a root, -1 where
        nothing is set.
    forbidden (array): Links that must not be there: child * number of tokens + head.
    """

    heads: np.ndarray
    forbidden: np.ndarray

    @property
    def is_bound(self) -> np.ndarray:
        """For each token whether its head is set, or one of its heads forbidden."""
        bound = self.heads != FREE
        bound[self.forbidden // max(1, len(bound))] = True
        return bound

    def to_rules(self) -> Rules:
        return Rules(self.heads, self.forbidden)

    def with_heads(self, heads: np.ndarray) -> "Constraints":
        return self._replace(heads=heads)

    def without(self, child: int, head: int) -> "Constraints":
        """The same with a link that is forbidden."""
        link = child * len(self.heads) + head
        place = int(np.searchsorted(self.forbidden, link))
        return self._replace(forbidden=np.insert(self.forbidden, place, link))

    def forbids(self, children: np.ndarray, heads: np.ndarray) -> np.ndarray:
        return np.isin(
            children.astype("int64") * len(self.heads) + heads, self.forbidden
        )

    def are_kept(self, heads: np.ndarray) -> np.ndarray:
        """For each token whether a head is as it has to be."""
        is_set = (self.heads == FREE) | (self.heads == heads)
        return is_set & ~self.forbids(np.arange(len(heads)), heads)


def read_constraints(
    doc: Doc, heads: Mapping[int, int] | None, forbid: Iterable[Any], name: str
) -> Constraints:
    """Check what a user wants.

    heads (Mapping): For the indices of some words the indices of their heads.
    forbid (Iterable): Pairs of the indices of a word and of one that must not be its head.
    name (str): The component, for errors.
    """
    if not isinstance(doc, Doc):
        raise TypeError(Errors.DS215.format(found=type(doc)))
    if not isinstance(heads or {}, Mapping) or not isinstance(forbid, Iterable):
        what = "they are no dict of heads and no set of pairs"
        raise ValueError(SystemErrors.DS260.format(name=name, what=what))
    n = len(doc)
    is_word = np.zeros(n, dtype=bool)
    is_word[find_words(doc)] = True

    def check_pair(pair: Any) -> tuple[int, int]:
        if not isinstance(pair, tuple) or len(pair) != 2:
            what = f"{pair!r} is no pair of a word and a head"
            raise ValueError(SystemErrors.DS260.format(name=name, what=what))
        for index in pair:
            if not isinstance(index, int | np.integer) or isinstance(index, bool):
                what = f"{index!r} is no index"
            elif not 0 <= index < n:
                what = f"there is no token {index} among {n}"
            elif not is_word[index]:
                what = f"token {index} is white space"
            else:
                continue
            raise ValueError(SystemErrors.DS260.format(name=name, what=what))
        return int(pair[0]), int(pair[1])

    found = np.full(n, FREE, dtype="int32")
    for child, head in map(check_pair, (heads or {}).items()):
        found[child] = head
    links = sorted({child * n + head for child, head in map(check_pair, forbid)})
    constraints = Constraints(found, np.array(links, dtype="int64"))
    clash = np.flatnonzero(~constraints.are_kept(found) & (found != FREE))
    if len(clash):
        what = f"the head of token {clash[0]} is both set and forbidden"
        raise ValueError(SystemErrors.DS260.format(name=name, what=what))
    words = find_words(doc)
    starts = hand_on_starts(read_sent_starts(doc), words)
    crossed = words[(starts == 1) & (find_joined(found)[words] != 0)]
    if len(crossed):
        what = f"a link crosses the sentence start that is set at token {crossed[0]}"
        raise ValueError(SystemErrors.DS260.format(name=name, what=what))
    return constraints


def mend_trees(
    doc: Doc, heads: np.ndarray, starts: np.ndarray, constraints: Constraints
) -> np.ndarray | None:
    """Put, in the place of each tree that breaks constraints, the tree that respects them
    and has most of its links.

    heads (array), starts (array): The trees and where sentences start, see ParseBatch.
    RETURNS (array): The heads that are new, -1 elsewhere; None if there is no such tree.
    """
    found = np.full(len(heads), FREE, dtype="int32")
    are_kept = constraints.are_kept(heads)
    words = find_words(doc)
    sentences = np.cumsum(starts)[words]
    for number in np.unique(sentences[~are_kept[words]]):
        sentence = words[sentences == number]
        tree = _find_nearest(sentence, heads, constraints)
        if tree is None:
            return None
        found[sentence] = np.where(tree == ROOT, sentence, sentence[tree])
    return found


def _find_nearest(
    sentence: np.ndarray, heads: np.ndarray, constraints: Constraints
) -> np.ndarray | None:
    n = len(sentence)
    numbers = np.full(len(heads) + 1, FREE, dtype="int64")
    numbers[sentence] = np.arange(n)
    old = numbers[heads[sentence]]
    old[old == np.arange(n)] = ROOT
    fixed = numbers[constraints.heads[sentence]]
    is_root = constraints.heads[sentence] == sentence
    is_fixed = constraints.heads[sentence] != FREE
    if (is_fixed & (fixed == FREE)).any():
        return None
    fixed[is_root] = ROOT
    if n <= MAX_WORDS_FOR_ALL:
        above, below = (side.ravel() for side in np.mgrid[-1:n, 0:n])
    else:
        above, below = _find_connecting(old, fixed, is_fixed)
    tokens = sentence[below]
    is_good = (above != below) & np.where(is_fixed[below], fixed[below] == above, True)
    is_good &= ~constraints.forbids(
        tokens, np.where(above == ROOT, tokens, sentence[above])
    )
    above, below = above[is_good], below[is_good]
    lengths = np.where(above == ROOT, 0, np.abs(above - below))
    scores = np.where(old[below] == above, KEPT, 0) - lengths
    best = LinkForest(
        n, above.astype("int32"), below.astype("int32"), scores.astype("int64")
    ).find_best()
    return None if best is None else best[0]


def _find_connecting(
    old: np.ndarray, fixed: np.ndarray, is_fixed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The links of a tree, those that are set, and for each word those to the root and to
    the words beside what is set to be below it: with these there is a tree, if links that
    are set allow one."""
    n = len(old)
    words = np.arange(n)
    first, last = words.copy(), words.copy()
    for child in np.flatnonzero(is_fixed).tolist():
        low, high, head = first[child], last[child], fixed[child]
        while head != ROOT and (first[head] > low or last[head] < high):
            low = first[head] = min(first[head], low)
            high = last[head] = max(last[head], high)
            if not is_fixed[head]:
                break
            head = fixed[head]
    above = [old, np.where(is_fixed, fixed, old), np.full(n, ROOT), first - 1, last + 1]
    links = {
        (head, child)
        for heads in above
        for child, head in enumerate(heads.tolist())
        if head < n
    }
    ordered = np.array(sorted(links), dtype="int64")
    return ordered[:, 0], ordered[:, 1]
