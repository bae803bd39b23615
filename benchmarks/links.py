"""What links that are known do to the rest of a tree, and what exact search costs.

    python benchmarks/links.py PIPELINE --split dev

A trained pipeline with a dynsel_parser parses UD English EWT: gold words and sentences, its
own tags, punctuation included. The head of every tenth word is set to gold; accuracy is
that of the other words. The share of the best of k trees is that of an oracle.
"""

import argparse
from time import process_time

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg

from corpora import make_docs, read_split
from spacy_dynsel.core.eisner import LinkForest
from spacy_dynsel.pipeline.parser import DynselParser

STEP = 10
TREES = (1, 2, 4, 8)
ROUNDS = 5
# Links from a word to those nearest to it, beside the one to the root.
NEAREST = 8


def tag(nlp: Language, parser: str, gold: Doc) -> Doc:
    """A doc with words, sentences and the pipeline's tags, without a tree."""
    doc = Doc(
        nlp.vocab,
        words=[token.text for token in gold],
        spaces=[bool(token.whitespace_) for token in gold],
        sent_starts=[i == 0 for i in range(len(gold))],
    )
    for name, component in nlp.pipeline:
        if name != parser:
            doc = component(doc)
    return doc


def is_right(doc: Doc, gold: Doc) -> np.ndarray:
    pairs = zip(doc, gold, strict=True)
    return np.array([token.head.i == other.head.i for token, other in pairs])


def measure_known(nlp: Language, golds: list[Doc]) -> list[tuple[str, str]]:
    [name] = [name for name, one in nlp.pipeline if isinstance(one, DynselParser)]
    parser = nlp.get_pipe(name)
    right: dict[str, list[np.ndarray]] = {"parsed": [], "set": [], "others": []}
    best_of: dict[int, int] = dict.fromkeys(TREES, 0)
    n_refused = 0
    for gold in golds:
        doc = tag(nlp, name, gold)
        heads = {i: gold[i].head.i for i in range(STEP // 2, len(gold), STEP)}
        is_free = np.array([i not in heads for i in range(len(gold))])
        trees = [is_right(one, gold) for one in parser.k_best(doc, max(TREES))]
        for k in TREES:
            best_of[k] += max(int(one.sum()) for one in trees[:k])
        right["parsed"].append(trees[0])
        right["others"].append(trees[0][is_free])
        try:
            right["set"].append(is_right(parser.parse(doc, heads=heads), gold)[is_free])
        except ValueError:
            # Gold links that are not projective.
            n_refused += 1
            right["set"].append(trees[0][is_free])
    n_words = sum(map(len, golds))
    return [
        ("UAS", _percent(right["parsed"])),
        (
            "UAS of the words whose heads are not set, none set",
            _percent(right["others"]),
        ),
        (f"the same, every {STEP}th head set to gold", _percent(right["set"])),
        ("sentences whose gold links are refused", str(n_refused)),
        *(
            (f"UAS of the best of {k} trees", f"{100 * best_of[k] / n_words:.2f}")
            for k in TREES
        ),
    ]


def _percent(parts: list[np.ndarray]) -> str:
    return f"{100 * np.concatenate(parts).mean():.2f}"


def measure_speed(nlp: Language, golds: list[Doc]) -> list[tuple[str, str]]:
    """The parser's time a word, the best of some rounds."""
    [name] = [name for name, one in nlp.pipeline if isinstance(one, DynselParser)]
    parser = nlp.get_pipe(name)
    docs = [tag(nlp, name, gold) for gold in golds]
    n_words = sum(map(len, docs))
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        parser.predict(docs)
        times.append(1e6 * (process_time() - start) / n_words)
    rows = [("parser, labels and sentences included", f"{min(times):.1f}")]
    links = parser.statistics(docs).get("links")
    if links is not None:
        rows.append(("links a word that the filter leaves (a number)", f"{links:.1f}"))
    return rows


def measure_search(golds: list[Doc]) -> list[tuple[str, str]]:
    """Times a word, with random scores."""
    random = np.random.default_rng(0)
    forests: dict[bool, list[LinkForest]] = {False: [], True: []}
    for gold in golds:
        n = len(gold)
        links = [
            (head, child)
            for child in range(n)
            for head in (
                -1,
                *range(max(0, child - NEAREST), min(n, child + NEAREST + 1)),
            )
            if head != child
        ]
        heads, children = np.array(links, dtype="int32").T.copy()
        scores = random.integers(-1000, 1000, len(links))
        for with_siblings, made in forests.items():
            made.append(LinkForest(n, heads, children, scores, with_siblings))
    rows = []
    n_words = sum(map(len, golds))
    for with_siblings, made in forests.items():
        for what, ask in (
            ("best tree", lambda forest: forest.find_best()),
            ("10 best trees", lambda forest: forest.find_k_best(10)),
            ("probabilities", lambda forest: forest.find_marginals(100.0)),
        ):
            start = process_time()
            for forest in made:
                ask(forest)
            time = 1e6 * (process_time() - start) / n_words
            name = f"{what}, with siblings" if with_siblings else what
            rows.append((name, f"{time:.1f}"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pipeline")
    parser.add_argument("--split", default="dev")
    args = parser.parse_args()
    nlp = spacy.load(args.pipeline)
    golds = make_docs(
        nlp.vocab, read_split("ud_en_ewt", args.split, "xpos"), trees=True
    )
    msg.table(measure_known(nlp, golds), header=("Heads", "%"), divider=True)
    times = [*measure_speed(nlp, golds), *measure_search(golds)]
    msg.table(times, header=("Work", "µs a word"), divider=True)


if __name__ == "__main__":
    main()
