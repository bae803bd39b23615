"""Processes that annotate, one part of the input at a time. Each can die without harm to
the others, and texts never pass between them: only the names of files do."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import IO, Any, TypeAlias

from ..base.corpus_errors import CorpusErrors
from .jobs import Job, run_job
from .pipelines import describe

# A share that is done, what is wrong, or the numbers of documents, tokens and errors.
Result: TypeAlias = float | str | tuple[int, int, int]
# A document that kills processes is found after two deaths, then it is set aside.
MAX_DEATHS = 40
# What an allocator keeps for later adds up. Arrow's own takes 40 MB, and that of GNU's C
# library 5 MB more with each pipeline that is loaded anew, unless large blocks go back to
# the system at once.
ALLOCATORS = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 20),
}


def run_jobs(jobs: list[Job], processes: int) -> Iterator[tuple[Job, Result]]:
    """Do jobs, in so many processes, or in this one if there are none. A job that fails
    does not keep others from being done."""
    if not processes:
        yield from run_here(jobs)
        return
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    results: queue.SimpleQueue[tuple[Job, Result] | None] = queue.SimpleQueue()
    workers = [Worker(waiting, results.put) for _ in range(min(processes, len(jobs)))]
    try:
        for worker in workers:
            worker.start()
        n_running = len(workers)
        while n_running:
            found = results.get()
            if found is None:
                n_running -= 1
            else:
                yield found
    finally:
        for worker in workers:
            worker.stop()


def run_here(jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]:
    for job in jobs:
        try:
            yield job, run_job(job)
        except Exception as error:
            yield job, describe(error)


class Worker(threading.Thread):
    """A process, and the thread that gives it jobs. A process that dies is replaced.

    waiting (SimpleQueue): The jobs.
    tell (Callable): Takes results, and None at the end.
    """

    def __init__(
        self,
        waiting: "queue.SimpleQueue[Job]",
        tell: Callable[[tuple[Job, Result] | None], None],
    ) -> None:
        super().__init__(daemon=True)
        self._waiting = waiting
        self._tell = tell
        self._process: subprocess.Popen[str] | None = None
        self._status = 0
        self._is_stopped = False

    def run(self) -> None:
        try:
            while not self._is_stopped:
                try:
                    job = self._waiting.get_nowait()
                except queue.Empty:
                    break
                self._do(job)
        finally:
            self._end_process()
            self._tell(None)

    def stop(self) -> None:
        """End soon, whatever is under way."""
        self._is_stopped = True
        process = self._process
        if process is not None:
            process.kill()
        self.join()

    def _do(self, job: Job) -> None:
        for _ in range(MAX_DEATHS):
            for result in self._ask(job):
                self._tell((job, result))
                if not isinstance(result, float):
                    return
            if self._is_stopped:
                return
        message = CorpusErrors.DS328.format(
            n=MAX_DEATHS, name=job.part.name, status=self._status
        )
        self._tell((job, message))

    def _ask(self, job: Job) -> Iterator[Result]:
        """What a process says about a job, until it is done or dies."""
        if self._process is not None and self._process.poll() is not None:
            self._end_process()
        process = self._process = self._process or self._start_process()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(job.to_json() + "\n")
            process.stdin.flush()
            for line in process.stdout:
                found = json.loads(line)
                result = tuple(found) if isinstance(found, list) else found
                yield result
                if not isinstance(result, float):
                    return
        except (BrokenPipeError, json.JSONDecodeError):
            pass
        self._end_process()

    def _end_process(self) -> None:
        process = self._process
        if process is None:
            return
        process.kill()
        self._status = process.wait()
        for pipe in (process.stdin, process.stdout):
            # What could not be written to a dead process is still there.
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process = None

    def _start_process(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "spacy_dynsel.annotating.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf8",
            env=make_environment(),
        )


def make_environment() -> dict[str, str]:
    """The environment of a process that annotates."""
    path = os.pathsep.join(one for one in sys.path if one)
    apart = {"PYTHONPATH": path, "PYTHONIOENCODING": "utf8"}
    return {**ALLOCATORS, **os.environ, **apart}


def serve(jobs: Iterable[str], answers: IO[str]) -> None:
    """Do the jobs that come in, line by line, and say what comes of them."""

    def tell(result: Any) -> None:
        print(json.dumps(result), file=answers, flush=True)

    for line in jobs:
        try:
            result: Any = run_job(Job.from_json(line), lambda share: tell(float(share)))
        except Exception as error:
            result = describe(error)
        tell(result)


def main() -> None:
    # What components print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf8")
    os.dup2(2, 1)
    try:
        serve(sys.stdin, answers)
    except (BrokenPipeError, KeyboardInterrupt):
        # Nobody is there any more who would want the rest.
        os._exit(1)


if __name__ == "__main__":
    main()
