"""How long clusters of raw text take, step by step.

    python benchmarks/clusters.py
    python benchmarks/clusters.py --classes 1000 --threads 2

The text is all of raw_en, found through DYNSEL_DATA. CPU times of this process; words
are what stands between white space.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from corpora import data_folder
from spacy_dynsel.cli.clusters import count_pairs
from spacy_dynsel.core.word_clusters import N_FIXED, WordExchange
from spacy_dynsel.corpus.raw_text import RawText


def measure(name: str, work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = work()
    seconds = time.process_time() - start
    print(f"{name:10} {seconds:6.1f} s")
    return result, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", type=int, default=500)
    parser.add_argument("--min-count", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    text = RawText(sorted((data_folder() / "raw_en").glob("*.txt")))
    n_words = sum(len(line.split()) for line in text.read())
    (words, *pairs), counting = measure(
        "counting", lambda: count_pairs(text, options.min_count, 200_000)
    )
    starts = np.arange(len(words) + N_FIXED, dtype="uint32") % options.classes
    exchange = WordExchange(options.classes, starts, *pairs)

    def move() -> None:
        for _ in range(options.sweeps):
            exchange.sweep(options.threads)

    _, moving = measure("exchange", move)
    _, merging = measure("merging", lambda: exchange.find_paths(options.threads))
    minutes = (counting + moving + merging) / 60
    print(
        f"{n_words} words, {len(words)} of them different and frequent, "
        f"{options.classes} classes: {n_words / minutes / 1e6:.1f} million words a minute"
    )


if __name__ == "__main__":
    main()
