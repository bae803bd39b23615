"""Ambiguity classes of words, from raw text that a pipeline annotates."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np
import tqdm  # type: ignore[import-untyped]
from spacy.attrs import LOWER, MORPH, POS, TAG
from spacy.cli._util import Arg, Opt
from spacy.language import Language
from spacy.parts_of_speech import NAMES
from spacy.tokens import Doc
from wasabi import msg

from ..base.settings import check_number
from ..base.system_errors import SystemErrors
from ..corpus.raw_text import RawText
from ..pipeline.morphologizer import join_label
from ..spacy_io.tokens import find_words
from ..tasks.word_classes import CLASSES, WordClasses
from ._data import load_pipeline
from .group import dynsel_cli
from .options import ENCODING, RAW, RAW_OUTPUT, check_output

# How many lines share a memory zone, so that the vocabulary does not grow.
ROUND = 5000
# How many words to count at most; those that came up once go first.
MAX_WORDS = 1 << 22
# The attribute that a column needs.
ATTRIBUTES = {"tag": "TAG", "morph": "POS"}

Counts = defaultdict[str, Counter[str]]


@dynsel_cli.command("classes")
def classes_cli(
    pipeline_path: Path = Arg(..., help="Trained pipeline", exists=True),
    raw_paths: list[Path] = RAW,
    output_path: Path = RAW_OUTPUT,
    min_count: int = Opt(10, "--min-count", "-m", help="How often a word must occur"),
    min_share: float = Opt(
        0.2, "--min-share", help="Share of its occurrences that a label needs"
    ),
    encoding: str = ENCODING,
    force: bool = Opt(False, "--force", "-F", help="Replace an existing file"),
) -> None:
    """
    Let a pipeline annotate raw text, and find out which labels each word often has. The
    column "class" of a tagger or morphologizer that names the file as a resource then
    knows the words that are not frequent in its training data.
    """
    check_output(output_path, force)
    nlp = load_pipeline(pipeline_path)
    make_word_labels(
        nlp,
        RawText(raw_paths, nlp.lang, encoding),
        output_path,
        min_count=min_count,
        min_share=min_share,
    )


def make_word_labels(
    nlp: Language,
    text: RawText,
    output_path: Path,
    *,
    min_count: int = 10,
    min_share: float = 0.2,
) -> WordClasses:
    """Find the ambiguity classes of words.

    nlp (Language): Annotates the text: tags, or parts of speech with features, or both.
    text (RawText): The raw text.
    output_path (Path): Where to write the file.
    min_count (int): How often a word has to occur.
    min_share (float): The share of its occurrences that a label needs.
    RETURNS (WordClasses): The classes, as they were written.
    """
    check_number("min_count", min_count, 1, 1 << 30)
    check_number("min_share", min_share, 0.0, 1.0, whole=False)
    counts: dict[str, Counts] = {column: defaultdict(Counter) for column in ATTRIBUTES}
    with tqdm.tqdm(
        total=text.n_bytes, unit="B", unit_scale=True, leave=False, disable=None
    ) as bar:
        lines = (line for line in text.read(bar.update) if line.strip())
        while batch := list(islice(lines, ROUND)):
            with nlp.memory_zone():
                count_labels(nlp.pipe(batch), counts)
            for one in counts.values():
                drop_rare(one)
    kept = {name: find_frequent(one, min_count) for name, one in counts.items()}
    words = sorted(set().union(*kept.values()))
    if not words:
        raise ValueError(
            SystemErrors.DS256.format(
                pipeline=nlp.meta.get("name"), min_count=min_count
            )
        )
    columns: dict[str, np.ndarray] = {}
    classes: dict[str, list[list[str]]] = {}
    for name, frequent in kept.items():
        if frequent:
            numbers: dict[tuple[str, ...], int] = {}
            columns[name] = np.zeros(len(words), dtype="uint32")
            for i, word in enumerate(words):
                if word in frequent:
                    found = frequent[word]
                    least = min_share * found.total()
                    often = sorted(one for one, n in found.items() if n >= least)
                    best = min(found, key=lambda one: (-found[one], one))
                    labels = tuple(often) or (best,)
                    columns[name][i] = numbers.setdefault(labels, len(numbers) + 1)
            classes[name] = [list(labels) for labels in numbers]
    settings = {"min_count": min_count, "min_share": min_share}
    result = WordClasses(CLASSES, nlp.lang, words, columns, settings, classes)
    result.to_disk(output_path)
    msg.good(f"{len(words)} words: {output_path}")
    return result


def count_labels(docs: Iterable[Doc], counts: dict[str, Counts]) -> None:
    """Count how often the lower form of a word has which label."""
    for doc in docs:
        strings = doc.vocab.strings
        rows = doc.to_array([LOWER, TAG, POS, MORPH])[find_words(doc)]
        for column, attribute in ATTRIBUTES.items():
            if doc.has_annotation(attribute):
                chosen = rows[:, :2] if column == "tag" else rows[:, [0, 2, 3]]
                for lower, *parts in chosen.tolist():
                    if column == "tag":
                        label = strings[parts[0]]
                    else:
                        label = join_label(NAMES[parts[0]], strings[parts[1]])
                    if label:
                        counts[column][strings[lower]][label] += 1


def drop_rare(counts: Counts) -> None:
    """Make room, if there are too many words."""
    least = 1
    while len(counts) > MAX_WORDS:
        least += 1
        for word in [word for word, one in counts.items() if one.total() < least]:
            del counts[word]


def find_frequent(counts: Counts, min_count: int) -> dict[str, Counter[str]]:
    return {
        word: found
        for word, found in counts.items()
        if found.total() >= min_count and "\n" not in word
    }
