"""See whether a pipeline is as often right as it says, and fit what it says."""

from pathlib import Path
from typing import Any

import srsly
from spacy.cli._util import Arg, Opt, import_code
from spacy.language import Language
from spacy.training import Example
from wasabi import msg

from ..base.atomic import write_file
from ..confidence.maps import N_BINS, Handed, calibration_error, hand_on, make_bins
from ..confidence.reliability import fit_confidence, measure_confidence
from ..pipeline.component import DynselComponent
from ..report.figure import Line, draw
from ..report.page import figure, page, settings, table
from ._data import (
    check_annotation,
    component_file,
    find_name,
    load_pipeline,
    prepare,
    read_examples,
)
from .group import dynsel_cli

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)


@dynsel_cli.command("reliability")
def reliability_cli(
    pipeline_path: Path = Arg(..., help="Directory of a trained pipeline", exists=True),
    data_path: Path = Arg(..., help="Test data: DocBin or folder", exists=True),
    fit_path: Path | None = Opt(
        None,
        "--fit",
        "-f",
        help="Unseen data to fit to: DocBin or folder",
        exists=True,
    ),
    name: str | None = Opt(
        None, "--name", "-n", help="Name of the component, all if not given"
    ),
    output_path: Path | None = Opt(
        None, "--output", "-o", help="Page to write with plots, or .json with numbers"
    ),
    code_path: Path | None = Opt(None, "--code", help="Python file to import first"),
) -> None:
    """
    Compare the confidence of components with how often they are right, and draw it.
    With --fit, first fit confidence to other data, which the pipeline was not trained on
    either, write it into the pipeline and turn it on. Components that the data have no
    annotation for are skipped with a warning. The calibration error is that of 15 bins
    of equal width.
    """
    import_code(code_path)
    reliability(
        pipeline_path,
        data_path,
        fit_path=fit_path,
        name=name,
        output_path=output_path,
    )


def reliability(
    pipeline_path: Path,
    data_path: Path,
    *,
    fit_path: Path | None = None,
    name: str | None = None,
    output_path: Path | None = None,
) -> dict[str, dict[str, Any]]:
    """Fit and measure confidence; see the command.

    RETURNS (dict): For each component that could be measured the calibration error,
        the bins, what is left when unsure units are handed on, and how the methods did.
    """
    nlp = load_pipeline(pipeline_path)
    names = [find_name(nlp.config, name)]
    if name is None:
        names = [n for n, pipe in nlp.pipeline if isinstance(pipe, DynselComponent)]
    files = {one: component_file(pipeline_path, one, "cfg") for one in names}
    results: dict[str, dict[str, Any]] = {}
    failures: dict[str, ValueError] = {}
    fits: dict[str, dict[str, Any]] = {}
    for one in names:
        try:
            if fit_path is not None:
                fits[one] = fit(nlp, one, fit_path)
            results[one] = fits.get(one, {}) | measure(nlp, one, data_path)
        except ValueError as error:
            # What has no code is a mistake of our own.
            if not str(error).startswith("[DS"):
                raise
            failures[one] = error
        else:
            report(one, results[one])
    for one in fits:
        component: Any = nlp.get_pipe(one)
        data = srsly.json_dumps(component.cfg, indent=2).encode("utf8")
        write_file(files[one], data)
    if fits:
        msg.good(f"Calibration of {', '.join(fits)} written: {pipeline_path}")
    if not results:
        raise next(iter(failures.values()))
    for one, reason in failures.items():
        msg.warn(f"{one} was left out: {reason}")
    if output_path is not None:
        meta = nlp.meta
        about = {
            "pipeline": f"{pipeline_path} ({meta['lang']}_{meta['name']} {meta['version']})",
            "measured on": data_path,
            "fitted to": fit_path or "as it was",
            **{one: f"left out: {reason}" for one, reason in failures.items()},
        }
        is_json = output_path.suffix == ".json"
        text = srsly.json_dumps(results) if is_json else make_page(results, about)
        output_path.parent.mkdir(parents=True, exist_ok=True)
        write_file(output_path, text.encode("utf8"))
        msg.good(f"Written: {output_path}")
    return results


def fit(nlp: Language, name: str, path: Path) -> dict[str, Any]:
    choice = fit_confidence(nlp.get_pipe(name), read_prepared(nlp, name, path))
    return {
        "method": choice.chosen.method,
        "held_out_loss": choice.losses,
        "held_out_error": choice.errors,
    }


def measure(nlp: Language, name: str, path: Path) -> dict[str, Any]:
    examples = read_prepared(nlp, name, path)
    probabilities, right = measure_confidence(nlp.get_pipe(name), examples)
    return {
        "units": len(right),
        "accuracy": float(right.mean()) if len(right) else 0.0,
        "calibration_error": calibration_error(probabilities, right),
        "bins": [one._asdict() for one in make_bins(probabilities, right)],
        "handed_on": [one._asdict() for one in hand_on(probabilities, right, SHARES)],
    }


def read_prepared(nlp: Language, name: str, path: Path) -> list[Example]:
    """Data with annotation for a component, as the component will meet them."""
    examples = read_examples(path, nlp)
    component: Any = nlp.get_pipe(name)
    check_annotation(component, examples, path)
    prepare(nlp, name, examples)
    return examples


def report(name: str, result: dict[str, Any]) -> None:
    msg.divider(name)
    rows = []
    if "method" in result:
        losses = ", ".join(
            f"{method} {loss:.4f}" for method, loss in result["held_out_loss"].items()
        )
        rows += [("Method", result["method"]), ("Log loss, held out", losses)]
    rows += [
        ("Annotations", result["units"]),
        ("Right", f"{100 * result['accuracy']:.2f}%"),
        (
            f"Calibration error, {N_BINS} bins",
            f"{100 * result['calibration_error']:.2f}%",
        ),
    ]
    msg.table(rows)
    msg.table(
        [_show(Handed(**row)) for row in result["handed_on"]],
        header=HANDED_ON,
        divider=True,
        aligns=["r"] * 4,
    )


HANDED_ON = ("Handed on", "Less sure than", "Right among the rest", "Errors caught")


def _show(row: Handed) -> tuple[str, ...]:
    return (
        f"{100 * row.share:.0f}%",
        f"{100 * row.below:.1f}%",
        f"{100 * row.accuracy:.2f}%",
        f"{100 * row.caught:.0f}%",
    )


def make_page(results: dict[str, dict[str, Any]], about: dict[str, Any]) -> str:
    """The plots and tables as a page.

    about (dict): The pipeline and the data.
    """
    note = (
        "<p>Confidence is the probability that an annotation is right, as in "
        "<code>token._.dynsel_confidence</code>, here in percent.</p>"
    )
    sections = [("Pipeline and data", settings(about) + note)]
    for name, result in results.items():
        points = [
            (100 * one["confidence"], 100 * one["accuracy"]) for one in result["bins"]
        ]
        lines = [
            Line("as it should be", [(0.0, 0.0), (100.0, 100.0)], 3, dashed=True),
            Line(name, points, 0),
        ]
        facts = {
            "annotations": result["units"],
            "right": f"{100 * result['accuracy']:.2f}%",
            "calibration error": f"{100 * result['calibration_error']:.2f}%",
        }
        bins = [
            (
                one["n"],
                f"{100 * one['confidence']:.1f}%",
                f"{100 * one['accuracy']:.1f}%",
            )
            for one in result["bins"]
        ]
        handed_on = [_show(Handed(**row)) for row in result["handed_on"]]
        sections.append(
            (
                name,
                settings(facts)
                + figure(
                    draw(
                        lines,
                        "confidence",
                        "share that is right",
                        bounds=(0.0, 100.0),
                        unit="%",
                    ),
                    f"Mean confidence and accuracy in {N_BINS} bins of equal width",
                )
                + table(("annotations", "confidence", "right"), bins)
                + table(HANDED_ON, handed_on),
            )
        )
    return page("Reliability", sections)
