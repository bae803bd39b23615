"""The callable that all engines take: tables of texts in, tables of annotations out."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from spacy.language import Language
from spacy.tokens import Doc

from ..base.corpus_errors import CorpusErrors
from ..base.settings import check_number
from . import pipelines
from .columns import DocColumns, read_confidences
from .journal import Watched, watch
from .schema import ANNOTATIONS, add_metadata, make_schema, to_spark


@dataclass
class Rows:
    """Documents that are to be annotated.

    ids (list[str]), texts (list[str]): Their names and texts.
    errors (list[str]): What is wrong with a row; None for those that are fine.
    words (list), spaces (list): The words, and whether a space follows each, where a
        document is more than its text.
    kept (dict[str, Array]): Columns that are handed on.
    """

    ids: list[str]
    texts: list[str | None]
    errors: list[str | None]
    words: list[list[str]] | None = None
    spaces: list[list[bool]] | None = None
    kept: dict[str, pa.Array] = field(default_factory=dict)

    def slice(self, start: int, end: int) -> "Rows":
        n = end - start
        return Rows(
            self.ids[start:end],
            self.texts[start:end],
            self.errors[start:end],
            None if self.words is None else self.words[start:end],
            None if self.spaces is None else self.spaces[start:end],
            {name: values.slice(start, n) for name, values in self.kept.items()},
        )


@dataclass(frozen=True)
class Annotator:
    """Annotates tables of texts. It holds no more than these settings, so it can be sent
    anywhere; each process loads the pipeline once, on first use.

    Called with an Arrow table or record batch, it returns the same kind; called with an
    iterator of record batches, it yields record batches.

    pipeline (str): Name of a package, or path.
    columns (tuple[str, ...]): What to write, see the page about corpora. All by default.
    keep (tuple[str, ...]): Columns of the input to hand on, such as the text.
    text_column (str), id_column (str): Where texts and their ids stand.
    words_column (str), spaces_column (str): Where the words of texts stand, and whether a
        space follows each, if the tokenizer is not to find them.
    confidence (bool): Whether to write probabilities too, see Confidence.
    disable (tuple[str, ...]): Components that are not to run.
    max_rows (int), max_chars (int): How much shares a memory zone at most.
    max_length (int): Longer texts, in characters, are errors.
    journal (str): A folder for notes, by which documents are found that kill processes.
    code (str): A Python file to import before the pipeline is loaded.
    """

    pipeline: str
    columns: tuple[str, ...] = tuple(ANNOTATIONS)
    keep: tuple[str, ...] = ()
    text_column: str = "text"
    id_column: str = "id"
    words_column: str = ""
    spaces_column: str = ""
    confidence: bool = False
    disable: tuple[str, ...] = ()
    max_rows: int = 1000
    max_chars: int = 200_000
    max_length: int = 1_000_000
    journal: str = ""
    code: str = ""

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            # Paths, and lists as JSON has them.
            if isinstance(value, list):
                object.__setattr__(self, one.name, tuple(value))
            elif isinstance(value, Path):
                object.__setattr__(self, one.name, str(value))
        for name in self.columns:
            if name not in ANNOTATIONS:
                known = ", ".join(ANNOTATIONS)
                raise ValueError(CorpusErrors.DS311.format(name=name, known=known))
        object.__setattr__(self, "keep", tuple(dict.fromkeys(self.keep)))
        if twice := [name for name in self.keep if name in self.schema.names]:
            raise ValueError(
                CorpusErrors.DS329.format(
                    wanted="columns to keep whose names are not those of annotations",
                    found=", ".join(map(repr, twice)),
                )
            )
        for name in ("max_rows", "max_chars", "max_length"):
            check_number(name, getattr(self, name), 1, 1 << 30)

    @property
    def schema(self) -> pa.Schema:
        """The schema of what comes out, without columns that are kept."""
        return make_schema(self.columns, confidence=self.confidence)

    @property
    def spark_schema(self) -> str:
        """The same for Spark."""
        return to_spark(self.schema)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that matter for what comes out."""
        apart = ("pipeline", "journal", "max_rows", "max_chars")
        return {
            name: value for name, value in asdict(self).items() if name not in apart
        }

    def __call__(self, batch: Any) -> Any:
        """Annotate a table, a record batch, or an iterator of record batches."""
        if isinstance(batch, pa.Table):
            return self._annotate_table(batch)
        if isinstance(batch, pa.RecordBatch):
            [result] = (
                self._annotate_table(pa.table(batch)).combine_chunks().to_batches()
            )
            return result
        if isinstance(batch, Iterable) and not isinstance(batch, (str, bytes, dict)):
            return self._annotate_batches(batch)
        wanted = "an Arrow table, a record batch, or an iterator of record batches"
        raise ValueError(
            CorpusErrors.DS329.format(wanted=wanted, found=type(batch).__name__)
        )

    def annotate_rows(self, rows: Rows) -> Iterator[pa.RecordBatch]:
        """Annotate documents, one batch for each memory zone."""
        for start, end in self._find_cuts(rows.texts):
            yield self._annotate_zone(rows.slice(start, end))

    def describe(self) -> dict[str, Any]:
        """What stands in the metadata of tables. Loads the pipeline."""
        loaded = self._get_pipeline()
        with loaded.lock:
            described = pipelines.describe_pipeline(loaded.nlp)
        return {"pipeline": described, "settings": self.settings}

    def _get_pipeline(self) -> pipelines.LoadedPipeline:
        return pipelines.get_pipeline(
            pipelines.PipelineKey(
                self.pipeline, self.disable, self.confidence, self.code
            )
        )

    def _annotate_batches(
        self, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from self._annotate_table(pa.table(batch)).to_batches()

    def _annotate_table(self, table: pa.Table) -> pa.Table:
        rows = self._read_rows(table)
        kept = [table.schema.field(name) for name in self.keep]
        schema = make_schema(self.columns, confidence=self.confidence, kept=kept)
        schema = add_metadata(schema, self.describe())
        batches = list(self.annotate_rows(rows))
        return (
            pa.Table.from_batches(
                [batch.replace_schema_metadata(schema.metadata) for batch in batches],
                schema=schema,
            )
            if batches
            else schema.empty_table()
        )

    def _read_rows(self, table: pa.Table) -> Rows:
        texts = get_strings(table, self.text_column, "text", "text_column")
        ids = get_strings(table, self.id_column, "ids", "id_column", numbers=True)
        words = spaces = None
        if self.words_column:
            words = get_column(table, self.words_column, "words", "words_column")
            words = words.to_pylist()
        if self.spaces_column:
            spaces = get_column(table, self.spaces_column, "spaces", "spaces_column")
            spaces = spaces.to_pylist()
        kept = {
            name: combine(get_column(table, name, "kept columns", "keep"))
            for name in self.keep
        }
        return Rows(ids, texts, [None] * len(ids), words, spaces, kept)

    def _find_cuts(self, texts: Sequence[str | None]) -> Iterator[tuple[int, int]]:
        """Where zones start and end."""
        start = n_chars = 0
        for i, text in enumerate(texts):
            n = 0 if text is None or len(text) > self.max_length else len(text)
            if i > start and (
                n_chars + n > self.max_chars or i - start == self.max_rows
            ):
                yield start, i
                start, n_chars = i, 0
            n_chars += n
        if texts:
            yield start, len(texts)

    def _annotate_zone(self, rows: Rows) -> pa.RecordBatch:
        errors = [self._check(rows, i) for i in range(len(rows.ids))]
        good = [i for i, error in enumerate(errors) if error is None]
        texts = [rows.texts[i] for i in good]
        ids = [rows.ids[i] for i in good]
        loaded = self._get_pipeline()
        watching: AbstractContextManager[Watched | None] = nullcontext()
        if self.journal and good:
            watching = watch(Path(self.journal), self._make_key(ids, texts))
        with loaded.zone(texts) as nlp, watching as watched:
            makers = [self._make_input(nlp, rows, i) for i in good]
            found, wrong = pipelines.annotate(nlp, makers, watched, ids)
            docs: list[Doc | None] = [None] * len(errors)
            for i, doc, error in zip(good, found, wrong, strict=True):
                docs[i], errors[i] = doc, error
            arrays = self._make_arrays(nlp, docs)
        arrays = {"id": pa.array(rows.ids, pa.string()), **arrays}
        arrays["error"] = pa.array(errors, pa.string())
        arrays |= rows.kept
        schema = make_schema(
            self.columns,
            confidence=self.confidence,
            kept=[pa.field(name, values.type) for name, values in rows.kept.items()],
        )
        return pa.RecordBatch.from_arrays(
            [arrays[name] for name in schema.names], schema=schema
        )

    def _make_arrays(
        self, nlp: Language, docs: list[Doc | None]
    ) -> dict[str, pa.Array]:
        columns = DocColumns(docs, nlp.vocab.strings, self.columns)
        arrays = {"n_tokens": columns.read_lengths(), **columns.read()}
        if self.confidence:
            arrays |= read_confidences(docs)
        return arrays

    def _check(self, rows: Rows, i: int) -> str | None:
        """What is wrong with a row before anybody has tried it."""
        text = rows.texts[i]
        if rows.errors[i] is not None:
            return rows.errors[i]
        if text is None:
            return CorpusErrors.DS314
        if len(text) > self.max_length:
            return CorpusErrors.DS315.format(n=len(text), most=self.max_length)
        return None

    def _make_input(self, nlp: Language, rows: Rows, i: int) -> Callable[[], str | Doc]:
        if rows.words is None:
            text: Any = rows.texts[i]
            return lambda: text
        spaces = None if rows.spaces is None else rows.spaces[i]
        return partial(Doc, nlp.vocab, words=rows.words[i], spaces=spaces)

    def _make_key(self, ids: list[str], texts: list[str | None]) -> str:
        found = hashlib.blake2b(self.pipeline.encode(), digest_size=16)
        for name, text in zip(ids, texts, strict=True):
            found.update(f"{name}\0{text}\0".encode("utf8", "surrogatepass"))
        return found.hexdigest()


def get_column(table: pa.Table, name: str, what: str, option: str) -> pa.ChunkedArray:
    """A column of a table that must be there."""
    if name not in table.column_names:
        raise ValueError(
            CorpusErrors.DS312.format(
                where="The table",
                name=name,
                what=what,
                option=option,
                known=", ".join(table.column_names) or "none",
            )
        )
    return table.column(name)


def get_strings(
    table: pa.Table, name: str, what: str, option: str, *, numbers: bool = False
) -> list[Any]:
    """A column of strings, or of numbers that are as good.

    numbers (bool): Whether whole numbers will do, and nulls will not.
    """
    column = get_column(table, name, what, option)
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_string = (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        # All texts may be missing.
        or (pa.types.is_null(kind) and not numbers)
    )
    if not is_string and not (numbers and pa.types.is_integer(kind)):
        raise ValueError(
            CorpusErrors.DS313.format(
                name=name,
                where="the table",
                found=kind,
                what=what,
                wanted="strings or whole numbers" if numbers else "strings",
                option=option,
            )
        )
    if numbers and column.null_count:
        raise ValueError(
            CorpusErrors.DS313.format(
                name=name,
                where="the table",
                found=f"{kind} with nulls",
                what=what,
                wanted="there",
                option=option,
            )
        )
    values = column.to_pylist()
    return values if is_string else [str(value) for value in values]


def combine(column: pa.ChunkedArray) -> pa.Array:
    """One array of all chunks."""
    return (
        pa.concat_arrays(column.chunks)
        if column.num_chunks
        else pa.array([], column.type)
    )
