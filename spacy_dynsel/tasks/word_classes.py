"""What raw text says about words: files that commands write and configs name.

A file is one of core.model_file: words, and columns of numbers, 0 for none. Models take
over what they need of it when they are initialized, and need the file no longer.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from spacy.strings import get_string_id

from ..base.atomic import write_file
from ..base.system_errors import SystemErrors
from ..core.model_file import dump_model, load_model, read_file

FORMAT = 1
TASK = "word classes"
CLUSTERS, CLASSES = KINDS = ("clusters", "classes")
COLUMNS = ("cluster", "tag", "morph")
# Of the paths of clusters.
MAX_DEPTH = 24


class WordClasses:
    """Words with what a command found out about them.

    kind (str): The command: "clusters" or "classes".
    lang (str): The code of the language.
    words (Sequence[str]): The words.
    columns (dict): For each column a number for each word, 0 for none. "cluster": the
        path of its cluster, the first branching in the lowest bit, plus one. "tag" and
        "morph": its ambiguity class.
    settings (dict): How they were made.
    classes (dict): What the numbers of ambiguity classes stand for, from 1 on: for each
        column the labels of each class.
    """

    def __init__(
        self,
        kind: str,
        lang: str,
        words: Sequence[str],
        columns: dict[str, np.ndarray],
        settings: dict[str, Any] | None = None,
        classes: dict[str, list[list[str]]] | None = None,
    ) -> None:
        self.kind = kind
        self.lang = lang
        self.words = list(words)
        self.columns = {
            name: np.asarray(values, dtype="uint32") for name, values in columns.items()
        }
        self.settings = dict(settings or {})
        self.classes = dict(classes or {})

    def get_clusters(self) -> dict[int, int]:
        """The path of each word's cluster, by string IDs."""
        return {word: path - 1 for word, path in self._by_word("cluster").items()}

    def get_classes(
        self, column: str, labels: Sequence[str]
    ) -> dict[int, tuple[int, ...]]:
        """The labels in each word's ambiguity class, by string IDs of lower forms.

        labels (Sequence[str]): The labels of a component. Others are left out, and words
            that have no other.
        """
        index = {label: i for i, label in enumerate(labels)}
        known = [
            tuple(sorted(index[label] for label in one if label in index))
            for one in self.classes[column]
        ]
        by_word = self._by_word(column).items()
        return {word: known[i - 1] for word, i in by_word if known[i - 1]}

    def _by_word(self, column: str) -> dict[int, int]:
        values = self.columns[column].tolist()
        pairs = zip(self.words, values, strict=True)
        return {get_string_id(word): value for word, value in pairs if value}

    def to_bytes(self) -> bytes:
        meta = {
            "task": TASK,
            "format": FORMAT,
            "kind": self.kind,
            "lang": self.lang,
            "settings": self.settings,
            "classes": self.classes,
        }
        text = "\n".join(self.words).encode("utf8")
        words = np.frombuffer(text, dtype="uint8")
        return dump_model(meta, {"words": words, **self.columns})

    def to_disk(self, path: Path) -> None:
        write_file(path, self.to_bytes())

    @classmethod
    def from_disk(cls, path: Path) -> "WordClasses":
        """Read a file, if it is whole."""
        try:
            return cls._from_contents(*load_model(read_file(path)))
        except (OSError, ValueError) as error:
            raise ValueError(
                SystemErrors.DS253.format(path=path, reason=error)
            ) from error

    @classmethod
    def _from_contents(cls, meta: Any, arrays: dict[str, np.ndarray]) -> "WordClasses":
        if meta.get("task") != TASK or "words" not in arrays:
            raise ValueError("it is a file of another kind")
        if meta.get("format") != FORMAT:
            raise ValueError(f"its version is {meta.get('format')}, not {FORMAT}")
        words = arrays.pop("words").tobytes().decode("utf8").split("\n")
        classes = meta.get("classes")
        if (
            meta.get("kind") not in KINDS
            or not isinstance(meta.get("lang"), str)
            or not isinstance(classes, dict)
            or set(arrays) - set(COLUMNS)
            or not all(
                len(column) == len(words)
                and column.dtype == "uint32"
                and _fits(name, int(column.max(initial=0)), classes)
                for name, column in arrays.items()
            )
        ):
            raise ValueError("its contents do not belong together")
        columns = {name: column.copy() for name, column in arrays.items()}
        return cls(
            meta["kind"], meta["lang"], words, columns, meta.get("settings"), classes
        )


def _fits(column: str, highest: int, classes: dict[str, Any]) -> bool:
    """Whether the numbers of a column stand for something."""
    if column == "cluster":
        return highest <= 1 << MAX_DEPTH
    known = classes.get(column)
    return (
        isinstance(known, list)
        and highest <= len(known)
        and all(isinstance(labels, list) for labels in known)
    )


class WordResources:
    """Files with word classes that a model learns with.

    paths (Sequence[Path]): The files; no column may be in two of them. They are read
        when a component is initialized.
    """

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self.paths = [Path(path) for path in paths]

    def read(self, lang: str) -> dict[str, WordClasses]:
        """The files, by the columns that are in them.

        lang (str): The language of the pipeline.
        """
        found: dict[str, WordClasses] = {}
        for path in self.paths:
            one = WordClasses.from_disk(path)
            if one.lang != lang:
                raise ValueError(
                    SystemErrors.DS254.format(path=path, found=one.lang, lang=lang)
                )
            for column in one.columns:
                if column in found:
                    raise ValueError(
                        SystemErrors.DS255.format(path=path, column=column)
                    )
                found[column] = one
        return found


def make_word_classes(paths: list[str]) -> WordResources:
    """Files with word classes for a config; see WordResources."""
    return WordResources(paths)
