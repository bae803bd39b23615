"""Mixed load for a while, with what must always hold checked all the time.

    python benchmarks/soak.py --minutes 30

Several Python threads share one pipeline of all three components. Each of them, in random
order: annotates short and long Docs, single and in batches, odd words and empty Docs
among them; gives bad input, which has to be refused; saves and loads the pipeline, whole
and cut short; and turns the margin in a copy of its own. Another thread of work uses
memory zones, which spaCy allows to one thread at a time.

What must hold: each Doc comes back, in order, with a tag for each word, entities that do
not overlap and a tree for each sentence; the same texts always get the same annotation;
bad input gives an error with a code and changes nothing; caches keep to their size;
memory does not grow.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from load import make_text, measure_in_use, read_words, train_pipeline

PROBES = ["She saw two dogs in London .", "Nobody knows why .", "", " ", "a" * 500]
ODD = [
    "",
    " ",
    "\n\n",
    "\u200b",
    "\U0001f600",
    "e\u0301",
    "x" * 2000,
    "\u202eabc",
    "--",
]
CACHE_SIZE = 2000
N_ROUNDS = 12
MOST_GROWTH_KB = 1024
MOST_GROWTH_BLOCKS = 1000


def check(condition: object, what: str) -> None:
    if not condition:
        raise RuntimeError(f"This does not hold: {what}")


def check_doc(doc: Doc, words: list[str]) -> None:
    check([token.text for token in doc] == words, "words stay")
    check(all(token.tag_ for token in doc), "each word has a tag")
    check(all(token.dep_ for token in doc), "each word has a label")
    roots = [token for token in doc if token.head == token]
    check(len(roots) == len(list(doc.sents)), "each sentence has a root")
    for token in doc:
        check(token.sent == token.head.sent, "trees do not leave their sentences")
    ends = [0, *(ent.end for ent in doc.ents)]
    starts = [ent.start for ent in doc.ents]
    check(all(s >= e for s, e in zip(starts, ends, strict=False)), "entities are apart")


def describe(nlp: Language) -> list[Any]:
    return [doc.to_json() for doc in nlp.pipe(PROBES)]


class Worker:
    """One thread of work.

    nlp (Language): The pipeline that all share.
    folder (Path): Where the worker may write.
    """

    def __init__(self, nlp: Language, folder: Path, seed: int) -> None:
        self.nlp = nlp
        self.folder = folder
        self.expected = describe(nlp)
        self.rng = random.Random(seed)
        self.text = make_text(self.rng, read_words(), 0.1)
        self.counts: Counter[str] = Counter()
        self.error: BaseException | None = None
        # What is slow is rarer.
        self.jobs: list[tuple[Callable[[], None], int]] = [
            (self.batch, 20),
            (self.long_doc, 4),
            (self.odd_docs, 4),
            (self.probes, 6),
            (self.bad_input, 4),
            (self.reload, 1),
        ]

    def work(self, until: float, jobs: list[tuple[Callable[[], None], int]]) -> None:
        functions, weights = zip(*jobs, strict=True)
        try:
            while time.monotonic() < until:
                job = self.rng.choices(functions, weights)[0]
                job()
                self.counts[job.__name__] += 1
                for name, pipe in self.nlp.pipeline:
                    check(
                        pipe.n_cached <= CACHE_SIZE, f"the cache of {name} is bounded"
                    )
        except BaseException as error:
            self.error = error

    def take(self, n: int) -> list[str]:
        return [next(self.text) for _ in range(n)]

    def annotate(self, batch: list[list[str]]) -> None:
        docs = [Doc(self.nlp.vocab, words=words) for words in batch]
        n_docs = 0
        for doc, words in zip(self.nlp.pipe(docs, batch_size=16), batch, strict=True):
            check_doc(doc, words)
            n_docs += 1
            self.counts["tokens"] += len(doc)
        check(n_docs == len(batch), "each Doc comes back")

    def batch(self) -> None:
        n = self.rng.choice((1, 2, 40))
        self.annotate([self.take(self.rng.randint(0, 40)) for _ in range(n)])

    def long_doc(self) -> None:
        self.annotate([self.take(3000)])

    def odd_docs(self) -> None:
        words = [word for word in self.rng.choices(ODD, k=10) if word]
        self.annotate([words, []])

    def probes(self) -> None:
        check(
            describe(self.nlp) == self.expected, "the same texts, the same annotation"
        )

    def bad_input(self) -> None:
        name, pipe = self.rng.choice(self.nlp.pipeline)
        data = bytearray(pipe.engine.to_bytes())
        data[self.rng.randrange(len(data))] ^= self.rng.randint(1, 255)
        before = pipe.margin
        for bad in (
            lambda: self.nlp.create_pipe(f"{name}").engine.from_bytes(bytes(data)),
            lambda: setattr(pipe, "margin", -1.0),
            lambda: setattr(pipe, "n_threads", 0),
        ):
            try:
                bad()
            except ValueError as error:
                check("[DS" in str(error), "errors have codes")
            else:
                check(False, "bad input is refused")
        check(pipe.margin == before, "what is refused changes nothing")

    def reload(self) -> None:
        """Save the components, without spaCy's vocabulary, which others change
        meanwhile, and load them into another pipeline."""
        other = spacy.load(self.folder.parent / "nlp")
        for name, pipe in self.nlp.pipeline:
            pipe.to_disk(self.folder / name, exclude=["vocab"])
            other.get_pipe(name).from_disk(self.folder / name, exclude=["vocab"])
        check(describe(other) == self.expected, "load equals save")
        for _, pipe in other.pipeline:
            pipe.margin = 0.5
        self.probes()
        name = self.rng.choice(other.pipe_names)
        cut = self.folder / name / "model"
        cut.write_bytes(cut.read_bytes()[:-1])
        try:
            other.get_pipe(name).from_disk(self.folder / name, exclude=["vocab"])
        except ValueError as error:
            check("[DS031]" in str(error), "a file that is cut is refused by its code")
        else:
            check(False, "a file that is cut is refused")

    def zone(self) -> None:
        with self.nlp.memory_zone():
            self.batch()
            self.long_doc()
        check(
            all(label in self.nlp.vocab.strings for label in self.labels()),
            "labels outlive zones",
        )

    def labels(self) -> list[str]:
        return [label for _, pipe in self.nlp.pipeline for label in pipe.labels]


def run_round(
    folder: Path, n_threads: int, seconds: float, seeds: range
) -> Counter[str]:
    """Let Python threads work at the same time, then one with zones."""
    nlp = spacy.load(folder / "nlp")
    for _, pipe in nlp.pipeline:
        pipe.n_threads = n_threads
    workers = []
    for seed in seeds:
        own = folder / str(seed - seeds.start)
        own.mkdir(exist_ok=True)
        workers.append(Worker(nlp, own, seed))
    until = time.monotonic() + seconds * 2 / 3
    threads = [
        threading.Thread(target=worker.work, args=(until, worker.jobs))
        for worker in workers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first = workers[0]
    first.work(until + seconds / 3, [(first.zone, 5), (first.probes, 1)])
    counts: Counter[str] = Counter()
    for worker in workers:
        if worker.error is not None:
            raise worker.error
        counts.update(worker.counts)
    return counts


def soak(seconds: float, n_workers: int, seed: int) -> dict[str, int]:
    """Run it, in rounds with a fresh pipeline each: spaCy's vocabulary grows with new
    words, and goes with its pipeline.

    RETURNS (dict): How often what was done, and by how much the memory in use grew, in
        KB and in blocks: the least of the last third over that of the second. The
        resident memory depends on how much was in use at once, too.
    """
    counts: Counter[str] = Counter()
    memory = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train_pipeline(cache_size=CACHE_SIZE).to_disk(folder / "nlp")
        for number in range(N_ROUNDS):
            first = seed + number * n_workers
            seeds = range(first, first + n_workers)
            n_threads = 1 + number % 2
            counts += run_round(folder, n_threads, seconds / N_ROUNDS, seeds)
            memory.append(measure_in_use())
            n_bytes, n_blocks = memory[-1]
            print(
                f"round {number + 1}: {n_bytes / 2**20:.1f} MB and {n_blocks:,} blocks",
                flush=True,
            )
    third = N_ROUNDS // 3
    (before, blocks_before), (after, blocks_after) = (
        tuple(map(min, zip(*part, strict=True)))
        for part in (memory[third : 2 * third], memory[-third:])
    )
    counts["growth_kb"] = (after - before) // 1024
    counts["growth_blocks"] = blocks_after - blocks_before
    return dict(counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--workers", type=int, default=3, help="Python threads")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    result = soak(args.minutes * 60, args.workers, args.seed)
    for name, value in result.items():
        print(f"{name}: {value:,}")
    sys.exit(
        result["growth_kb"] > MOST_GROWTH_KB
        or result["growth_blocks"] > MOST_GROWTH_BLOCKS
    )


if __name__ == "__main__":
    main()
