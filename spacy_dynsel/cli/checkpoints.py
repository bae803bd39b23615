"""Propose few stages for an order of templates."""

from pathlib import Path
from typing import Any

import typer
from spacy import util
from spacy.cli._util import Arg, Opt, import_code, parse_config_overrides
from wasabi import msg

from ..base.atomic import write_file
from ..base.templates import CHECKPOINT
from ..ordering.checkpoints import Proposal, learn_prefixes, propose
from .group import dynsel_cli
from .options import CODE, WITH_OVERRIDES, takes_source
from .order import load_decisions

# Among the numbers of stages, the smallest that costs hardly more than the best.
TOLERANCE = 1.02


@dynsel_cli.command("checkpoints", context_settings=WITH_OVERRIDES)
@takes_source
def checkpoints_cli(
    ctx: typer.Context,
    config_path: Path = Arg(..., help="Config with the templates", exists=True),
    output_path: Path = Arg(..., help="Template file to write", dir_okay=False),
    stages: int | None = Opt(None, "--stages", "-s", help="Number of stages"),
    most: int = Opt(6, "--most", min=1, help="Largest number of stages to try"),
    max_loss: float = Opt(
        0.1, "--max-loss", min=0, help="Largest loss, in points of accuracy"
    ),
    overhead: float = Opt(
        1.0, "--overhead", min=0, help="Cost of a checkpoint in templates"
    ),
    code_path: Path | None = CODE,
    **source: Any,
) -> None:
    """
    Propose checkpoints for the templates of a config, without reordering them, and say
    what each stage costs and how many decisions it catches on held-out data.
    """
    import_code(code_path)
    choose_checkpoints(
        config_path,
        output_path,
        n_stages=stages,
        most=most,
        max_loss=max_loss,
        overhead=overhead,
        overrides=parse_config_overrides(ctx.args),
        **source,
    )


def choose_checkpoints(
    config_path: Path,
    output_path: Path | None = None,
    *,
    n_stages: int | None = None,
    most: int = 6,
    max_loss: float = 0.1,
    overhead: float = 1.0,
    overrides: dict[str, Any] | None = None,
    **source: Any,
) -> Proposal:
    """Propose checkpoints; see the command.

    source: Where the decisions come from, see load_decisions.
    """
    config = util.load_config(config_path, overrides=overrides or {}, interpolate=False)
    decisions, _ = load_decisions(config, **source)
    prefixes = learn_prefixes(decisions)
    fewest = 2 if decisions.n_first else 1
    most = min(most, len(decisions.templates) - max(0, decisions.n_first - 1))
    most = max(most, fewest)
    numbers = range(fewest, most + 1) if n_stages is None else [n_stages]
    proposals = [
        propose(prefixes, number, max_loss=max_loss / 100, overhead=overhead)
        for number in numbers
    ]
    least = min(proposal.cost for proposal in proposals)
    chosen = next(one for one in proposals if one.cost <= TOLERANCE * least)
    msg.divider("Numbers of stages")
    msg.table(
        [
            (
                len(one.stages),
                ", ".join(str(stage.end) for stage in one.stages),
                f"{one.margin:.2f}",
                f"{one.templates:.1f}",
                f"{one.cost:.1f}",
                f"{100 * one.accuracy:.2f}",
            )
            for one in proposals
        ],
        header=("Stages", "Checkpoints", "Margin", "Templates", "Cost", "Accuracy"),
    )
    msg.divider(f"{len(chosen.stages)} stages")
    msg.table(
        [
            (
                number,
                stage.end,
                f"{100 * stage.caught:.1f}%",
                f"{100 * stage.accuracy:.2f}",
                f"{stage.cost:.1f}",
            )
            for number, stage in enumerate(chosen.stages, start=1)
        ],
        header=("Stage", "Templates", "Catches", "Accuracy", "Cost"),
    )
    if output_path is not None:
        ends = {stage.end for stage in chosen.stages[:-1]}
        lines = []
        for rank, template in enumerate(decisions.templates, start=1):
            lines += [template, CHECKPOINT] if rank in ends else [template]
        write_file(output_path, ("\n".join(lines) + "\n").encode("utf8"))
        msg.good(f"Templates with checkpoints: {output_path}")
    return chosen
