"""Instructions for a token and where they go, counted by callgrind in a process of its
own for each component.

    valgrind --tool=callgrind python benchmarks/instructions.py PIPELINE DOCBIN COMPONENT

runs a component; count_instructions does all of it and reads what callgrind says.
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
    "tagger": "__pyx_pf_*tagging_6decode_*predict*",
    "parser": "__pyx_pf_*arc_eager_6decode_*parse*",
    "ner": "__pyx_pf_*bilou_6decode_*predict*",
}
ROUNDS = 3
N_PLACES = 8
# A line of callgrind_annotate: how many, which share, and the function.
LINE = re.compile(r"\s*([\d,]+) \(.*?\)\s+(?:\S+?:)?(.+?)(?: \[.*)?$")
# What Cython puts before the name of a function and of its module.
PREFIX = re.compile(r"__pyx_\w*?_12spacy_dynsel_")


def predict(pipeline: str, docbin: str, name: str) -> None:
    nlp = spacy.load(pipeline)
    docs = list(DocBin().from_disk(docbin).get_docs(nlp.vocab))
    component: Any = nlp.get_pipe(name)
    for _ in range(ROUNDS):
        component.predict(docs)


def read_report(report: str) -> dict[str, int]:
    """The instructions of each function that callgrind_annotate lists, and of all."""
    counts: dict[str, int] = {}
    for line in report.splitlines():
        if found := LINE.match(line):
            function = PREFIX.sub("", found[2].partition("(")[0])
            # Modules have their lengths before their names.
            name = re.sub(r"(?:^|_)\d+(?=[A-Za-z_])", ".", function).lstrip(".")
            counts[name] = counts.get(name, 0) + int(found[1].replace(",", ""))
    return counts


def count_instructions(pipeline: Path, docbin: Path) -> dict[str, dict[str, float]]:
    """Instructions that each component executes for a token, the first look at new
    words included: all of them, and those of the functions that have the most.
    RETURNS (dict): Nothing where there is no valgrind."""
    if shutil.which("valgrind") is None:
        return {}
    n_tokens = sum(map(len, DocBin().from_disk(docbin).get_docs(Vocab())))
    table = {}
    for name, function in FUNCTIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "callgrind.out"
            command = ["valgrind", "--tool=callgrind", f"--toggle-collect={function}"]
            command += [f"--callgrind-out-file={output}", sys.executable, __file__]
            command += [str(pipeline), str(docbin), name]
            subprocess.run(command, check=True, capture_output=True)
            report = subprocess.run(
                ["callgrind_annotate", "--threshold=100", str(output)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        counts = read_report(report)
        most = sorted(counts, key=lambda place: -counts[place])[: N_PLACES + 1]
        table[name] = {place: counts[place] / (ROUNDS * n_tokens) for place in most}
    return table


if __name__ == "__main__":
    predict(*sys.argv[1:])
