"""Make the picture of the page that `spacy dynsel serve` shows.

    python docs/make_screenshots.py en_dynsel_web

Needs Chromium, which is looked for under its usual names.
"""

import argparse
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
# Until the page has asked its server, in milliseconds.
PATIENCE = 4000


def take(browser: str, address: str, path: Path, width: int, height: int) -> None:
    """Take a picture of a page."""
    command = [browser, *OPTIONS, f"--window-size={width},{height}"]
    command += [f"--virtual-time-budget={PATIENCE}", f"--screenshot={path}", address]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    print(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("pipeline")
    parser.add_argument("--output", type=Path, default=HERE / "serve.png")
    parser.add_argument("--width", type=int, default=1000)
    parser.add_argument("--height", type=int, default=800)
    args = parser.parse_args()
    browser = next((found for one in NAMES if (found := shutil.which(one))), None)
    if browser is None:
        raise SystemExit(f"Install one of: {', '.join(NAMES)}.")
    command = [sys.executable, "-u", "-m", "spacy", "dynsel", "serve", args.pipeline]
    with subprocess.Popen(
        [*command, "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        if found is None:
            raise SystemExit("The server did not start.")
        try:
            take(browser, found[0], args.output, args.width, args.height)
        finally:
            server.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
