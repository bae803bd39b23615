"""Corpora in files: what there is to read, in parts of which each is one job."""

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from ..base.corpus_errors import CorpusErrors
from ..base.errors import Errors
from .annotator import Annotator, Rows, combine, get_strings
from .schema import META

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jsonl.gz": "jsonl",
    ".ndjson.gz": "jsonl",
    ".txt": "text",
    ".txt.gz": "text",
    ".spacy": "docbin",
}
KNOWN = ", ".join(FORMATS)
BLOCK = 1 << 20


class Part(NamedTuple):
    """A part of a file, which is annotated by one process at a time.

    path (str): The file.
    name (str): What the output is named after.
    format (str): One of FORMATS.
    start (int), end (int): The bytes of lines, or the row groups.
    first (int): The number of its first row or line in the file.
    n_bytes (int): Its size.
    """

    path: str
    name: str
    format: str
    start: int
    end: int
    first: int
    n_bytes: int


def find_format(path: Path) -> str:
    for suffix, found in FORMATS.items():
        if path.name.lower().endswith(suffix):
            return found
    raise ValueError(CorpusErrors.DS320.format(path=path, known=KNOWN))


def find_inputs(paths: Iterable[Path]) -> dict[str, Path]:
    """The files to read by the names of their outputs: those that are given, and those in
    folders that are given."""
    paths = list(paths)
    found: dict[str, Path] = {}
    for given in paths:
        files = [given]
        if given.is_dir():
            files = [
                path for path in sorted(given.rglob("*")) if _is_input(path, given)
            ]
        elif not given.exists():
            reason = "there is no such file"
            raise ValueError(CorpusErrors.DS322.format(path=given, reason=reason))
        for path in files:
            find_format(path)
            inside = path.relative_to(given) if given.is_dir() else Path(path.name)
            name = "__".join(inside.parts)
            if name in found and found[name].resolve() != path.resolve():
                raise ValueError(
                    CorpusErrors.DS326.format(name=name, first=found[name], second=path)
                )
            found[name] = path
    if not found:
        shown = ", ".join(map(str, paths)) or "no path"
        raise ValueError(CorpusErrors.DS321.format(paths=shown, known=KNOWN))
    return found


def _is_input(path: Path, folder: Path) -> bool:
    """What engines write for themselves, and what is hidden, is no input."""
    inside = path.relative_to(folder).parts
    return (
        path.is_file()
        and not any(part.startswith((".", "_")) for part in inside)
        and any(path.name.lower().endswith(suffix) for suffix in FORMATS)
    )


def divide(path: Path, name: str, part_bytes: int) -> list[Part]:
    """The parts of a file. Files that can't be entered in the middle are one part.

    part_bytes (int): The size that a part should have at least, unless it is the last.
    """
    kind = find_format(path)
    try:
        if kind == "parquet":
            cuts = _cut_groups(path, part_bytes)
        elif kind == "docbin" or path.suffix == ".gz":
            cuts = [(0, 0, 0, path.stat().st_size)]
        else:
            cuts = _cut_lines(path, part_bytes)
    except (OSError, pa.ArrowException) as error:
        raise ValueError(CorpusErrors.DS322.format(path=path, reason=error)) from error
    return [
        Part(str(path), name if len(cuts) == 1 else f"{name}.{i:05}", kind, *cut)
        for i, cut in enumerate(cuts)
    ]


def _cut_groups(path: Path, part_bytes: int) -> list[tuple[int, int, int, int]]:
    with pq.ParquetFile(path) as file:
        groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
    cuts = []
    start = first = n_rows = n_bytes = 0
    for i, group in enumerate(groups):
        n_bytes += group.total_byte_size
        n_rows += group.num_rows
        if n_bytes >= part_bytes or i + 1 == len(groups):
            cuts.append((start, i + 1, first, n_bytes))
            start, first, n_bytes = i + 1, n_rows, 0
    return cuts or [(0, 0, 0, 0)]


def _cut_lines(path: Path, part_bytes: int) -> list[tuple[int, int, int, int]]:
    cuts = []
    start = first = place = n_lines = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            if place + len(block) - start > part_bytes:
                # Up to the end of a line.
                block += file.readline()
            place += len(block)
            n_lines += block.count(b"\n")
            if place - start >= part_bytes:
                cuts.append((start, place, first, place - start))
                start, first = place, n_lines
    if place > start or not cuts:
        cuts.append((start, place, first, place - start))
    return cuts


def read_part(
    part: Part, annotator: Annotator, id_column: str | None
) -> Iterator[tuple[Rows, float]]:
    """The documents of a part, some at a time, and which share of it is read then.

    annotator (Annotator): Says how many may come at a time, and where they stand.
    id_column (str): Where ids stand; nowhere if it is empty, and None for "id" where
        there is such a column. Without ids, rows are numbered.
    """
    read = {"parquet": _read_parquet, "docbin": _read_docbin}.get(
        part.format, _read_lines
    )
    try:
        yield from read(part, annotator, id_column)
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        raise ValueError(
            CorpusErrors.DS322.format(path=part.path, reason=error)
        ) from error


def _number(part: Part, i: int) -> str:
    """The id of a row that has none, counted from 1."""
    return f"{os.path.basename(part.path)}:{part.first + i + 1}"


def _read_parquet(
    part: Part, annotator: Annotator, id_column: str | None
) -> Iterator[tuple[Rows, float]]:
    with pq.ParquetFile(part.path) as file:
        known = file.schema_arrow.names
        if id_column is None and "id" in known:
            id_column = "id"
        wanted = {
            annotator.text_column: "text",
            **dict.fromkeys(annotator.keep, "keep"),
        }
        wanted |= {id_column: "ids"} if id_column else {}
        for name, what in wanted.items():
            if name not in known:
                raise ValueError(
                    CorpusErrors.DS312.format(
                        where=f"'{part.path}'",
                        name=name,
                        what=what,
                        option="--keep"
                        if what == "keep"
                        else f"--{what.rstrip('s')}-column",
                        known=", ".join(known),
                    )
                )
        groups = list(range(part.start, part.end))
        total = sum(file.metadata.row_group(i).num_rows for i in groups) or 1
        n = 0
        for batch in file.iter_batches(
            annotator.max_rows, row_groups=groups, columns=list(wanted)
        ):
            table = pa.table(batch)
            texts = get_strings(table, annotator.text_column, "text", "--text-column")
            if id_column:
                ids = get_strings(table, id_column, "ids", "--id-column", numbers=True)
            else:
                ids = [_number(part, n + i) for i in range(len(texts))]
            kept = {name: combine(table.column(name)) for name in annotator.keep}
            n += len(texts)
            yield Rows(ids, texts, [None] * len(texts), kept=kept), n / total


def _read_lines(
    part: Part, annotator: Annotator, id_column: str | None
) -> Iterator[tuple[Rows, float]]:
    is_json = part.format == "jsonl"
    rows: list[tuple[str, str | None, str | None, str]] = []
    n_rows = n_chars = n_bytes = 0
    for i, line in enumerate(_iterate_lines(part)):
        n_bytes += len(line)
        if not line.strip():
            continue
        number = _number(part, i)
        if is_json:
            if not n_rows:
                _check_fields(part, line, annotator.text_column)
            row = _parse_json(line, number, annotator, id_column, part.first + i + 1)
        else:
            row = _parse_text(line, number)
        rows.append(row)
        n_rows += 1
        n_chars += len(row[1] or "")
        if len(rows) == annotator.max_rows or n_chars >= annotator.max_chars:
            yield _make_rows(rows, annotator, is_json), n_bytes / max(1, part.n_bytes)
            rows, n_chars = [], 0
    if rows:
        yield _make_rows(rows, annotator, is_json), 1.0


def _make_rows(rows: list[Any], annotator: Annotator, is_json: bool) -> Rows:
    ids, texts, errors, metas = (list(column) for column in zip(*rows, strict=True))
    kept = {"text": pa.array(texts, pa.string())} if "text" in annotator.keep else {}
    if is_json:
        kept[META] = pa.array(metas, pa.string())
    return Rows(ids, texts, errors, kept=kept)


def _iterate_lines(part: Part) -> Iterator[bytes]:
    if part.path.endswith(".gz"):
        with gzip.open(part.path, "rb") as packed:
            yield from packed
        return
    with open(part.path, "rb") as file:
        file.seek(part.start)
        place = part.start
        while place < part.end and (line := file.readline()):
            place += len(line)
            yield line


def _parse_text(line: bytes, number: str) -> tuple[str, str | None, str | None, str]:
    try:
        return number, line.decode("utf-8-sig").rstrip("\r\n"), None, ""
    except UnicodeDecodeError as error:
        return number, None, f"UnicodeDecodeError: {error}", ""


def _check_fields(part: Part, line: bytes, text_column: str) -> None:
    """If the first line has a text of another name, so have all of them."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(found, dict) and text_column not in found:
        raise ValueError(
            CorpusErrors.DS312.format(
                where=f"'{part.path}'",
                name=text_column,
                what="text",
                option="--text-column",
                known=", ".join(found) or "none",
            )
        )


def _parse_json(
    line: bytes, number: str, annotator: Annotator, id_column: str | None, place: int
) -> tuple[str, str | None, str | None, str]:
    """The id, the text, what is wrong, and the other fields."""
    text, rest = None, ""
    try:
        found = json.loads(line)
        if not isinstance(found, dict):
            raise TypeError(f"it is of type {type(found).__name__}")
        name = found.pop("id" if id_column is None else id_column, None)
        if name is not None:
            # Halves of characters can be written in JSON, and nowhere else.
            str(name).encode()
            number = str(name)
        text = found.pop(annotator.text_column)
        rest = json.dumps(found, ensure_ascii=True) if found else ""
        if isinstance(text, str):
            text.encode()
        elif text is not None:
            raise TypeError(f"the text is of type {type(text).__name__}")
        if id_column and name is None:
            raise ValueError(f"there is no id in '{id_column}'")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        message = CorpusErrors.DS323.format(
            line=place, name=annotator.text_column, reason=reason
        )
        return number, None, message, rest
    return number, text, None, rest


def _read_docbin(
    part: Part, annotator: Annotator, id_column: str | None
) -> Iterator[tuple[Rows, float]]:
    data = Path(part.path).read_bytes()
    try:
        found = DocBin(store_user_data=True).from_bytes(data)
    except Exception as error:
        raise ValueError(Errors.DS154.format(path=part.path)) from error
    docs = found.get_docs(Vocab())
    total = len(found)
    for start in range(0, total, annotator.max_rows):
        rows = Rows([], [], [], [], [])
        for i in range(start, min(start + annotator.max_rows, total)):
            doc = next(docs)
            name = None if id_column == "" else doc.user_data.get("id")
            rows.ids.append(_number(part, i) if name is None else str(name))
            rows.texts.append(doc.text)
            rows.errors.append(doc.user_data.get("error"))
            assert rows.words is not None and rows.spaces is not None
            rows.words.append([token.text for token in doc])
            rows.spaces.append([bool(token.whitespace_) for token in doc])
        if "text" in annotator.keep:
            rows.kept["text"] = pa.array(rows.texts, pa.string())
        yield rows, (start + len(rows.ids)) / total
