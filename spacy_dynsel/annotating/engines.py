"""Ray, Spark and Dask: each calls the same annotator. These functions say what else an
engine has to be told."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from .annotator import Annotator
from .files import Counts, plan
from .jobs import Job, run_job

# Engines try again by themselves. What kills a process does so twice, then it is set
# aside if there is a journal; the others are accidents.
MAX_RETRIES = 5


class RayAnnotator:
    """An actor that annotates: the class that `map_batches` of Ray Data takes.

    annotator (Annotator): What it calls.
    """

    def __init__(self, annotator: Annotator) -> None:
        self.annotator = annotator
        # Ready before the first batch comes.
        annotator.describe()

    def __call__(self, batch: pa.Table) -> pa.Table:
        return self.annotator(batch).replace_schema_metadata(None)


def annotate_ray(dataset: Any, annotator: Annotator, processes: int = 2) -> Any:
    """Annotate a Ray dataset.

    dataset (ray.data.Dataset): Has the columns of ids, of texts and of what is kept.
    annotator (Annotator): What annotates.
    processes (int): How many actors at most, each of which takes one core for good. Ray
        needs another core to read and to write.
    RETURNS (ray.data.Dataset): The annotations.
    """
    # Whoever has a dataset has Ray.
    from ray.data import ActorPoolStrategy  # noqa: PLC0415

    return dataset.map_batches(
        RayAnnotator,
        fn_constructor_args=(annotator,),
        batch_format="pyarrow",
        batch_size=annotator.max_rows,
        zero_copy_batch=True,
        compute=ActorPoolStrategy(min_size=1, max_size=processes),
        num_cpus=1,
        # For ever is what Ray would do.
        max_restarts=MAX_RETRIES,
        max_task_retries=MAX_RETRIES,
    )


def annotate_spark(frame: Any, annotator: Annotator) -> Any:
    """Annotate a Spark data frame.

    frame (pyspark.sql.DataFrame): Has the columns of ids, of texts and of what is kept.
    annotator (Annotator): What annotates.
    RETURNS (pyspark.sql.DataFrame): The annotations.
    """
    kept = [
        f"`{field.name}` {field.dataType.simpleString()}"
        for field in frame.schema
        if field.name in annotator.keep
    ]
    columns = dict.fromkeys(
        [annotator.id_column, annotator.text_column, *annotator.keep]
    )
    chosen = frame.select(*(f"`{name}`" for name in columns))

    def annotate(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in annotator(batches):
            yield batch.replace_schema_metadata(None)

    return chosen.mapInArrow(annotate, ", ".join([annotator.spark_schema, *kept]))


def annotate_dask(
    client: Any,
    annotator: Annotator,
    inputs: Iterable[Path | str],
    output: Path | str,
    **settings: Any,
) -> Counts:
    """Annotate files by a Dask cluster, a task for each part of a file. All workers must
    see the same folders. What is finished stays, as with annotate_files.

    client (dask.distributed.Client): The cluster. Its workers should have one thread.
    annotator (Annotator), inputs (Iterable[Path]), output (Path): See annotate_files.
    settings: format, id_column and part_bytes, likewise.
    RETURNS (Counts): How much was annotated.
    """
    jobs, n_skipped = plan(annotator, inputs, output, **settings)
    counts = Counts(n_skipped=n_skipped)
    lines = [job.to_json() for job in jobs]
    futures = client.map(run_line, lines, pure=False, retries=MAX_RETRIES)
    for n_rows, n_tokens, n_errors in client.gather(futures):
        counts = replace(
            counts,
            n_done=counts.n_done + 1,
            n_rows=counts.n_rows + n_rows,
            n_tokens=counts.n_tokens + n_tokens,
            n_errors=counts.n_errors + n_errors,
        )
    return counts


def run_line(line: str) -> tuple[int, int, int]:
    """A job as Dask sends it: a line of text."""
    return run_job(Job.from_json(line))
