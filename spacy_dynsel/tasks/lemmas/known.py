"""Lemmas that training data have: of two scripts that are nearly as good, the one that
makes such a lemma is more likely to be right ("promised", "promise" or "promis")."""

from collections.abc import Iterable

import numpy as np
from spacy.strings import get_string_id

from ...core.model_file import require

SECTION = "known"
# By how much a script may be behind one that makes a lemma which is not known. Chosen on
# the development data of EWT and Bosque.
KNOWN_LEAD = 5.0
# Keeps the parts of speech of a lemma apart.
_SPREAD = 0x9E3779B97F4A7C15


class KnownLemmas:
    """Lemmas with their parts of speech, as hashes.

    keys (Iterable[int]): The hashes, see find_key.
    """

    def __init__(self, keys: Iterable[int] = ()) -> None:
        self._keys = frozenset(keys)

    def __len__(self) -> int:
        return len(self._keys)

    def has(self, lemma: str, pos: int) -> bool:
        """Whether training data have a lemma with a part of speech."""
        return find_key(lemma, pos) in self._keys

    def add(self, lemmas: Iterable[tuple[str, int]]) -> "KnownLemmas":
        """These lemmas and others."""
        new = {find_key(lemma, pos) for lemma, pos in lemmas} - self._keys
        return KnownLemmas(self._keys | new) if new else self

    def to_array(self) -> np.ndarray:
        """The lemmas as a section of a file."""
        return np.array(sorted(self._keys), dtype="uint32")


def find_key(lemma: str, pos: int) -> int:
    """A hash of a lemma and a token.pos."""
    return (get_string_id(lemma) + pos * _SPREAD) >> 32 & 0xFFFFFFFF


def load_known(arrays: dict[str, np.ndarray]) -> KnownLemmas:
    """What to_array has written."""
    keys = arrays.get(SECTION)
    require(
        keys is not None
        and keys.dtype == np.uint32
        and bool(np.all(keys[1:] > keys[:-1])),
        "its known lemmas are malformed",
    )
    return KnownLemmas(keys.tolist())  # type: ignore[union-attr]
