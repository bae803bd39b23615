"""Find an order of templates."""

import hashlib
import json
from pathlib import Path
from typing import Any

import typer
from spacy import util
from spacy.cli._util import Arg, Opt, import_code, parse_config_overrides
from spacy.util import registry
from thinc.api import Config
from wasabi import msg

from ..base.atomic import write_file
from ..base.errors import Errors
from ..base.templates import CHECKPOINT
from ..ordering.decisions import (
    Decisions,
    get_classifier,
    record_decisions,
    train_guide,
)
from ..ordering.journal import Journal
from ..ordering.methods import Placed
from ._data import find_name, make_component, make_language, read_source
from .group import dynsel_cli
from .options import CODE, WITH_OVERRIDES, takes_source

METHODS = ("wrapper", "lasso", "gomp", "contribution")
GUIDE_EPOCHS = 2


@dynsel_cli.command("order", context_settings=WITH_OVERRIDES)
@takes_source
def order_cli(
    ctx: typer.Context,
    config_path: Path = Arg(..., help="Training config", exists=True),
    output_path: Path = Arg(..., help="Template file to write", dir_okay=False),
    method: str = Opt("wrapper", "--method", "-m", help=f"One of {', '.join(METHODS)}"),
    templates: int | None = Opt(
        None, "--templates", "-t", help="Number of templates to order"
    ),
    each: bool = Opt(
        True,
        "--each/--one-stage",
        help="Write a checkpoint after each template, or none",
    ),
    restart: bool = Opt(False, "--restart", help="Start anew, do not resume"),
    code_path: Path | None = CODE,
    **source: Any,
) -> None:
    """
    Order the templates of a component, the most useful first. Give settings of the
    method in the config, under [ordering.METHOD], or as overrides, such as
    --ordering.wrapper.fast true. Run it again to resume an interrupted run.
    """
    import_code(code_path)
    order(
        config_path,
        output_path,
        method=method,
        n_places=templates,
        each=each,
        restart=restart,
        overrides=parse_config_overrides(ctx.args),
        **source,
    )


def order(
    config_path: Path,
    output_path: Path,
    *,
    method: str = "wrapper",
    n_places: int | None = None,
    each: bool = True,
    restart: bool = False,
    overrides: dict[str, Any] | None = None,
    **source: Any,
) -> list[Placed]:
    """Write a template file in the order that a method finds.

    config_path (Path): The config of the training.
    output_path (Path): The template file.
    method (str): The method.
    n_places (int): How many templates to order; the rest are left out.
    each (bool): Whether to put a checkpoint after each template, or none.
    restart (bool): Whether to forget an interrupted run.
    overrides (dict): Of the config.
    source: Where the decisions come from, see load_decisions.
    RETURNS (list[Placed]): The order.
    """
    # The block of a method need not be there for its settings to be given.
    overrides = dict(overrides or {})
    prefixes = tuple(f"ordering.{one}." for one in METHODS)
    own = {
        key: overrides.pop(key) for key in list(overrides) if key.startswith(prefixes)
    }
    config = util.load_config(config_path, overrides=overrides, interpolate=False)
    block = dict(config.pop("ordering", {}).get(method, {}))
    for key, value in own.items():
        if key.startswith(f"ordering.{method}."):
            block[key.rpartition(".")[2]] = value
    run_method = make_method(method, block)
    decisions, checked_part = load_decisions(config, **source)
    n_templates = len(decisions.templates)
    wanted = n_templates if n_places is None else n_places
    if not 1 <= wanted <= n_templates:
        raise ValueError(Errors.DS132.format(wanted=wanted, n_templates=n_templates))
    journal_path = output_path.with_name(f"{output_path.name}.journal")
    if restart:
        journal_path.unlink(missing_ok=True)
    about = json.dumps([method, block, checked_part, wanted], sort_keys=True)
    digest = hashlib.sha256((about + decisions.digest()).encode("utf8")).hexdigest()
    with Journal(journal_path, digest, show=True) as journal:
        placed = run_method(decisions, wanted, journal)
        lines = [
            f"# Ordered by {method}; {len(decisions.held_out)} held-out decisions."
        ]
        # Where others read what the first stage says, it stays a stage of its own.
        first = [one for one in placed if one.template < decisions.n_first]
        placed = first + [one for one in placed if one not in first]
        for rank, one in enumerate(placed, start=1):
            lines.append(f"{decisions.templates[one.template]}  # {rank}: {one.note}")
            if (each and rank >= len(first)) or rank == len(first):
                lines.append(CHECKPOINT)
        if lines[-1] == CHECKPOINT:
            lines.pop()
        write_file(output_path, ("\n".join(lines) + "\n").encode("utf8"))
        journal.remove()
    msg.good(f"{len(placed)} templates in order: {output_path}")
    return placed


def make_method(method: str, settings: dict[str, Any]) -> Any:
    """An ordering method with its settings."""
    if method not in METHODS:
        raise ValueError(Errors.DS133.format(name=method, known=", ".join(METHODS)))
    block = {"@misc": f"spacy_dynsel.order_{method}.v1", **settings}
    return registry.resolve({"method": block})["method"]


def load_decisions(
    config: Config,
    *,
    name: str | None = None,
    part: str | None = None,
    **source: Any,
) -> tuple[Decisions, str]:
    """The recorded decisions of a config's component, and the name of the part.

    config (Config): The config of the training.
    name (str): The component; if not given, the first one that has templates.
    part (str): Which templates of a parser.
    source: The data, see read_source.
    """
    name = find_name(config, name)
    nlp = make_language(config["nlp"]["lang"])
    component = make_component(nlp, config, name)
    part = get_classifier(component, part).name
    train, held_out = read_source(config, component, nlp, **source)
    msg.info(f"{name}: recording the decisions of {len(train)} docs")
    train_guide(component, train, nlp=nlp, epochs=GUIDE_EPOCHS, drop=0.1, seed=0)
    decisions = record_decisions(component, part, train, held_out)
    msg.info(
        f"{len(decisions.train)} decisions to learn from, {len(decisions.held_out)} "
        f"held out; {len(decisions.templates)} templates"
    )
    return decisions, part
