"""Changes that happen as a whole or not at all."""

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

Self = TypeVar("Self", bound="Replaceable")

_numbers = count()


_locks: "weakref.WeakSet[Any]" = weakref.WeakSet()


def new_lock() -> Any:
    """A lock that the thread which holds it may take again. In a child process it is
    free: the thread that held it does not exist there."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _free_locks() -> None:
    for lock in _locks:
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_locks)


def assign(*changes: tuple[Any, str, Any]) -> None:
    """Set attributes of objects all at once: neither a signal nor another thread comes
    between them.

    changes (tuple): An object, the name of an attribute, and its value.
    """
    objects, names, values = zip(*changes, strict=True)
    # A single call, of which no part is Python code.
    deque(map(setattr, objects, names, values), maxlen=0)


class Replaceable(ABC):
    """Something that changes as a whole: another one is made, which takes its place."""

    def copy(self: Self) -> Self:
        """Another one with the same contents, all of which are shared."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def blank(self: Self) -> Self:
        """Another one with the same configuration, which knows nothing yet."""
        other = self.copy()
        other._reset()
        return other

    def become(self: Self, other: Self) -> None:
        """Take over the contents of a copy, all at once."""
        self.__dict__.update(other.__dict__)

    @abstractmethod
    def _reset(self) -> None:
        """Know nothing."""


@contextmanager
def written_beside(folder: Path, files: dict[str, bytes]) -> Iterator[dict[str, Path]]:
    """Write files under other names, beside those that they are to replace. Those that
    are still there in the end are removed.

    RETURNS (dict): For each file where it is for now.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mark = f"{os.getpid()}-{next(_numbers)}.part"
    beside = {name: folder / f"{name}.{mark}" for name in files}
    try:
        for name, data in files.items():
            with beside[name].open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        yield beside
    finally:
        for path in beside.values():
            path.unlink(missing_ok=True)


def write_file(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    with written_beside(path.parent, {path.name: data}) as beside:
        beside[path.name].replace(path)


def write_files(folder: Path, files: dict[str, bytes | None], last: str) -> None:
    """Write files that belong together, or remove those without contents. Nothing
    changes if one of them can't be written.

    last (str): A file that is worth nothing beside others than its own: it goes first
        and comes last, so that whatever ends the process, it fits or is not there.
    """
    found = {name: data for name, data in files.items() if data is not None}
    with written_beside(folder, found) as beside:
        if last in files:
            (folder / last).unlink(missing_ok=True)
        for name in sorted(found, key=lambda name: name == last):
            beside[name].replace(folder / name)
