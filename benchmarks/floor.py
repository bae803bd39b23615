"""The floor of the machine: what no program that reads Docs can be faster than.

    python benchmarks/floor.py

A chain of loads, each of which says where the next one is, takes the latency of the
cache that all of it fits in, or of the memory. A chain of additions takes a cycle each.
The chains are compiled when they are needed, and left out where there is no compiler.
"""

import ctypes
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_dynsel.spacy_io.annotations import read_tags

N_STEPS = 1 << 21
CACHE_LINE = 64
# From what fits into the smallest cache of any machine to what fits into none.
SIZES = tuple(1 << n for n in range(14, 28))
CHAINS = r"""
#include <stddef.h>
#include <stdint.h>

void *follow(void **start, size_t n) {
    void **place = start;
    while (n--)
        place = (void **)*place;
    return place;
}

#define ADD value += 1; __asm__ volatile("" : "+r"(value));

uint64_t add(uint64_t value, size_t n) {
    for (; n >= 8; n -= 8) {
        ADD ADD ADD ADD ADD ADD ADD ADD
    }
    return value;
}
"""


def compile_chains() -> Any:
    """The functions of CHAINS, or None where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "chains.c"), Path(folder, "chains.so")
        source.write_text(CHAINS)
        command = [compiler, "-O1", "-shared", "-fPIC", str(source), "-o", str(library)]
        subprocess.run(command, check=True)
        chains = ctypes.CDLL(str(library))
    chains.follow.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    chains.follow.restype = ctypes.c_void_p
    chains.add.argtypes = [ctypes.c_uint64, ctypes.c_size_t]
    chains.add.restype = ctypes.c_uint64
    return chains


def make_chain(n_bytes: int, seed: int = 0) -> np.ndarray:
    """Cache lines in a random circle: the first word of each is the address of another."""
    words = CACHE_LINE // 8
    memory = np.zeros(n_bytes // 8, dtype="uint64")
    order = np.random.default_rng(seed).permutation(len(memory) // words) * words
    memory[order] = memory.ctypes.data + 8 * np.roll(order, -1)
    return memory


def best_time(run: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def measure_chains(rounds: int) -> dict[str, dict[str, float]]:
    """Nanoseconds and cycles of a load, by how much memory is loaded from. RETURNS
    (dict): Nothing where there is no compiler."""
    chains = compile_chains()
    if chains is None:
        return {}
    cycle = 1e9 * best_time(lambda: chains.add(1, N_STEPS), rounds) / N_STEPS
    table = {"one cycle": {"ns": cycle, "cycles": 1.0}}
    for n_bytes in SIZES:
        memory = make_chain(n_bytes)
        start = memory.ctypes.data
        seconds = best_time(lambda start=start: chains.follow(start, N_STEPS), rounds)  # type: ignore[misc]
        ns = 1e9 * seconds / N_STEPS
        table[f"a load from {n_bytes >> 10:,} KB"] = {"ns": ns, "cycles": ns / cycle}
    return table


def measure_docs(rounds: int) -> dict[str, dict[str, float]]:
    """Nanoseconds a token for the least that can be done with a Doc."""
    vocab = Vocab()
    words = [f"w{i}" for i in range(5000)]
    choose = random.Random(0)
    docs = [Doc(vocab, words=choose.choices(words, k=500)) for _ in range(100)]
    n_tokens = sum(map(len, docs))
    ways: dict[str, Callable[[Doc], Any]] = {
        "a token's tag, read": read_tags,
        "a lexeme's ID, by to_array": lambda doc: doc.to_array("ORTH"),
        "a token's Python object": list,
    }
    return {
        name: {
            "ns": 1e9
            * best_time(lambda way=way: [way(doc) for doc in docs], rounds)  # type: ignore[misc]
            / n_tokens
        }
        for name, way in ways.items()
    }


def measure_floor(rounds: int) -> dict[str, dict[str, float]]:
    """What the machine needs for a cycle, for loads and for tokens of Docs."""
    table = measure_chains(rounds)
    cycle = table["one cycle"]["ns"] if table else None
    for name, row in measure_docs(rounds).items():
        table[name] = row if cycle is None else {**row, "cycles": row["ns"] / cycle}
    return table


if __name__ == "__main__":
    from tagger import show

    show("the floor of this machine", measure_floor(5))
