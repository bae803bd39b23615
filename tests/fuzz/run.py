"""Fuzz a reader, guided by coverage, from the seeds:

    python tests/fuzz/run.py corpus --runs 10000000

Needs the extra `fuzz`. An input that breaks a reader is written to the current folder,
and becomes a test once it stands in tests/fuzz/seeds.
"""

import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import atheris
import typer
from typer import Argument, Option

sys.path.insert(0, str(Path(__file__).parents[1]))

with atheris.instrument_imports(include=["spacy_dynsel"]):
    from fuzz.inputs import load_seeds
    from fuzz.targets import TARGETS


def main(
    target: str = Argument(..., help=f"One of {', '.join(TARGETS)}"),
    runs: int = Option(100_000, help="How many inputs to try"),
    seed: int = Option(1, min=1, help="Where the random numbers start"),
    max_length: int = Option(4096, help="The longest input in bytes"),
    timeout: int = Option(10, help="After how many seconds an input hangs"),
    memory: int = Option(2048, help="How many megabytes are too many"),
    found: Path | None = Option(None, help="Where to keep what covers more"),  # noqa: B008
) -> NoReturn:
    if target not in TARGETS:
        raise typer.BadParameter(f"there is no target '{target}'")
    folder = found or Path(tempfile.mkdtemp(prefix="dynsel-fuzz-found-"))
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(load_seeds(target)):
        (folder / f"seed{number}").write_bytes(data)
    options = {
        "atheris_runs": runs,
        "seed": seed,
        "max_len": max_length,
        "timeout": timeout,
        "rss_limit_mb": memory,
    }
    atheris.Setup(
        [
            sys.argv[0],
            *(f"-{name}={value}" for name, value in options.items()),
            str(folder),
        ],
        TARGETS[target],
    )
    atheris.Fuzz()
    sys.exit(0)


if __name__ == "__main__":
    typer.run(main)
