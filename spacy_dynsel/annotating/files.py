"""Annotates files: what is finished stays, and a second run does what is missing."""

import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from preshed.maps import PreshMap

from ..base.atomic import write_file
from ..base.corpus_errors import CorpusErrors
from ..base.settings import check_number
from . import pipelines
from .annotator import Annotator, Rows
from .schema import ANNOTATIONS, META, SCHEMA_VERSION, add_metadata, pa
from .sinks import SINKS, written_whole
from .sources import Part, divide, find_inputs, read_part
from .workers import run_jobs

# Engines and Arrow take a name that starts so for none of the data.
MANIFEST = "_dynsel.json"
JOURNAL = "_journal"
PART_BYTES = 32 << 20
# A DocBin is in memory as a whole, with more than ten bytes for one of text.
DOCBIN_BYTES = 4 << 20


@dataclass
class Counts:
    """How much was annotated.

    n_done (int), n_skipped (int): Files that were written, and that were there before.
    n_rows (int), n_tokens (int), n_errors (int): What is in those that were written.
    """

    n_done: int = 0
    n_skipped: int = 0
    n_rows: int = 0
    n_tokens: int = 0
    n_errors: int = 0


class Job(NamedTuple):
    """One part of the input, and the file that comes of it."""

    part: Part
    output: str
    format: str
    annotator: Annotator
    id_column: str | None
    keeps_text: bool

    def to_json(self) -> str:
        return json.dumps(
            [self.part, self.output, self.format, asdict(self.annotator)]
            + [self.id_column, self.keeps_text]
        )

    @classmethod
    def from_json(cls, line: str) -> "Job":
        part, output, kind, annotator, *rest = json.loads(line)
        return cls(Part(*part), output, kind, Annotator(**annotator), *rest)


def annotate_files(
    annotator: Annotator,
    inputs: Iterable[Path | str],
    output: Path | str,
    *,
    format: str = "parquet",
    processes: int = 1,
    id_column: str | None = None,
    part_bytes: int | None = None,
    show: Callable[[int, int], None] | None = None,
) -> Counts:
    """Annotate files of documents. Each file of the output is written beside and renamed,
    so it is there whole or not at all, and a second run does what is missing.

    annotator (Annotator): What annotates, with the columns of texts and of what is kept.
    inputs (Iterable[Path]): Parquet, JSONL, text (a document a line) or DocBins; or
        folders of these.
    output (Path): A folder for the output, of one annotator alone.
    format (str): What to write: "parquet", "jsonl", "conllu" or "docbin".
    processes (int): How many processes annotate; 0 for this one.
    id_column (str): Where ids stand. None for "id" where there is such a column, an empty
        string for nowhere: without ids, rows are numbered, as in "file.jsonl:12".
    part_bytes (int): From which size on a file is divided into parts.
    show (Callable): Takes the number of bytes that were read and their total.
    RETURNS (Counts): How much was annotated.
    """
    check_number("processes", processes, 0, 4096)
    jobs, n_skipped = plan(
        annotator,
        inputs,
        output,
        format=format,
        id_column=id_column,
        part_bytes=part_bytes,
    )
    counts = Counts(n_skipped=n_skipped)
    failed: dict[str, str] = {}
    total = sum(job.part.n_bytes for job in jobs)
    before = 0
    shares: dict[str, float] = {}
    for job, result in run_jobs(jobs, processes):
        if isinstance(result, str):
            failed[job.part.name] = result
        elif isinstance(result, float):
            shares[job.part.name] = result
        else:
            counts.n_done += 1
            counts.n_rows += result[0]
            counts.n_tokens += result[1]
            counts.n_errors += result[2]
            shares[job.part.name] = 1.0
        if show is not None:
            now = sum(
                round(job.part.n_bytes * shares.get(job.part.name, 0)) for job in jobs
            )
            show(now - before, total)
            before = now
    with suppress(OSError):
        # Notes are left if a document kills processes, and for that case only.
        (Path(output) / JOURNAL).rmdir()
    if failed:
        reasons = "\n".join(f"{name}: {reason}" for name, reason in failed.items())
        raise ValueError(
            CorpusErrors.DS327.format(
                n_failed=len(failed),
                n=len(jobs) + n_skipped,
                reasons=reasons.removesuffix("."),
            )
        )
    return counts


def plan(
    annotator: Annotator,
    inputs: Iterable[Path | str],
    output: Path | str,
    *,
    format: str = "parquet",
    id_column: str | None = None,
    part_bytes: int | None = None,
) -> tuple[list[Job], int]:
    """What is to be done, each job for itself: give them to `run_job`, in any process
    that sees the same files.

    The arguments are those of annotate_files.
    RETURNS (tuple): The jobs, and how many of their files are there already.
    """
    if format not in SINKS:
        wanted = f"one of the formats {', '.join(SINKS)}"
        raise ValueError(CorpusErrors.DS329.format(wanted=wanted, found=repr(format)))
    sink = SINKS[format]
    keeps_text = "text" in annotator.keep
    if sink.needs_text:
        # These formats hold all that there is, and the words themselves.
        keep = tuple(dict.fromkeys((*annotator.keep, "text")))
        annotator = replace(annotator, keep=keep, columns=tuple(ANNOTATIONS))
    if part_bytes is None:
        part_bytes = DOCBIN_BYTES if format == "docbin" else PART_BYTES
    found = find_inputs(map(Path, inputs))
    folder = Path(output)
    if not Path(annotator.pipeline).is_absolute() and Path(annotator.pipeline).is_dir():
        # Workers may stand elsewhere.
        path = str(Path(annotator.pipeline).resolve())
        annotator = replace(annotator, pipeline=path)
    identity = make_identity(annotator, format, id_column)
    check_folder(folder, identity)
    if not annotator.journal:
        annotator = replace(annotator, journal=str((folder / JOURNAL).resolve()))
    jobs = []
    n_skipped = 0
    for name, path in found.items():
        stat = path.stat()
        for part in divide(path.resolve(), name, part_bytes):
            state = [part.name, part.start, part.end, stat.st_size, stat.st_mtime_ns]
            mark = make_digest([identity, state])[:12]
            target = folder.resolve() / f"{part.name}-{mark}{sink.suffix}"
            if is_finished(target):
                n_skipped += 1
            else:
                jobs.append(
                    Job(part, str(target), format, annotator, id_column, keeps_text)
                )
    return jobs, n_skipped


def make_identity(
    annotator: Annotator, format: str, id_column: str | None
) -> dict[str, Any]:
    """What a folder is the output of."""
    return {
        "schema": SCHEMA_VERSION,
        "pipeline": pipelines.digest(annotator.pipeline),
        "settings": json.loads(json.dumps({**annotator.settings, "id": id_column})),
        "format": format,
    }


def make_digest(value: Any) -> str:
    data = json.dumps(value, sort_keys=True).encode("utf8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def check_folder(folder: Path, identity: dict[str, Any]) -> None:
    """Make a folder that says what it is the output of, or see that it is the same."""
    path = folder / MANIFEST
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            if any(not one.name.startswith((".", "_")) for one in folder.iterdir()):
                what = "there are files that were not written by this command"
                raise ValueError(CorpusErrors.DS324.format(path=folder, what=what))
            write_file(path, json.dumps(identity, indent=2).encode())
            return
        before = json.loads(path.read_text("utf8"))
    except OSError as error:
        raise ValueError(
            CorpusErrors.DS325.format(path=folder, reason=error.strerror or error)
        ) from error
    except json.JSONDecodeError:
        before = {}
    if before != identity:
        names = {"schema": "version of the schema", "pipeline": "pipeline"}
        other = [
            names.get(name, name)
            for name, value in identity.items()
            if before.get(name) != value
        ]
        what = f"another {' and another '.join(other) or 'program'}"
        raise ValueError(CorpusErrors.DS324.format(path=folder, what=what))


def is_finished(path: Path) -> bool:
    """Whether a file is there, and whole."""
    if not path.exists():
        return False
    if path.suffix == ".parquet":
        try:
            pq.read_metadata(path)
        except (OSError, pa.ArrowException):
            # Somebody has copied a part of it: it is written anew.
            return False
    return True


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
    name = output.name.removesuffix(output.suffix)[:-12]
    for path in output.parent.glob(f"{glob_escape(name)}*{output.suffix}"):
        mark = path.name.removesuffix(output.suffix)[len(name) :]
        if path != output and len(mark) == 12:
            path.unlink(missing_ok=True)


def glob_escape(name: str) -> str:
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)


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
