"""Annotate a corpus by Dask: python examples/annotate_dask.py PIPELINE INPUT OUTPUT

INPUT is a folder of Parquet, JSONL, text or DocBin files. A second run does what is
missing.
"""

import sys
from pathlib import Path

from dask.distributed import Client, LocalCluster

from spacy_dynsel.annotating.engines import annotate_dask
from spacy_dynsel.corpus import Annotator


def main(pipeline: str, source: Path, output: Path) -> None:
    # One thread: spaCy's memory zones and threads do not mix.
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        print(annotate_dask(client, Annotator(pipeline), [source], output))


# Dask imports this file again in each of its workers.
if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
