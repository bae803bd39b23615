"""Set the margin of a trained component, or the thresholds of a cascade, so that a loss
can be promised."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import srsly
from spacy.cli._util import Arg, Opt, import_code
from spacy.training import Example
from wasabi import msg

from ..base.atomic import write_file
from ..base.errors import Errors
from ..base.settings import check_choice
from ..ordering.calibration import (
    Verdict,
    check_size,
    find_path,
    follow,
    one_margin,
    skip_failing,
)
from ..ordering.cascades import choose_alphas
from ..ordering.knobs import Knob, Measured, make_knobs, turn
from ..registry.describing import META_KEY
from ..tasks.folds import get_fold
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
Unit = Literal["sentence", "doc", "token"]


@dynsel_cli.command("calibrate")
def calibrate_cli(
    pipeline_path: Path = Arg(..., help="Directory of a trained pipeline", exists=True),
    data_path: Path = Arg(..., help="Unseen data: DocBin or folder", exists=True),
    max_loss: float = Opt(
        0.5,
        "--max-loss",
        "-l",
        help="Largest loss, in points of accuracy; of a cascade, in percent of sentences",
    ),
    confidence: float = Opt(
        0.95, "--confidence", "-c", help="Confidence of the promise"
    ),
    name: str | None = Opt(None, "--name", "-n", help="Name of the component"),
    per_stage: bool = Opt(
        True,
        "--per-stage/--one-margin",
        help="One margin for each stage, or one for all",
    ),
    unit: str = Opt(
        "sentence",
        "--unit",
        "-u",
        help="What is drawn independently: sentence, doc or token",
    ),
    every_stage: bool = Opt(
        False, "--every-stage", help="Promise the loss for the words of each stage, too"
    ),
    dry_run: bool = Opt(False, "--dry-run", "-d", help="Do not write the margin"),
    code_path: Path | None = Opt(None, "--code", help="Python file to import first"),
) -> None:
    """
    Find the smallest margin of a component whose loss of accuracy, compared with all
    templates, is at most --max-loss points with the given confidence, and write it
    into the pipeline. Accuracy is that of tags, of heads with labels, or of the
    entity actions of tokens, as a mean over sentences (or what --unit says). Of a cascade, find the thresholds (alpha) that filter most
    and lose a label of at most --max-loss percent of sentences with that confidence.
    """
    import_code(code_path)
    calibrate(
        pipeline_path,
        data_path,
        max_loss=max_loss,
        confidence=confidence,
        name=name,
        per_stage=per_stage,
        unit=unit,  # type: ignore[arg-type]
        every_stage=every_stage,
        dry_run=dry_run,
    )


def calibrate(
    pipeline_path: Path,
    data_path: Path,
    *,
    max_loss: float = 0.5,
    confidence: float = 0.95,
    name: str | None = None,
    per_stage: bool = True,
    unit: Unit = "sentence",
    every_stage: bool = False,
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
    check_choice("unit", unit, get_args(Unit))
    share, alpha = max_loss / 100, 1 - confidence
    nlp = load_pipeline(pipeline_path)
    name = find_name(nlp.config, name)
    cfg_path = component_file(pipeline_path, name, "cfg")
    component: Any = nlp.get_pipe(name)
    examples = read_examples(data_path, nlp)
    check_annotation(component, examples, data_path)
    prepare(nlp, name, examples)
    if not component.engine.has_margins:
        result = find_thresholds(component, examples, share, confidence)
        result |= {"max_loss": max_loss, "confidence": confidence}
        report_thresholds(result, name)
        if not dry_run:
            write(component, cfg_path, Path(pipeline_path) / "meta.json", result)
            msg.good(f"Alpha written: {cfg_path.parent}")
        return result
    knobs = make_knobs(component)
    # What a search for margins has seen can't be what tests them.
    is_split = (per_stage and len(knobs) > 1) or every_stage
    folds = [get_fold(example.reference, 2) for example in examples]

    def measure(fold: int) -> Measured:
        chosen = [e for e, f in zip(examples, folds, strict=True) if f == fold]
        measured = Measured(
            component,
            knobs,
            chosen if is_split else examples,
            unit=unit,
            with_stages=every_stage,
        )
        check_size(measured.n_groups, unit, share, alpha)
        return measured

    test = measure(1)
    path, by_stage = one_margin(len(knobs)), False
    if is_split:
        path, by_stage = choose_path(measure(0), share, alpha, per_stage, every_stage)
    verdict = follow(path, test, test.full, test.groups, share, alpha)
    result = describe(component, knobs, test, verdict)
    result |= {"max_loss": max_loss, "confidence": confidence, "by_stage": by_stage}
    result |= {"unit": unit, "every_stage": every_stage}
    report(result, name)
    if verdict is None:
        msg.warn(
            "No margin could be promised: all templates are read. Give more data, or "
            "allow a larger loss."
        )
    if not dry_run:
        write(component, cfg_path, Path(pipeline_path) / "meta.json", result)
        msg.good(f"Margin written: {cfg_path.parent}")
    return result


def choose_path(
    seen: Measured, max_loss: float, alpha: float, per_stage: bool, every_stage: bool
) -> tuple[list[tuple[float, ...]], bool]:
    """Margins to test, in their order, as data say that will not test them.

    RETURNS (tuple): The margins, and whether there is one for each stage.
    """
    n_knobs = len(seen.knobs)
    case = (seen, seen.full, seen.groups, max_loss, alpha)
    paths = [one_margin(n_knobs)]
    if per_stage and n_knobs > 1:
        paths.append(find_path(seen, seen.full, n_knobs, max_loss))
    if every_stage:
        paths = [skip_failing(path, *case) for path in paths]
    verdicts = [follow(path, *case) for path in paths]
    costs = [math.inf if verdict is None else verdict.cost for verdict in verdicts]
    best = costs.index(min(costs))
    return paths[best], best > 0


def find_thresholds(
    component: Any, examples: list[Example], max_loss: float, confidence: float
) -> dict[str, Any]:
    """What was found about a cascade; the component is left with the thresholds."""
    engine = component.engine
    arrays = engine.read_arrays([component.get_gold(example) for example in examples])
    cascade = engine.get_snapshot().scorers["cascade"]
    if cascade is None:
        raise ValueError(Errors.DS040.format(name=component.name))
    before = cascade.predict(*arrays[:3], alpha=component.cfg["alpha"])
    verdict = choose_alphas(cascade, *arrays, max_loss=max_loss, confidence=confidence)
    component.alpha = list(verdict.alphas)
    after = cascade.predict(*arrays[:3], alpha=component.alpha)
    known = arrays[3] >= 0
    return {
        "alpha": component.alpha,
        "units": verdict.n,
        "loss": 100 * verdict.loss,
        "bound": 100 * verdict.bound,
        "accuracy": 100 * float((after.labels == arrays[3])[known].mean()),
        "grams": after.grams,
        "grams_before": before.grams,
    }


def report_thresholds(result: dict[str, Any], name: str) -> None:
    msg.divider(name)
    rows = [
        ("Alpha", ", ".join(f"{alpha:.4f}" for alpha in result["alpha"])),
        ("Sentences", result["units"]),
        ("Accuracy", f"{result['accuracy']:.2f}"),
        ("Sentences that lose a label", f"{result['loss']:.3f}%"),
        (
            "Promised",
            f"at most {result['max_loss']:g}% with confidence {result['confidence']:g} "
            f"(bound {result['bound']:.3f}%)",
        ),
        *(
            (what, ", ".join(f"{one:.2f}" for one in result[key]))
            for what, key in (
                ("N-grams a word, by level", "grams"),
                ("Before", "grams_before"),
            )
        ),
    ]
    msg.table(rows)


def write(
    component: Any, cfg_path: Path, meta_path: Path, result: dict[str, Any]
) -> None:
    """Write what was found into the pipeline."""
    settings = srsly.json_dumps(component.cfg, indent=2)
    write_file(cfg_path, settings.encode("utf8"))
    write_promise(meta_path, component, result)


def write_promise(meta_path: Path, component: Any, result: dict[str, Any]) -> None:
    """Write what was found about a component into the meta of its pipeline."""
    meta = srsly.read_json(meta_path)
    described = meta.setdefault(META_KEY, {})
    described[component.name] = {
        **component.describe(),
        **({"mean_templates": result["templates"]} if "templates" in result else {}),
        "promise": {
            key: result[key]
            for key in ("max_loss", "confidence", "unit", "every_stage")
            if key in result
        },
    }
    write_file(meta_path, (srsly.json_dumps(meta, indent=2) + "\n").encode("utf8"))


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
        "units": test.n_groups,
        "tokens": int((test.full >= 0).sum()),
        "accuracy": 100
        * float((test.full == 1).sum() / max(1, (test.full >= 0).sum())),
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
        (f"{result['unit'].capitalize()}s", result["units"]),
        ("Words", result["tokens"]),
        ("Accuracy, all templates", f"{result['accuracy']:.2f}"),
        (
            "Loss",
            f"{result['loss']:.3f} ({result['worse']} worse, {result['better']} better)",
        ),
        (
            "Promised",
            f"at most {result['max_loss']:g} with confidence {result['confidence']:g}"
            f"{', for each stage' if result['every_stage'] else ''} "
            f"(bound {result['bound']:.3f})",
        ),
        (
            "Templates",
            f"{result['templates']:.1f} of {result['all_templates']:.1f} on average",
        ),
        ("Speed", f"{result['speed_up']:.2f} times that of all templates"),
    ]
    msg.table(rows)
