"""Clusters of words, from raw text."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import tqdm  # type: ignore[import-untyped]
from spacy.cli._util import Opt
from wasabi import msg

from ..base.atomic import write_file
from ..base.settings import check_number
from ..base.system_errors import SystemErrors
from ..core.model_file import dump_model, load_model, read_file
from ..core.word_clusters import (
    MAX_CLASSES,
    MAX_WORDS,
    N_FIXED,
    KeyCounter,
    PairCounter,
    WordExchange,
)
from ..corpus.raw_text import RawText, WordReader
from ..tasks.word_classes import CLUSTERS, WordClasses
from .group import dynsel_cli
from .options import ENCODING, RAW, RAW_OUTPUT, check_output

# Exchange is over when fewer words than this share move.
MIN_MOVED = 0.001


@dynsel_cli.command("clusters")
def clusters_cli(
    raw_paths: list[Path] = RAW,
    output_path: Path = RAW_OUTPUT,
    lang: str = Opt("en", "--lang", "-l", help="Language code"),
    n_classes: int = Opt(500, "--classes", "-n", help="Number of clusters"),
    min_count: int = Opt(3, "--min-count", "-m", help="How often a word must occur"),
    max_words: int = Opt(200_000, "--max-words", help="Number of words, at most"),
    sweeps: int = Opt(15, "--sweeps", help="Times that each word may move, at most"),
    threads: int = Opt(0, "--threads", "-t", min=0, help="Threads, 0 for all cores"),
    encoding: str = ENCODING,
    force: bool = Opt(False, "--force", "-F", help="Replace an existing file"),
) -> None:
    """
    Find clusters of words that stand beside similar words, and a tree of the clusters.
    The text is plain text, a sentence or a paragraph a line. Configs name the file as
    a resource, see 'init-config --resource', and templates read it by the columns
    cluster, cluster4, cluster6, cluster10 and cluster20. A run that was interrupted goes
    on where it was if the same command is given again.
    """
    check_output(output_path, force)
    make_clusters(
        RawText(raw_paths, lang, encoding),
        output_path,
        n_classes=n_classes,
        min_count=min_count,
        max_words=max_words,
        sweeps=sweeps,
        n_threads=threads or os.cpu_count() or 1,
    )


def make_clusters(
    text: RawText,
    output_path: Path,
    *,
    n_classes: int = 500,
    min_count: int = 3,
    max_words: int = 200_000,
    sweeps: int = 15,
    n_threads: int = 1,
) -> WordClasses:
    """Find clusters of words.

    text (RawText): The raw text.
    output_path (Path): Where to write the file.
    n_classes (int): How many clusters.
    min_count (int): How often a word has to occur.
    max_words (int): How many words to cluster at most, the most frequent ones.
    sweeps (int): How often each word may move at most.
    n_threads (int): How many threads to use. The result does not depend on it.
    RETURNS (WordClasses): The clusters, as they were written.
    """
    check_number("n_classes", n_classes, 2, MAX_CLASSES)
    check_number("min_count", min_count, 1, 1 << 30)
    check_number("max_words", max_words, 2, MAX_WORDS - N_FIXED)
    check_number("sweeps", sweeps, 1, 1000)
    settings = {"n_classes": n_classes, "min_count": min_count, "max_words": max_words}
    work = Work(output_path, {**settings, "text": text.state})
    counts = work.load("counts")
    if counts is None:
        words, *pairs = count_pairs(text, min_count, max_words)
        lines = np.frombuffer("\n".join(words).encode("utf8"), dtype="uint8")
        names = ("firsts", "seconds", "counts")
        counts = {"words": lines, **dict(zip(names, pairs, strict=True))}
        work.save("counts", counts)
    words = counts["words"].tobytes().decode("utf8").split("\n")
    if not words[0]:
        raise ValueError(
            SystemErrors.DS251.format(paths=", ".join(map(str, text.paths)))
        )
    if n_classes > len(words):
        raise ValueError(
            SystemErrors.DS252.format(
                n_classes=n_classes, n_words=len(words), min_count=min_count
            )
        )
    state = work.load("classes")
    if state is None:
        starts = np.arange(len(words) + N_FIXED, dtype="uint32") % n_classes
        state = {"classes": starts, "n_done": np.zeros(1, dtype="uint32")}
    exchange = WordExchange(
        n_classes,
        state["classes"],
        *(counts[name] for name in ("firsts", "seconds", "counts")),
    )
    n_done = int(state["n_done"][0])
    with tqdm.tqdm(total=sweeps, initial=n_done, leave=False, disable=None) as bar:
        while n_done < sweeps:
            n_moved = exchange.sweep(n_threads)
            n_done = sweeps if n_moved < MIN_MOVED * len(words) else n_done + 1
            done = np.array([n_done], dtype="uint32")
            work.save("classes", {"classes": exchange.classes, "n_done": done})
            bar.set_postfix_str(f"{n_moved} words moved")
            bar.update()
    # 0 is for words that have none.
    paths = exchange.find_paths(n_threads)[exchange.classes[:-N_FIXED]]
    found = WordClasses(CLUSTERS, text.lang, words, {"cluster": paths + 1}, settings)
    found.to_disk(output_path)
    work.remove()
    msg.good(f"{len(words)} words in {n_classes} clusters: {output_path}")
    return found


def count_pairs(
    text: RawText, min_count: int, max_words: int
) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """The frequent words, the most frequent first, and their pairs of neighbours."""
    reader = WordReader(text)
    counter = KeyCounter()
    strings: dict[int, str] = {}

    def keep_strings(least: int = 2) -> None:
        for key in counter.get(least)[0].tolist():
            if key not in strings and (string := reader.get_string(key)) is not None:
                strings[key] = string

    reader.on_replace = keep_strings
    n_bytes = text.n_bytes
    with tqdm.tqdm(
        total=2 * n_bytes, unit="B", unit_scale=True, leave=False, disable=None
    ) as bar:
        for line in reader.read(bar.update):
            counter.add(line)
        keep_strings(min_count)
        keys = counter.get(min_count)[0]
        chosen = [key for key in keys.tolist() if key in strings][:max_words]
        words = [strings[key] for key in chosen]
        reader.on_replace = None
        pairs = PairCounter(np.array(chosen, dtype="uint64"))
        for line in reader.read(bar.update):
            pairs.add(line)
    return words, *pairs.get()


class Work:
    """What is done of some work, beside the file that it is for.

    path (Path): That file.
    settings (dict): What the work depends on. What is left of other work, or is
        damaged, is not used.
    """

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path = path
        self.settings = settings
        self._names: set[str] = set()

    def _get_path(self, name: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{name}")

    def load(self, name: str) -> dict[str, np.ndarray] | None:
        """What was saved under a name, or None."""
        self._names.add(name)
        try:
            meta, arrays = load_model(read_file(self._get_path(name)))
        except (OSError, ValueError):
            return None
        return arrays if meta == {"work": self.settings} else None

    def save(self, name: str, arrays: dict[str, np.ndarray]) -> None:
        write_file(self._get_path(name), dump_model({"work": self.settings}, arrays))

    def remove(self) -> None:
        """Remove all of it, when the file is there."""
        for name in self._names:
            self._get_path(name).unlink(missing_ok=True)
