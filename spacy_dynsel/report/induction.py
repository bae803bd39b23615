"""The experiments of Choi (2016) on tagged corpora: plain templates with resources made from
raw text, with and without induced pairs; hand-made conjunctions beside them; and what l1
leaves of a model."""

import copy
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from ..corpus.bare import bare
from ..corpus.conll import make_docs, read_conllu
from ..ordering.journal import Journal
from ..registry.factories import DEFAULT_TAGGER_MODEL
from ..tasks.word_classes import WordResources
from .tags import SPLITS, find_corpus

N_BATCHES = 50
DROPOUT = 0.1
PLAIN = "tagger_plain"
# Chosen on EWT's dev, as is the size below which weights of models with pairs are dropped.
INDUCTION: dict[str, Any] = {"strongest": 3}
PRUNE = 1.5
MARGIN = 6.0
# The penalties of the path, for optimizer = "rda".
PATH = (0.0, 1e-6, 3e-6, 1e-5)


@dataclass(frozen=True)
class Model:
    """A model of the experiments.

    templates (str): The list, by its name.
    induces (bool): Whether it induces pairs.
    resources (tuple): The columns of resources that it reads.
    l1 (float): The penalty; None without dual averaging.
    """

    templates: str
    induces: bool = False
    resources: tuple[str, ...] = ()
    l1: float | None = None


@dataclass(frozen=True)
class TaggedDocs:
    """A corpus: its name, and the docs of each split."""

    name: str
    docs: dict[str, list[Doc]]


def read_docs(nlp: Language, given: str, limit: int = 0) -> TaggedDocs:
    """Read a corpus, as docs with sentences.

    given (str): Its folder, a colon, and the column of the tags: see find_corpus.
    limit (int): The number of docs of each split, 0 for all.
    """
    paths, column = find_corpus(given)
    docs = {}
    for split in SPLITS:
        sentences = read_conllu(paths[split], tag_column=column)
        found = list(make_docs(nlp.vocab, sentences, "document"))
        docs[split] = found[:limit] if limit else found
    return TaggedDocs(f"{paths['train'].parent.name}, {column}", docs)


class InductionExperiment:
    """Taggers with plain templates and hand-made ones, with and without induction.

    nlp (Language): Where components are made.
    corpus (TaggedDocs): The data.
    resources (Sequence[Path]): Files with ambiguity classes and clusters, if there are
        any; see spacy_dynsel.word_classes.v1.
    epochs (int): How often each model sees the data.
    seed (int): For the order of the data.
    """

    def __init__(
        self,
        nlp: Language,
        corpus: TaggedDocs,
        resources: Sequence[Path] = (),
        *,
        epochs: int = 6,
        seed: int = 0,
    ) -> None:
        self.nlp = nlp
        self.corpus = corpus
        self.epochs = epochs
        self.seed = seed
        self.resources = {}
        for path in resources:
            for column in WordResources([path]).read(nlp.lang):
                self.resources[column] = path
        self._known = {token.text for doc in corpus.docs["train"] for token in doc}

    @property
    def models(self) -> dict[str, Model]:
        """The models that there are resources for, by their names in the paper."""
        models = {"M0": Model(PLAIN), "M0 + dynamic": Model(PLAIN, True)}
        if "tag" in self.resources:
            models["M1"] = Model(PLAIN, resources=("tag",))
            models["M3"] = Model(PLAIN, True, ("tag",))
        if {"tag", "cluster"} <= set(self.resources):
            both = ("tag", "cluster")
            models["M2"] = Model(f"{PLAIN}_clusters", resources=both)
            models["M4"] = Model(f"{PLAIN}_clusters", True, both)
        models["hand-made"] = Model("tagger")
        for l1 in PATH:
            models[f"M0 + dynamic, l1 {l1:g}"] = Model(PLAIN, True, l1=l1)
        return models

    def plan(self) -> dict[str, float]:
        """The steps, and what each costs."""
        return {
            f"induction, {self.corpus.name}, {name}": 3.0 if model.induces else 1.0
            for name, model in self.models.items()
        }

    def run(self, journal: Journal) -> dict[str, Any]:
        """Train and measure. RETURNS (dict): For each model its numbers."""
        return {
            name: journal.do(
                f"induction, {self.corpus.name}, {name}", partial(self.measure, model)
            )
            for name, model in self.models.items()
        }

    def measure(self, model: Model) -> dict[str, Any]:
        """The numbers of one model: accuracy on dev and test, with and without early exit,
        and how many features have weights."""
        tagger = self.train(model)
        scorer = tagger.engine.get_snapshot().scorers["templates"]
        keys, _, _ = tagger.engine.main.form.unpack(scorer)
        pairs = scorer.pairs
        found: dict[str, Any] = {
            "features": len(np.unique(keys)),
            "weights": len(keys),
            "pairs": 0 if pairs is None else len(pairs) // 4,
        }
        for split in ("dev", "test"):
            tagger.margin = math.inf
            found[split] = self.score(tagger, split)
            tagger.margin = MARGIN
            found[f"{split}, early exit"] = self.score(tagger, split)
        return found

    def train(self, model: Model) -> Any:
        """A trained tagger."""
        settings: dict[str, Any] = copy.deepcopy(DEFAULT_TAGGER_MODEL)
        settings["templates"] = {"default": model.templates}
        if model.induces:
            settings["learner"] |= {"induction": dict(INDUCTION), "prune": PRUNE}
        if model.l1 is not None:
            settings["learner"] |= {"optimizer": "rda", "l1": model.l1}
        paths = [str(self.resources[column]) for column in model.resources]
        if paths:
            settings["resources"] = {
                "@misc": "spacy_dynsel.word_classes.v1",
                "paths": list(dict.fromkeys(paths)),
            }
        config = {"model": settings}
        tagger: Any = self.nlp.create_pipe("dynsel_tagger", config=config)
        examples = [Example(bare(doc), doc) for doc in self.corpus.docs["train"]]
        tagger.initialize(lambda: examples, nlp=self.nlp)
        shuffler = random.Random(self.seed)
        for _ in range(self.epochs):
            shuffler.shuffle(examples)
            for batch in minibatch(examples, max(1, len(examples) // N_BATCHES)):
                tagger.update(list(batch), drop=DROPOUT)
        return tagger

    def score(self, tagger: Any, split: str) -> list[float]:
        """The accuracy on all words, and on those that training has not seen."""
        golds = self.corpus.docs[split]
        docs = [bare(doc) for doc in golds]
        tagger.set_annotations(docs, tagger.predict(docs))
        right = [
            (token.tag_ == gold.tag_, gold.text in self._known)
            for doc, gold_doc in zip(docs, golds, strict=True)
            for token, gold in zip(doc, gold_doc, strict=True)
        ]
        unknown = [is_right for is_right, is_known in right if not is_known]
        return [
            100 * float(np.mean([is_right for is_right, _ in right])),
            100 * float(np.mean(unknown)) if unknown else 0.0,
        ]


def make_rows(results: dict[str, Any], split: str) -> list[tuple[Any, ...]]:
    """The rows of tables 3 and 4: model, all words, unknown words, features."""
    return [
        (name, *found[split], found["features"])
        for name, found in results.items()
        if "l1" not in name
    ]


def make_path_rows(results: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What l1 leaves: model, accuracy on dev, and the numbers of features, weights and
    pairs."""
    return [
        (name, found["dev"][0], found["features"], found["weights"], found["pairs"])
        for name, found in results.items()
        if "l1" in name
    ]


def make_claims(name: str, results: dict[str, Any]) -> list[dict[str, Any]]:
    """What the paper found, and whether it is so here."""
    plain, dynamic = results["M0"], results["M0 + dynamic"]
    made = results["hand-made"]
    return [
        {
            "claim": f"induction, {name}: induced pairs help plain templates",
            "holds": dynamic["dev"][0] > plain["dev"][0],
            "numbers": f"dev {plain['dev'][0]:.2f}, with pairs {dynamic['dev'][0]:.2f}",
        },
        {
            "claim": f"induction, {name}: conjunctions made by hand are no better than "
            "induced pairs",
            "holds": made["dev"][0] <= dynamic["dev"][0],
            "numbers": f"dev {made['dev'][0]:.2f} with {made['features']:,} features, "
            f"{dynamic['dev'][0]:.2f} with {dynamic['features']:,}",
        },
    ]
