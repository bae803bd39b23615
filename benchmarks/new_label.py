"""A label that a trained entity recognizer has never met, from a few examples.

    python benchmarks/new_label.py

The default config learns persons and locations of the Broad Twitter Corpus, seed 0. Then
organisations are learned from 35 tweets, alone or with rehearsal: other tweets, as the
pipeline itself has annotated them before; either by the trained recognizer, or by a
second one after it. F1 on the development data.
"""

import random
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

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


def read_examples(nlp: Any, n_rehearsed: int) -> list[Example]:
    """Tweets with the new label, and others, as the pipeline annotates them."""
    docs = make_docs(nlp.vocab, read_split(CORPUS, "train", "entities"))
    random.Random(0).shuffle(docs)
    shown = [doc for doc in docs if any(ent.label_ == NEW for ent in doc.ents)]
    shown = shown[:N_EXAMPLES]
    others = [doc for doc in docs if doc not in shown][:n_rehearsed]
    annotated = nlp.pipe([unannotated(doc, nlp.vocab) for doc in others])
    return [Example(unannotated(doc, nlp.vocab), doc) for doc in [*shown, *annotated]]


def correct(path: Path, n_rehearsed: int) -> Any:
    """Let the recognizer itself learn the new label."""
    nlp = spacy.load(path)
    examples = read_examples(nlp, n_rehearsed)
    rng = random.Random(0)
    for _ in range(N_ROUNDS):
        rng.shuffle(examples)
        nlp.update(examples)
    return nlp


def add_second(path: Path, n_rehearsed: int) -> Any:
    """Let a second recognizer learn the new label. The first stays as it is, and the
    second keeps what the first has found."""
    nlp = spacy.load(path)
    examples = read_examples(nlp, n_rehearsed)
    for example in examples:
        reference = example.reference
        reference.set_ents([ent for ent in reference.ents if ent.label_ == NEW])
    second = nlp.add_pipe("dynsel_ner", name="new_label")
    second.initialize(lambda: examples, nlp=nlp)
    rng = random.Random(0)
    for _ in range(N_ROUNDS):
        rng.shuffle(examples)
        for batch in minibatch(examples, 64):
            second.update(batch, drop=0.1)
    return nlp


def main() -> None:
    paths = write_splits(f"{CORPUS}-without-{NEW}", CACHE, make_split)
    settings = {"nlp.lang": "en", "system.seed": 0}
    path, _ = train("dynsel_ner", CONFIGS / "ner.cfg", paths, settings)
    vocab = spacy.blank("en").vocab
    gold = make_docs(vocab, read_split(CORPUS, "dev", "entities"))
    old = {ent.label_ for doc in gold for ent in doc.ents} - {NEW}
    results = {"before": measure(spacy.load(path), gold, old)}
    for what, learn in (("corrected", correct), ("a second one", add_second)):
        for n in REHEARSED:
            results[f"{what}, {n} rehearsed"] = measure(learn(path, n), gold, old)
    show(f"F1 on dev after learning {NEW}", results)
    save_results("ner-new-label", results)


if __name__ == "__main__":
    main()
