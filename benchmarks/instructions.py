"""Instructions for a token, counted by callgrind in a process of its own.

    valgrind --tool=callgrind python benchmarks/instructions.py PIPELINE DOCBIN ROUNDS

runs the components; count_instructions does all of it and reads what callgrind says.
Hardware counters would do as well, but few virtual machines have them.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import DocBin
from spacy.vocab import Vocab

# What a component calls to predict, as callgrind names it.
FUNCTIONS = {
    "dynsel_tagger": r"_tagging_\d*predict\b",
    "dynsel_parser": r"_parsing_\d*parse\b",
    "dynsel_ner": r"_bilou_\d*predict\b",
}
ROUNDS = 3


def predict(pipeline: str, docbin: str, rounds: int) -> None:
    nlp = spacy.load(pipeline)
    docs = list(DocBin().from_disk(docbin).get_docs(nlp.vocab))
    for name in FUNCTIONS:
        component: Any = nlp.get_pipe(name)
        for _ in range(rounds):
            component.predict(docs)


def count_instructions(pipeline: Path, docbin: Path) -> dict[str, Any]:
    """Instructions that each component executes for a token, the first look at new
    words included. RETURNS (dict): Nothing where there is no valgrind."""
    if shutil.which("valgrind") is None:
        return {}
    docs = DocBin().from_disk(docbin).get_docs(Vocab())
    n_tokens = sum(map(len, docs))
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}"]
        command += [sys.executable, __file__, str(pipeline), str(docbin), str(ROUNDS)]
        subprocess.run(command, check=True, capture_output=True)
        report = subprocess.run(
            ["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(output)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    table: dict[str, Any] = {}
    for name, pattern in FUNCTIONS.items():
        counts = [
            int(line.split()[0].replace(",", ""))
            for line in report.splitlines()
            if re.search(rf"__pyx_pf_\w*{pattern}", line)
        ]
        if counts:
            table[name] = {"instructions": max(counts) / (ROUNDS * n_tokens)}
    return table


if __name__ == "__main__":
    predict(sys.argv[1], sys.argv[2], int(sys.argv[3]))
