"""Write a complete config for training, from the small ones that ship in the package."""

import re
import shlex
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import typer
from spacy import util
from spacy.cli._util import Arg, Opt
from thinc.api import Config
from wasabi import msg

from ..base.atomic import write_file
from ._data import make_language
from .group import dynsel_cli
from .options import check_output

CONFIGS = Path(__file__).parent.parent / "configs"
COMMAND = ("python", "-m", "spacy")
TRAIN_OPTIONS = "--paths.train TRAIN.spacy --paths.dev DEV.spacy --output OUTPUT"
# What a line of a config can begin.
SECTION = re.compile(r"\[(.+)\]")
SETTING = re.compile(r"([^\s=\[#]\S*) = ")


class Kind(str, Enum):
    TAGGER = "tagger"
    CASCADE = "cascade"
    NER = "ner"
    PARSER = "parser"
    MORPHOLOGIZER = "morphologizer"
    LEMMATIZER = "lemmatizer"
    PIPELINE = "pipeline"


PIPELINES = {
    Kind.TAGGER: ["tagger"],
    Kind.CASCADE: ["tagger"],
    Kind.NER: ["ner"],
    Kind.PARSER: ["tagger", "parser"],
    Kind.MORPHOLOGIZER: ["morphologizer"],
    Kind.LEMMATIZER: ["morphologizer", "lemmatizer"],
    Kind.PIPELINE: ["tagger", "morphologizer", "parser", "lemmatizer", "ner"],
}
# If components want different epochs and batches, the last one decides.
MERGED = ("lemmatizer", "morphologizer", "tagger", "ner", "parser")
ABOUT = {
    Kind.TAGGER: "A tagger, for a corpus with tags in token.tag.",
    Kind.CASCADE: (
        "A tagger that is a structured prediction cascade, for a corpus with tags in "
        "token.tag."
    ),
    Kind.NER: "An entity recognizer, for a corpus with entities.",
    Kind.PARSER: "A tagger and a parser, for a corpus with tags and dependencies.",
    Kind.MORPHOLOGIZER: (
        "A morphologizer, for a corpus with parts of speech, and features if it has "
        "them."
    ),
    Kind.LEMMATIZER: (
        "A morphologizer and a lemmatizer, for a corpus with parts of speech and lemmas."
    ),
    Kind.PIPELINE: (
        "A tagger, a morphologizer, a parser, a lemmatizer and an entity recognizer, "
        "for a corpus that has all of these."
    ),
}


@dynsel_cli.command("init-config")
def init_config_cli(
    kind: Kind = Arg(
        ...,
        help="What to train; a parser comes with a tagger, a lemmatizer with a morphologizer",
    ),
    output_path: Path = Arg(..., help="Config to write (.cfg)", dir_okay=False),
    lang: str = Opt("en", "--lang", "-l", help="Language code"),
    clusters: bool = Opt(False, "--clusters", help="Use Brown clusters"),
    gazetteers: bool = Opt(False, "--gazetteers", help="Use lists of names"),
    resources: list[str] = Opt(
        [], "--resource", "-r", help="File made from raw text; may be given again"
    ),
    fast: bool = Opt(
        False, "--fast", help="Parse greedily, and look for entities in one pass"
    ),
    force: bool = Opt(False, "--force", "-F", help="Replace an existing file"),
) -> None:
    """
    Write a complete config for 'spacy train'. Brown clusters come from the package
    spacy-lookups-data, which has them for English, German and Spanish. Lists of names
    are text files in a folder that the config calls paths.gazetteers. Resources are what
    'clusters' and 'classes' write, and take the place of that package.
    """
    if gazetteers and "ner" not in PIPELINES[kind]:
        raise typer.BadParameter(
            "only an entity recognizer uses lists of names: give 'ner' or 'pipeline'.",
            param_hint="--gazetteers",
        )
    if fast and not {"parser", "ner"} & set(PIPELINES[kind]):
        raise typer.BadParameter(
            "only parsers and entity recognizers can be faster: give 'parser', 'ner' or "
            "'pipeline'.",
            param_hint="--fast",
        )
    check_output(output_path, force)
    choices = {"clusters": clusters, "gazetteers": gazetteers, "fast": fast}
    text = make_config(kind, lang=lang, resources=resources, **choices)
    options = [] if lang == "en" else ["--lang", lang]
    options += [f"--{name}" for name, is_chosen in choices.items() if is_chosen]
    options += [part for one in resources for part in ("--resource", one)]
    path = output_path.as_posix()
    write = shlex.join([*COMMAND, "dynsel", "init-config", kind.value, path, *options])
    train = f"{shlex.join([*COMMAND, 'train', path])} {TRAIN_OPTIONS}"
    header = [ABOUT[kind], "Written by:", f"  {write}"]
    if clusters and not resources:
        header += ["Needs Brown clusters:", "  pip install 'spacy-dynsel[lookups]'"]
    header += ["Train with:", f"  {train}"]
    head = "".join(f"# {line}\n" for line in header)
    write_file(output_path, f"{head}\n{text}".encode())
    msg.good(f"Config written: {output_path}. Train with:")
    typer.echo(train)


def make_config(
    kind: Kind | str,
    *,
    lang: str = "en",
    clusters: bool = False,
    gazetteers: bool = False,
    resources: Sequence[str] = (),
    fast: bool = False,
) -> str:
    """Make a complete config for training.

    kind (Kind or str): "tagger", "cascade" (a tagger), "ner", "parser" (with a tagger), "morphologizer",
        "lemmatizer" (with a morphologizer) or "pipeline" (all).
    lang (str): The code of the language.
    clusters (bool): Whether templates look at Brown clusters.
    gazetteers (bool): Whether the entity recognizer uses lists of names.
    resources (Sequence[str]): Files made from raw text, for all that can use them. With
        any, templates look at clusters.
    fast (bool): Whether to prefer speed: greedy parsing, and entities in one pass.
    RETURNS (str): The config, with comments.
    """
    pipeline = PIPELINES[Kind(kind)]
    names = ["base", *(name for name in MERGED if name in pipeline)]
    has_classes = clusters or bool(resources)
    names += ["clusters"] * has_classes + ["gazetteers"] * gazetteers + ["fast"] * fast
    if Kind(kind) is Kind.PIPELINE:
        names += ["pipeline"]
    if Kind(kind) is Kind.CASCADE:
        names += ["cascade"] + ["cascade_clusters"] * has_classes
    names += ["resources"] * bool(resources)
    texts = [(CONFIGS / f"{name}.cfg").read_text("utf8") for name in names]
    config = Config({"nlp": {"lang": lang, "pipeline": pipeline}})
    for text in texts:
        config = config.merge(Config().from_str(text, interpolate=False))
    if resources:
        config["paths"]["resources"] = list(resources)
    if "morphologizer" in pipeline:
        # What a tagger alone has no use for.
        config["training"].get("score_weights", {}).pop("pos_acc", None)
    config["components"] = {name: config["components"][name] for name in pipeline}
    make_language(lang)
    filled = util.load_model_from_config(config, auto_fill=True).config
    text = _order_sections(_functions_first(filled), pipeline)
    return _add_comments(text, texts)


def _functions_first(block: dict[str, Any]) -> dict[str, Any]:
    """A block with the name of its registered function before its settings."""
    return {
        key: _functions_first(block[key])
        if isinstance(block[key], dict)
        else block[key]
        for key in sorted(block, key=lambda key: not key.startswith("@"))
    }


def _order_sections(config: dict[str, Any], pipeline: list[str]) -> str:
    """A config as text, with each section before its own subsections."""
    order = [*util.CONFIG_SECTION_ORDER, *pipeline]

    def find_rank(section: str) -> list[tuple[int, str]]:
        path = section[1 : section.index("]")].split(".")
        return [(order.index(key) if key in order else -1, key) for key in path]

    sections = re.split(
        r"^(?=\[)", Config(config).to_str(interpolate=False), flags=re.M
    )
    sections = [section.strip() for section in sections if section.strip()]
    return "\n\n".join(sorted(sections, key=find_rank))


def _add_comments(config: str, texts: list[str]) -> str:
    """Put the comments of the small configs where their settings have come to stand."""
    comments: dict[tuple[str, str], list[str]] = {}
    for text in texts:
        found: list[str] = []
        for line, place in _find_places(text):
            if line.startswith("#"):
                found.append(line)
            elif found:
                comments[place] = found
                found = []
    lines: list[str] = []
    for line, place in _find_places(config):
        if line:
            lines += comments.get(place, [])
        lines.append(line)
    return "\n".join(lines) + "\n"


def _find_places(text: str) -> list[tuple[str, tuple[str, str]]]:
    """Each line with the section and the setting that it begins."""
    found = []
    section = ""
    for line in text.splitlines():
        key = ""
        if match := SECTION.fullmatch(line):
            section = match[1]
        elif match := SETTING.match(line):
            key = match[1]
        found.append((line, (section, key)))
    return found
