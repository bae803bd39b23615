"""A bounded version of benchmarks/memory.py: memory in use stays the same while ever new
words come by."""

import ctypes
import itertools
import sys
from contextlib import nullcontext

import pytest
from spacy.tokens import Doc
from spacy.vocab import create_vocab

from fuzz.models import make_ner, make_parser, make_rich_ner, make_tagger, train
from helpers.paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from load import measure_in_use

CACHE_SIZE = 300
N_ROUNDS = 24
MOST_BYTES = 1 << 16
MOST_BLOCKS = 1000


@pytest.fixture(params=[make_tagger, make_ner, make_rich_ner, make_parser])
def pipeline(request):
    nlp = train(request.param())
    pipe = nlp.get_pipe(nlp.pipe_names[0])
    pipe.cfg["cache_size"] = CACHE_SIZE
    # As it is after loading: what training needs is gone.
    return nlp, pipe.from_bytes(pipe.to_bytes())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.DW121")
@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None) if sys.platform == "linux" else None, "mallinfo2"),
    reason="needs a C library that tells how much memory is in use",
)
@pytest.mark.parametrize(("zones", "n_threads"), [(True, 1), (False, 3)])
def test_memory_is_flat(pipeline, zones, n_threads):
    nlp, pipe = pipeline
    pipe.n_threads = n_threads
    numbers = itertools.count()

    def annotate(vocab):
        batch = [[f"Word{next(numbers)}" for _ in range(20)] for _ in range(6)]
        list(pipe.pipe([Doc(vocab, words=words) for words in batch]))

    samples = []
    for i in range(N_ROUNDS):
        # One that goes with the batch: spaCy's own tables grow even with zones.
        vocab = create_vocab(nlp.lang, nlp.Defaults)
        with vocab.memory_zone() if zones else nullcontext():
            annotate(vocab)
        assert 0 < pipe.n_cached <= pipe.cache_size == CACHE_SIZE
        if i % 2 == 0:
            samples.append(measure_in_use())
    third = len(samples) // 3
    for most, values in zip(
        (MOST_BYTES, MOST_BLOCKS), zip(*samples, strict=True), strict=True
    ):
        assert max(values[-third:]) - max(values[third : 2 * third]) < most
    assert all(label in nlp.vocab.strings for label in pipe.labels)
