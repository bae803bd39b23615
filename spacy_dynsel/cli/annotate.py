"""Annotates a text, which is shown, or a corpus, which is written."""

import time
from enum import Enum
from pathlib import Path
from typing import Any

import tqdm  # type: ignore[import-untyped]
import typer
from spacy.cli._util import Arg, Opt
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import import_file
from wasabi import msg

from .. import corpus
from ._data import load_pipeline
from .group import dynsel_cli
from .options import CODE

# What a table shows of each token.
HEADER = ("#", "text", "lemma", "pos", "tag", "morph", "dep", "head", "ent")


class Format(str, Enum):
    """What a corpus is written as."""

    parquet = "parquet"
    jsonl = "jsonl"
    conllu = "conllu"
    docbin = "docbin"


@dynsel_cli.command("annotate")
def annotate_cli(
    pipeline: str = Arg(..., help="Name or path of the pipeline"),
    inputs: list[Path] | None = Arg(
        None, help="Parquet, JSONL, text or DocBin files, or folders of them"
    ),
    output: Path | None = Opt(
        None, "--output", "-o", help="Folder to write", file_okay=False
    ),
    text: str | None = Opt(None, "--text", "-t", help="Text to show as a table"),
    output_format: Format = Opt(Format.parquet, "--format", "-f", help="What to write"),
    processes: int = Opt(1, "--processes", "-n", min=1, help="Number of processes"),
    columns: str | None = Opt(
        None, "--columns", help="What to write, with commas between; all by default"
    ),
    keep: str = Opt(
        "", "--keep", help="Columns of the input to keep, with commas; text for texts"
    ),
    text_column: str = Opt("text", "--text-column", help="Column of the texts"),
    id_column: str | None = Opt(
        None, "--id-column", help="Column of the ids; '' to number rows  [default: id]"
    ),
    confidence: bool = Opt(False, "--confidence", help="Write probabilities too"),
    disable: str = Opt("", "--disable", help="Components not to run, with commas"),
    max_chars: int = Opt(200_000, "--max-chars", help="Characters of a batch"),
    max_length: int = Opt(1_000_000, "--max-length", help="Characters of a text"),
    code_path: Path | None = CODE,
) -> None:
    """
    Annotate a text and show it as a table (--text), or annotate a corpus (--output): one
    row a document, with an error in the rows that fail. Files that are finished stay, and
    a second run does what is missing.
    """
    if (text is None) == (not inputs):
        raise typer.BadParameter("Give either a text by --text, or files to annotate.")
    if text is not None:
        if code_path is not None:
            import_file("dynsel_code", code_path)
        disabled = [name for name in disable.split(",") if name]
        show_text(load_pipeline(pipeline), text, disabled)
        return
    if output is None:
        raise typer.BadParameter("Give a folder for what is annotated by --output.")
    settings: dict[str, Any] = {
        "keep": [name for name in keep.split(",") if name],
        "text_column": text_column,
        "confidence": confidence,
        "disable": [name for name in disable.split(",") if name],
        "max_chars": max_chars,
        "max_length": max_length,
        "code": "" if code_path is None else str(code_path.resolve()),
    }
    if columns is not None:
        settings["columns"] = columns.split(",")
    annotate_corpus(
        pipeline,
        inputs or [],
        output,
        settings,
        format=output_format.value,
        processes=processes,
        id_column=id_column,
    )


def annotate_corpus(
    pipeline: str,
    inputs: list[Path],
    output: Path,
    settings: dict[str, Any],
    **how: Any,
) -> None:
    """Annotate files, and say how far it is.

    settings (dict): Settings of an Annotator.
    how: See annotate_files.
    """
    try:
        annotator = corpus.Annotator(pipeline, **settings)
    except ImportError as error:
        # Only corpora need the package that is missing.
        msg.fail(str(error), exits=1)
    start = time.perf_counter()
    with tqdm.tqdm(unit="B", unit_scale=True, leave=False, disable=None) as bar:

        def show(n_bytes: int, total: int) -> None:
            bar.total = total
            bar.update(n_bytes)

        counts = corpus.annotate_files(annotator, inputs, output, show=show, **how)
    seconds = time.perf_counter() - start
    if counts.n_skipped:
        msg.info(f"{counts.n_skipped} files were finished before, and stay")
    speed = f"{counts.n_tokens / seconds:,.0f} tokens a second"
    msg.good(
        f"{counts.n_rows:,} documents, {counts.n_tokens:,} tokens in {seconds:.1f} s "
        f"({speed}): {output}"
    )
    if counts.n_errors:
        msg.warn(
            f"{counts.n_errors:,} documents could not be annotated: their column 'error' "
            "says why"
        )


def show_text(nlp: Language, text: str, disable: list[str] | None = None) -> None:
    """Print the tokens of a text with their annotations, and how long it took."""
    with nlp.select_pipes(disable=disable or []):
        # What is done once is not what a text takes.
        nlp(text)
        start = time.perf_counter()
        doc = nlp(text)
        seconds = time.perf_counter() - start
    rows = [describe(doc, i) for i in range(len(doc))]
    # Columns that nothing has set say nothing.
    shown = [k for k, name in enumerate(HEADER) if k < 2 or any(row[k] for row in rows)]
    msg.table(
        [[row[k] for k in shown] for row in rows],
        header=[HEADER[k] for k in shown],
        divider=True,
        # Features are long, and a row that is cut in the middle does not line up.
        max_col=100,
    )
    n = len(doc)
    speed = n / max(seconds, 1e-9)
    msg.good(f"{n} tokens in {1000 * seconds:.2f} ms ({speed:,.0f} tokens a second)")


def describe(doc: Doc, i: int) -> tuple[str, ...]:
    """What a table shows of a token."""
    token = doc[i]
    has_head = doc.has_annotation("DEP")
    entity = f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else ""
    return (
        str(i),
        repr(token.text)[1:-1] if token.is_space else token.text,
        token.lemma_,
        token.pos_,
        token.tag_,
        str(token.morph),
        token.dep_,
        token.head.text if has_head and not token.is_space else "",
        entity,
    )
