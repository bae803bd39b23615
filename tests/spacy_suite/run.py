"""Runs spaCy's own tests with other components in the place of its tagger,
morphologizer, parser, ner and trainable_lemmatizer, and finds the cases that tell such components apart.

    PYTHONPATH=tests python -m spacy_suite.run
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import spacy.tests
from wasabi import msg

from spacy_suite.cases import LIST, MODULES, why_not
from spacy_suite.substitute import CANDIDATES

HERE = Path(__file__).parent
SUITE = Path(spacy.tests.__file__).parent


def run(candidate: str, cases: Iterable[str]) -> dict[str, str]:
    """Run cases or whole modules. RETURNS (dict): How each case ended."""
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder, "outcomes.json")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "substitute"]
        # Neither our settings for tests nor a cache in the installed package.
        command += ["-c", os.devnull, "--rootdir", str(SUITE), "-p", "no:cacheprovider"]
        command += ["--substitute", candidate, "--outcomes", str(outcomes)]
        command += [str(SUITE / case) for case in cases]
        env = {**os.environ, "PYTHONPATH": str(HERE)}
        done = subprocess.run(
            command, env=env, cwd=folder, capture_output=True, text=True, check=False
        )
        if not outcomes.exists():
            raise RuntimeError(done.stdout + done.stderr)
        return json.loads(outcomes.read_text("utf8"))


def main() -> None:
    results = {candidate: run(candidate, MODULES) for candidate in CANDIDATES}
    cases = sorted(
        case
        for case, outcome in results["spacy"].items()
        if outcome == "passed" and results["nothing"].get(case) == "failed"
    )
    LIST.write_text("".join(f"{case}\n" for case in cases), "utf8")
    failed = [case for case in cases if results["dynsel"].get(case) != "passed"]
    for case in failed:
        msg.text(case, why_not(case) or "FAILED")
    n_passed = sum(outcome == "passed" for outcome in results["nothing"].values())
    msg.info(
        f"{len(results['spacy'])} cases, of which a component that does nothing passes "
        f"{n_passed}. {len(cases)} are discriminating; ours pass "
        f"{len(cases) - len(failed)}, and {sum(map(bool, map(why_not, cases)))} cannot "
        f"apply."
    )
    if not all(map(why_not, failed)):
        sys.exit(1)


if __name__ == "__main__":
    main()
