"""spaCy's tokenizer and the cached one on the same raw text, in interleaved rounds.

    python benchmarks/tokenizer.py
    python benchmarks/tokenizer.py --corpus ud_pt_bosque --lang pt

Texts are the documents of the train split; short texts are its sentences. CPU times,
the best of the rounds. Corpora are found through DYNSEL_DATA.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language

from corpora import make_docs, read_split
from tagger import best_times, consume, show

STOCK, CACHED = "spacy.Tokenizer.v1", "spacy_dynsel.CachedTokenizer.v1"
NAMES = (STOCK, CACHED)


def make_nlp(lang: str, name: str) -> Language:
    return spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": name}}})


def read_texts(corpus: str) -> tuple[list[str], list[str]]:
    """The documents of a corpus, and its sentences."""
    sentences = read_split(corpus, "train", "upos")
    vocab = spacy.blank("xx").vocab
    documents = make_docs(vocab, sentences, whole_documents=True)
    return (
        [doc.text for doc in documents],
        [doc.text.strip() for doc in make_docs(vocab, sentences)],
    )


def measure(
    lang: str, documents: list[str], sentences: list[str], rounds: int
) -> dict[str, Any]:
    """Nanoseconds a token, but microseconds a text for short ones."""
    warm = {name: make_nlp(lang, name) for name in NAMES}
    n_tokens = sum(len(warm[CACHED].tokenizer(text)) for text in documents)
    fresh: dict[str, Language] = {}

    def warm_run(name: str, texts: list[str]) -> Callable[[], None]:
        return lambda: consume(map(warm[name].tokenizer, texts))

    def skip() -> None:
        pass

    def renew() -> None:
        fresh.update({name: make_nlp(lang, name) for name in NAMES})

    def cold_run(name: str) -> Callable[[], None]:
        return lambda: consume(map(fresh[name].tokenizer, documents))

    def zone_run(name: str) -> Callable[[], None]:
        def run() -> None:
            with fresh[name].memory_zone():
                consume(map(fresh[name].tokenizer, documents))

        return run

    for name in NAMES:
        warm_run(name, documents + sentences)()
    per_token, per_text = n_tokens / 1e9, len(sentences) / 1e6
    table = {
        "warm, ns/token": (lambda name: warm_run(name, documents), skip, per_token),
        "cold, ns/token": (cold_run, renew, per_token),
        "memory zone, ns/token": (zone_run, renew, per_token),
        "short texts, µs/text": (
            lambda name: warm_run(name, sentences),
            skip,
            per_text,
        ),
    }
    result: dict[str, Any] = {}
    for what, (make_run, prepare, unit) in table.items():
        times = best_times(
            {name: make_run(name) for name in NAMES},
            rounds,
            prepare,
            time.process_time,
        )
        stock, cached = times[STOCK], times[CACHED]
        result[what] = {
            "spaCy": stock[0] / unit,
            "cached": cached[0] / unit,
            "times faster": stock[0] / cached[0],
            "spread": [stock[1] / stock[0], cached[1] / cached[0]],
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="ud_en_ewt")
    parser.add_argument("--lang", default="en")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="where to write the figures")
    options = parser.parse_args()
    documents, sentences = read_texts(options.corpus)
    result = measure(options.lang, documents, sentences, options.rounds)
    show("Tokenizers", result)
    if options.output:
        options.output.write_text(json.dumps(result, indent=2), encoding="utf8")


if __name__ == "__main__":
    main()
