"""Remembers what a process was about to annotate, for the case that it dies of it."""

import json
import os
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

# How many processes a text may kill.
MAX_DEATHS = 2


class Watched:
    """A batch of texts that is under way.

    file (IO): Where to note what comes next.
    is_suspect (bool): Whether a process died over the batch: its texts are to be
        annotated one by one, and each is to be noted before.
    set_aside (set[int]): The places of texts over which processes died after that.
    """

    def __init__(self, file: IO[str], is_suspect: bool, set_aside: set[int]) -> None:
        self.is_suspect = is_suspect
        self.set_aside = set_aside
        self._file = file
        self._me = {
            "try": uuid4().hex,
            "pid": os.getpid(),
            "host": socket.gethostname(),
        }

    def note(self, place: int | None = None, name: str | None = None) -> None:
        """Write down what comes next: the whole batch, or the text at a place."""
        print(json.dumps({**self._me, "place": place, "id": name}), file=self._file)
        # To the system, which outlives the process.
        self._file.flush()


@contextmanager
def watch(folder: Path, key: str) -> Iterator[Watched]:
    """Watch over a batch. Its notes are gone when it is done, or was given up without a
    death.

    folder (Path): Where notes are kept.
    key (str): What tells batches apart, and is the same when a batch comes again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key}.jsonl"
    last = {note["try"]: note for note in _read(path)}
    dead = [note for note in last.values() if not is_alive(note["host"], note["pid"])]
    # Once may be an accident: somebody stops all processes, or memory runs out.
    deaths = Counter(note["place"] for note in dead if note["place"] is not None)
    set_aside = {place for place, n in deaths.items() if n >= MAX_DEATHS}
    with path.open("a", encoding="utf8") as file:
        # The last line may be cut off.
        file.write("\n")
        watched = Watched(file, bool(dead), set_aside)
        watched.note()
        try:
            yield watched
        finally:
            path.unlink(missing_ok=True)


def is_alive(host: str, pid: int) -> bool:
    """Whether a process is there, as far as this one can know: those of other machines
    are taken for dead."""
    if host != socket.gethostname() or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text("utf8").splitlines()
    except FileNotFoundError:
        return []
    notes = []
    for line in lines:
        try:
            notes.append(json.loads(line))
        except json.JSONDecodeError:
            # Cut off: the process died while it wrote.
            continue
    return notes
