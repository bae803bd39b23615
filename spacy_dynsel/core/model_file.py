"""Model files: a header and flat arrays, checked as a whole before any use.

    magic       8 bytes  b"DYNSEL\\r\\n"
    byte order  u32      0x01020304
    version     u32
    size        u64      of the whole file
    checksum    u64      of the whole file, with this field as zeros
    n_sections  u32, and 4 bytes of zeros
    sections    32 bytes each: name (16), type (8), n_bytes u64
    the arrays, each at a multiple of 64 bytes, in the order of the sections

All numbers are little-endian. The section "meta" is JSON, the others are arrays: as they
are (type "uint32"), or in a form that takes fewer bytes ("uint32~s", see core.compact).
"""

import json
import os
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import Errors
from .checksum import checksum
from .compact import compact, expand
from .large_pages import allocate

MAGIC = b"DYNSEL\r\n"
BYTE_ORDER = 0x01020304
VERSION = 4
ALIGNMENT = 64
# Fewer are sooner read than a thread is started.
MIN_BYTES_FOR_THREADS = 1 << 20
DTYPES = ("uint8", "uint16", "uint32", "uint64")

# Bytes, or what read_file gives.
FileData = bytes | np.ndarray

_HEADER = struct.Struct("<8sIIQQI4x")
_SECTION = struct.Struct("<16s8sQ")
_CHECKSUM = slice(24, 32)
_MAX_NAME = 16


def _aligned(n: int) -> int:
    return -(-n // ALIGNMENT) * ALIGNMENT


def _checksum(data: np.ndarray) -> int:
    """The checksum of a file, whatever its field for it holds."""
    stored = data[_CHECKSUM].copy()
    data[_CHECKSUM] = 0
    result = checksum(data)
    data[_CHECKSUM] = stored
    return result


def _describe(meta: Any) -> bytes:
    return json.dumps(meta, sort_keys=True, ensure_ascii=False).encode("utf8")


def dump_model(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Bring a model into the form of a file. Equal models give equal bytes."""
    text = _describe(meta)
    sections = {"meta": ("uint8", text)}
    for name, array in arrays.items():
        if len(name) > _MAX_NAME:
            raise ValueError(Errors.DS216.format(what=f"a section called '{name}'"))
        letter, contents = compact(array)
        dtype = array.dtype.name
        sections[name] = (f"{dtype}~{letter}" if letter else dtype, contents)
    table = b"".join(
        _SECTION.pack(name.encode("ascii"), kind.encode(), len(contents))
        for name, (kind, contents) in sections.items()
    )
    parts = [bytes(_HEADER.size), table]
    size = _HEADER.size + len(table)
    for _, contents in sections.values():
        parts += [bytes(_aligned(size) - size), contents]
        size = _aligned(size) + len(contents)
    data = np.frombuffer(bytearray(b"".join(parts)), dtype="uint8")
    header = (MAGIC, BYTE_ORDER, VERSION, size)
    _HEADER.pack_into(data.data, 0, *header, 0, len(sections))
    _HEADER.pack_into(data.data, 0, *header, _checksum(data), len(sections))
    return data.tobytes()


def read_file(path: Path) -> np.ndarray:
    """The bytes of a file, starting at a cache line, as load_model likes them."""
    with path.open("rb") as file:
        data = allocate(os.fstat(file.fileno()).st_size, np.empty)
        n_read = file.readinto(data.data)
    return data[:n_read]


def load_model(data: FileData) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a model. Arrays that the file has as they are become views of what read_file
    gave, or of a copy of bytes, which start anywhere."""
    if not isinstance(data, bytes | np.ndarray):
        raise ValueError(Errors.DS030)
    if isinstance(data, bytes):
        copy = allocate(len(data), np.empty)
        copy[:] = np.frombuffer(data, dtype="uint8")
        data = copy
    if data[: len(MAGIC)].tobytes() != MAGIC:
        raise ValueError(Errors.DS030)
    if len(data) < _HEADER.size:
        raise ValueError(Errors.DS031.format(expected=_HEADER.size, found=len(data)))
    _, byte_order, version, size, stored, n_sections = _HEADER.unpack_from(data.data)
    if byte_order != BYTE_ORDER:
        raise ValueError(Errors.DS033)
    if version != VERSION:
        raise ValueError(Errors.DS032.format(found=version, known=VERSION))
    if size != len(data):
        raise ValueError(Errors.DS031.format(expected=size, found=len(data)))
    if _checksum(data) != stored:
        raise ValueError(Errors.DS034)
    sections: dict[str, np.ndarray] = {}
    jobs: dict[str, Callable[[], np.ndarray | None]] = {}
    position = _HEADER.size + n_sections * _SECTION.size
    if position > size:
        raise ValueError(Errors.DS035.format(what="its table of contents is too long"))
    for i in range(n_sections):
        name, dtype, n_bytes = _SECTION.unpack_from(
            data.data, _HEADER.size + i * _SECTION.size
        )
        key = name.rstrip(b"\0").decode("ascii", "replace")
        kind = dtype.rstrip(b"\0").decode("ascii", "replace")
        type_name, is_compact, letter = kind.partition("~")
        position = _aligned(position)
        if not key.isascii() or type_name not in DTYPES or position + n_bytes > size:
            raise ValueError(Errors.DS035.format(what=f"section '{key}' is invalid"))
        contents = data[position : position + n_bytes]
        if is_compact:
            # In the order of the file, so that a copy has the same bytes.
            sections[key] = contents
            jobs[key] = partial(expand, letter, contents, type_name)
        elif n_bytes % np.dtype(type_name).itemsize:
            raise ValueError(Errors.DS035.format(what=f"section '{key}' is cut"))
        else:
            sections[key] = contents.view(type_name)
        position += n_bytes
    sections.update(_expand_all(jobs, size))
    try:
        text = sections.pop("meta").tobytes()
        meta = json.loads(text)
        # Neither half of a surrogate pair, nor one name twice, nor infinite numbers.
        is_genuine = isinstance(meta, dict) and _describe(meta) == text
    except (KeyError, ValueError, RecursionError) as error:
        raise ValueError(Errors.DS035.format(what="it has no description")) from error
    if not is_genuine:
        raise ValueError(Errors.DS035.format(what="its description is malformed"))
    return meta, sections


def _expand_all(
    jobs: dict[str, Callable[[], np.ndarray | None]], size: int
) -> dict[str, np.ndarray]:
    """Expand sections, those of a large file in two threads."""
    if len(jobs) > 1 and size >= MIN_BYTES_FOR_THREADS:
        with ThreadPoolExecutor(2) as pool:
            found = dict(
                zip(jobs, pool.map(lambda job: job(), jobs.values()), strict=True)
            )
    else:
        found = {key: job() for key, job in jobs.items()}
    sections = {key: array for key, array in found.items() if array is not None}
    for key in found.keys() - sections.keys():
        raise ValueError(Errors.DS035.format(what=f"section '{key}' is invalid"))
    return sections


def require(condition: bool, what: str) -> None:
    """Raise an error that says what is wrong with a file unless a condition holds."""
    if not condition:
        raise ValueError(Errors.DS035.format(what=what))
