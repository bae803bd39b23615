"""One part of a corpus, from its file to that of its annotations."""

import json
from collections.abc import Callable
from dataclasses import asdict
from glob import escape
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from preshed.maps import PreshMap

from ..base.corpus_errors import CorpusErrors
from .annotator import Annotator, Rows
from .schema import META, add_metadata
from .sinks import SINKS, written_whole
from .sources import Part, read_part

# Of the inputs and the settings, in the names of files.
MARK_LENGTH = 12


class Job(NamedTuple):
    """One part of the input, and the file that comes of it."""

    part: Part
    output: str
    format: str
    id_column: str | None
    annotator: Annotator

    def to_json(self) -> str:
        return json.dumps([*self[:-1], asdict(self.annotator)])

    @classmethod
    def from_json(cls, line: str) -> "Job":
        part, output, kind, id_column, annotator = json.loads(line)
        return cls(Part(*part), output, kind, id_column, Annotator(**annotator))


def run_job(
    job: Job, show: Callable[[float], Any] | None = None
) -> tuple[int, int, int]:
    """Annotate one part.

    show (Callable): Takes the share that is done, time and again.
    RETURNS (tuple): The numbers of documents, tokens and errors.
    """
    part, annotator = job.part, job.annotator
    output = Path(job.output)
    described = annotator.describe()
    n_rows = n_tokens = n_errors = 0
    seen = PreshMap()
    with written_whole(output) as beside:
        sink = None
        for rows, share in read_part(part, annotator, job.id_column):
            check_ids(rows, seen, part, n_rows)
            for batch in annotator.annotate_rows(rows):
                if sink is None:
                    schema = add_metadata(batch.schema, described)
                    sink = SINKS[job.format](beside, schema)
                sink.write(batch)
                n_rows += batch.num_rows
                n_tokens += sum(batch["n_tokens"].drop_null().to_numpy().tolist())
                n_errors += batch.num_rows - batch["error"].null_count
            if show is not None:
                show(share)
        if sink is None:
            schema = add_metadata(make_empty_schema(job), described)
            sink = SINKS[job.format](beside, schema)
        sink.close()
    remove_outdated(output)
    return n_rows, n_tokens, n_errors


def make_empty_schema(job: Job) -> pa.Schema:
    """The schema of a file without documents."""
    schema = job.annotator.schema
    if "text" in job.annotator.keep:
        schema = schema.append(pa.field("text", pa.string()))
    return (
        schema.append(pa.field(META, pa.string()))
        if job.part.format == "jsonl"
        else schema
    )


def remove_outdated(output: Path) -> None:
    """Remove what an earlier state of the same input has left, which would be there
    twice."""
    name = output.name.removesuffix(output.suffix)[:-MARK_LENGTH]
    for path in output.parent.glob(f"{escape(name)}*{output.suffix}"):
        mark = path.name.removesuffix(output.suffix)[len(name) :]
        if path != output and len(mark) == MARK_LENGTH:
            path.unlink(missing_ok=True)


def check_ids(rows: Rows, seen: PreshMap, part: Part, n_before: int) -> None:
    """Raise an error if an id comes twice."""
    for i, name in enumerate(rows.ids):
        # Neither 0 nor 1 can be a key.
        key = (hash(name) & 0xFFFFFFFFFFFFFFFF) | 2
        if key in seen:
            raise ValueError(
                CorpusErrors.DS317.format(
                    where=f"'{part.path}'", id=name, row=n_before + i + 1
                )
            )
        seen[key] = 1
