"""A label that a trained entity recognizer has never met, from a few examples.

    python benchmarks/new_label.py

The default config learns persons and locations of the Broad Twitter Corpus, seed 0. Then
the trained pipeline learns organisations from 35 tweets, alone or with rehearsal: other
tweets, as the pipeline itself has annotated them before. F1 on the development data.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc
from spacy.training import Example

from corpora import make_docs, read_split, write_splits
from ner import f_score, pipe_predictor, spans_of
from saving import save_results
from tagger import show
from training import CACHE, CONFIGS, train

CORPUS = "ner_en_btc"
NEW = "ORG"
N_EXAMPLES = 35
N_ROUNDS = 5
REHEARSED = (0, 500, 2000)


def without_new(doc: Doc) -> Doc:
    """A doc in which the new label is not annotated: its entities are outside."""
    doc.set_ents([ent for ent in doc.ents if ent.label_ != NEW])
    return doc


def make_split(vocab: Any, split: str) -> list[Doc]:
    docs = make_docs(vocab, read_split(CORPUS, split, "entities"))
    return [without_new(doc) for doc in docs]


def unannotated(doc: Doc, vocab: Any) -> Doc:
    return Doc(vocab, words=[token.text for token in doc])


def measure(nlp: Any, gold: list[Doc], old: set[str]) -> dict[str, float]:
    predict = pipe_predictor(nlp)
    found = sum(span[2] == NEW for doc in gold for span in predict(doc))
    right = sum(span[2] == NEW for doc in gold for span in predict(doc) & spans_of(doc))
    return {
        "F1 of old labels": f_score(predict, gold, old),
        f"F1 of {NEW}": f_score(predict, gold, {NEW}),
        f"precision of {NEW}": 100 * right / max(1, found),
        "F1 of all": f_score(predict, gold),
    }


def learn(path: Path, n_rehearsed: int) -> Any:
    """Load the pipeline and let it learn the new label."""
    rng = random.Random(0)
    nlp = spacy.load(path)
    docs = make_docs(nlp.vocab, read_split(CORPUS, "train", "entities"))
    rng.shuffle(docs)
    shown = [doc for doc in docs if any(ent.label_ == NEW for ent in doc.ents)]
    shown = shown[:N_EXAMPLES]
    others = [doc for doc in docs if doc not in shown][:n_rehearsed]
    annotated = nlp.pipe([unannotated(doc, nlp.vocab) for doc in others])
    examples = [
        Example(unannotated(doc, nlp.vocab), doc) for doc in [*shown, *annotated]
    ]
    for _ in range(N_ROUNDS):
        rng.shuffle(examples)
        nlp.update(examples)
    return nlp


def main() -> None:
    paths = write_splits(f"{CORPUS}-without-{NEW}", CACHE, make_split)
    settings = {"nlp.lang": "en", "system.seed": 0}
    path, _ = train("dynsel_ner", CONFIGS / "ner.cfg", paths, settings)
    vocab = spacy.blank("en").vocab
    gold = make_docs(vocab, read_split(CORPUS, "dev", "entities"))
    old = {ent.label_ for doc in gold for ent in doc.ents} - {NEW}
    variants: dict[str, Callable[[], Any]] = {"before": lambda: spacy.load(path)}
    for n in REHEARSED:
        variants[f"{N_EXAMPLES} examples, {n} rehearsed"] = lambda n=n: learn(path, n)
    results = {name: measure(make(), gold, old) for name, make in variants.items()}
    show(f"F1 on dev after learning {NEW}", results)
    save_results("ner-new-label", results)


if __name__ == "__main__":
    main()
