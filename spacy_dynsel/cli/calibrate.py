"""Set the margin of a trained component so that a loss can be promised."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import srsly
from spacy.cli._util import Arg, Opt, import_code
from spacy.training import Example
from wasabi import msg

from ..base.atomic import write_file
from ..base.errors import Errors
from ..base.timing import seconds
from ..ordering.calibration import (
    MAX_KNOBS,
    Outcome,
    Verdict,
    check_size,
    find_path,
    follow,
    one_margin,
)
from ..ordering.decisions import get_golds
from ..registry.describing import META_KEY
from ..spacy_io.tokens import find_words
from ..tasks.bilou.engine import MISSING
from ..tasks.engine import get_fold
from ._data import (
    check_annotation,
    component_file,
    find_name,
    load_pipeline,
    prepare,
    read_examples,
)
from .group import dynsel_cli

TIMED_ROUNDS = 20


@dynsel_cli.command("calibrate")
def calibrate_cli(
    pipeline_path: Path = Arg(..., help="Directory of a trained pipeline", exists=True),
    data_path: Path = Arg(..., help="DocBin or folder, not trained on", exists=True),
    max_loss: float = Opt(0.1, "--max-loss", "-l", help="Points of accuracy"),
    confidence: float = Opt(0.95, "--confidence", "-c", help="Of the promise"),
    name: str | None = Opt(None, "--name", "-n", help="The component"),
    per_stage: bool = Opt(True, "--per-stage/--one-margin", help="Margins by stage"),
    dry_run: bool = Opt(False, "--dry-run", "-d", help="Do not write the margin"),
    code_path: Path | None = Opt(None, "--code", help="Python file with code"),
) -> None:
    """
    Find the smallest margin of a component whose loss of accuracy, compared with all
    templates, is at most --max-loss points with the given confidence, and write it
    into the pipeline. Accuracy is that of tags, of heads with labels, or of the
    entity actions of tokens.
    """
    import_code(code_path)
    calibrate(
        pipeline_path,
        data_path,
        max_loss=max_loss,
        confidence=confidence,
        name=name,
        per_stage=per_stage,
        dry_run=dry_run,
    )


class Knob(NamedTuple):
    """A margin, or several of neighbouring stages that are turned together.

    setting (str): "margin" or "label_margin".
    stages (range): The stages.
    base (float): The margin of training.
    """

    setting: str
    stages: range
    base: float


def calibrate(
    pipeline_path: Path,
    data_path: Path,
    *,
    max_loss: float = 0.1,
    confidence: float = 0.95,
    name: str | None = None,
    per_stage: bool = True,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Set the margin of a component; see the command.

    RETURNS (dict): The margins, what is promised, and what was measured.
    """
    for what, value, most in (
        ("max_loss", max_loss, 100.0),
        ("confidence", confidence, 1.0),
    ):
        if not 0 < value < most:
            raise ValueError(
                Errors.DS022.format(
                    name=what, value=value, range=f"between 0 and {most:g}"
                )
            )
    share, alpha = max_loss / 100, 1 - confidence
    nlp = load_pipeline(pipeline_path)
    name = find_name(nlp.config, name)
    cfg_path = component_file(pipeline_path, name, "cfg")
    component: Any = nlp.get_pipe(name)
    examples = read_examples(data_path, nlp)
    check_annotation(component, examples, data_path)
    prepare(nlp, name, examples)
    knobs = make_knobs(component)
    # What a search for margins by stage has seen can't be what tests them.
    is_split = per_stage and len(knobs) > 1
    folds = [get_fold(example.reference, 2) for example in examples]
    test = Measured(
        component,
        knobs,
        [e for e, fold in zip(examples, folds, strict=True) if fold or not is_split],
    )
    check_size(len(test.full), share, alpha)
    path = one_margin(len(knobs))
    by_stage = False
    if is_split:
        choose = Measured(
            component,
            knobs,
            [e for e, fold in zip(examples, folds, strict=True) if not fold],
        )
        check_size(len(choose.full), share, alpha)
        other = find_path(choose, choose.full, len(knobs), share)
        candidates = [
            (follow(one, choose, choose.full, share, alpha), one)
            for one in (path, other)
        ]
        costs = [
            math.inf if verdict is None else verdict.cost for verdict, _ in candidates
        ]
        by_stage = costs[1] < costs[0]
        path = other if by_stage else path
    verdict = follow(path, test, test.full, share, alpha)
    result = describe(component, knobs, test, verdict)
    result |= {"max_loss": max_loss, "confidence": confidence, "by_stage": by_stage}
    report(result, name)
    if not dry_run:
        settings = srsly.json_dumps(component.cfg, indent=2)
        write_file(cfg_path, settings.encode("utf8"))
        write_promise(Path(pipeline_path) / "meta.json", component, result)
        msg.good(f"Margin written: {cfg_path.parent}")
    return result


def write_promise(meta_path: Path, component: Any, result: dict[str, Any]) -> None:
    """Write what was found about a component into the meta of its pipeline."""
    meta = srsly.read_json(meta_path)
    described = meta.setdefault(META_KEY, {})
    described[component.name] = {
        **component.describe(),
        "mean_templates": result["templates"],
        "promise": {key: result[key] for key in ("max_loss", "confidence")},
    }
    write_file(meta_path, (srsly.json_dumps(meta, indent=2) + "\n").encode("utf8"))


def make_knobs(component: Any) -> list[Knob]:
    """The margins that can be turned."""
    engine = component.engine
    knobs = []
    parts = [("margin", engine.n_stages, engine.settings)]
    if hasattr(component, "label_margin"):
        parts.append(("label_margin", engine.n_label_stages, engine.label_settings))
    for setting, n_stages, settings in parts:
        n_knobs = min(n_stages - 1, MAX_KNOBS)
        bounds = np.linspace(0, n_stages - 1, n_knobs + 1).round().astype(int)
        bases = settings.stage_margins(n_stages)
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            knobs.append(Knob(setting, range(start, end), bases[start]))
    return knobs


def turn(component: Any, knobs: Sequence[Knob], factors: Sequence[float]) -> None:
    """Set the margins of a component."""
    margins: dict[str, list[float]] = {}
    for knob, factor in zip(knobs, factors, strict=True):
        values = [round(knob.base * factor, 4)] * len(knob.stages)
        margins.setdefault(knob.setting, []).extend(values)
    for setting, values in margins.items():
        # One number where it says the same.
        same = len(set(values)) == 1
        setattr(component, setting, values[0] if same else values)


class Measured:
    """A component on some data: which units are right with which margins."""

    def __init__(
        self, component: Any, knobs: list[Knob], examples: list[Example]
    ) -> None:
        self.component = component
        self.knobs = knobs
        self.docs = [example.predicted for example in examples]
        self.golds = get_golds(component, examples)
        self.everything = self([math.inf] * len(knobs))
        self.full = self.everything.right

    def __call__(self, factors: Sequence[float]) -> Outcome:
        turn(self.component, self.knobs, factors)
        if not self.docs:
            return Outcome(np.zeros(0, dtype=bool), 0.0)
        return Outcome(
            *count_right(self.component, self.component._predict(self.docs), self.golds)
        )

    def time(self, factors: Sequence[float]) -> float:
        """The seconds that a prediction takes."""
        turn(self.component, self.knobs, factors)
        start = seconds()
        self.component._predict(self.docs)
        return seconds() - start


def count_right(
    component: Any, batch: Any, golds: Sequence[Any]
) -> tuple[np.ndarray, float]:
    """Which units with gold annotation are right, and the templates of a decision."""
    if hasattr(batch, "heads"):
        heads = np.concatenate([gold.heads for gold in golds])
        labels = np.concatenate([gold.labels for gold in golds])
        own = np.concatenate([np.arange(len(gold.heads)) for gold in golds])
        is_right = (batch.heads == heads) & (
            (batch.labels == labels) | (heads == own) | (labels < 0)
        )
        cost = component.engine.actions.mean_templates(batch.action_counts)
        return is_right[heads >= 0], cost
    cost = component.engine.mean_templates(batch.stage_counts)
    if hasattr(batch, "actions"):
        actions = np.concatenate([gold.actions for gold in golds])
        for gold, end in zip(golds, batch.ends.tolist(), strict=True):
            spaces = np.ones(len(gold.doc), dtype=bool)
            spaces[find_words(gold.doc)] = False
            actions[end - len(spaces) : end][spaces] = MISSING
        return (batch.actions == actions)[actions >= 0], cost
    labels = np.concatenate([gold.labels for gold in golds])
    return (batch.labels == labels)[labels >= 0], cost


def describe(
    component: Any, knobs: list[Knob], test: Measured, verdict: Verdict | None
) -> dict[str, Any]:
    """What was found; the component is left with the margins."""
    everything = [math.inf] * len(knobs)
    factors: Sequence[float] = everything if verdict is None else verdict.factors
    # Turn about, so that what else the machine does hits both alike.
    times = [(test.time(everything), test.time(factors)) for _ in range(TIMED_ROUNDS)]
    turn(component, knobs, factors)
    settings = list(dict.fromkeys(knob.setting for knob in knobs))
    return {
        "margins": {setting: component.cfg[setting] for setting in settings},
        "units": len(test.full),
        "accuracy": 100 * float(test.full.mean()),
        "loss": 0.0 if verdict is None else 100 * verdict.loss,
        "bound": 0.0 if verdict is None else 100 * verdict.bound,
        "worse": 0 if verdict is None else verdict.n_worse,
        "better": 0 if verdict is None else verdict.n_better,
        "templates": test.everything.cost if verdict is None else verdict.cost,
        "all_templates": test.everything.cost,
        "speed_up": min(one for one, _ in times) / min(other for _, other in times),
    }


def report(result: dict[str, Any], name: str) -> None:
    msg.divider(name)
    margins = ", ".join(
        f"{setting} {value}" for setting, value in result["margins"].items()
    )
    rows = [
        ("Margin", margins),
        ("Tokens", result["units"]),
        ("Accuracy, all templates", f"{result['accuracy']:.2f}"),
        (
            "Loss",
            f"{result['loss']:.3f} ({result['worse']} worse, {result['better']} better)",
        ),
        (
            "Promised",
            f"at most {result['max_loss']:g} with confidence {result['confidence']:g} "
            f"(bound {result['bound']:.3f})",
        ),
        (
            "Templates",
            f"{result['templates']:.1f} of {result['all_templates']:.1f} on average",
        ),
        ("Speed", f"{result['speed_up']:.2f} times that of all templates"),
    ]
    msg.table(rows)
