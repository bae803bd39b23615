"""Long work in steps: each is written down when it is done, and not done again."""

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import tqdm  # type: ignore[import-untyped]

from ..base.atomic import write_file
from ..base.errors import Errors

FORMAT = 1


class Journal:
    """The results of the steps of some work, on disk after each of them.

    Work that goes through a journal has to be deterministic: it is started from the
    beginning after an interruption, and finds the results of the steps that are done.

    path (Path): The file, or None to write down nothing.
    digest (str): What the work depends on. A journal of other work is refused.
    show (bool): Whether to show progress.
    """

    def __init__(self, path: Path | None, digest: str, *, show: bool = False) -> None:
        self.path = path
        self.digest = digest
        self._show = show
        self._results: dict[str, Any] = {}
        self._bar: Any = None
        if path is not None and path.exists():
            self._results = _read(path, digest)

    def plan(self, costs: dict[str, float]) -> None:
        """Say which steps there will be at most, and how long each takes beside the
        others."""
        self._costs = costs
        done = sum(cost for step, cost in costs.items() if step in self._results)
        total = sum(costs.values())
        self._bar = tqdm.tqdm(
            total=100.0,
            initial=100.0 * done / total,
            # The mean speed of the whole run: steps differ, but their costs are known.
            smoothing=0,
            bar_format="{l_bar}{bar}| {elapsed}, {remaining} left{postfix}",
            disable=not self._show,
            leave=False,
        )
        self._unit = 100.0 / total

    def do(self, step: str, work: Callable[[], Any]) -> Any:
        """Do a step, or find its result.

        work (Callable): Gives the result, which has to be representable in JSON.
        """
        if step not in self._results:
            result = json.loads(json.dumps(work()))
            self._results[step] = result
            self._save()
            if self._bar is not None:
                share = self._costs.get(step, 0.0) * self._unit
                # Rounding would go beyond the end, which is a warning.
                self._bar.update(min(share, self._bar.total - self._bar.n))
        return self._results[step]

    def remove(self) -> None:
        """Remove the file, when what it is for is on disk."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _save(self) -> None:
        if self.path is not None:
            body = json.dumps(self._results)
            head = {
                "format": FORMAT,
                "digest": self.digest,
                "checksum": zlib.crc32(body.encode("utf8")),
            }
            write_file(self.path, f"{json.dumps(head)}\n{body}\n".encode())

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _read(path: Path, digest: str) -> dict[str, Any]:
    try:
        first, body, rest = path.read_text(encoding="utf8").split("\n")
        head = json.loads(first)
        is_whole = (
            not rest
            and head["format"] == FORMAT
            and head["checksum"] == zlib.crc32(body.encode("utf8"))
        )
        results = json.loads(body)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(Errors.DS129.format(path=path)) from error
    if not is_whole or not isinstance(results, dict):
        raise ValueError(Errors.DS129.format(path=path))
    if head["digest"] != digest:
        raise ValueError(Errors.DS130.format(path=path))
    return results
