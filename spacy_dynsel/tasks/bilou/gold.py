"""What training data say about entities, as actions: O, and B, I, L, U of each label."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from spacy.attrs import ORTH
from spacy.tokens import Doc, Span

from ...spacy_io.tokens import (
    find_words,
    hand_on_starts,
    read_lowers,
    read_sent_starts,
)
from .actions import KEEP
from .train import MISSING


class GoldEntities(NamedTuple):
    """A doc with what is known about its entities.

    doc (Doc): The doc.
    actions (array): For each token its action or MISSING; that of white space follows
        from those of the words beside it.
    sent_starts (array): For each token whether a sentence starts there, a word.
    negatives (list): Spans that are no entities: start, end and index of the label.
        They start and end with words.
    """

    doc: Doc
    actions: np.ndarray
    sent_starts: np.ndarray
    negatives: list[tuple[int, int, int]]

    @property
    def is_known(self) -> bool:
        """Whether there is anything to learn."""
        return bool(self.negatives or (self.actions != MISSING).any())


class FoundEntity(NamedTuple):
    """An entity: the number of its doc, its first token, the token after its last one,
    and the number of its label."""

    doc: int
    start: int
    end: int
    label: int


def action_names(labels: Sequence[str]) -> list[str]:
    """The actions, by their index."""
    return ["O", *(f"{kind}-{label}" for label in labels for kind in "BILU")]


def entity_f(actions: np.ndarray, gold: np.ndarray) -> float:
    """The F1 of entities. Those that lie on a token of which nothing is known, or that
    were set before, do not count.

    actions (array): The predicted action of each token, or KEEP.
    gold (array): The true one, or MISSING.
    """

    def count_without(condition: np.ndarray) -> int:
        sums = np.concatenate([[0], np.cumsum(condition)])
        return int((sums[starts] == sums[ends + 1]).sum())

    starts, ends = find_spans(actions)
    n_found = count_without(gold == MISSING)
    n_right = count_without(gold != actions)
    return 2 * n_right / max(1, n_found + len(find_spans(gold)[0]))


def find_spans(actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where entities start, and their last tokens."""
    actions = actions.astype("int32")
    inside = (actions != 0) & (actions != KEEP) & (actions != MISSING)
    kinds = (actions - 1) % 4
    return (
        np.flatnonzero(inside & np.isin(kinds, (0, 3))),
        np.flatnonzero(inside & np.isin(kinds, (2, 3))),
    )


def find_entities(actions: np.ndarray, ends: np.ndarray) -> list[FoundEntity]:
    """The entities of some docs, apart from those that were set before.

    actions (array): The actions of all tokens of all docs.
    ends (array): The number of tokens up to the end of each doc.
    """
    starts, lasts = find_spans(actions)
    types = (actions[starts].astype("int64") - 1) // 4
    docs = np.searchsorted(ends, starts, side="right")
    offsets = np.concatenate([[0], ends])[docs]
    return [
        FoundEntity(*numbers)
        for numbers in zip(
            docs.tolist(),
            (starts - offsets).tolist(),
            (lasts + 1 - offsets).tolist(),
            types.tolist(),
            strict=True,
        )
    ]


def span_actions(label: int, length: int) -> list[int]:
    """The actions of an entity."""
    first = 1 + 4 * label
    if length == 1:
        return [first + 3]
    return [first, *[first + 1] * (length - 2), first + 2]


def own_starts(doc: Doc) -> np.ndarray:
    words = find_words(doc)
    return mark_starts(doc, words, hand_on_starts(read_sent_starts(doc), words))


def mark_starts(doc: Doc, words: np.ndarray, known: np.ndarray) -> np.ndarray:
    """For each token of a doc whether a sentence starts there, a word.

    words (array): The tokens that are words.
    known (array): For each word 1 if a sentence starts there.
    """
    starts = np.zeros(len(doc), dtype="uint8")
    starts.put(words, known == 1)
    starts[words[:1]] = 1
    return starts


def to_actions(
    iobs: np.ndarray, types: np.ndarray, index: dict[int, int]
) -> np.ndarray:
    """Actions from token.ent_iob and token.ent_type: blocked tokens and entities
    without a label are outside, like what has a type that is not in the index."""
    n = len(iobs)
    actions = np.where(iobs == 0, MISSING, 0).astype("int32")
    inside = (iobs == 1) | (iobs == 3)
    goes_on = np.zeros(n, dtype=bool)
    goes_on[:-1] = iobs[1:] == 1
    for type_, label in index.items():
        here = inside & (types == type_)
        kinds = np.where(iobs == 3, np.where(goes_on, 0, 3), np.where(goes_on, 1, 2))
        actions[here] = (1 + 4 * label + kinds)[here]
    return actions


def count_lowered(docs: Iterable[Doc]) -> Counter[int]:
    """In how many docs words are written in lower case. Docs without any capital do not
    count: in these, names are written like other words."""
    counts: Counter[int] = Counter()
    for doc in docs:
        words = find_words(doc)
        orths, lowers = doc.to_array(ORTH)[words], read_lowers(doc)[words]
        is_lower = orths == lowers
        if not is_lower.all():
            counts.update(set(lowers[is_lower].tolist()))
    return counts


def hand_on_ends(actions: np.ndarray, words: np.ndarray) -> None:
    """Let entities begin and end with words: what stands at white space is handed on to
    the token beside it.

    actions (array): Those of all tokens, which are changed.
    words (array): The tokens that are words.
    """
    spaces = np.setdiff1d(np.arange(len(actions)), words).tolist()
    for i in spaces:
        # From B to the I or L after it.
        if actions[i] % 4 == 1 and i + 1 < len(actions):
            if actions[i + 1] == actions[i] + 1:
                actions[i + 1] = actions[i]
            elif actions[i + 1] == actions[i] + 2:
                actions[i + 1] = actions[i] + 3
    for i in reversed(spaces):
        # From L to the B or I before it.
        if actions[i] > 0 and actions[i] % 4 == 3 and i:
            if actions[i - 1] == actions[i] - 1:
                actions[i - 1] = actions[i]
            elif actions[i - 1] == actions[i] - 2:
                actions[i - 1] = actions[i] + 1


def put_at(words: np.ndarray, found: np.ndarray, n_tokens: int) -> np.ndarray:
    """The actions of all tokens, given those of words: white space within an entity
    goes on with it, other white space is as well known as the word before it."""
    actions = np.full(n_tokens, MISSING, dtype="int32")
    actions.put(words, found)
    if len(words) < n_tokens:
        last = MISSING
        is_word = np.zeros(n_tokens, dtype=bool)
        is_word[words] = True
        for i in range(n_tokens):
            if is_word[i]:
                last = actions[i]
            elif last > 0 and last % 4 in (1, 2):
                actions[i] = last - last % 4 + 2
            elif last != MISSING:
                actions[i] = 0
    return actions


def trim(span: Span) -> range:
    """The tokens of a span without white space around it."""
    words = find_words(span.doc)
    words = words[(words >= span.start) & (words < span.end)].tolist()
    return range(words[0], words[-1] + 1) if words else range(0)
