"""Ray, Spark and Dask run the examples as they stand, while processes are killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pyarrow.parquet as pq
import pytest

from helpers.annotated import make_annotator, make_table, make_texts
from helpers.corpus_code import SLOW
from helpers.paths import PYTHONPATH, ROOT

pytestmark = pytest.mark.engines
N_FILES = 3
N_TEXTS = 100
TOO_LONG = 240


@pytest.fixture(params=["ray", "spark", "dask"])
def engine(request):
    module = {"spark": "pyspark"}.get(request.param, request.param)
    pytest.importorskip(module, reason=f"{module} is not installed")
    if request.param == "dask":
        pytest.importorskip("distributed", reason="distributed is not installed")
    if request.param == "spark" and not shutil.which("java"):
        pytest.skip("Spark needs Java")
    return request.param


@pytest.fixture
def env(tmp_path):
    """Where all processes find the code of the pipeline, which keeps Docs from being
    pickled: as a package that is installed."""
    site = tmp_path / "site" / "dangerous-1.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: dangerous\nVersion: 1.0\n"
    )
    (site / "entry_points.txt").write_text(
        "[spacy_factories]\ndangerous = helpers.corpus_code:dangerous\n"
    )
    path = os.pathsep.join([PYTHONPATH, str(site.parent)])
    # Spark would take another address of the machine, if it can be found.
    return {**os.environ, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    table = make_table([f"{text} {SLOW}" for text in make_texts(N_FILES * N_TEXTS)])
    for i in range(N_FILES):
        part = table.slice(i * N_TEXTS, N_TEXTS)
        pq.write_table(part, folder / f"part{i}.parquet")
    return folder


def start(engine, env, *arguments):
    script = ROOT / "examples" / f"annotate_{engine}.py"
    return subprocess.Popen(
        [sys.executable, script, *map(str, arguments)],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def find_annotating(output):
    """The processes that annotate just now, by their notes."""
    found = set()
    for path in (output / "_journal").glob("*.jsonl"):
        try:
            lines = path.read_text().split("\n")
        except FileNotFoundError:
            continue
        for line in lines:
            if line.endswith("}"):
                found.add(json.loads(line)["pid"])
    return found


def wait_for_annotating(driver, output, others=frozenset()):
    end = time.monotonic() + TOO_LONG
    while time.monotonic() < end and driver.poll() is None:
        if found := find_annotating(output) - others:
            return found
        time.sleep(0.01)
    end_all(driver)
    raise AssertionError(driver.communicate()[0])


def end_all(driver):
    """The driver, and what it has left."""
    driver.kill()
    with suppress(ProcessLookupError):
        os.killpg(driver.pid, signal.SIGKILL)


def read_rows(output):
    """All rows that are no leftovers, each of which must be there once."""
    rows = [
        row
        for path in sorted(output.rglob("*.parquet"))
        if not any(part[0] in "._" for part in path.relative_to(output).parts)
        for row in pq.ParquetFile(path).read().to_pylist()
    ]
    found = {row["id"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def test_nothing_is_lost(engine, env, source, pipeline, tmp_path):
    """A worker is killed in mid-run, then the driver; a second run completes it."""
    output = tmp_path / "out"
    driver = start(engine, env, pipeline, source, output)
    [victim, *_] = wait_for_annotating(driver, output)
    os.kill(victim, signal.SIGKILL)
    # Another process takes over.
    wait_for_annotating(driver, output, {victim})
    assert driver.poll() is None
    end_all(driver)
    driver.communicate()
    driver = start(engine, env, pipeline, source, output)
    try:
        printed, _ = driver.communicate(timeout=TOO_LONG)
    finally:
        end_all(driver)
    assert driver.returncode == 0, printed
    texts = [f"{text} {SLOW}" for text in make_texts(N_FILES * N_TEXTS)]
    expected = make_annotator(pipeline)(make_table(texts)).to_pylist()
    assert read_rows(output) == {row["id"]: row for row in expected}
