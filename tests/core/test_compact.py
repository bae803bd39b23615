"""Arrays in fewer bytes: what comes out is what went in, whatever the bytes are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_dynsel.core.compact import FORMS, READERS, SMALLEST, WRITERS, compact, expand

RANDOM = np.random.default_rng(0)


def _restore(array: np.ndarray) -> tuple[str, np.ndarray | None]:
    letter, data = compact(array)
    if letter == "":
        return letter, np.frombuffer(data, dtype=array.dtype)
    return letter, expand(letter, np.frombuffer(data, dtype="uint8"), array.dtype.name)


@pytest.mark.parametrize(
    ("letter", "array"),
    [
        (
            "s",
            np.sort(RANDOM.integers(0, 2**32, 100_000, dtype="uint64")).astype("<u4"),
        ),
        ("s", np.sort(RANDOM.integers(0, 2**63, 70_000, dtype="uint64"))),
        ("s", np.cumsum(RANDOM.integers(0, 9, 65_537)).astype("uint32")),
        ("r", np.full(1000, 2**32 - 1, dtype="uint32")),
        ("r", (RANDOM.integers(0, 2**16, 500).repeat(20) << 16 | 300).astype("uint32")),
        ("b", RANDOM.integers(0, 2**8, 4000).astype("uint32")[::-1]),
        ("b", np.zeros(5000, dtype="uint8")),
        ("b", np.arange(2500, dtype="uint64")[::-1] % 7),
        ("z", RANDOM.integers(-100, 100, 4000).astype("int16").view("uint16")),
        ("", RANDOM.integers(0, 2**16, 4000).astype("uint16")),
        ("", np.zeros(3, dtype="uint32")),
    ],
)
def test_an_array_takes_the_form_that_suits_it(letter, array):
    found, restored = _restore(array)
    assert found == letter
    assert restored is not None and restored.dtype == array.dtype
    assert np.array_equal(restored, array)
    if letter:
        assert len(compact(array)[1]) < array.nbytes


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_every_form_gives_back_what_it_was_given(data):
    dtype = data.draw(st.sampled_from(list(FORMS)))
    largest = 2 ** (8 * np.dtype(dtype).itemsize) - 1
    some = st.one_of(st.integers(0, largest), st.integers(0, 3), st.just(largest))
    values = data.draw(st.lists(some, min_size=1, max_size=60))
    repeats = data.draw(st.integers(1, 5))
    array = np.array(values * repeats, dtype=dtype)
    for letter in FORMS[dtype]:
        for candidate in (array, np.sort(array)):
            written = WRITERS[letter](candidate)
            if written is None:
                # Unsorted, or so far apart that nothing would be gained.
                assert letter == "s"
                continue
            restored = READERS[letter](np.frombuffer(written, dtype="uint8"), dtype)
            assert np.array_equal(restored, candidate)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_bytes_give_nothing_or_an_array_of_bounded_size(data):
    dtype = data.draw(st.sampled_from(list(FORMS)))
    letter = data.draw(st.sampled_from(FORMS[dtype]))
    array = np.repeat(np.arange(50), 8).astype(dtype)
    written = bytearray(WRITERS[letter](array))
    for _ in range(data.draw(st.integers(1, 4))):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(
            st.integers(0, 255)
        )
    cut = data.draw(st.one_of(st.just(len(written)), st.integers(0, len(written))))
    damaged = np.frombuffer(bytes(written[:cut]), dtype="uint8")
    restored = expand(letter, damaged, dtype)
    assert restored is None or restored.nbytes <= 8 * len(damaged)


def test_a_form_of_another_type_is_refused():
    array = np.arange(SMALLEST, dtype="uint32")
    letter, data = compact(array)
    assert letter == "s"
    assert expand("s", np.frombuffer(data, dtype="uint8"), "uint16") is None
    assert expand("?", np.frombuffer(data, dtype="uint8"), "uint32") is None
    assert expand("", np.frombuffer(data, dtype="uint8"), "uint32") is None
