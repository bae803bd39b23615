"""The group of commands `python -m spacy dynsel`."""

import typer
from spacy.cli._util import app

dynsel_cli = typer.Typer(
    name="dynsel",
    help="Commands of spacy-dynsel",
    no_args_is_help=True,
    add_completion=False,
)
app.add_typer(dynsel_cli)
