"""What of an engine is a cascade: the data to learn from, and what was learned."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...base.settings import LearnerSettings
from ...base.templates import Templates
from ...cascade.model import Cascade
from ...cascade.settings import CascadeSettings
from ...core.model_file import require
from ...core.program import Program
from ..classifier import Part, Stored
from ..engine import MIN_TOKENS_FOR_CUTOFF
from ..labelling.engine import OFFSETS
from ..training_state import check_state

# The types of what a state of training is made of, as they are in a file.
SECTIONS = {
    "numbers": "uint32",
    "counts": "uint32",
    "lengths": "uint32",
    "keys": "uint32",
    "labels": "uint32",
}


class Lesson(NamedTuple):
    """What a doc has to teach.

    keys (array): The keys of the features of its words, of shape (words, templates).
    lengths (array): The number of words of each of its sequences.
    labels (array): The label of each word, or -1.
    """

    keys: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray


class CascadePart(Part):
    """A cascade that is learned again when there is more to learn from.

    name (str): What files call it.
    templates (Templates): The templates.
    lexical (list[str]): The columns of lexemes that they read.
    settings (CascadeSettings): How to learn.
    cutoff (int): How often a feature has to occur in the data.
    """

    sections = tuple(SECTIONS)
    # It leaves out no part of the data for others that read its labels.
    folds: Sequence[Any] = ()

    def __init__(
        self,
        name: str,
        templates: Templates,
        lexical: list[str],
        settings: CascadeSettings,
        cutoff: int,
    ) -> None:
        self.name = name
        self.templates = templates
        self.cascade_settings = settings
        self.cutoff = cutoff
        self.program = Program(templates, lexical, [], OFFSETS)
        self._reset()

    def _reset(self) -> None:
        self.n_labels = 0
        self.seed = 0
        self.is_learning = False
        # Whether it goes on from what was loaded, of whose data nothing is known.
        self.corrects = False
        self.lessons: dict[int, Lesson] = {}
        # What was learned, None if nothing was; and whether that was from all lessons.
        self.cascade: Cascade | None = None
        self.is_current = True

    def copy(self) -> "CascadePart":
        other = super().copy()
        other.lessons = dict(self.lessons)
        return other

    def start(self, n_labels: int, settings: LearnerSettings) -> None:
        self.n_labels = n_labels
        self.seed = settings.seed or 0
        self.is_learning = True

    def resume(self) -> None:
        self.is_learning = True
        self.corrects = self.cascade is not None

    def resize(self, n_labels: int) -> None:
        self.n_labels = n_labels

    def fit_learners(self) -> None:
        """It has room for all labels when it learns."""

    def get_learners(self) -> dict[str, Any]:
        return {self.name: self} if self.is_learning else {}

    def learn(self, lessons: dict[int, Lesson]) -> float:
        """Gather lessons, or correct what was loaded. RETURNS (float): How many words are
        wrong by what was last learned."""
        keys, lengths, labels = self.join(list(lessons.values()))
        offsets = np.arange(0, keys.size + 1, keys.shape[1])
        arrays = (keys.reshape(-1), offsets, lengths)
        n_wrong = int((labels >= 0).sum())
        if self.cascade is not None and len(labels):
            found = self.cascade.predict(*arrays).labels
            n_wrong = int((found != labels)[labels >= 0].sum())
        if self.corrects and self.cascade is not None:
            known = np.where(labels < self.cascade.n_labels, labels, -1)
            self.cascade = self.cascade.correct(*arrays, known)
        else:
            self.lessons.update(lessons)
            self.is_current = False
        return float(n_wrong)

    def join(self, lessons: Sequence[Lesson]) -> tuple[np.ndarray, ...]:
        """The keys, lengths and labels of some lessons, one after the other."""
        nothing = np.zeros((0, len(self.templates.templates)), dtype="uint32")
        return (
            np.concatenate([nothing, *(lesson.keys for lesson in lessons)]),
            np.concatenate([np.zeros(0, "int64"), *(one.lengths for one in lessons)]),
            np.concatenate([np.zeros(0, "int32"), *(one.labels for one in lessons)]),
        )

    def _fit(self) -> Cascade:
        """Learn from all lessons, from the beginning."""
        lessons = list(self.lessons.values())
        keys, lengths, labels = self.join(lessons)
        counts = [len(lesson.lengths) for lesson in lessons]
        groups = np.repeat(np.array(list(self.lessons)), counts)
        is_kept = np.ones(keys.shape, dtype=bool)
        if self.cutoff > 1 and len(keys) >= MIN_TOKENS_FOR_CUTOFF:
            _, inverse, found = np.unique(keys, return_inverse=True, return_counts=True)
            is_kept = (found[inverse] >= self.cutoff).reshape(keys.shape)
        offsets = np.concatenate([[0], np.cumsum(is_kept.sum(axis=1))])
        seed = (self.cascade_settings.seed + self.seed) % 2**32
        cascade = Cascade(replace(self.cascade_settings, seed=seed))
        return cascade.fit(keys[is_kept], offsets, lengths, labels, groups)

    def forget(self) -> list[tuple[Any, str, Any]]:
        return []

    def compile(self, **options: Any) -> Cascade | None:
        if not self.is_current:
            cascade = self._fit()
            self.cascade, self.is_current = cascade, True
        return self.cascade

    # Files.

    def training_meta(self) -> dict[str, Any]:
        return {"seed": self.seed, "corrects": self.corrects}

    def start_again(self, meta: Any) -> None:
        check_state(
            isinstance(meta, dict)
            and isinstance(meta.get("seed"), int)
            and 0 <= meta["seed"] < 2**32
            and isinstance(meta.get("corrects"), bool),
            "it lacks its settings",
        )
        self.is_learning = True
        self.seed = meta["seed"]
        self.corrects = meta["corrects"]

    def get_state(self) -> dict[str, np.ndarray]:
        """All that learning depends on."""
        lessons = list(self.lessons.values())
        keys, lengths, labels = self.join(lessons)
        return {
            "numbers": np.array(list(self.lessons), dtype="uint32"),
            "counts": np.array([len(one.lengths) for one in lessons], dtype="uint32"),
            "lengths": lengths.astype("uint32"),
            "keys": np.ascontiguousarray(keys.reshape(-1), dtype="uint32"),
            "labels": labels.astype("int32").view("uint32"),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over what get_state has given, if it can be used without harm."""
        check_state(
            all(array is not None for array in state.values()), "it lacks a section"
        )
        numbers, counts, lengths, keys, labels = (state[name] for name in SECTIONS)
        labels = labels.view("int32")
        n_templates = len(self.templates.templates)
        n_words = int(lengths.sum(dtype="uint64"))
        check_state(
            all(state[name].dtype == kind for name, kind in SECTIONS.items())
            and len(numbers) == len(counts) == len(set(numbers.tolist()))
            and int(counts.sum(dtype="uint64")) == len(lengths)
            and n_words == len(labels)
            and n_words * n_templates == len(keys)
            and bool(((labels >= -1) & (labels < self.n_labels)).all()),
            "its arrays are malformed",
        )
        table = keys.reshape(-1, n_templates)
        self.lessons = {}
        sequence = word = 0
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            sizes = lengths[sequence : sequence + count].astype("int64")
            end = word + int(sizes.sum())
            self.lessons[number] = Lesson(table[word:end], sizes, labels[word:end])
            sequence, word = sequence + count, end

    def meta(self) -> dict[str, Any]:
        meta = None if self.cascade is None else self.cascade.to_contents()[0]
        return {"templates": self.templates.to_lines(), "cascade": meta}

    def arrays(self) -> dict[str, np.ndarray]:
        return {} if self.cascade is None else self.cascade.to_contents()[1]

    def load(self, stored: Stored) -> "CascadePart":
        require(isinstance(stored.meta, dict), "it lacks its cascade")
        self.templates.check_lines(stored.meta.get("templates"))
        loaded = self.blank()
        loaded.n_labels = stored.n_labels
        meta = stored.meta.get("cascade")
        if meta is not None:
            require(isinstance(meta, dict), "it lacks its cascade")
            loaded.cascade = Cascade.from_contents(meta, stored.arrays)
            require(
                loaded.cascade.n_labels <= stored.n_labels
                and loaded.cascade.settings.order == self.cascade_settings.order
                and loaded.cascade.settings.n_filters
                == self.cascade_settings.n_filters,
                "its cascade has other labels or levels",
            )
        return loaded
