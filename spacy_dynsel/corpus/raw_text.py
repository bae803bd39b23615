"""Raw text: read piece by piece, so that neither files nor lines are ever too long."""

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from spacy import util
from spacy.attrs import ORTH
from spacy.language import Language
from spacy.tokenizer import Tokenizer

from ..base.errors import Errors
from ..base.system_errors import SystemErrors
from ..spacy_io.tokens import find_words
from ..tokenizer.cached import CachedTokenizer

BLOCK = 1 << 20
# No word is that long, and a tokenizer would take time over it.
NO_WORD = re.compile(r"\S{200,}")
# How many chunks between spaces the tokenizer remembers.
CACHE_SIZE = 1 << 19
# How many lexemes a vocabulary may have before another one takes its place.
MAX_LEXEMES = 1 << 20


class RawText:
    """Files of plain text, as lines.

    paths (Sequence[Path]): The files.
    lang (str): The language, whose tokenizer finds the words.
    encoding (str): The encoding of all files.
    """

    def __init__(
        self, paths: Sequence[Path], lang: str = "en", encoding: str = "utf-8"
    ) -> None:
        self.paths = [Path(path) for path in paths]
        self.lang = lang
        self.encoding = encoding
        try:
            decoder = codecs.getincrementaldecoder(encoding)
        except LookupError as error:
            raise ValueError(
                SystemErrors.DS250.format(path=self.paths[0], reason=error)
            ) from error
        self._decoder: Any = decoder
        if codecs.lookup(encoding).name == "utf-8":
            # Some editors write a mark at the start, which is not part of the text.
            self._decoder = codecs.getincrementaldecoder("utf-8-sig")

    @property
    def n_bytes(self) -> int:
        return sum(self._stat(path).st_size for path in self.paths)

    @property
    def state(self) -> list[Any]:
        """What tells files apart from others, and from themselves after a change."""
        found = [self._stat(path) for path in self.paths]
        stamps = [(one.st_size, one.st_mtime_ns) for one in found]
        return [self.lang, self.encoding, *map(list, stamps)]

    def read(self, show: Callable[[int], Any] | None = None) -> Iterator[str]:
        """The lines; longer ones than a block in several pieces.

        show (Callable): Takes the number of bytes that were read since the last time.
        """
        for path in self.paths:
            try:
                yield from self._read(path, show)
            except (OSError, UnicodeError) as error:
                raise ValueError(
                    SystemErrors.DS250.format(path=path, reason=error)
                ) from error

    def _read(self, path: Path, show: Callable[[int], Any] | None) -> Iterator[str]:
        decoder = self._decoder("strict")
        rest = ""
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                text = decoder.decode(block)
                if "\0" in text:
                    reason = "it is not a text file, or in another encoding"
                    raise ValueError(
                        SystemErrors.DS250.format(path=path, reason=reason)
                    )
                *lines, rest = NO_WORD.sub(" ", rest + text).split("\n")
                yield from lines
                if len(rest) > BLOCK:
                    place = max(rest.rfind(" "), rest.rfind("\t"), 0)
                    yield rest[:place]
                    rest = rest[place:]
                if show is not None:
                    show(len(block))
            decoder.decode(b"", final=True)
        yield rest

    def _stat(self, path: Path) -> Any:
        try:
            return path.stat()
        except OSError as error:
            raise ValueError(
                SystemErrors.DS250.format(path=path, reason=error)
            ) from error


class WordReader:
    """Finds the words of lines, in a vocabulary that is replaced when it is large.

    text (RawText): The files.
    """

    def __init__(self, text: RawText) -> None:
        self.text = text
        self.nlp = self._make_language()
        self.on_replace: Callable[[], None] | None = None

    def _make_language(self) -> Language:
        try:
            nlp = util.get_lang_class(self.text.lang)()
        except ImportError as error:
            raise ValueError(
                Errors.DS153.format(lang=self.text.lang, reason=error)
            ) from error
        if type(nlp.tokenizer) is Tokenizer:
            nlp.tokenizer = CachedTokenizer.from_tokenizer(nlp.tokenizer, CACHE_SIZE)
        return nlp

    def read(self, show: Callable[[int], Any] | None = None) -> Iterator[np.ndarray]:
        """The string IDs of the words of each line."""
        for line in self.text.read(show):
            if line and not line.isspace():
                doc = self.nlp.tokenizer(line)
                yield doc.to_array(ORTH)[find_words(doc)]
                if len(self.nlp.vocab) > MAX_LEXEMES:
                    if self.on_replace is not None:
                        self.on_replace()
                    self.nlp = self._make_language()

    def get_string(self, key: int) -> str | None:
        strings = self.nlp.vocab.strings
        return strings[key] if key in strings else None  # noqa: SIM401
