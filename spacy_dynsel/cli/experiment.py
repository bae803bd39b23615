"""Repeat the experiments of Strubell et al. (2015), of Weiss and Taskar (2010) and of Choi
(2016) on other corpora, and on handwriting."""

import hashlib
import json
import platform
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import spacy
from spacy.cli._util import Arg, Opt
from spacy.language import Language
from wasabi import msg

from ..about import __version__
from ..base.atomic import write_file
from ..base.errors import Errors
from ..base.templates import default_templates, read_templates
from ..ordering.journal import Journal
from ..report.boosting import BoostingExperiment
from ..report.cascades import SETTINGS, LettersExperiment, read_letters
from ..report.experiment import (
    DEFAULT_LISTS,
    ORDER_SIZES,
    TASKS,
    Experiment,
    compare_orders,
    plan_orders,
)
from ..report.induction import InductionExperiment
from ..report.induction import read_docs as read_tagged_docs
from ..report.results import make_claims, make_figures, make_page, make_tables
from ..report.tags import (
    CONDITIONS,
    RICH_EPSILON,
    TagsExperiment,
    find_corpus,
    read_corpus,
)
from ..report.tags import SETTINGS as TAG_SETTINGS
from ..report.tags import make_figures as make_tag_figures
from ._data import find_files, make_language, read_docs
from .group import dynsel_cli

# A shape that is not found is a result, not a failure.
NOTE = "What holds depends on the corpus; on a small one, little does."


@dynsel_cli.command("experiment")
def experiment_cli(
    output_path: Path = Arg(..., help="Folder for the report", file_okay=False),
    tagging: tuple[str, str] = Opt(
        ("", ""), "--tagging", help="Training and test data"
    ),
    parsing: tuple[str, str] = Opt(
        ("", ""), "--parsing", help="Training and test data"
    ),
    entities: tuple[str, str] = Opt(
        ("", ""), "--entities", help="Training and test data"
    ),
    cascades: Path | None = Opt(
        None, "--cascades", help="File of handwriting, for cascades"
    ),
    tags: list[str] = Opt(
        [], "--tags", help="Folder and column of a tagged corpus, for cascades"
    ),
    induction: list[str] = Opt(
        [], "--induction", help="Folder and column of a tagged corpus, for induction"
    ),
    resources: list[Path] = Opt(
        [], "--resources", help="Classes and clusters of words, for induction"
    ),
    boosting: list[str] = Opt(
        [], "--boosting", help="Folder and tag column of a treebank, for boosted links"
    ),
    sets: int = Opt(
        10, "--sets", min=0, help="Number of training sets to compare filters by"
    ),
    order: Path | None = Opt(None, "--order", help="Template file for tagging"),
    lang: str = Opt("en", "--lang", help="Language code"),
    epochs: int = Opt(6, "--epochs", "-e", min=1, help="Number of epochs"),
    limit: int = Opt(
        0, "--limit", "-l", min=0, help="Number of docs of each file, 0 for all"
    ),
    orders: bool = Opt(True, "--orders/--no-orders", help="Make table 4, the orders"),
    fast: bool = Opt(False, "--fast", help="Use the fast form of the wrapper"),
    seed: int = Opt(0, "--seed", "-s", help="Seed of the shuffling"),
    restart: bool = Opt(False, "--restart", help="Start anew, do not resume"),
) -> None:
    """
    Train the baselines of the paper and models with early exit, and write tables and
    figures beside those of the paper: report.html, results.json and SVG files. Run it
    again to resume an interrupted run.
    """
    given = {"tagging": tagging, "parsing": parsing, "entities": entities}
    experiment(
        output_path,
        {
            task: (Path(train), Path(test))
            for task, (train, test) in given.items()
            if train and test
        },
        cascades_path=cascades,
        tags=tags,
        induction=induction,
        resources=resources,
        boosting=boosting,
        sets=sets,
        order_path=order,
        lang=lang,
        epochs=epochs,
        limit=limit,
        orders=orders,
        fast=fast,
        seed=seed,
        restart=restart,
    )


def experiment(
    output_path: Path,
    corpora: dict[str, tuple[Path, Path]],
    *,
    cascades_path: Path | None = None,
    tags: Sequence[str] = (),
    induction: Sequence[str] = (),
    resources: Sequence[Path] = (),
    boosting: Sequence[str] = (),
    sets: int = 10,
    order_path: Path | None = None,
    lang: str = "en",
    epochs: int = 6,
    limit: int = 0,
    orders: bool = True,
    fast: bool = False,
    seed: int = 0,
    restart: bool = False,
) -> dict[str, Any]:
    """Run the experiments; see the command.

    corpora (dict): For each task the files, or folders, of training and test data.
    cascades_path (Path): A file of handwriting, see read_letters.
    tags (Sequence[str]): Tagged corpora for cascades, see read_corpus.
    induction (Sequence[str]): Tagged corpora for induction, in the same form.
    resources (Sequence[Path]): Classes and clusters of words, for induction.
    boosting (Sequence[str]): Treebanks for boosted links, see BoostingExperiment.
    sets (int): The number of training sets to compare filters by.
    RETURNS (dict): All numbers.
    """
    is_nothing = not (corpora or tags or induction or boosting)
    if is_nothing and cascades_path is None:
        raise ValueError(Errors.DS139)
    nlp = make_language(lang)
    settings = [list(corpora), lang, epochs, limit, orders, fast, seed]
    digest = hashlib.sha256(json.dumps(settings).encode("utf8"))
    models = output_path / "models"
    experiments = read_corpora(
        nlp, corpora, digest, models, order_path, limit=limit, epochs=epochs, seed=seed
    )
    handwriting = None
    if cascades_path is not None:
        handwriting = read_handwriting(cascades_path, digest, limit, seed)
    taggers = read_taggers(tags, digest, limit=limit, sets=sets, seed=seed)
    inducers = read_inducers(
        nlp, induction, resources, digest, limit=limit, epochs=epochs, seed=seed
    )
    boosters = read_treebanks(boosting, digest, limit)
    by_corpus: dict[str, dict[str, Any]] = {
        "tags": {one.corpus.name: one for one in taggers},
        "induction": {one.corpus.name: one for one in inducers},
        "boosting": {one.name: one for one in boosters},
    }
    journal_path = output_path / "experiment.journal"
    if restart:
        journal_path.unlink(missing_ok=True)
        shutil.rmtree(models, ignore_errors=True)
    output_path.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    with Journal(journal_path, digest.hexdigest(), show=True) as journal:
        steps: dict[str, float] = {}
        for one in experiments.values():
            steps |= one.plan()
        # With fewer templates there are no prefixes to compare.
        with_orders = (
            orders
            and "tagging" in experiments
            and len(experiments["tagging"].templates) > min(ORDER_SIZES)
        )
        if with_orders:
            steps |= plan_orders(len(experiments["tagging"].templates))
        if handwriting is not None:
            steps |= handwriting.plan()
        for named in by_corpus.values():
            for each in named.values():
                steps |= each.plan()
        journal.plan(steps)
        for task, one in experiments.items():
            results[task] = one.run(journal)
        if with_orders:
            results["orders"] = list(
                compare_orders(experiments["tagging"], journal, fast=fast)
            )
        if handwriting is not None:
            results["handwriting"] = handwriting.run(journal)
        for what, named in by_corpus.items():
            if named:
                results[what] = {name: one.run(journal) for name, one in named.items()}
    about = {
        "spacy-dynsel": __version__,
        "spaCy": spacy.__version__,
        "Machine": platform.machine(),
        "Epochs": epochs,
        "Seed": seed,
        "Docs of each file": limit or "all",
        "Wrapper": "fast" if fast else "exact",
        **{
            f"{task}, {split}": f"{path.name}, {len(docs)} docs"
            for task, paths in corpora.items()
            for split, path, docs in zip(
                ("train", "test"),
                paths,
                (experiments[task].train, experiments[task].test),
                strict=True,
            )
        },
    }
    if handwriting is not None and cascades_path is not None:
        n_words = len(handwriting.letters.lengths)
        about["handwriting"] = f"{cascades_path.name}, {n_words} words"
    about |= {
        one.corpus.name: f"{len(one.corpus.train.words)} words, {one.n_labels} tags"
        for one in taggers
    }
    about |= {
        f"{one.name}, trees": f"{len(one.sentences['train'])} sentences"
        for one in boosters
    }
    write_report(output_path, results, about)
    shutil.rmtree(models, ignore_errors=True)
    journal.remove()
    show(results)
    msg.good(f"Report: {output_path / 'report.html'}")
    return results


def read_corpora(
    nlp: Language,
    corpora: dict[str, tuple[Path, Path]],
    digest: Any,
    models: Path,
    order_path: Path | None,
    *,
    limit: int,
    epochs: int,
    seed: int,
) -> dict[str, Experiment]:
    """The experiment of each task.

    digest (Any): A hash, to which all is added that the experiments depend on.
    """
    experiments = {}
    for task, paths in corpora.items():
        if task == "tagging" and order_path is not None:
            templates = read_templates(order_path)
        else:
            templates = default_templates(DEFAULT_LISTS[task])
        lines = [str(template) for template in templates.templates]
        digest.update(json.dumps(lines).encode("utf8"))
        docs = []
        for path in paths:
            for file in find_files(path):
                digest.update(file.read_bytes())
            docs.append(read_docs(path, nlp.vocab))
        train, test = (part[:limit] if limit else part for part in docs)
        attribute = {"tagging": "TAG", "parsing": "DEP", "entities": "ENT_IOB"}[task]
        for path, part in zip(paths, (train, test), strict=True):
            if not any(doc.has_annotation(attribute) for doc in part):
                raise ValueError(
                    Errors.DS135.format(
                        path=path, name=task, what=f"no token has {attribute}"
                    )
                )
        experiments[task] = Experiment(
            TASKS[task], nlp, train, test, lines, models, epochs=epochs, seed=seed
        )
    return experiments


def read_handwriting(
    path: Path, digest: Any, limit: int, seed: int
) -> LettersExperiment:
    """The experiment on a file of handwriting.

    digest (Any): A hash, to which all is added that the experiment depends on.
    """
    found = LettersExperiment(read_letters(path, limit), replace(SETTINGS, seed=seed))
    digest.update(json.dumps(asdict(found.settings)).encode("utf8"))
    digest.update(path.read_bytes())
    return found


def read_taggers(
    tags: Sequence[str], digest: Any, *, limit: int, sets: int, seed: int
) -> list[TagsExperiment]:
    """The experiment of each tagged corpus.

    digest (Any): A hash, to which all is added that the experiments depend on.
    """
    settings = replace(TAG_SETTINGS, seed=seed)
    taggers = []
    for given in tags:
        paths, column = find_corpus(given)
        chosen = [column, asdict(settings), RICH_EPSILON, sets]
        digest.update(json.dumps(chosen).encode("utf8"))
        for path in paths.values():
            digest.update(path.read_bytes())
        taggers.append(TagsExperiment(read_corpus(given, limit), settings, sets))
    return taggers


def read_inducers(
    nlp: Language,
    corpora: Sequence[str],
    resources: Sequence[Path],
    digest: Any,
    *,
    limit: int,
    epochs: int,
    seed: int,
) -> list[InductionExperiment]:
    """The experiment on induction of each tagged corpus.

    digest (Any): A hash, to which all is added that the experiments depend on.
    """
    for given in corpora:
        digest.update(given.encode("utf8"))
        for path in find_corpus(given)[0].values():
            digest.update(path.read_bytes())
    for path in resources:
        digest.update(path.read_bytes())
    return [
        InductionExperiment(
            nlp,
            read_tagged_docs(nlp, given, limit),
            resources,
            epochs=epochs,
            seed=seed,
        )
        for given in corpora
    ]


def read_treebanks(
    boosting: Sequence[str], digest: Any, limit: int
) -> list[BoostingExperiment]:
    """The experiment of each treebank.

    digest (Any): A hash, to which all is added that the experiments depend on.
    """
    for given in boosting:
        paths, column = find_corpus(given)
        digest.update(f"boosting {column}".encode())
        for path in paths.values():
            digest.update(path.read_bytes())
    return [BoostingExperiment(given, limit) for given in boosting]


def write_report(folder: Path, results: dict[str, Any], about: dict[str, Any]) -> None:
    """Write all files of the report."""
    numbers = {"about": about, "claims": make_claims(results), **results}
    write_file(
        folder / "results.json", (json.dumps(numbers, indent=1) + "\n").encode("utf8")
    )
    for task in TASKS:
        if task in results:
            for name, (svg, _) in zip(
                ("accuracy", "speed"), make_figures(task, results[task]), strict=True
            ):
                write_file(folder / f"{task}_{name}.svg", svg.encode("utf8"))
    for corpus, found in results.get("tags", {}).items():
        for condition, (svg, _) in zip(
            CONDITIONS, make_tag_figures(corpus, found), strict=False
        ):
            name = f"{corpus.replace(', ', '_')}_{condition}.svg"
            write_file(folder / name, svg.encode("utf8"))
    write_file(folder / "report.html", make_page(results, about).encode("utf8"))


def show(results: dict[str, Any]) -> None:
    """Print the tables, ours beside the paper's."""
    for title, names, ours, theirs in make_tables(results):
        msg.divider(f"{title} (here | the paper)")
        rows = [
            (*map(show_cell, own), "|", *map(show_cell, other))
            for own, other in zip_longest(ours, theirs, fillvalue=[""] * len(names))
        ]
        msg.table(rows, header=(*names, "|", *names))
    msg.divider("What the paper found")
    for claim in make_claims(results):
        verdict = "holds here" if claim["holds"] else "does not hold here"
        msg.info(f"{claim['claim']}: {verdict} ({claim['numbers']})")
    msg.text(NOTE)


def show_cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)
