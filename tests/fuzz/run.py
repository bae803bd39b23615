"""Fuzz a reader, guided by coverage, from the seeds:

    python tests/fuzz/run.py corpus --runs 10000000

Needs the extra `fuzz`. An input that breaks a reader is written to the current folder,
and becomes a test once it stands in tests/fuzz/seeds.
"""

import gc
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NoReturn

import atheris
import typer
from typer import Argument, Option

sys.path.insert(0, str(Path(__file__).parents[1]))

with atheris.instrument_imports(include=["spacy_dynsel"]):
    from fuzz.inputs import load_seeds
    from fuzz.mutators import mutate_model
    from fuzz.targets import TARGETS


def make_mutator(seeds: list[bytes]) -> Callable[[bytes, int, int], bytes]:
    """Changes to models that mostly keep their form. Every second one starts from a seed:
    what covers more is refused more often than not, and never gets further."""

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        rng = Random(seed)
        if rng.randrange(2):
            data = rng.choice(seeds)
        if rng.randrange(8) and len(data) > 1:
            changed = mutate_model(
                data[1:], rng, lambda part: atheris.Mutate(part, len(part) + 64)
            )
            if len(changed) < max_size:
                return data[:1] + changed
        return atheris.Mutate(data, max_size)

    return mutate


def write_dictionary(path: Path, seeds: list[bytes]) -> None:
    """The words of the seeds, for the fuzzer to put together anew."""
    words = {word for seed in seeds for word in re.findall(rb"[!-~]{2,60}", seed)}
    lines = ["".join(f"\\x{byte:02x}" for byte in word) for word in sorted(words)]
    path.write_text("".join(f'"{line}"\n' for line in lines))


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
    seeds = load_seeds(target)
    for number, data in enumerate(seeds):
        (folder / f"seed{number}").write_bytes(data)
    dictionary = folder.with_suffix(".dict")
    write_dictionary(dictionary, seeds)
    options = {
        "dict": dictionary,
        "mutate_depth": 1 if target == "model" else 5,
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
        custom_mutator=make_mutator(seeds) if target == "model" else None,
    )
    # What is there now stays, and need not be looked through again and again.
    gc.collect()
    gc.freeze()
    atheris.Fuzz()
    sys.exit(0)


if __name__ == "__main__":
    typer.run(main)
