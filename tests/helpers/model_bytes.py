"""Model files that were damaged or tampered with."""

import struct

import numpy as np
import pytest
import spacy

from spacy_dynsel.core.checksum import checksum
from spacy_dynsel.core.model_file import dump_model, load_model


def with_checksum(data: bytearray) -> bytes:
    """Make damage look genuine, as somebody who means harm would."""
    data[24:32] = bytes(8)
    data[24:32] = struct.pack("<Q", checksum(data))
    return bytes(data)


def crafted(pipe, change):
    meta, arrays = load_model(pipe.engine.to_bytes())
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(meta, arrays)
    return dump_model(meta, arrays)


def check_forged(good, other, doc, *, n_tries, code="[DS", **margins):
    """Whatever the bytes: an error with a code, or a model that predicts something.

    good (bytes): A model file.
    other (Pipe): A component that could load it.
    margins (float): What its engine wants to know to predict.
    """
    rng = np.random.default_rng(0)
    for _ in range(n_tries):
        data = bytearray(good)
        for position in rng.integers(32, len(data), rng.integers(1, 4)):
            data[position] = rng.integers(0, 256)
        try:
            other.engine.from_bytes(with_checksum(data))
        except ValueError as error:
            assert code in str(error)
        else:
            other.engine.predict([doc], **margins)


def check_damaged_directory(nlp, folder, annotate, *, n_flipped, lengths):
    """A model with a flipped bit or without its end is refused, and a whole one loads.

    annotate (Callable): What the pipeline says about some text.
    n_flipped (int): How many bits are flipped, each in a file of its own.
    lengths (Callable): Where the file is cut off, given its length.
    """
    nlp.to_disk(folder)
    path = folder / nlp.pipe_names[0] / "model"
    good = path.read_bytes()
    expected = annotate(nlp)
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(good), n_flipped):
        damaged = bytearray(good)
        damaged[position] ^= 1 << rng.integers(0, 8)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"\[DS03"):
            spacy.load(folder)
    for length in lengths(len(good)):
        path.write_bytes(good[:length])
        with pytest.raises(ValueError, match=r"\[DS03[01]"):
            spacy.load(folder)
    path.write_bytes(good)
    assert annotate(spacy.load(folder)) == expected
