"""Model files that were tampered with."""

import struct

from spacy_dynsel.core.checksum import checksum
from spacy_dynsel.core.model_file import dump_model, load_model


def with_checksum(data: bytearray) -> bytes:
    """Make damage look genuine, as somebody who means harm would."""
    data[24:32] = bytes(8)
    data[24:32] = struct.pack("<Q", checksum(data))
    return bytes(data)


def crafted(tagger, change):
    meta, arrays = load_model(tagger.engine.to_bytes())
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(meta, arrays)
    return dump_model(meta, arrays)
