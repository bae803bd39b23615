"""Options that several commands have."""

from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import typer
from spacy.cli._util import Arg, Opt

# What is not an option of the command overrides the config.
WITH_OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}
CODE = Opt(None, "--code", "-c", help="Python file to import first")
# Raw text, and what is made of it.
RAW = Arg(..., help="Plain text files", exists=True, dir_okay=False)
RAW_OUTPUT = Arg(..., help="Resource to write", dir_okay=False)
ENCODING = Opt("utf-8", "--encoding", help="Encoding of the text")
# Where recorded decisions come from, see load_decisions.
SOURCE: dict[str, tuple[Any, Any]] = {
    "name": (
        str | None,
        Opt(None, "--name", "-n", help="Name of the component in the config"),
    ),
    "part": (
        str | None,
        Opt(None, "--part", "-p", help="Templates of a parser: actions or labels"),
    ),
    "held_out_path": (
        Path | None,
        Opt(None, "--held-out", help="Held-out data: DocBin or folder", exists=True),
    ),
    "share": (
        float,
        Opt(0.1, "--share", help="Share of the training data to hold out"),
    ),
    "limit": (
        int,
        Opt(0, "--limit", "-l", min=0, help="Number of docs to use, 0 for all"),
    ),
}


def takes_source(command: Callable[..., None]) -> Callable[..., None]:
    """Give the options of SOURCE to a command, which gets them as `**source`."""
    own = list(signature(command).parameters.values())[:-1]
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=option, annotation=kind)
        for name, (kind, option) in SOURCE.items()
    ]
    # What Typer reads.
    command.__signature__ = signature(command).replace(  # type: ignore[attr-defined]
        parameters=own + added
    )
    command.__annotations__ |= {name: kind for name, (kind, _) in SOURCE.items()}
    return command


def check_output(path: Path, force: bool) -> None:
    """Refuse to replace a file unless that is wanted."""
    if path.exists() and not force:
        raise typer.BadParameter(
            f"'{path}' exists. Give another path, or replace it by --force.",
            param_hint="output_path",
        )
