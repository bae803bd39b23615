"""What pruning costs: train one component, and compile its weights with several settings
of `prune`. Prints the size of the file and the scores on development data.

    python models/prune.py en_dynsel_web parser --cutoff 2 --prune 2 3 4

Needs the DocBins that models/make.py has written. A parser has one seed and no reranker
here, and other components one seed: what matters is the difference between rows.
"""

import argparse
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from thinc.api import fix_random_seed
from wasabi import msg

from make import PACKAGES, WORK, make_training_config

READ_TAGS = ("parser", "ner")
N_BATCHES = 64


def make_nlp(name: str, component: str, cutoff: int) -> Language:
    """A pipeline of the component, after a tagger if it reads tags."""
    config = make_training_config(PACKAGES[name], WORK / name)
    chosen = ["tagger"] * (component in READ_TAGS) + [component]
    config["nlp"]["pipeline"] = chosen
    config["components"] = {one: config["components"][one] for one in chosen}
    model = config["components"][component]["model"]
    for setting in ("learner", "label_learner"):
        if setting in model:
            model[setting]["cutoff"] = cutoff
    model.update({key: 1 for key in ("seeds",) if key in model})
    model.update({key: 0 for key in ("folds",) if key in model})
    return spacy.util.load_model_from_config(config, auto_fill=True)


def read_examples(nlp: Language, folder: Path) -> Iterator[Example]:
    """The docs of a folder, with their own words and sentences."""
    for path in sorted(folder.glob("*.spacy")):
        for doc in DocBin().from_disk(path).get_docs(nlp.vocab):
            yield Example(
                Doc(
                    nlp.vocab,
                    words=[token.text for token in doc],
                    spaces=[bool(token.whitespace_) for token in doc],
                ),
                doc,
            )


def learn(nlp: Language, examples: list[Example], n_epochs: int) -> None:
    nlp.initialize(lambda: examples)
    size = max(1, len(examples) // N_BATCHES)
    reads_tags = nlp.pipe_names[1:] != []
    for _ in range(n_epochs):
        random.shuffle(examples)
        for i in range(0, len(examples), size):
            annotates = ["tagger"] if reads_tags else []
            nlp.update(examples[i : i + size], drop=0.1, annotates=annotates)


def prune(component: Any, value: float) -> int:
    """Compile the weights again. RETURNS (int): The size of the component in bytes."""
    engine = component.engine
    for part in engine.classifiers.values():
        part.used_settings = replace(part.used_settings, prune=value)
        part._scorer = None
    engine._snapshot = None
    return len(component.to_bytes(exclude=["vocab"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("name", choices=PACKAGES)
    parser.add_argument("component")
    parser.add_argument("--cutoff", type=int, default=2)
    parser.add_argument("--prune", type=float, nargs="+", default=[1.0, 2.0, 3.0])
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    fix_random_seed(0)
    nlp = make_nlp(args.name, args.component, args.cutoff)
    learn(nlp, list(read_examples(nlp, WORK / args.name / "train")), args.epochs)
    rows = []
    for value in args.prune:
        size = prune(nlp.get_pipe(args.component), value)
        found = nlp.evaluate(list(read_examples(nlp, WORK / args.name / "dev")))
        names = ("tag_acc", "pos_acc", "morph_acc", "lemma_acc", "dep_las", "ents_f")
        scores = [
            f"{k} {100 * found[k]:.2f}" for k in names if found.get(k) is not None
        ]
        rows.append((f"{value:g}", f"{size / 1e6:.2f}", ", ".join(scores)))
    header = ("prune", "MB", f"{args.component}, cutoff {args.cutoff}")
    msg.table(rows, header=header, aligns=("r", "r", "l"), divider=True)


if __name__ == "__main__":
    main()
