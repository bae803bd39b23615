"""Threads that share a pipeline take turns in its memory zone."""

import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import spacy

from spacy_dynsel import zones
from spacy_dynsel.zones import exclusive


@pytest.fixture
def nlp():
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    return nlp


def test_one_thread_at_a_time(nlp):
    """Without taking turns, calls fail or read the words of others."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def annotate(number):
        text = " ".join(f"word{number}x{i}" for i in range(20))
        with exclusive(nlp) as own:
            assert own is nlp
            return [token.text for token in nlp(text)] == text.split()

    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(annotate, range(200)))
    finally:
        sys.setswitchinterval(interval)
    assert not nlp.vocab.in_memory_zone
    assert "word7x3" not in nlp.vocab.strings


def test_within_itself(nlp):
    with exclusive(nlp), exclusive(nlp):
        nlp("nested once")
    assert not nlp.vocab.in_memory_zone
    assert "nested" not in nlp.vocab.strings


def test_an_error_lets_others_in(nlp):
    with pytest.raises(KeyError), exclusive(nlp):
        raise KeyError
    done = []

    def enter():
        with exclusive(nlp):
            done.append(nlp.vocab.in_memory_zone)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join(10)
    assert done == [True]


def test_pipelines_have_locks_of_their_own():
    first, second = spacy.blank("en"), spacy.blank("en")
    with exclusive(first), ThreadPoolExecutor(1) as pool:

        def enter():
            with exclusive(second):
                return len(second("two words"))

        assert pool.submit(enter).result(timeout=10) == 2


def test_locks_do_not_keep_pipelines_alive(nlp):
    own = spacy.blank("en")
    with exclusive(own):
        pass
    before = len(zones._LOCKS)
    del own
    gc.collect()
    assert len(zones._LOCKS) == before - 1
