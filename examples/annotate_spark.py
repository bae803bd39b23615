"""Annotate a corpus by Spark: python examples/annotate_spark.py PIPELINE INPUT OUTPUT

INPUT is a folder of Parquet files with the columns id and text. Each has a folder in
OUTPUT, which Spark marks by the file _SUCCESS when it is complete: a second run does what
is missing.
"""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from spacy_dynsel.annotating.engines import annotate_spark
from spacy_dynsel.corpus import Annotator


def main(pipeline: str, source: Path, output: Path) -> None:
    # Otherwise Spark takes the first python3 of the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2,4]")  # local[2] would never try again
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "1000")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    annotator = Annotator(pipeline, journal=str(output / "_journal"))
    for path in sorted(source.glob("*.parquet")):
        done = output / path.stem
        if not (done / "_SUCCESS").exists():
            frame = spark.read.parquet(str(path)).repartition(2)
            annotated = annotate_spark(frame, annotator)
            annotated.write.mode("overwrite").parquet(str(done))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve())
