"""CPU time of loading a pipeline in a new process, beside a blank one.

    python benchmarks/loading.py models/en_dynsel_web/en_dynsel_web/en_dynsel_web-0.1.0

spaCy and the modules of the components are imported before. The best of the rounds, which
take turns.
"""

import argparse
import subprocess
import sys

from wasabi import table

CODE = """
import time, warnings
import spacy
warnings.simplefilter("ignore")
from spacy_dynsel.registry import architectures, factories, tokenizers
spacy.blank({lang!r})
start = time.process_time()
nlp = {call}
loaded = time.process_time() - start
nlp("A first text.")
print(loaded, time.process_time() - start)
"""
STOCK = {"nlp": {"tokenizer": {"@tokenizers": "spacy.Tokenizer.v1"}}}
OTHERS = ["morphologizer", "lemmatizer"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pipeline")
    parser.add_argument("--lang", default="en")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    load = f"spacy.load({args.pipeline!r}"
    calls = {
        "as it is": f"{load})",
        "with spaCy's tokenizer": f"{load}, config={STOCK!r})",
        f"without {', '.join(OTHERS)}": f"{load}, exclude={OTHERS!r})",
        "a blank pipeline": f"spacy.blank({args.lang!r})",
    }
    found: dict[str, list[list[float]]] = {name: [] for name in calls}
    for _ in range(args.rounds):
        for name, call in calls.items():
            code = CODE.format(lang=args.lang, call=call)
            output = subprocess.check_output([sys.executable, "-c", code], text=True)
            found[name].append([float(word) for word in output.split()])
    rows = [
        (name, *(f"{1e3 * min(times):.0f} ms" for times in zip(*runs, strict=True)))
        for name, runs in found.items()
    ]
    header = ("", "loading", "first text included")
    print(table(rows, header=header, divider=True, aligns=("l", "r", "r")))


if __name__ == "__main__":
    main()
