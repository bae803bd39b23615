"""Too little memory is a MemoryError: never the end of the process, never a wrong result,
and the component goes on working when there is enough."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import PYTHONPATH, TESTS

SCRIPT = TESTS / "helpers" / "little_memory.py"


def is_sanitized() -> bool:
    """Whether the sanitizers' allocator is in use, which ends the process itself."""
    if sys.platform != "linux":
        return False
    return "libasan" in Path("/proc/self/maps").read_text(encoding="utf8")


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux" or is_sanitized(),
        reason="needs a system on which memory can be limited",
    ),
]


@pytest.mark.parametrize("mode", ["predict 1", "predict 4", "update 1"])
@pytest.mark.parametrize(
    "maker",
    [
        *("make_tagger", "make_morphologizer", "make_lemmatizer"),
        *("make_ner", "make_rich_ner", "make_parser"),
    ],
)
def test_little_memory(maker, mode):
    result = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPT), maker, *mode.split()],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
    )
    assert result.returncode == 0, result.stderr[-2000:]
    # Nothing was printed in place of being raised.
    assert result.stderr == ""
    outcomes = result.stdout.split()
    assert set(outcomes) == {"MemoryError", "right"}
    assert (outcomes[0], outcomes[-1]) == ("MemoryError", "right")
