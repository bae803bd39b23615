"""Learners that learn side by side."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


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


def run_all(n_threads: int | None, jobs: Sequence[Callable[[], T]]) -> list[T]:
    """Run jobs, each with a learner of its own, see open_pool. RETURNS (list): What they
    return, in their order."""
    if len(jobs) == 1:
        return [jobs[0]()]
    with open_pool(n_threads, len(jobs)) as pool:
        return [job.result() for job in [pool.submit(job) for job in jobs]]
