"""What commands are given: a corpus, templates, and settings that take little time."""

import spacy
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin, Span

QUICK = {
    "training.max_epochs": 2,
    "training.batcher.n_batches": 5,
    "training.eval_frequency": 9,
}

# What would only take time here.
SMALL = {
    "components.tagger.model.folds": 0,
    "components.parser.model.folds": 0,
    "components.parser.model.seeds": 1,
}

TEMPLATE_LINES = """shape[-1]
suffix1
prefix1
lower[-1]
lower
class
suffix1[+1]
shape
prefix2
flags
tag[-1]
suffix2
"""

# The tag of a word is its last letter: what looks at that must come first.
TEMPLATES = ["prefix1[+1]", "suffix1", "shape[-1]"]


def write_corpus(path, n=60, annotated=True):
    nlp = spacy.blank("en")
    docs = []
    for i in range(n):
        words = [
            f"{chr(97 + (i * 7 + j * 3) % 26)}{'xyz'[(i + j) % 3]}" for j in range(6)
        ]
        if not annotated:
            docs.append(Doc(nlp.vocab, words=words))
            continue
        doc = Doc(
            nlp.vocab,
            words=words,
            tags=[word[-1].upper() for word in words],
            pos=["NOUN" if word[-1] == "x" else "VERB" for word in words],
            morphs=["Number=Sing" if word[-1] == "y" else "" for word in words],
            lemmas=[word[0] for word in words],
            heads=[0, 0, 1, 2, 3, 4],
            deps=["ROOT", "a", "b", "a", "b", "a"],
        )
        doc.set_ents([Span(doc, 1, 2, label=words[1][-1].upper())])
        docs.append(doc)
    DocBin(docs=docs).to_disk(path)
    return path


def overrides(corpus, name="tagger", templates=TEMPLATES):
    return {
        "paths.train": str(corpus),
        f"components.{name}.model.templates.lines": templates,
        f"components.{name}.model.templates.default": None,
    }


def train_on_stream(config, folder):
    """The pipeline that `spacy train` makes of a stream that is read once."""
    config["training"]["batcher"] = {
        "@batchers": "spacy.batch_by_sequence.v1",
        "size": 3,
    }
    config.to_disk(folder / "config.cfg")
    train(folder / "config.cfg", folder / "out")
    return spacy.load(folder / "out" / "model-last")
