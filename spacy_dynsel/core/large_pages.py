"""Memory for arrays that are large."""

from collections.abc import Callable

import numpy as np

LINE = 64
LARGE_PAGE = 1 << 21


def allocate(n_bytes: int, make: Callable[..., np.ndarray] = np.zeros) -> np.ndarray:
    """Bytes that start at a cache line.

    Many of them come in whole large pages, which numpy asks for: to find a small page
    takes as long as to read from it, and to get it from the system even longer.

    make (Callable): Whether they are zeros, or what happens to be there.
    """
    unit = LARGE_PAGE if n_bytes > LARGE_PAGE // 2 else LINE
    memory = make(-(-n_bytes // unit) * unit + unit, dtype="uint8")
    start = -memory.ctypes.data % unit
    return memory[start : start + n_bytes]
