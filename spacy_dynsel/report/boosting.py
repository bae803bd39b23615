"""The experiment of Wang, Lin and Schuurmans (2007): trees made of links, by round of
boosting, with static and with dynamic features, beside structured training."""

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from ..base.timing import seconds
from ..corpus.conll import Sentence, make_docs, read_conllu
from ..ordering.journal import Journal
from .tags import SPLITS, find_corpus

ROUNDS = 4
SEEDS = (0, 1, 2)
EPOCHS = 6
TAGGER_EPOCHS = 4
BATCH = 200
FEATURES = ("static", "dynamic")
KINDS = {
    "static": "boosting, static features",
    "dynamic": "boosting, dynamic features",
    "structured": "structured training, static features",
    "structured, dynamic": "structured training, with siblings",
}
SCORES = ("DA", "RA", "CM")


class BoostingExperiment:
    """Trees of a corpus by round.

    given (str): The folder of its files, a colon, and the column of the tags.
    limit (int): The number of sentences of each file, 0 for all.
    """

    def __init__(self, given: str, limit: int = 0) -> None:
        paths, column = find_corpus(given)
        self.name = f"{paths['train'].parent.name}, {column}"
        self.sentences: dict[str, list[Sentence]] = {}
        for split in SPLITS:
            found = read_conllu(paths[split], tag_column=column)
            self.sentences[split] = found[:limit] if limit else found
        self._docs: dict[str, list[tuple[Doc, Doc]]] = {}
        self._nlp: Any = None
        self.steps = {
            f"{self.name}, {kind}, seed {seed}": partial(self.measure, kind, seed)
            for kind in KINDS
            for seed in SEEDS
        }

    def plan(self) -> dict[str, float]:
        """The steps, and what each costs."""
        return dict.fromkeys(self.steps, 1.0)

    def run(self, journal: Journal) -> dict[str, Any]:
        """Do all steps. RETURNS (dict): For each kind of training, one list of rounds for
        each seed."""
        found = {step: journal.do(step, work) for step, work in self.steps.items()}
        rows = iter(found.values())
        return {kind: [next(rows) for _ in SEEDS] for kind in KINDS}

    def get_docs(self, split: str) -> list[tuple[Doc, Doc]]:
        """Docs with tags that were predicted, and the same with gold trees. Taggers have
        not seen what they tag."""
        if not self._docs:
            self._nlp = nlp = spacy.blank("en")
            tagger: Any = nlp.add_pipe(
                "dynsel_tagger", config={"model": {"folds": 4}}, name="tagger"
            )
            pairs = {
                name: [
                    (_strip(doc), doc) for doc in make_docs(nlp.vocab, part, "sentence")
                ]
                for name, part in self.sentences.items()
            }
            examples = [Example(*pair) for pair in pairs["train"]]
            nlp.initialize(lambda: examples)
            _teach(tagger, examples, TAGGER_EPOCHS, 0)
            for name, part in pairs.items():
                docs = [doc for doc, _ in part]
                if name == "train":
                    tagger.annotate_for_training(docs)
                else:
                    tagger.set_annotations(docs, tagger.predict(docs))
            self._docs = pairs
        return self._docs[split]

    def measure(self, kind: str, seed: int) -> list[dict[str, float]]:
        """Learn, and say how good the trees of the test data are after each round."""
        examples = [Example(*pair) for pair in self.get_docs("train")]
        nlp = spacy.blank("en", vocab=self._nlp.vocab)
        boosts = kind in FEATURES
        parser: Any = nlp.add_pipe(
            "dynsel_parser",
            config={
                "model": {
                    "@architectures": "spacy_dynsel.LinkParser.v1",
                    "pairs": {"default": "parser_links_paper"},
                    "with_siblings": "dynamic" in kind,
                    "links": {"training": "boosting", "rounds": ROUNDS}
                    if boosts
                    else {},
                }
            },
        )
        nlp.config["training"]["seed"] = seed
        nlp.initialize(lambda: examples)
        rows = []
        for number in range(ROUNDS + 1 if boosts else 1):
            start = seconds()
            _teach(parser, examples, 1 if boosts else EPOCHS, seed + number)
            parser.engine.get_snapshot()
            row = {"round": float(number), "seconds": seconds() - start}
            rows.append({**row, **self.score(parser)})
        return rows

    def score(self, parser: Any) -> dict[str, float]:
        """The shares of words with the right head, of sentences with the right root, and of
        those in which all heads are right."""
        pairs = self.get_docs("test")
        heads = parser.predict([doc for doc, _ in pairs]).heads
        is_right = []
        root_right = []
        whole_right = []
        start = 0
        for _, gold in pairs:
            found = heads[start : start + len(gold)]
            start += len(gold)
            wanted = np.array([token.head.i for token in gold])
            own = np.arange(len(gold))
            is_right.append(found == wanted)
            root_right.append(bool(((found == own) == (wanted == own)).all()))
            whole_right.append(bool(is_right[-1].all()))
        return {
            "DA": 100 * float(np.concatenate(is_right).mean()),
            "RA": 100 * float(np.mean(root_right)),
            "CM": 100 * float(np.mean(whole_right)),
        }


def _strip(doc: Doc) -> Doc:
    """The words of a doc, as one sentence."""
    return Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        sent_starts=[i == 0 for i in range(len(doc))],
    )


def _teach(component: Any, examples: list[Example], epochs: int, seed: int) -> None:
    order = list(examples)
    for epoch in range(epochs):
        random.Random(1000 * seed + epoch).shuffle(order)
        for start in range(0, len(order), BATCH):
            component.update(order[start : start + BATCH], drop=0.1)


def make_rows(results: Sequence[Sequence[dict[str, float]]]) -> list[tuple[Any, ...]]:
    """The rows of a table: the round, means over seeds, their spread, and the time."""
    rows = []
    for rounds in zip(*results, strict=True):
        scores = [np.array([one[name] for one in rounds]) for name in SCORES]
        rows.append(
            (
                int(rounds[0]["round"]),
                *(float(values.mean()) for values in scores),
                float(np.ptp(scores[0])),
                min(one["seconds"] for one in rounds),
            )
        )
    return rows


def make_claims(name: str, results: dict[str, Any]) -> list[dict[str, Any]]:
    """What the paper found, and whether it is so here."""
    claims = []
    means = {
        kind: [row[1] for row in make_rows(found)] for kind, found in results.items()
    }
    for kind in FEATURES:
        first = [[one["DA"] for one in seed[:2]] for seed in results[kind]]
        gains = [after - before for before, after in first]
        claims.append(
            {
                "claim": f"{name}: the first round of boosting helps {kind} features, "
                "whatever the seed",
                "holds": min(gains) > 0,
                "numbers": ", ".join(f"{gain:+.2f}" for gain in gains),
            }
        )
    claims.append(
        {
            "claim": f"{name}: dynamic features help",
            "holds": max(means["dynamic"]) > max(means["static"]),
            "numbers": f"{max(means['dynamic']):.2f} against {max(means['static']):.2f}",
        }
    )
    claims.append(
        {
            "claim": f"{name}: boosting does as well as structured training",
            "holds": max(means["dynamic"]) >= means["structured, dynamic"][0],
            "numbers": f"{max(means['dynamic']):.2f} against "
            f"{means['structured, dynamic'][0]:.2f}",
        }
    )
    return claims
