"""What the memory and the soak benchmark run: a pipeline of all three components,
trained on the embedded corpus, and text that never ends and always has new words."""

import ctypes
import gc
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.training import Example

from spacy_dynsel.corpus.conll import make_docs, read_conllu

CORPUS = Path(__file__).parent.parent / "assets" / "train.conllu"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PAGE_KB = 4


def train_pipeline(
    n_sentences: int = 200, n_epochs: int = 3, *, cache_size: int = 50_000
) -> Language:
    """A pipeline that is good enough to have something to do."""
    nlp = spacy.blank("en")
    for name in ("dynsel_tagger", "dynsel_ner"):
        nlp.add_pipe(name, config={"cache_size": cache_size})
    nlp.add_pipe(
        "dynsel_parser", config={"cache_size": cache_size, "model": {"folds": 2}}
    )
    sentences = read_conllu(CORPUS)[:n_sentences]
    examples = [
        Example(nlp.make_doc(doc.text), doc) for doc in make_docs(nlp.vocab, sentences)
    ]
    nlp.initialize(lambda: examples)
    for _ in range(n_epochs):
        nlp.update(examples)
    return nlp


def read_words() -> list[str]:
    """The words of the embedded corpus, as often as they are there."""
    return [word for sentence in read_conllu(CORPUS) for word in sentence.words]


def make_text(rng: random.Random, known: list[str], share_new: float) -> Iterator[str]:
    """Words without end; a share of them has never been there before."""
    number = 0
    while True:
        if rng.random() < share_new:
            number += 1
            word = "".join(rng.choices(LETTERS, k=rng.randint(1, 9))) + str(number)
            yield word.title() if rng.random() < 0.2 else word
        else:
            yield rng.choice(known)


def resident_kb() -> int:
    """The memory of this process that is in use."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * PAGE_KB


class AllocatedC(ctypes.Structure):
    """What mallinfo2 of the C library returns."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in [
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        ]
    )


def measure_in_use() -> tuple[int, int]:
    """The bytes that are allocated and the blocks of Python's own allocator: unlike the
    resident memory, without what is free and kept. Needs glibc."""
    gc.collect()
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = AllocatedC
    found = libc.mallinfo2()
    return found.uordblks + found.hblkhd, sys.getallocatedblocks()
