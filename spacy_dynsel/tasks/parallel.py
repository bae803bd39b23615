"""Learners that learn side by side."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from ..base.errors import Errors


def check_threads(n_threads: int | None) -> None:
    """Raise an error unless so many threads can learn."""
    if n_threads is not None and not 1 <= n_threads <= 1000:
        raise ValueError(
            Errors.DS022.format(
                name="training_threads",
                value=n_threads,
                range="null or between 1 and 1000",
            )
        )


def count_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def open_pool(n_threads: int | None, n_jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for some jobs, each with a learner of its own, so that it does not matter
    who is first. They start in the order in which they are submitted. After an error or
    an interrupt, those that have not started never do.

    n_threads (int): How many there may be; None for one a core.
    """
    n = max(1, min(n_threads or count_cores(), n_jobs))
    with ThreadPoolExecutor(n) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
