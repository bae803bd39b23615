"""Annotate a corpus by Ray Data: python examples/annotate_ray.py PIPELINE INPUT OUTPUT

INPUT is a folder of Parquet files with the columns id and text. Each has a folder in
OUTPUT, which gets its name when it is complete: a second run does what is missing.
"""

import shutil
import sys
from pathlib import Path

import ray

from spacy_dynsel.annotating.engines import annotate_ray
from spacy_dynsel.corpus import Annotator

PROCESSES = 2


def main(pipeline: str, source: Path, output: Path) -> None:
    annotator = Annotator(pipeline, journal=str(output / "_journal"))
    # Actors take a core each for good: one more is for reading and writing.
    ray.init(num_cpus=PROCESSES + 1, include_dashboard=False)
    for path in sorted(source.glob("*.parquet")):
        done = output / path.stem
        if done.exists():
            continue
        beside = output / f"_{path.stem}"
        shutil.rmtree(beside, ignore_errors=True)
        dataset = ray.data.read_parquet(str(path), columns=["id", "text"])
        annotate_ray(dataset, annotator, PROCESSES).write_parquet(str(beside))
        beside.rename(done)
    ray.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve())
