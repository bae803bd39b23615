"""How far confidence can be relied on: fitted on dev, measured on test.

    python benchmarks/confidence.py                      # trains a tagger, a recognizer
    python benchmarks/confidence.py --parser PIPELINE    # ... and measures a parser

--tagger and --ner take pipelines that are trained already.

Tags and arcs are those of UD English EWT, gold words and sentences, entities those of
the Broad Twitter Corpus. Corpora are found through DYNSEL_DATA.
"""

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

from corpora import write_docbins
from saving import save_results
from spacy_dynsel.cli.reliability import reliability
from training import CACHE, CONFIGS, train


def measure(pipeline: Path, name: str, paths: dict[str, Path]) -> dict[str, Any]:
    """Fit the confidence of a component, in a copy of its pipeline, and measure it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "pipeline"
        shutil.copytree(pipeline, copy)
        return reliability(copy, paths["test"], fit_path=paths["dev"], name=name)[name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tagger", type=Path, help="a trained pipeline with a tagger")
    parser.add_argument("--ner", type=Path, help="a trained pipeline with a recognizer")
    parser.add_argument("--parser", type=Path, help="a trained pipeline with a parser")
    args = parser.parse_args()
    tags = write_docbins("ud_en_ewt", "xpos", CACHE)
    documents = write_docbins("ud_en_ewt", "xpos", CACHE, whole_documents=True)
    entities = write_docbins("ner_en_btc", "entities", CACHE)
    tagger = (
        args.tagger or train("dynsel_tagger", CONFIGS / "tagger.cfg", documents, {})[0]
    )
    ner = args.ner or train("dynsel_ner", CONFIGS / "ner.cfg", entities, {})[0]
    results = {
        "tags": measure(tagger, "tagger", tags),
        "entities": measure(ner, "ner", entities),
    }
    if args.parser:
        trees = write_docbins("ud_en_ewt", "xpos", CACHE, trees=True)
        results["arcs"] = measure(args.parser, "parser", trees)
    save_results("confidence", results)


if __name__ == "__main__":
    main()
