"""Choices behind the defaults of the entity recognizer: which pass comes first, and
what other templates, settings of the learner and numbers of learners would bring.

    python benchmarks/ner_choices.py  # the order of the passes, three seeds averaged
    python benchmarks/ner_choices.py --changes  # templates and settings, one seed
    python benchmarks/ner_choices.py --averages  # how many learners, how much is pruned

F1 on development data, as a mean over the best value of o_bias and its neighbours.
Wikigold has no such data: a fifth of its documents stands in.
"""

import argparse
import random
from typing import Any

import numpy as np
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from corpora import data_folder, make_docs, read_iob, read_split
from ner import bare
from saving import save_results
from spacy_dynsel.base.templates import CHECKPOINT, make_templates
from spacy_dynsel.registry.batchers import make_share_batcher
from spacy_dynsel.tasks.bilou.engine import FIRST, SECOND
from spacy_dynsel.tasks.bilou.gold import entity_f
from tagger import show

# The language, and whether documents are Docs.
CORPORA = {
    "ner_en_wikigold": ("en", True),
    "ner_en_wnut17": ("en", False),
    "ner_en_btc": ("en", False),
    "uner_da": ("da", False),
    "uner_pt_bosque": ("pt", True),
}
N_EPOCHS = 6
DROPOUT = 0.1
O_BIASES = [float(bias) for bias in range(-7, 3)]
# What the first stage has more, and what the last.
PATTERNS = (
    [
        "case[-2] case[-1] case",
        "case case[+1] case[+2]",
        "flags case",
        "cases[-1]",
        "cases[+1]",
    ],
    ["shape[-2] shape[-1] shape", "shape shape[+1] shape[+2]"],
)
CONTEXT: tuple[list[str], list[str]] = (
    [],
    [
        "lower[-1] case",
        "lower[+1] case",
        "lower[-2] case",
        "lower[+2] case",
        "suffix3[-1] case",
        "suffix3[+1] case",
    ],
)
CHANGES: dict[str, dict[str, Any]] = {
    "default": {},
    "without the column class": {"left_out": "class"},
    "words beside a case": {"added": CONTEXT},
    "patterns of token types": {"added": PATTERNS},
    "dropout 0.25": {"dropout": 0.25},
    # As they were tried: beside the list without that column.
    "cutoff 2": {"left_out": "class", "learner": {"cutoff": 2}},
    "margin 4": {"left_out": "class", "learner": {"margin": 4.0}},
    "margin 16": {"left_out": "class", "learner": {"margin": 16.0}},
    "slower steps": {"left_out": "class", "learner": {"eta": 0.2, "delta": 1.0}},
    "the last prefix alone": {"left_out": "class", "learner": {"objective": "full"}},
}
# How many learners are averaged, and what is pruned.
AVERAGES = {
    f"{seeds} learners, prune = {prune}": (seeds, prune)
    for seeds in (3, 5)
    for prune in (1.0, 0.5)
}


def read_docs(corpus: str) -> tuple[list[Doc], list[Doc]]:
    """Training and development data."""
    lang, documents = CORPORA[corpus]
    vocab = spacy.blank(lang).vocab
    if corpus == "ner_en_wikigold":
        sentences = read_iob(data_folder() / corpus / "wikigold.conll")
        docs = make_docs(vocab, sentences, whole_documents=True)
        held_out = [i * 5 // len(docs) == 1 for i in range(len(docs))]
        both = list(zip(docs, held_out, strict=True))
        return [doc for doc, h in both if not h], [doc for doc, h in both if h]
    train, dev = (
        make_docs(
            vocab, read_split(corpus, split, "entities"), whole_documents=documents
        )
        for split in ("train", "dev")
    )
    return train, dev


def change_templates(
    added: tuple[list[str], list[str]], left_out: str | None
) -> list[str]:
    """The default list with more templates, or without those that read a column."""
    templates = make_templates(default="ner")
    unwanted = {
        str(template)
        for template in templates.templates
        if any(atom.column == left_out for atom in template.atoms)
    }
    lines = [line for line in templates.to_lines() if line not in unwanted]
    first = lines.index(CHECKPOINT)
    return [*lines[:first], *added[0], *lines[first:], *added[1]]


def learn(
    docs: list[Doc],
    lang: str,
    seeds: int,
    added: tuple[list[str], list[str]] = ([], []),
    dropout: float = DROPOUT,
    left_out: str | None = None,
    seed: int = 0,
    learner: dict[str, Any] | None = None,
) -> Any:
    """Train a recognizer in this process. RETURNS (DynselNER): The component."""
    nlp = spacy.blank(lang)
    templates = {"default": None, "lines": change_templates(added, left_out)}
    settings = {"seed": seed, **(learner or {})}
    model = {"seeds": seeds, "templates": templates, "learner": settings}
    ner = nlp.add_pipe("dynsel_ner", config={"model": model})
    examples = [
        Example(Doc(nlp.vocab, words=[token.text for token in doc]), doc)
        for doc in docs
    ]
    nlp.initialize(lambda: examples)
    rng = random.Random(seed)
    for _ in range(N_EPOCHS):
        order = list(examples)
        rng.shuffle(order)
        for batch in make_share_batcher(46)(order):
            ner.update(batch, drop=dropout)
    return ner


def swap_passes(ner: Any) -> None:
    """Let the other pass read first. Each learns by itself, so no training is needed."""
    engine = ner.model.shims[0].engine
    parts = engine.parts
    parts[FIRST], parts[SECOND] = parts[SECOND], parts[FIRST]
    engine.direction = "ltr" if engine.direction == "rtl" else "rtl"
    # The snapshot of predictions is made anew with the bias.
    engine.bias += 1


def measure(ner: Any, gold: list[Doc]) -> float:
    """The best F1, averaged over a value of o_bias and its neighbours."""
    docs = [bare(doc, ner.vocab) for doc in gold]
    pairs = zip(docs, gold, strict=True)
    golds = [ner.get_gold(Example(doc, true)).actions for doc, true in pairs]
    actions = np.concatenate(golds)
    scores = []
    for bias in O_BIASES:
        ner.o_bias = bias
        scores.append(100 * entity_f(ner.predict(docs).actions, actions))
    padded = np.pad(scores, 1, mode="edge")
    return float(np.convolve(padded, [1 / 3] * 3, "valid").max())


def measure_all(ner: Any, corpus: str, dev: list[Doc]) -> dict[str, float]:
    table = {corpus: measure(ner, dev)}
    if CORPORA[corpus][1]:
        lone = [sentence.as_doc() for doc in dev for sentence in doc.sents]
        table[f"{corpus}, sentences"] = measure(ner, lone)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--changes", action="store_true", help="templates, settings")
    parser.add_argument("--averages", action="store_true", help="learners, pruning")
    parser.add_argument("--seed", type=int, default=0, help="not of the passes")
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA))
    args = parser.parse_args()

    results: dict[str, Any] = {}
    for corpus in args.corpora:
        lang = CORPORA[corpus][0]
        train, dev = read_docs(corpus)
        if args.changes:
            for name, change in CHANGES.items():
                found = measure_all(
                    learn(train, lang, 1, seed=args.seed, **change), corpus, dev
                )
                results.setdefault(name, {}).update(found)
        elif args.averages:
            for name, (seeds, prune) in AVERAGES.items():
                ner = learn(
                    train, lang, seeds, seed=args.seed, learner={"prune": prune}
                )
                found = measure_all(ner, corpus, dev)
                results.setdefault(name, {}).update(found)
        else:
            ner = learn(train, lang, 3)
            for name in ("from the right first", "from the left first"):
                found = measure_all(ner, corpus, dev)
                results.setdefault(name, {}).update(found)
                swap_passes(ner)
    show("F1 on development data", results)
    save_results("ner-choices", results)


if __name__ == "__main__":
    main()
