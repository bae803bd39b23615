"""Registered batchers. A .py file, since configs need real annotations."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ..base.errors import Errors

Item = TypeVar("Item")


def make_share_batcher(
    n_batches: int,
) -> Callable[[Iterable[Item]], Iterator[list[Item]]]:
    """Cut each epoch into a fixed number of batches, whatever the size of the data,
    so that a config can say how often in an epoch to evaluate. Where there are fewer
    examples than batches, examples recur.

    n_batches (int): The number of batches.
    """
    if n_batches < 1:
        raise ValueError(
            Errors.DS022.format(name="n_batches", value=n_batches, range="at least 1")
        )

    def batch_by_share(items: Iterable[Item]) -> Iterator[list[Item]]:
        items = list(items)
        for i in range(n_batches if items else 0):
            if len(items) < n_batches:
                yield [items[i % len(items)]]
            else:
                start = i * len(items) // n_batches
                yield items[start : (i + 1) * len(items) // n_batches]

    return batch_by_share
