"""From numbers to the tables, figures and claims of the paper."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..report import boosting, cascades, page, paper
from ..report import induction as inducing
from ..report import tags as tagging
from .experiment import CURVE_MARGINS, TABLE_MARGINS, TASKS
from .figure import Line, draw

NAMES = {
    "tagging": ("Model/m", "Tok.", "Unk.", "Feat.", "Speed"),
    "parsing": ("Model/m", "LAS", "UAS", "Feat.", "Speed"),
    "entities": ("Model/m", "F1", "Feat.", "Speed"),
}
PAPER: dict[str, Sequence[Sequence[Any]]] = {
    "tagging": paper.TAGGING,
    "parsing": paper.PARSING,
    "entities": paper.ENTITIES,
}
TITLES = {
    "tagging": "Table 1: tagging",
    "parsing": "Table 2: parsing",
    "entities": "Table 3: entities",
}


class Table(NamedTuple):
    """A table of ours and the one of the paper.

    title (str): What it is about.
    names (Sequence): The names of the columns, for both.
    ours (Sequence), paper (Sequence): The rows.
    """

    title: str
    names: Sequence[str]
    ours: Sequence[Sequence[Any]]
    paper: Sequence[Sequence[Any]]


def make_rows(task: str, results: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a table, in the order of the paper's."""
    columns = list(TASKS[task].scores)
    if task == "tagging":
        columns.append("unknown")
    times = {name: min(values) for name, values in results["times"].items()}

    def row(name: str, found: dict[str, Any], timed: str | None) -> tuple[Any, ...]:
        speed = None if timed is None else times["full"] / times[timed]
        values = (found.get(column) for column in columns)
        return (name, *values, round(found["templates"], 2), speed)

    rows = [row("Baseline", results["full"]["all"], "full")]
    if "stagewise" in results:
        found = results["stagewise"]["margins"][-1]
        rows.append(row("Stagewise", found, None))
    rows += [
        row("Fixed", results[kind]["all"], kind)
        for kind in results
        if kind.startswith("fixed ")
    ]
    for kind, name in (("dynamic", "Dynamic"), ("dynamic, paper", "First satisfied")):
        for part, found in zip(CURVE_MARGINS, results[kind]["margins"], strict=True):
            if part in TABLE_MARGINS:
                rows.append(
                    row(f"{name}/{found['margin']:.2g}", found, f"{kind}/{part}")
                )
    # What the paper does not have comes last, so that its rows stand beside ours.
    return [*rows, row("One stage", results["one stage"]["all"], "one stage")]


def make_tables(results: dict[str, Any]) -> list[Table]:
    """The tables that there are numbers for."""
    tables = [
        Table(TITLES[task], NAMES[task], make_rows(task, results[task]), PAPER[task])
        for task in TASKS
        if task in results
    ]
    if "orders" in results:
        rows = [
            (row["method"], row["size"], row["accuracy"], row["speed_up"])
            for row in results["orders"]
        ]
        names = ("Method", "Templates", "Accuracy", "Speed")
        tables.append(Table("Table 4: ordering methods", names, rows, paper.ORDERING))
    if "handwriting" in results:
        tables.append(
            Table(
                "Cascades: handwriting",
                ("Order", "Characters", "Words", "Filter loss", "n-grams"),
                cascades.make_rows(results["handwriting"]),
                paper.HANDWRITING,
            )
        )
    for name, found in results.get("tags", {}).items():
        for kind in ("words", "rich"):
            tables.append(
                Table(
                    f"Cascades: {name}, {kind}",
                    ("Model", "Accuracy", "Filter loss", "Time", "States"),
                    tagging.make_rows(found[kind]),
                    paper.TAGS,
                )
            )
    for name, found in results.get("induction", {}).items():
        columns = ("Model", "All", "Unknown", "Features")
        for split, theirs in (("dev", paper.INDUCTION_DEV), ("test", paper.INDUCTION)):
            rows = inducing.make_rows(found, split)
            tables.append(Table(f"Induction: {name}, {split}", columns, rows, theirs))
            early = inducing.make_rows(found, f"{split}, early exit")
            title = f"Induction: {name}, {split}, early exit"
            tables.append(Table(title, columns, early, []))
        path = ("Model", "All", "Features", "Weights", "Pairs")
        rows = inducing.make_path_rows(found)
        tables.append(Table(f"Induction: {name}, l1 on dev", path, rows, []))
    for name, found in results.get("boosting", {}).items():
        for kind, title in boosting.KINDS.items():
            tables.append(
                Table(
                    f"Links: {name}, {title}",
                    ("Round", *boosting.SCORES, "Spread of DA", "Seconds"),
                    boosting.make_rows(found[kind]),
                    [],
                )
            )
    return tables


def make_figures(task: str, results: dict[str, Any]) -> list[tuple[str, str]]:
    """Accuracy against templates, and speed-up against accuracy, with captions."""
    score = TASKS[task].scores[0]
    name = {"tag_acc": "accuracy", "dep_las": "LAS", "ents_f": "F1"}[score]
    times = {one: min(values) for one, values in results["times"].items()}
    fixed = [kind for kind in results if kind.startswith("fixed ")] + ["full"]
    dynamic = ("dynamic", "dynamic, paper")
    left = [
        Line(
            f"{kind}, by margin",
            [(one["templates"], one[score]) for one in results[kind]["margins"]],
            number,
        )
        for number, kind in enumerate(dynamic)
    ]
    left += [
        Line(
            "dynamic, cut at a prefix",
            [(one["templates"], one[score]) for one in results["dynamic"]["cut"]],
            0,
            dashed=True,
        ),
        Line(
            "fixed prefixes, own models",
            [
                (results[kind]["all"]["templates"], results[kind]["all"][score])
                for kind in fixed
            ],
            2,
            dashed=True,
        ),
    ]
    right = [
        Line(
            f"{kind}, by margin",
            [
                (one[score], times["full"] / times[f"{kind}/{part}"])
                for part, one in zip(
                    CURVE_MARGINS, results[kind]["margins"], strict=True
                )
            ],
            number,
        )
        for number, kind in enumerate(dynamic)
    ]
    # The shortest prefixes are fast and far off: they would squeeze all the rest.
    lowest = min(x for line in right for x, _ in line.points)
    right.append(
        Line(
            "fixed prefixes, own models",
            [
                (results[kind]["all"][score], times["full"] / times[kind])
                for kind in fixed
                if results[kind]["all"][score] >= lowest
            ],
            2,
            dashed=True,
        )
    )
    return [
        (
            draw(left, "mean number of templates", name),
            f"{task}: {name} against templates",
        ),
        (
            draw(right, name, "speed-up", legend_on_top=True),
            f"{task}: speed-up against {name}",
        ),
    ]


def make_claims(results: dict[str, Any]) -> list[dict[str, Any]]:
    """What the paper found, and whether it is so here."""
    claims = []
    for task, found in results.items():
        if task not in TASKS:
            continue
        score = TASKS[task].scores[0]
        curve = sorted(
            (one["templates"], one[score]) for one in found["dynamic"]["margins"]
        )
        pairs = []
        for kind, model in found.items():
            if kind.startswith("fixed "):
                at = model["all"]["templates"]
                # Where the curve does not reach, nothing can be compared.
                if curve[0][0] <= at <= curve[-1][0]:
                    pairs.append((at, model["all"][score], _interpolate(curve, at)))
        claims.append(
            {
                "claim": f"{task}: dynamic beats fixed at the same mean number of "
                "templates",
                "holds": bool(pairs) and all(ours > fixed for _, fixed, ours in pairs),
                "numbers": "; ".join(
                    f"{at:.0f} templates: {ours:.2f} against {fixed:.2f}"
                    for at, fixed, ours in pairs
                )
                or "no fixed prefix within reach of the margins",
            }
        )
        cuts = [
            (kind, model["all"][score], cut[score])
            for (kind, model), cut in zip(
                ((k, m) for k, m in found.items() if k.startswith("fixed ")),
                found["dynamic"]["cut"],
                strict=True,
            )
        ]
        claims.append(
            {
                "claim": f"{task}: separately trained prefixes are no better than the "
                "dynamic model cut at the same prefix",
                "holds": all(cut >= fixed for _, fixed, cut in cuts),
                "numbers": "; ".join(
                    f"{kind}: {fixed:.2f}, cut {cut:.2f}" for kind, fixed, cut in cuts
                ),
            }
        )
    if "tagging" in results:
        full = results["tagging"]["full"]["all"]["tag_acc"]
        small = [
            one
            for one in results["tagging"]["dynamic"]["margins"]
            if one["templates"] <= 10
        ]
        best = max((one["tag_acc"] for one in small), default=0.0)
        claims.append(
            {
                "claim": "tagging: at most 10 templates on average cost at most 0.3",
                "holds": full - best <= 0.3,
                "numbers": f"all templates {full:.2f}, at most 10 {best:.2f}"
                if small
                else "no margin takes as few",
            }
        )
    if "orders" in results:
        at_ten = {
            row["method"]: row["accuracy"]
            for row in results["orders"]
            if row["size"] == 10
        }
        if at_ten:
            rest = max(at_ten["Lasso"], at_ten["GOMP"])
            claims.append(
                {
                    "claim": "the first ten templates of the wrapper beat those of the "
                    "lasso and of GOMP",
                    "holds": at_ten["Wrapper"] > rest,
                    "numbers": "; ".join(
                        f"{name} {value:.2f}" for name, value in at_ten.items()
                    ),
                }
            )
    if "handwriting" in results:
        claims += cascades.make_claims(results["handwriting"])
    for name, found in results.get("tags", {}).items():
        claims += tagging.make_claims(name, found)
    for name, found in results.get("induction", {}).items():
        claims += inducing.make_claims(name, found)
    for name, found in results.get("boosting", {}).items():
        claims += boosting.make_claims(name, found)
    return claims


def _interpolate(curve: Sequence[tuple[float, float]], at: float) -> float:
    xs, ys = zip(*curve, strict=True)
    return float(np.interp(at, xs, ys))


def make_page(results: dict[str, Any], about: dict[str, Any]) -> str:
    """The report."""
    sections = [("What the paper found", page.claims(make_claims(results)))]
    figures = {
        TITLES[task]: make_figures(task, results[task])
        for task in TASKS
        if task in results
    }
    for name, found in results.get("tags", {}).items():
        figures[f"Cascades: {name}, words"] = tagging.make_figures(name, found)
    for title, names, ours, theirs in make_tables(results):
        drawn = "".join(page.figure(*one) for one in figures.get(title, []))
        sections.append((title, page.table(names, ours, theirs) + drawn))
    note = (
        "<p>Speeds are those of predicting, in CPU time, measured side by side in one "
        "process, beside a model that reads all templates one after the other, as "
        "those with early exit do. In one stage, the same templates are added up "
        "together, which is faster: few stages are for use, many for research. "
        "Stagewise models "
        "and table 4 are measured on recorded decisions, whose history is that of the "
        "full model; the speeds of table 4 are those of the templates alone. The paper "
        "used other corpora: compare shapes, not numbers. Handwriting is that of Weiss "
        "and Taskar (2010), in their folds. Times of tags by cascades are microseconds a "
        "word here, and milliseconds in the paper. The numbers of Wang, Lin and Schuurmans "
        "(2007) on boosting are lost in the text that there is: compare with what they "
        "claim.</p>"
    )
    sections.append(("Settings", note + page.settings(about)))
    return page.page("Dynamic feature selection: experiments", sections)
