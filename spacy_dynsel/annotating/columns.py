"""Reads the annotations of many Docs at once, as columns."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from spacy.attrs import (
    DEP,
    ENT_IOB,
    ENT_TYPE,
    HEAD,
    IDX,
    LEMMA,
    LENGTH,
    MORPH,
    POS,
    SENT_START,
    TAG,
)
from spacy.morphology import Morphology
from spacy.parts_of_speech import NAMES as PARTS_OF_SPEECH
from spacy.strings import StringStore
from spacy.tokens import Doc

from ..spacy_io.annotations import read_columns
from .schema import CONFIDENCES, ENT_CONFIDENCE, ENTITIES, PROBABILITIES

STRING_ATTRIBUTES = {"tag": TAG, "pos": POS, "morph": MORPH, "lemma": LEMMA, "dep": DEP}
ATTRIBUTES = {
    "token_start": (IDX,),
    "token_end": (IDX, LENGTH),
    **{name: (attribute,) for name, attribute in STRING_ATTRIBUTES.items()},
    "head": (HEAD, DEP),
    "sent_start": (SENT_START, DEP),
    "ents": (ENT_IOB, ENT_TYPE),
}
INSIDE = 1
BEGIN = 3


class DocColumns:
    """The columns of Docs that have one vocabulary.

    docs (Sequence[Doc]): The Docs; None for a document that could not be annotated, which
        has nulls everywhere.
    strings (StringStore): The strings of their vocabulary.
    names (Iterable[str]): What to read, see schema.ANNOTATIONS.
    """

    def __init__(
        self, docs: Sequence[Doc | None], strings: StringStore, names: Iterable[str]
    ) -> None:
        self.docs = docs
        self.strings = strings
        self.names = list(names)
        self.attributes = sorted({a for name in self.names for a in ATTRIBUTES[name]})
        self.lengths = np.array([0 if doc is None else len(doc) for doc in docs], "i4")
        self.is_missing = np.array([doc is None for doc in docs], dtype=bool)
        self.offsets = np.zeros(len(docs) + 1, dtype="i4")
        np.cumsum(self.lengths, out=self.offsets[1:])
        found = [doc for doc in docs if doc is not None]
        columns = read_columns(found, self.attributes)
        self.values = dict(zip(self.attributes, columns, strict=True))

    def read(self) -> dict[str, pa.Array]:
        """All columns; null where a Doc has no annotation of a kind."""
        return {name: self._read(name) for name in self.names}

    def read_lengths(self) -> pa.Array:
        return pa.array(self.lengths, mask=self.is_missing)

    def _read(self, name: str) -> pa.Array:
        if name in STRING_ATTRIBUTES:
            keys = self.values[STRING_ATTRIBUTES[name]]
            return self._make_lists(self._to_strings(name, keys), self._is_set(keys))
        if name == "token_start":
            return self._make_lists(self._to_numbers(self.values[IDX]))
        if name == "token_end":
            ends = self.values[IDX] + self.values[LENGTH]
            return self._make_lists(self._to_numbers(ends))
        if name == "head":
            steps, labels = self.values[HEAD], self.values[DEP]
            heads = steps.view("i8") + self._count_tokens()
            is_set = self._is_set(steps | labels)
            return self._make_lists(self._to_numbers(heads), is_set)
        if name == "sent_start":
            return self._read_sentences()
        return self._read_entities()

    def _read_sentences(self) -> pa.Array:
        values = self.values[SENT_START]
        starts = values == 1
        first = self.offsets[:-1][self.lengths > 0]
        starts[first] = True
        # The first token of a Doc starts a sentence whether anybody has looked or not.
        known = values | self.values[DEP]
        known[first] = self.values[DEP][first]
        is_set = self._is_set(known) | (self.lengths == 1)
        places = np.flatnonzero(starts)
        numbers = self._to_numbers(self._count_tokens()[places])
        return self._make_lists(numbers, is_set, np.searchsorted(places, self.offsets))

    def _read_entities(self) -> pa.Array:
        tags = self.values[ENT_IOB]
        places = np.flatnonzero(tags == BEGIN)
        # An entity ends where a token is not inside of one, or another Doc starts.
        is_stop = np.ones(len(tags) + 1, dtype=bool)
        is_stop[:-1] = tags != INSIDE
        is_stop[self.offsets[:-1]] = True
        stops = np.flatnonzero(is_stop)
        ends = stops[np.searchsorted(stops, places, side="right")]
        numbers = self._count_tokens()
        starts = numbers[places]
        parts = [
            self._to_numbers(starts),
            self._to_numbers(starts + (ends - places)),
            self._to_strings("ents", self.values[ENT_TYPE][places]),
        ]
        entities = pa.StructArray.from_arrays(parts, fields=list(ENTITIES.value_type))
        bounds = np.searchsorted(places, self.offsets)
        return self._make_lists(entities, self._is_set(tags), bounds)

    def _count_tokens(self) -> np.ndarray:
        """The number of each token in its Doc."""
        first = np.repeat(self.offsets[:-1], self.lengths)
        return np.arange(self.offsets[-1], dtype="i8") - first

    def _is_set(self, values: np.ndarray) -> np.ndarray:
        """Which Docs have the annotation anywhere. Those without tokens lack nothing."""
        is_set = self.lengths == 0
        found = np.add.reduceat(values != 0, self.offsets[:-1][~is_set])
        is_set[~is_set] = found > 0
        return is_set

    def _to_numbers(self, values: np.ndarray) -> pa.Array:
        return pa.array(values.astype("i4"))

    def _to_strings(self, name: str, keys: np.ndarray) -> pa.Array:
        encoded = pa.array(keys).dictionary_encode()
        found = encoded.dictionary.to_pylist()
        if name == "pos":
            words = [PARTS_OF_SPEECH[key] for key in found]
        else:
            words = [self.strings[key] for key in found]
        if name == "morph":
            words = ["" if word == Morphology.EMPTY_MORPH else word for word in words]
        return pa.array(words, pa.string()).take(encoded.indices)

    def _make_lists(
        self,
        values: pa.Array,
        is_set: np.ndarray | None = None,
        bounds: np.ndarray | None = None,
    ) -> pa.Array:
        mask = self.is_missing if is_set is None else self.is_missing | ~is_set
        offsets = self.offsets if bounds is None else bounds.astype("i4")
        return pa.ListArray.from_arrays(
            pa.array(offsets), values, mask=pa.array(mask) if mask.any() else None
        )


def read_confidences(docs: Sequence[Doc | None]) -> dict[str, pa.Array]:
    """The probabilities of Docs whose components tell them; null for those that do not."""
    result = {}
    for column, attribute in CONFIDENCES.items():
        rows: list[list[float | None] | None] = []
        for doc in docs:
            data = {} if doc is None else doc.user_data
            row = [data.get(("._.", attribute, token.idx, None)) for token in doc or ()]
            has_any = doc is not None and any(value is not None for value in row)
            rows.append(row if has_any else None)
        result[column] = pa.array(rows, PROBABILITIES)
    result[ENT_CONFIDENCE] = pa.array(
        [
            None if doc is None else [ent._.dynsel_confidence for ent in doc.ents]
            for doc in docs
        ],
        PROBABILITIES,
    )
    return result
