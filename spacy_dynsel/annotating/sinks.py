"""Writers of annotated documents: Parquet, JSONL, CoNLL-U and DocBin."""

import errno
import json
import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from ..base.corpus_errors import CorpusErrors
from ..corpus.conll import EMPTY
from .docs import make_doc
from .journal import is_alive
from .schema import META

_numbers = count()


class Sink(ABC):
    """Writes batches to a file.

    path (Path): The file.
    schema (Schema): That of the batches, with what is known about where they come from.
    """

    suffix: str
    # Whether the file can't be made without the texts.
    needs_text = True

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None: ...

    @abstractmethod
    def close(self) -> None: ...


class ParquetSink(Sink):
    suffix = ".parquet"
    needs_text = False

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        super().__init__(path, schema)
        # The smallest and the largest of all heads are of no use to anybody.
        self._writer = pq.ParquetWriter(
            path, schema, compression="zstd", write_statistics=["id", "n_tokens"]
        )

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()


class LineSink(Sink):
    """Writes lines."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        super().__init__(path, schema)
        self._file = path.open("w", encoding="utf8", newline="\n")

    def write(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            self._file.write(self.format(row))

    @abstractmethod
    def format(self, row: dict[str, Any]) -> str: ...

    def close(self) -> None:
        self._file.close()


class JsonlSink(LineSink):
    """One object a line: the fields of the input, if it was JSONL, and the columns."""

    suffix = ".jsonl"
    needs_text = False

    def format(self, row: dict[str, Any]) -> str:
        fields = json.loads(row.pop(META, None) or "{}")
        if clash := {name: fields.pop(name) for name in list(fields) if name in row}:
            fields[META] = clash
        line = json.dumps({**fields, **row}, ensure_ascii=False)
        try:
            line.encode()
        except UnicodeEncodeError:
            # Half of a character among the fields of others.
            line = json.dumps({**fields, **row})
        return line + "\n"


class ConlluSink(LineSink):
    """White space is no word there, and what is known about it is lost."""

    suffix = ".conllu"

    def format(self, row: dict[str, Any]) -> str:
        lines = [f"# newdoc id = {row['id']}"]
        if row["error"] is not None or row["token_start"] is None:
            return "\n".join([*lines, f"# error = {row['error']}", "", ""])
        text, n = row["text"], row["n_tokens"]
        starts = row["sent_start"] if row["sent_start"] is not None else [0]
        bounds = [*starts, n] if n else []
        words = ConlluWords(row)
        for i, (start, end) in enumerate(pairwise(bounds)):
            found = words.format(start, end)
            if found:
                first, last = row["token_start"][start], row["token_end"][end - 1]
                shown = " ".join(text[first:last].split())
                lines += [f"# sent_id = {row['id']}-{i + 1}", f"# text = {shown}"]
                lines += [*found, ""]
        return "\n".join([*lines, ""] if len(lines) > 1 else [*lines, "", ""])


class ConlluWords:
    """The lines of words."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row
        text, starts, ends = row["text"], row["token_start"], row["token_end"]
        self.words = [text[a:b] for a, b in zip(starts, ends, strict=True)]
        self.is_word = [not word.isspace() for word in self.words]
        self.misc: list[list[str]] = [[] for _ in self.words]
        for ent in row["ents"] or ():
            inside = [i for i in range(ent["start"], ent["end"]) if self.is_word[i]]
            for k, i in enumerate(inside):
                self.misc[i].append(f"NER={'I' if k else 'B'}-{ent['label']}")
        for i, end in enumerate(ends):
            if end < len(text) and not text[end].isspace():
                self.misc[i].append("SpaceAfter=No")

    def format(self, start: int, end: int) -> list[str]:
        """Those of one sentence."""
        numbers: dict[int, int] = {}
        for i in range(start, end):
            if self.is_word[i]:
                numbers[i] = len(numbers) + 1
        return [
            "\t".join([str(number), *self._format_word(i, numbers)])
            for i, number in numbers.items()
        ]

    def _format_word(self, i: int, numbers: dict[int, int]) -> list[str]:
        row = self.row

        def get(name: str) -> str:
            return (row[name][i] if row[name] is not None else "") or EMPTY

        head, dep = EMPTY, EMPTY
        if row["head"] is not None:
            above = row["head"][i]
            # White space may be a head in the eyes of others.
            while above not in numbers and row["head"][above] != above:
                above = row["head"][above]
            is_root = above == i or above not in numbers
            head = "0" if is_root else str(numbers[above])
            dep = "root" if is_root else get("dep")
        fields = [get(name) for name in ("lemma", "pos", "tag", "morph")]
        misc = "|".join(self.misc[i]) or EMPTY
        word = "".join(self.words[i].split())
        return [word, *fields, head, dep, EMPTY, misc]


class DocBinSink(Sink):
    """Keeps the documents of a file in memory, as DocBins do."""

    suffix = ".spacy"

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        super().__init__(path, schema)
        self._found = DocBin(store_user_data=True)

    def write(self, batch: pa.RecordBatch) -> None:
        vocab = Vocab()
        for row in batch.to_pylist():
            self._found.add(make_doc(row, vocab))

    def close(self) -> None:
        self.path.write_bytes(self._found.to_bytes())


SINKS: dict[str, type[Sink]] = {
    "parquet": ParquetSink,
    "jsonl": JsonlSink,
    "conllu": ConlluSink,
    "docbin": DocBinSink,
}


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A file beside another one, which takes its place when all went well. Its name is
    hidden from those who read the folder.

    RETURNS (Path): Where to write.
    """
    mark = f"{socket.gethostname()}.{os.getpid()}.{next(_numbers)}"
    beside = path.with_name(f".{path.name}.{mark}.part")
    try:
        for old in path.parent.glob(f".{path.name}.*.part"):
            _remove_dead(old)
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        reason = error.strerror or error
        if error.errno == errno.ENOSPC:
            reason = "no space is left on the device"
        raise ValueError(CorpusErrors.DS325.format(path=path, reason=reason)) from error
    finally:
        beside.unlink(missing_ok=True)


def _remove_dead(path: Path) -> None:
    """Remove what a process has left that died."""
    host, pid, _, _ = path.name.rsplit(".", 3)[-4:]
    if host.endswith(socket.gethostname()) and not is_alive(
        socket.gethostname(), int(pid)
    ):
        path.unlink(missing_ok=True)
