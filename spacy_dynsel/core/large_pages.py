"""Memory for large arrays. See large_pages.hpp for that of compiled tables."""

from collections.abc import Callable

import numpy as np

LINE = 64
LARGE_PAGE = 1 << 21


def allocate(n_bytes: int, make: Callable[..., np.ndarray] = np.zeros) -> np.ndarray:
    """Bytes that start at a cache line.

    A large array gets whole large pages, which numpy asks for: it takes as long to find
    a small page as to read from it, and even longer to get it from the system.

    make (Callable): np.zeros, or np.empty where the caller writes all bytes.
    """
    unit = LARGE_PAGE if n_bytes > LARGE_PAGE // 2 else LINE
    memory = make(-(-n_bytes // unit) * unit + unit, dtype="uint8")
    start = -memory.ctypes.data % unit
    return memory[start : start + n_bytes]
