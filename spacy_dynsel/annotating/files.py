"""Annotates files: what is finished stays, and a second run does what is missing."""

import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..base.atomic import write_file
from ..base.corpus_errors import CorpusErrors
from ..base.settings import check_number
from . import pipelines
from .annotator import Annotator
from .jobs import MARK_LENGTH, Job
from .schema import ANNOTATIONS, SCHEMA_VERSION
from .sinks import SINKS
from .sources import divide, find_inputs
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
        resolved = str(Path(annotator.pipeline).resolve())
        annotator = replace(annotator, pipeline=resolved)
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
            mark = make_digest([identity, state])[:MARK_LENGTH]
            target = folder.resolve() / f"{part.name}-{mark}{sink.suffix}"
            if is_finished(target):
                n_skipped += 1
            else:
                jobs.append(Job(part, str(target), format, id_column, annotator))
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
