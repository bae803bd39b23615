"""Find conjunctions of templates by induction."""

from pathlib import Path
from typing import Any

import typer
from spacy import util
from spacy.cli._util import Arg, Opt, import_code, parse_config_overrides
from wasabi import msg

from ..base.atomic import write_file
from ..base.system_errors import SystemErrors
from ..ordering.decisions import get_classifier, record_split, train_guide
from ..ordering.induced import Conjunction, find_conjunctions, write_lines
from ._data import find_name, make_component, make_language, read_source
from .group import dynsel_cli
from .options import CODE, WITH_OVERRIDES, takes_source

EPOCHS = 4
DROPOUT = 0.1


@dynsel_cli.command("induce", context_settings=WITH_OVERRIDES)
@takes_source
def induce_cli(
    ctx: typer.Context,
    config_path: Path = Arg(..., help="Training config", exists=True),
    output_path: Path = Arg(..., help="Template file to write", dir_okay=False),
    conjunctions: int = Opt(
        20, "--conjunctions", "-k", min=1, help="Number of conjunctions at most"
    ),
    epochs: int = Opt(EPOCHS, "--epochs", "-e", min=1, help="Number of epochs"),
    code_path: Path | None = CODE,
    **source: Any,
) -> None:
    """
    Let a component induce pairs of features, and write its templates with the
    conjunctions that these pairs are of: those that help most on held-out data. 'order',
    'checkpoints' and 'spacy train' read the list.
    """
    import_code(code_path)
    induce(
        config_path,
        output_path,
        n_wanted=conjunctions,
        epochs=epochs,
        overrides=parse_config_overrides(ctx.args),
        **source,
    )


def induce(
    config_path: Path,
    output_path: Path,
    *,
    n_wanted: int = 20,
    epochs: int = EPOCHS,
    overrides: dict[str, Any] | None = None,
    name: str | None = None,
    part: str | None = None,
    **source: Any,
) -> list[Conjunction]:
    """Write a template file with the conjunctions that induction finds.

    config_path (Path): The config of the training. Without settings of induction, it
        gets the defaults.
    output_path (Path): The template file.
    n_wanted (int): The number of conjunctions at most.
    epochs (int): How often to learn from the data.
    overrides (dict): Of the config.
    name (str), part (str), source: Where the decisions come from, see load_decisions.
    RETURNS (list[Conjunction]): The conjunctions, in order.
    """
    config = util.load_config(config_path, overrides=overrides or {}, interpolate=False)
    name = find_name(config, name)
    learner = config["components"][name].get("model", {}).setdefault("learner", {})
    if learner.get("induction") is None:
        learner["induction"] = {}
    nlp = make_language(config["nlp"]["lang"])
    component = make_component(nlp, config, name)
    classifier = get_classifier(component, part)
    train, held_out = read_source(config, component, nlp, **source)
    msg.info(f"{name}: inducing pairs from {len(train)} docs")
    train_guide(component, train, nlp=nlp, epochs=epochs, drop=DROPOUT, seed=0)
    classifier = get_classifier(component, part)
    decisions = record_split(component, classifier.name, held_out)[:2]
    found = find_conjunctions(classifier, decisions, n_wanted)
    if not found:
        raise ValueError(SystemErrors.DS282.format(name=name))
    lines = [
        f"# Conjunctions by induction; {len(decisions[0])} held-out decisions.",
        *write_lines(classifier.templates, found),
    ]
    write_file(output_path, ("\n".join(lines) + "\n").encode("utf8"))
    msg.table(
        [(str(one.template), f"{one.gain:+.3f}", one.n_pairs) for one in found],
        header=("conjunction", "points", "pairs"),
    )
    msg.good(f"{len(found)} conjunctions: {output_path}")
    return found
