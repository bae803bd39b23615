"""What tags, parts of speech and features are worth to an entity recognizer.

    python benchmarks/ner_tags.py
    python benchmarks/ner_tags.py --corpora uner_pt_bosque

A tagger and a morphologizer learn from a treebank, an entity recognizer from entities over
the words of the same treebank. It reads nothing but words; or, by templates for tags, what
the first two predict: tags, parts of speech, or these with all features. What it learns
from was predicted by models that have not seen it. English has entities over development
data alone: each half is learned from and measured on once. F1 on development data, as a
mean over the best value of o_bias and its neighbours, of one learner for each pass.
"""

import argparse
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example

from corpora import make_docs, read_split
from ner_choices import DROPOUT, N_EPOCHS, O_BIASES
from saving import save_results
from spacy_dynsel.base.templates import CHECKPOINT, make_templates
from spacy_dynsel.registry.batchers import make_share_batcher
from spacy_dynsel.tasks.bilou.gold import entity_f
from tagger import bare, show

# For each corpus of entities its treebank, the column of tags, and the language.
CORPORA = {
    "uner_en_ewt": ("ud_en_ewt", "xpos", "en"),
    "uner_pt_bosque": ("ud_pt_bosque", "upos", "pt"),
}
READ: dict[str, Callable[[Token], str]] = {
    "tags": lambda token: token.tag_,
    "parts of speech": lambda token: token.pos_,
    "parts of speech and features": lambda token: f"{token.pos_}|{token.morph}",
}
# Templates for them in the first stage, and in the last.
FIRST = [
    *("tag", "tag[-1]", "tag[+1]", "tag[-2]", "tag[+2]", "tag case"),
    *("tag[-1] tag", "tag tag[+1]", "tag[-1] tag tag[+1]"),
    *("action[-1] tag", "action[-1] tag tag[+1]"),
]
LAST = ["tag lower"]
Pair = tuple[Doc, Doc]


def teach(
    nlp: Language, examples: list[Example], n_epochs: int, **settings: Any
) -> None:
    nlp.initialize(lambda: examples)
    rng = random.Random(0)
    for _ in range(n_epochs):
        order = list(examples)
        rng.shuffle(order)
        for batch in make_share_batcher(46)(order):
            nlp.update(batch, **settings)


def annotate(corpus: str) -> dict[str, list[Pair]]:
    """The docs of a corpus of entities with what a tagger and a morphologizer say of them,
    beside the gold ones."""
    treebank, column, lang = CORPORA[corpus]
    nlp = spacy.blank(lang)
    for name in ("dynsel_tagger", "dynsel_morphologizer"):
        nlp.add_pipe(name, config={"model": {"folds": 4}})
    trees = make_docs(
        nlp.vocab,
        read_split(treebank, "train", column),
        whole_documents=True,
        morphology=True,
    )
    teach(nlp, [Example(bare(doc), doc) for doc in trees], 4, drop=DROPOUT)
    pairs: dict[str, list[Pair]] = {}
    for split in ("train", "dev") if lang == "pt" else ("dev",):
        sentences = read_split(corpus, split, "entities")
        gold = make_docs(nlp.vocab, sentences, whole_documents=True)
        docs = [bare(doc, with_starts=True) for doc in gold]
        for _, pipe in nlp.pipeline:
            component: Any = pipe
            if split == "train":
                # Once for nothing: the first docs are annotated before folds learn.
                component.annotate_for_training([Doc(nlp.vocab, words=["a"])])
                component.annotate_for_training(docs)
            else:
                component.set_annotations(docs, component.predict(docs))
        pairs[split] = list(zip(docs, gold, strict=True))
    return pairs


def divide(pairs: dict[str, list[Pair]]) -> list[tuple[list[Pair], list[Pair]]]:
    """What to learn from, and what to measure on."""
    dev = pairs["dev"]
    if "train" in pairs:
        return [(pairs["train"], dev)]
    return [(dev[::2], dev[1::2]), (dev[1::2], dev[::2])]


def with_tags(pairs: list[Pair], read: Callable[[Token], str] | None) -> list[Example]:
    """Examples with what is read in the place of tags."""
    examples = []
    for doc, gold in pairs:
        tags = None if read is None else [read(token) for token in doc]
        given = Doc(
            doc.vocab,
            words=[token.text for token in doc],
            tags=tags,
            sent_starts=[bool(token.is_sent_start) for token in doc],
        )
        examples.append(Example(given, gold))
    return examples


def measure(
    train: list[Example], dev: list[Example], lang: str, *, with_templates: bool
) -> list[float]:
    """Train a recognizer. RETURNS (list): Its F1 for each bias."""
    lines = make_templates(default="ner").to_lines()
    if with_templates:
        first = lines.index(CHECKPOINT)
        lines = [*lines[:first], *FIRST, *lines[first:], *LAST]
    nlp = spacy.blank(lang, vocab=train[0].predicted.vocab)
    templates = {"default": None, "lines": lines}
    model = {"seeds": 1, "templates": templates}
    ner: Any = nlp.add_pipe("dynsel_ner", config={"model": model})
    teach(nlp, train, N_EPOCHS, drop=DROPOUT)
    docs = [one.predicted for one in dev]
    golds = np.concatenate([ner.get_gold(one).actions for one in dev])
    scores = []
    for bias in O_BIASES:
        ner.o_bias = bias
        scores.append(100 * entity_f(ner.predict(docs).actions, golds))
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    args = parser.parse_args()
    table: dict[str, dict[str, float]] = {}
    for corpus in args.corpora:
        lang = CORPORA[corpus][2]
        parts = divide(annotate(corpus))
        for name, read in {"words alone": None, **READ}.items():
            scores = [
                measure(
                    with_tags(train, read),
                    with_tags(dev, read),
                    lang,
                    with_templates=read is not None,
                )
                for train, dev in parts
            ]
            padded = np.pad(np.mean(scores, axis=0), 1, mode="edge")
            best = float(np.convolve(padded, [1 / 3] * 3, "valid").max())
            table.setdefault(name, {})[corpus] = best
            show("F1 on development data", table)
    save_results("ner-tags", table)


if __name__ == "__main__":
    main()
