"""Whether a server stays small: requests of ever new words, and its memory meanwhile.

    python benchmarks/serve_load.py en_dynsel_web --requests 50000

Starts `spacy dynsel serve` on a free port, sends requests from several connections, each
with words that never came before, and prints requests a second and the resident memory of
the server at ten points. Ends with an error if a request failed, or if memory grew by more
than --most-growth megabytes after the first tenth.
"""

import argparse
import http.client
import json
import random
import re
import signal
import string
import subprocess
import sys
import threading
import time
from pathlib import Path

from wasabi import msg

N_POINTS = 10
COMMON = [
    "the",
    "a",
    "saw",
    "her",
    "with",
    "of",
    "and",
    "in",
    "to",
    "said",
    "new",
    "old",
    "house",
    "train",
    "green",
    "very",
]


def make_text(number: int) -> str:
    """A text half of whose words are new."""
    chance = random.Random(number)
    words = []
    for i in range(12):
        new = "".join(chance.choices(string.ascii_lowercase, k=6)) + f"{number:x}"
        words.append(new.title() if i % 6 == 1 else new)
        words.append(chance.choice(COMMON))
    return " ".join(words) + " ."


def read_memory(process: int) -> float:
    """The resident memory of a process in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else float("nan")


class Client(threading.Thread):
    """One connection, which sends every n-th request."""

    def __init__(self, port: int, numbers: range) -> None:
        super().__init__()
        self.port = port
        self.numbers = numbers
        self.n_done = 0
        self.failed: list[str] = []

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        for number in self.numbers:
            body = json.dumps({"text": make_text(number)})
            try:
                connection.request("POST", "/annotate", body=body)
                answer = connection.getresponse()
                found = json.loads(answer.read())
                if answer.status != 200 or len(found["tokens"]) != 25:
                    self.failed.append(f"{answer.status}: {str(found)[:200]}")
            except (OSError, ValueError, http.client.HTTPException) as error:
                self.failed.append(repr(error))
                connection.close()
            self.n_done += 1
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("pipeline")
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--most-growth", type=float, default=10.0)
    args = parser.parse_args()
    command = [sys.executable, "-u", "-m", "spacy", "dynsel", "serve", args.pipeline]
    with subprocess.Popen(
        [*command, "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        found = re.search(r":(\d+) ", server.stdout.readline())
        if found is None:
            raise SystemExit("The server did not start.")
        try:
            run(server.pid, int(found[1]), args)
        finally:
            server.send_signal(signal.SIGINT)


def run(process: int, port: int, args: argparse.Namespace) -> None:
    clients = [
        Client(port, range(i, args.requests, args.connections))
        for i in range(args.connections)
    ]
    start = time.perf_counter()
    for client in clients:
        client.start()
    points: list[tuple[int, float]] = []
    while any(client.is_alive() for client in clients):
        time.sleep(0.05)
        n_done = sum(client.n_done for client in clients)
        if n_done * N_POINTS >= args.requests * (len(points) + 1):
            points.append((n_done, read_memory(process)))
    seconds = time.perf_counter() - start
    failed = [one for client in clients for one in client.failed]
    rows = [(f"{n:,}", f"{memory:.1f}") for n, memory in points]
    msg.table(rows, header=("requests", "MB"), aligns=("r", "r"), divider=True)
    growth = points[-1][1] - points[0][1]
    msg.info(f"{args.requests / seconds:,.0f} requests a second, {growth:+.1f} MB")
    if failed:
        raise SystemExit(f"{len(failed)} requests failed, such as: {failed[0]}")
    if growth > args.most_growth:
        raise SystemExit(f"Memory grew by {growth:.1f} MB.")


if __name__ == "__main__":
    main()
