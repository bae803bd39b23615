"""Make a fast student of any pipeline, for the user's own text."""

import shutil
import time
from pathlib import Path
from typing import Any

import srsly
import typer
from spacy.cli._util import Arg, Opt, parse_config_overrides
from spacy.cli.train import train
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_model
from thinc.api import Config
from wasabi import msg

from ..base.atomic import write_file
from ..base.service_errors import ServiceErrors
from ..base.settings import check_number
from ..corpus.raw_text import RawText
from ..registry.readers import GoldWordsCorpus
from ._data import find_files, read_docs, write_docs
from ._shards import LEARNERS, Shards
from .group import dynsel_cli
from .init_config import make_config
from .options import ENCODING, RAW, WITH_OVERRIDES

SCORES = {
    "tag_acc": "tags",
    "pos_acc": "parts of speech",
    "morph_acc": "features",
    "lemma_acc": "lemmas",
    "dep_uas": "heads",
    "dep_las": "heads and relations",
    "sents_f": "sentences",
    "ents_f": "entities",
}
# How many Docs are annotated to measure speed: a teacher may be slow.
TIMED = 200


@dynsel_cli.command("distill", context_settings=WITH_OVERRIDES)
def distill_cli(
    ctx: typer.Context,
    teacher: str = Arg(..., help="Name or path of the pipeline to learn from"),
    raw_paths: list[Path] = RAW,
    output_path: Path = Opt(..., "--output", "-o", help="Folder to write"),
    gold_path: Path | None = Opt(
        None, "--gold", "-g", help="Gold data to learn from as well", exists=True
    ),
    gold_dev_path: Path | None = Opt(
        None, "--gold-dev", help="Gold data to measure on", exists=True
    ),
    min_confidence: float = Opt(
        0.9, "--min-confidence", help="What a teacher that says so must be sure of"
    ),
    max_words: int = Opt(0, "--max-words", min=0, help="Words to annotate, 0 for all"),
    clusters: bool = Opt(False, "--clusters", help="Use Brown clusters"),
    fast: bool = Opt(False, "--fast", help="Parse greedily, entities in one pass"),
    encoding: str = ENCODING,
) -> None:
    """
    Make a student of a pipeline: annotate raw text with it, train all components that it
    has, and say how often the two agree on text that was held out, and how fast both
    are. Run it again to resume an interrupted run. More options are overrides of the
    training config, such as --training.max_epochs 5.
    """
    distill(
        load_model(teacher),
        RawText(raw_paths, encoding=encoding),
        output_path,
        gold_path=gold_path,
        gold_dev_path=gold_dev_path,
        min_confidence=min_confidence,
        max_words=max_words,
        clusters=clusters,
        fast=fast,
        overrides=parse_config_overrides(ctx.args),
    )


def distill(
    teacher: Language,
    text: RawText,
    output_path: Path,
    *,
    gold_path: Path | None = None,
    gold_dev_path: Path | None = None,
    min_confidence: float = 0.9,
    max_words: int = 0,
    clusters: bool = False,
    fast: bool = False,
    overrides: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Make a student, in the folder model-best of an output folder.

    teacher (Language): The pipeline to learn from.
    text (RawText): Raw text, a paragraph a line.
    output_path (Path): The folder. What is there of the same teacher and text is used.
    gold_path (Path): Gold data to learn from as well. Raw text that they hold is left out.
    gold_dev_path (Path): Gold data that the better student is chosen by. Without them it
        is held-out text, as the teacher annotates it.
    min_confidence (float): See Shards.
    max_words (int): How many words of text to annotate, 0 for all.
    clusters (bool), fast (bool): See make_config.
    overrides (dict): Changes of the training config.
    RETURNS (dict): The scores, as shares of 1: "agreement", "student" and "teacher" on
        gold data, and words a second of both ("speed").
    """
    check_number("min_confidence", min_confidence, 0.0, 1.0, whole=False)
    shards = Shards(
        output_path / "shards",
        teacher,
        text,
        min_confidence=min_confidence,
        max_words=max_words,
    )
    known = shards.annotate()
    msg.good(f"Annotated: {shards.train}")
    folder = output_path / "train"
    _gather(shards.train, gold_path, folder, teacher)
    config = make_student_config(teacher.lang, known, clusters=clusters, fast=fast)
    config["paths"]["train"] = str(folder)
    config["paths"]["dev"] = str(gold_dev_path or shards.held_out)
    config_path = output_path / "config.cfg"
    write_file(config_path, config.to_str().encode())
    train(config_path, output_path, overrides=overrides or {})
    student = load_model(output_path / "model-best")
    found = compare(teacher, student, shards.held_out, gold_dev_path)
    srsly.write_json(output_path / "report.json", found)
    show(found)
    return found


def _gather(
    shards: Path, gold_path: Path | None, folder: Path, teacher: Language
) -> None:
    """Put what is learned from into one folder: gold data first, and of the raw text what
    they don't hold."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    texts = set()
    if gold_path is not None:
        gold = read_docs(gold_path, teacher.vocab)
        texts = {doc.text.strip() for doc in gold}
        write_docs(folder / "0-gold.spacy", gold)
    for path in find_files(shards):
        docs = read_docs(path, teacher.vocab)
        kept = [doc for doc in docs if doc.text.strip() not in texts]
        write_docs(folder / f"1-{path.name}", kept)


def make_student_config(
    lang: str, known: set[str], *, clusters: bool = False, fast: bool = False
) -> Config:
    """A config for the components that can be learned.

    known (set): What the training data have, as keys of LEARNERS.
    """
    text = make_config("pipeline", lang=lang, clusters=clusters, fast=fast)
    config = Config().from_str(text, interpolate=False)
    chosen = {LEARNERS[name] for name in known}
    if "lemmatizer" in chosen and "morphologizer" not in chosen:
        # It reads parts of speech.
        chosen.remove("lemmatizer")
    if not chosen:
        raise ValueError(ServiceErrors.DS340.format(names=sorted(known)))
    names = [name for name in config["nlp"]["pipeline"] if name in chosen]
    config["nlp"]["pipeline"] = names
    config["components"] = {name: config["components"][name] for name in names}
    training = config["training"]
    training["annotating_components"] = [
        name for name in training["annotating_components"] if name in names
    ]
    if "ner" not in names:
        training["before_to_disk"]["first"] = None
    # Those of the components that are there.
    del training["score_weights"]
    return config


def compare(
    teacher: Language, student: Language, held_out: Path, gold: Path | None
) -> dict[str, Any]:
    """Compare a student with its teacher; see distill."""
    found: dict[str, Any] = {"agreement": _score(student, held_out)}
    if gold is not None:
        found["student"] = _score(student, gold)
        found["teacher"] = _score(teacher, gold)
    texts = [doc.text for doc in read_docs(held_out, student.vocab)[:TIMED]]
    found["speed"] = {
        "student": _measure_speed(student, texts),
        "teacher": _measure_speed(teacher, texts),
    }
    return found


def _score(nlp: Language, path: Path) -> dict[str, float]:
    scores = nlp.evaluate(list(GoldWordsCorpus(path)(nlp)))
    return {name: scores[name] for name in SCORES if scores.get(name) is not None}


def _measure_speed(nlp: Language, texts: list[str]) -> float:
    """Words a second of CPU time, the better of two rounds."""
    best = float("inf")
    n_words = 0
    for _ in range(2):
        start = time.process_time()
        docs: list[Doc] = list(nlp.pipe(texts))
        best = min(best, time.process_time() - start)
        n_words = sum(map(len, docs))
    return round(n_words / max(best, 1e-9), 1)


def show(found: dict[str, Any]) -> None:
    """Print what compare has found."""
    columns = [name for name in ("agreement", "student", "teacher") if name in found]
    header = ("", *("agreement", "student, gold", "teacher, gold")[: len(columns)])
    rows = [
        (label, *(_points(found[column].get(name)) for column in columns))
        for name, label in SCORES.items()
        if any(name in found[column] for column in columns)
    ]
    msg.table(rows, header=header, aligns=("l", *"r" * len(columns)), divider=True)
    speed = found["speed"]
    ratio = speed["student"] / max(speed["teacher"], 1e-9)
    msg.info(
        f"Words a second: student {speed['student']:,.0f}, teacher "
        f"{speed['teacher']:,.0f}: {ratio:.1f} times as fast"
    )


def _points(score: float | None) -> str:
    return "" if score is None else f"{100 * score:.2f}"
