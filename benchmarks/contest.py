"""Candidates that take turns in one process."""

import time
from collections.abc import Callable
from typing import Any

from tagger import best_times

Table = dict[str, dict[str, Any]]


class Contest:
    """Candidates that do the same work, and how well they do it."""

    def __init__(self) -> None:
        self.table: Table = {}
        self._runs: dict[str, tuple[Callable[[], Any], int]] = {}

    def add(
        self, name: str, run: Callable[[], Any], n_tokens: int, **scores: float
    ) -> None:
        self.table[name] = scores
        self._runs[name] = (run, n_tokens)

    def measure(
        self,
        rounds: int,
        unit: str,
        *,
        prepare: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.process_time,
    ) -> Table:
        """Let them run.

        unit (str): The candidate that the others are compared with, if it is there.
        prepare (Callable): What to do before each run.
        clock (Callable): CPU time, which other work on the machine disturbs least, if
            all of them use one thread.
        """
        runs = {name: run for name, (run, _) in self._runs.items()}
        best_times(runs, 1, prepare)
        times = best_times(runs, rounds, prepare, clock)
        speeds = {name: n / times[name][0] for name, (_, n) in self._runs.items()}
        for name, (best, worst) in times.items():
            self.table[name]["tokens_per_second"] = speeds[name]
            if unit in speeds:
                self.table[name]["times_faster"] = speeds[name] / speeds[unit]
            self.table[name]["spread"] = worst / best
        return self.table


def margins_of(component: Any) -> dict[str, float]:
    """Three positions of the knob."""
    default = component.margin
    return {
        f"margin {default / 2:g}": default / 2,
        f"margin {default:g} (default)": default,
        "all templates": float("inf"),
    }


def at_margin(
    component: Any, margin: float, run: Callable[[], Any]
) -> Callable[[], Any]:
    def run_there() -> Any:
        default = component.margin
        component.margin = margin
        try:
            return run()
        finally:
            component.margin = default

    return run_there
