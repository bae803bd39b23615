import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from helpers.model_bytes import with_checksum
from spacy_dynsel.base.atomic import write_file
from spacy_dynsel.core.model_file import VERSION, dump_model, load_model

META = {"labels": ["ä", "b"], "scale": 0.5}
ARRAYS = {
    "one": np.arange(5, dtype="uint32"),
    "none": np.zeros(0, dtype="uint64"),
    "bytes": np.frombuffer(b"abc", dtype="uint8"),
}


def test_round_trip():
    data = dump_model(META, ARRAYS)
    meta, arrays = load_model(data)
    assert meta == META
    assert list(arrays) == list(ARRAYS)
    for name, array in arrays.items():
        assert array.dtype == ARRAYS[name].dtype
        assert array.tolist() == ARRAYS[name].tolist()
        assert not len(array) or array.ctypes.data % 64 == 0
    assert dump_model(meta, arrays) == data


@pytest.mark.parametrize("n", [5_000, 500_000])
def test_compact_sections_keep_their_place(n):
    """Also those of a large file, which two threads expand."""
    arrays = {
        "sorted": np.arange(n, dtype="uint32"),
        "random": np.random.default_rng(0).integers(0, 1 << 63, n, dtype="uint64"),
        "sparse": (np.arange(n) % 3 == 0).astype("uint8"),
        "short": np.arange(n).astype("uint8"),
        "runs": np.arange(n, dtype="uint64") // 9,
    }
    data = dump_model(META, arrays)
    assert b"~" in data[: 64 + 32 * (len(arrays) + 1)]
    meta, loaded = load_model(data)
    assert list(loaded) == list(arrays)
    assert all((loaded[name] == array).all() for name, array in arrays.items())
    assert dump_model(meta, loaded) == data


@given(
    st.lists(
        npst.arrays(
            st.sampled_from(["uint8", "uint16", "uint32", "uint64"]),
            st.integers(0, 40),
        ),
        max_size=4,
    )
)
def test_any_arrays_round_trip(arrays):
    named = {str(i): array for i, array in enumerate(arrays)}
    _, loaded = load_model(dump_model({}, named))
    assert {k: v.tolist() for k, v in loaded.items()} == {
        k: v.tolist() for k, v in named.items()
    }


def test_every_flipped_bit_is_found():
    data = dump_model(META, ARRAYS)
    for position in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            with pytest.raises(ValueError, match=r"\[DS03\d\]"):
                load_model(bytes(damaged))


def test_every_truncation_is_found():
    data = dump_model(META, ARRAYS)
    for length in range(len(data)):
        with pytest.raises(ValueError, match=r"\[DS03[01]\]"):
            load_model(data[:length])
    with pytest.raises(ValueError, match="DS031"):
        load_model(data + b"\0")


@pytest.mark.parametrize(
    ("position", "value", "code"),
    [
        (0, b"PK\3\4", "DS030"),
        (8, struct.pack(">I", 0x01020304), "DS033"),
        (12, struct.pack("<I", VERSION + 1), "DS032"),
        (12, struct.pack("<I", VERSION - 1), "DS032"),
        (16, struct.pack("<Q", 5), "DS031"),
        (24, struct.pack("<Q", 5), "DS034"),
    ],
)
def test_headers_of_other_files(position, value, code):
    data = bytearray(dump_model(META, ARRAYS))
    data[position : position + len(value)] = value
    with pytest.raises(ValueError, match=code):
        load_model(bytes(data))


@given(st.data())
def test_crafted_files_are_read_or_refused(data):
    crafted = bytearray(dump_model(META, ARRAYS))
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(32, len(crafted) - 1))
        crafted[position] = data.draw(st.integers(0, 255))
    try:
        load_model(with_checksum(crafted))
    except ValueError as error:
        assert "[DS03" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        b'{"labels": ["\\ud800"]}',
        b"[" * 100_000,
        b'{"scale": 1e999}',
        b'{"labels": [], "labels": []}',
        b"[]",
        b"\xff",
    ],
)
def test_descriptions_that_nobody_writes(text):
    crafted = bytearray(dump_model({}, {"text": np.frombuffer(text, dtype="uint8")}))
    # What is said last about a section counts.
    crafted[72:88] = b"meta".ljust(16, b"\0")
    with pytest.raises(ValueError, match="DS035"):
        load_model(with_checksum(crafted))


def test_files_are_written_whole(tmp_path):
    path = tmp_path / "model"
    write_file(path, b"old")

    with pytest.raises(TypeError):
        write_file(path, "not bytes")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
