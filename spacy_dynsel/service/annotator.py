"""One thread that annotates, and a queue before it. spaCy's memory zones allow one
thread at a time, and keep the memory of a server flat whatever words come."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Full, Queue
from typing import Any

from spacy.language import Language

from ..base.service_errors import ServiceErrors
from ..zones import exclusive

DEFAULT_QUEUE_SIZE = 64

Job = Callable[[Language], Any]


class BusyError(RuntimeError):
    """Too many requests wait."""


class Annotator:
    """A pipeline that only one thread uses.

    nlp (Language): The pipeline. Nobody else may use it meanwhile.
    queue_size (int): How many jobs may wait.
    """

    def __init__(self, nlp: Language, *, queue_size: int = DEFAULT_QUEUE_SIZE) -> None:
        self.nlp = nlp
        self.n_done = 0
        self._jobs: Queue[tuple[Job, Future[Any]] | None] = Queue(queue_size)
        self._lock = threading.Lock()
        self._is_open = True
        self._thread = threading.Thread(target=self._run, name="annotator", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> "Future[Any]":
        """Queue a job, which gets the pipeline, in a memory zone. What it returns must
        not refer to a Doc.

        RETURNS (Future): What becomes of it.
        """
        future: Future[Any] = Future()
        with self._lock:
            if not self._is_open:
                raise BusyError(ServiceErrors.DS334)
            try:
                self._jobs.put_nowait((job, future))
            except Full as error:
                raise BusyError(
                    ServiceErrors.DS333.format(n=self._jobs.maxsize)
                ) from error
        return future

    def close(self) -> None:
        """Do what waits, and stop."""
        with self._lock:
            was_open, self._is_open = self._is_open, False
        if was_open:
            self._jobs.put(None)
        self._thread.join()

    @property
    def n_waiting(self) -> int:
        return self._jobs.qsize()

    def _run(self) -> None:
        while (item := self._jobs.get()) is not None:
            job, future = item
            if future.set_running_or_notify_cancel():
                try:
                    with exclusive(self.nlp) as nlp:
                        result = job(nlp)
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
            self.n_done += 1
            # What the last job held must not wait for the next one.
            del item, job, future
