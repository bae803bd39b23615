"""The group of commands `python -m spacy dynsel`."""

import re
from typing import Any

import typer
from click import NoSuchOption
from confection import ConfigValidationError
from spacy.cli._util import app
from typer.core import TyperGroup
from wasabi import msg


class PlainErrors(TyperGroup):
    """Commands whose errors are messages: a traceback says nothing about data that do
    not fit. Errors without a code are our own mistakes, and keep theirs."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (ConfigValidationError, NoSuchOption) as error:
            msg.fail(str(error).strip(), exits=1)
        except (OSError, ValueError) as error:
            if isinstance(error, ValueError) and not re.match(r"\[\w+\]", str(error)):
                raise
            msg.fail(str(error), exits=1)


dynsel_cli = typer.Typer(
    name="dynsel",
    cls=PlainErrors,
    help="Commands of spacy-dynsel",
    no_args_is_help=True,
    add_completion=False,
)
app.add_typer(dynsel_cli)
