"""Lists of names that help to recognize entities.

A list is a text file with one entry a line, or any iterable of entries. Lists are read
when a component is initialized, and matched in both ways: with and without regard to
case. By default their compiled form becomes part of the model, so that a pipeline which
was saved needs the files no longer.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ...base.errors import Errors
from ...core.checksum import checksum
from ...core.model_file import require
from ..word_tables import is_lookup
from .gazetteer import MAX_ENTRY_TOKENS, MAX_LISTS, compile_lists

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# Tokenizers may take time that grows with the square of the length.
MAX_ENTRY_CHARACTERS = 1000
ARRAYS = ("folded_keys", "folded_lists", "exact_keys", "exact_lists")


class Gazetteers:
    """Named lists of entries.

    paths (Mapping): Files, by the names of their lists.
    entries (Mapping): Iterables of entries, by the names of their lists.
    tokenize (bool): Whether the tokenizer of the pipeline divides entries into words;
        else white space does.
    embed (bool): Whether models hold the lists. If not, files are read when a pipeline
        is loaded.
    """

    def __init__(
        self,
        paths: Mapping[str, str | Path] | None = None,
        entries: Mapping[str, Iterable[str]] | None = None,
        *,
        tokenize: bool = True,
        embed: bool = True,
    ) -> None:
        self.paths = {name: Path(path) for name, path in (paths or {}).items()}
        self.entries = {}
        for name, lines in (entries or {}).items():
            if isinstance(lines, str) or not isinstance(lines, Iterable):
                raise ValueError(Errors.DS117.format(name=name))
            self.entries[name] = list(lines)
        self.tokenize = tokenize
        self.embed = embed
        both = sorted(self.paths.keys() & self.entries.keys())
        if both:
            raise ValueError(Errors.DS113.format(name=both[0]))
        if len(self.names) > MAX_LISTS:
            raise ValueError(
                Errors.DS114.format(n_lists=len(self.names), most=MAX_LISTS)
            )
        for name in self.names:
            if not _NAME.fullmatch(name):
                raise ValueError(Errors.DS115.format(name=name))
        if tokenize and not embed:
            raise ValueError(Errors.DS116)

    @property
    def names(self) -> list[str]:
        """The names of the lists, sorted."""
        return sorted([*self.paths, *self.entries])

    def read(self) -> dict[str, list[str]]:
        """The entries of all lists."""
        return {
            name: _read_file(self.paths[name])
            if name in self.paths
            else _check_entries(name, self.entries[name])
            for name in self.names
        }

    def compile(
        self, tokenizer: Callable[[str], Doc] | None = None
    ) -> dict[str, np.ndarray]:
        """Read the lists into the arrays that a model keeps.

        tokenizer (Callable): Divides entries into words; if missing, white space does.
        """
        vocab = getattr(tokenizer, "vocab", None)
        if vocab is None or vocab.in_memory_zone:
            return self._compile(tokenizer)
        with vocab.memory_zone():
            return self._compile(tokenizer)

    def _compile(self, tokenizer: Callable[[str], Doc] | None) -> dict[str, np.ndarray]:
        lists = []
        for name, entries in self.read().items():
            phrases = []
            for line, entry in enumerate(entries, start=1):
                if tokenizer is not None and self.tokenize:
                    if len(entry) > MAX_ENTRY_CHARACTERS:
                        raise ValueError(
                            Errors.DS200.format(
                                name=name,
                                line=line,
                                start=entry[:20],
                                n_characters=len(entry),
                                most=MAX_ENTRY_CHARACTERS,
                            )
                        )
                    words = [
                        token.text for token in tokenizer(entry) if not token.is_space
                    ]
                else:
                    words = entry.split()
                if len(words) > MAX_ENTRY_TOKENS:
                    raise ValueError(
                        Errors.DS112.format(
                            name=name,
                            line=line,
                            start=" ".join(words[:3]),
                            n_tokens=len(words),
                            most=MAX_ENTRY_TOKENS,
                        )
                    )
                # Names are not put into the vocabulary, which is saved as well.
                phrases.append(
                    (
                        [get_string_id(word) for word in words],
                        [get_string_id(word.lower()) for word in words],
                    )
                )
            lists.append(phrases)
        return compile_lists(lists)


def _check_entries(name: str, entries: list[Any]) -> list[str]:
    if not all(isinstance(entry, str) for entry in entries):
        raise ValueError(Errors.DS117.format(name=name))
    kept = [entry.strip() for entry in entries if entry.strip()]
    if not kept:
        raise ValueError(Errors.DS111.format(name=name, source="what was given for it"))
    return kept


def _read_file(path: Path) -> list[str]:
    try:
        # Some editors write a mark at the start, which is not part of the first entry.
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(Errors.DS110.format(path=path, reason=error)) from error
    if "\0" in text:
        raise ValueError(Errors.DS110.format(path=path, reason="it is not a text file"))
    entries = [line.strip() for line in text.split("\n") if line.strip()]
    if not entries:
        raise ValueError(Errors.DS111.format(name=path.stem, source=f"'{path}'"))
    return entries


def make_gazetteers(
    paths: dict[str, Path] | None = None,
    # Any iterables of strings: other registered functions may give them.
    entries: dict[str, Any] | None = None,
    tokenize: bool = True,
    embed: bool = True,
) -> Gazetteers:
    """Lists of names for a config; see Gazetteers."""
    return Gazetteers(paths, entries, tokenize=tokenize, embed=embed)


def check_arrays(arrays: dict[str, np.ndarray], n_lists: int) -> None:
    """Raise an error unless the sections of a file are what compile_lists makes."""
    require(set(ARRAYS) <= set(arrays), "it lacks its gazetteers")
    for kind in ("folded", "exact"):
        keys, lists = arrays[f"{kind}_keys"], arrays[f"{kind}_lists"]
        require(
            is_lookup(keys, lists, "uint32")
            and int(keys.min(initial=1)) > 0
            and int(lists.max(initial=0)) < 1 << n_lists,
            "its gazetteers are malformed",
        )


def get_checksum(arrays: dict[str, np.ndarray]) -> int:
    """What tells lists with other entries apart."""
    return int(checksum(b"".join(arrays[name].tobytes() for name in ARRAYS)))
