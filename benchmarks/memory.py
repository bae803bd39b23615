"""Whether memory grows: all three components on millions of tokens, among them ever new
words, within memory zones and without, with one thread and several.

    python benchmarks/memory.py --tokens 10000000

Without zones spaCy's vocabulary keeps every word for good; with zones its hash tables
still grow by some bytes for each new word, since they do not use places again. To see
what the components keep, each batch of Docs has a vocabulary of its own, which goes with
the batch.

Each setting runs in a process of its own, so that no memory is there to be used again
that an earlier one has left behind. Reported is the highest resident memory of the last
fifth over that of the second fifth: the first one fills the caches.
"""

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab, create_vocab

from load import make_text, read_words, resident_kb, train_pipeline

DOC_LENGTH = 40
BATCH = 50
SHARE_NEW = 0.25
N_PARTS = 5
PROBES = ["She saw two dogs in London .", "Nobody knows why ."]


def annotate(nlp: Language, vocab: Vocab, batch: list[list[str]]) -> None:
    docs = [Doc(vocab, words=words) for words in batch]
    for _, pipe in nlp.pipeline:
        docs = list(pipe.pipe(docs, batch_size=BATCH))


def probe(nlp: Language) -> list[Any]:
    """What fixed texts give, with the names of labels."""
    return [doc.to_json() for doc in nlp.pipe(PROBES)]


def run(
    nlp: Language, n_tokens: int, *, zones: bool, sample: Any = resident_kb
) -> list[int]:
    """Annotate text. RETURNS (list[int]): The highest memory in each fifth of it."""
    before = probe(nlp)
    text = make_text(random.Random(0), read_words(), SHARE_NEW)
    n_batches = max(N_PARTS, n_tokens // (DOC_LENGTH * BATCH))
    highest = [0] * N_PARTS
    for i in range(n_batches):
        batch = [list(itertools.islice(text, DOC_LENGTH)) for _ in range(BATCH)]
        vocab = create_vocab(nlp.lang, nlp.Defaults)
        with vocab.memory_zone() if zones else nullcontext():
            annotate(nlp, vocab, batch)
        del vocab
        part = i * N_PARTS // n_batches
        highest[part] = max(highest[part], sample())
        for name, pipe in nlp.pipeline:
            if pipe.n_cached > pipe.cache_size:
                raise SystemExit(f"{name} keeps {pipe.n_cached} lexemes")
    if probe(nlp) != before:
        raise SystemExit("The same texts are annotated otherwise than before.")
    return highest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tokens", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2, help="for those with several")
    parser.add_argument("--cache-size", type=int, default=10_000)
    parser.add_argument("--most", type=int, default=1024, help="KB of growth allowed")
    parser.add_argument("--setting", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.setting:
        path, zones, n_threads = json.loads(args.setting)
        nlp = spacy.load(path)
        for _, pipe in nlp.pipeline:
            pipe.n_threads = n_threads
        print(json.dumps(run(nlp, args.tokens, zones=zones)))
        return
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "nlp")
        train_pipeline(cache_size=args.cache_size).to_disk(path)
        for zones, n_threads in itertools.product((True, False), (1, args.threads)):
            start = time.perf_counter()
            setting = json.dumps([path, zones, n_threads])
            command = [sys.executable, __file__, "--tokens", str(args.tokens)]
            done = subprocess.run(
                [*command, "--setting", setting], stdout=subprocess.PIPE, check=True
            )
            highest = json.loads(done.stdout)
            growth = highest[-1] - highest[1]
            failed |= growth > args.most
            print(
                f"{'zones' if zones else 'no zones'}, {n_threads} threads: "
                f"{args.tokens:,} tokens, highest resident memory of each fifth "
                f"{', '.join(f'{kb / 1024:.2f}' for kb in highest)} MB, "
                f"growth {growth} KB, {time.perf_counter() - start:.0f} s",
                flush=True,
            )
    sys.exit(failed)


if __name__ == "__main__":
    main()
