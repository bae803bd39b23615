"""Runs a component with less and less memory, for test_little_memory.py: prints for each
limit whether the result was right or there was a MemoryError. Anything else is an error.

    python tests/helpers/little_memory.py MAKER predict|update N_THREADS
"""

import ctypes
import os
import resource
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from fuzz import models

# How much memory there is to be had, in KiB.
ROOM = [
    *(0, 8, 32, 64, 100, 150, 200, 300, 400, 600, 800, 1000, 1400, 2000),
    *(3000, 4500, 6500, 9000, 13000, 20000, 70000),
]
N_DOCS = 6
N_WORDS = 6000
PARTS = ("labels", "actions", "heads", "starts", "support")


LIBC = ctypes.CDLL(None)
LIBC.malloc.argtypes = [ctypes.c_size_t]
LIBC.malloc.restype = ctypes.c_void_p
LIBC.free.argtypes = [ctypes.c_void_p]
BLOCKS = (ctypes.c_void_p * 500_000)()


STATM = os.open("/proc/self/statm", os.O_RDONLY)


def leave(room: int) -> None:
    used = int(os.pread(STATM, 100, 0).split()[0]) * resource.getpagesize()
    limit = used + room * 1024
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


@contextmanager
def little_memory(room: int | None) -> Iterator[None]:
    """Let there be so much memory to be had and no more: what is free within the
    process is taken first."""
    n = 0
    try:
        if room is not None:
            leave(0)
            for size in (1 << 20, 1 << 16, 1 << 12, 1 << 10, 1 << 8):
                while n < len(BLOCKS):
                    BLOCKS[n] = LIBC.malloc(size)
                    if not BLOCKS[n]:
                        break
                    n += 1
            leave(room)
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        for i in range(n):
            LIBC.free(BLOCKS[i])


def get_component(nlp: Language) -> Any:
    return nlp.get_pipe(nlp.pipe_names[0])


def make_words(prefix: str) -> list[str]:
    """Words of which most are new, but not in all docs."""
    known = ["She", "saw", "London", "Shaka", "Khan", "hits", "hard"]
    return [known[i % 7] if i % 3 else f"{prefix}{i % 1500}" for i in range(N_WORDS)]


def get_arrays(batch: Any) -> dict[str, np.ndarray]:
    return {
        part: getattr(batch, part)
        for part in PARTS
        if getattr(batch, part, None) is not None
    }


def are_same(one: Any, other: Any) -> bool:
    arrays, others = get_arrays(one), get_arrays(other)
    return bool(arrays) and all(
        np.array_equal(arrays[part], others[part]) for part in arrays
    )


def predict_with_little(maker: Any, n_threads: int) -> list[str]:
    nlp = models.train(maker())
    pipe = get_component(nlp)
    data = pipe.to_bytes()
    reference = get_component(models.train(maker())).from_bytes(data)
    pipe.from_bytes(data)
    pipe.n_threads = n_threads
    if hasattr(pipe, "branches"):
        pipe.branches = 4
    outcomes = []
    for room in ROOM:
        docs = [
            Doc(nlp.vocab, words=make_words(f"w{room}x{i % 2}x")) for i in range(N_DOCS)
        ]
        batch = None
        with suppress(MemoryError), little_memory(room):
            batch = pipe.predict(docs)
        expected = pipe.predict(docs)
        reference.cfg.update(pipe.cfg)
        assert are_same(reference.predict(docs), expected), room
        assert batch is None or are_same(batch, expected), room
        outcomes.append("MemoryError" if batch is None else "right")
    return outcomes


def update_with_little(maker: Any) -> list[str]:
    outcomes = []
    expected = None
    for room in [None, *ROOM]:
        nlp = models.train(maker())
        pipe = get_component(nlp)
        examples = []
        for i in range(4):
            words = make_words(f"w{i}x")[: N_WORDS // 2]
            gold = models.get_gold(nlp)[i % 2]
            n = len(words) // len(gold["words"])
            length = len(gold["words"])
            heads = [j * length + head for j in range(n) for head in gold["heads"]]
            rest = {
                name: values * n
                for name, values in gold.items()
                if name not in ("words", "heads")
            }
            words = words[: n * length]
            reference = Doc(nlp.vocab, words=words, heads=heads, **rest)
            predicted = Doc(nlp.vocab, words=words, tags=rest["tags"])
            examples.append(Example(predicted, reference))
        losses: dict[str, float] = {}
        failed = True
        with suppress(MemoryError), little_memory(room):
            pipe.update(examples, losses=losses)
            failed = False
        if not failed:
            result = pipe.to_bytes()
            expected = expected or result
            assert result == expected, room
        else:
            pipe.update(examples, losses=losses)
            assert np.isfinite(list(losses.values())).all()
        docs = [example.predicted.copy() for example in examples]
        saved = get_component(models.train(maker())).from_bytes(pipe.to_bytes())
        assert are_same(pipe.predict(docs), saved.predict(docs)), room
        if room is not None:
            outcomes.append("MemoryError" if failed else "right")
    return outcomes


if __name__ == "__main__":
    # The parser has learned from tags, and gets none here.
    warnings.filterwarnings("ignore", ".DW121")
    maker = getattr(models, sys.argv[1])
    if sys.argv[2] == "update":
        print(*update_with_little(maker))
    else:
        print(*predict_with_little(maker, int(sys.argv[3])))
