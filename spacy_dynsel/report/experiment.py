"""The models that early exit is compared with, trained and measured.

full: one model that always reads all templates, one after the other.
one stage: the same, compiled as one stage, whose templates are added up together.
fixed: a model of its own for each of some prefixes of the templates.
stagewise: templates learned one after the other, each on top of fixed ones.
dynamic: a checkpoint after each template, with the hinge losses of all prefixes.
dynamic, paper: the same with the losses up to the first prefix that is satisfied.
"""

import copy
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from ..base.atomic import write_file
from ..base.settings import LearnerSettings
from ..base.timing import seconds
from ..ordering.decisions import Decisions, record_decisions, split_examples
from ..ordering.fitting import count_right, find_leads
from ..ordering.journal import Journal
from ..ordering.methods import (
    OrderingMethod,
    make_contribution,
    make_gomp,
    make_lasso,
    make_wrapper,
    measure_times,
)
from ..registry.factories import (
    DEFAULT_NER_MODEL,
    DEFAULT_PARSER_MODEL,
    DEFAULT_TAGGER_MODEL,
)

BATCH = 64
DROPOUT = 0.1
TIMED_ROUNDS = 5
# The margins of the tables, and of the curves, as parts of the margin of training.
TABLE_MARGINS = (0.3, 0.7, 0.9, 1.0)
CURVE_MARGINS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
ORDER_SIZES = (6, 10, 15, 23)
# How the margin of training grows with the prefix where all prefixes are trained; 0.5
# was better than 0 and 1 on development data.
PREFIX_POWER = 0.5
# How often a stage of the stagewise model sees the data.
STAGEWISE_EPOCHS = 2


@dataclass(frozen=True)
class Task:
    """A task of the experiments.

    name (str): Its name.
    factory (str): The factory of its component.
    model (dict): The default config of the component's model.
    part (str): Which templates of the model vary.
    config (dict): Settings of the component.
    scores (tuple): The scores to report, the most important first.
    fixed (tuple): The prefixes that have models of their own.
    """

    name: str
    factory: str
    model: dict[str, Any]
    part: str
    config: dict[str, Any]
    scores: tuple[str, ...]
    fixed: tuple[int, ...]


TASKS = {
    task.name: task
    for task in (
        Task(
            "tagging",
            "dynsel_tagger",
            DEFAULT_TAGGER_MODEL,
            "templates",
            {},
            ("tag_acc",),
            (1, 3, 5, 10),
        ),
        Task(
            "parsing",
            "dynsel_parser",
            {**DEFAULT_PARSER_MODEL, "folds": 0},
            "actions",
            {"branches": 0, "label_margin": 1e6},
            ("dep_las", "dep_uas"),
            (1, 10, 20, 30),
        ),
        Task(
            "entities",
            "dynsel_ner",
            DEFAULT_NER_MODEL,
            "templates",
            {},
            ("ents_f",),
            (1, 10, 13),
        ),
    )
}
DEFAULT_LISTS = {
    "tagging": "tagger_each",
    "parsing": "parser_actions",
    "entities": "ner",
}


class Experiment:
    """The experiments of one task, in steps that a journal keeps.

    task (Task): The task.
    nlp (Language): Where components are made.
    train (list[Doc]), test (list[Doc]): The data. Tags of the docs are shown to
        parsers and entity recognizers.
    templates (list[str]): The templates, in order.
    folder (Path): Where models, and journals of orders, are kept until all is done.
    epochs (int): How often each model sees the data.
    seed (int): For the order of the data.
    """

    def __init__(
        self,
        task: Task,
        nlp: Language,
        train: list[Doc],
        test: list[Doc],
        templates: list[str],
        folder: Path,
        *,
        epochs: int,
        seed: int,
    ) -> None:
        self.task = task
        self.nlp = nlp
        self.train = train
        self.test = test
        self.templates = templates
        self.folder = folder
        self.epochs = epochs
        self.seed = seed
        self._components: dict[str, Any] = {}

    @property
    def kinds(self) -> dict[str, tuple[int, str, bool]]:
        """The models: the number of templates, the objective, and whether there is a
        checkpoint after each template: only then do times tell what leaving out some
        templates is worth."""
        n_templates = len(self.templates)
        return {
            "full": (n_templates, "full", True),
            "one stage": (n_templates, "full", False),
            **{
                f"fixed {k}": (k, "full", True)
                for k in self.task.fixed
                if k < n_templates
            },
            "dynamic": (n_templates, "all_prefixes", True),
            "dynamic, paper": (n_templates, "first_satisfied", True),
        }

    def plan(self) -> dict[str, float]:
        """The steps, and what they cost beside each other."""
        steps = {
            f"{self.task.name}/{kind}": 2.0 * n * (1 if objective == "full" else 2) + 10
            for kind, (n, objective, _) in self.kinds.items()
        }
        steps[f"{self.task.name}/times"] = 20.0
        if self.task.name == "tagging":
            n = len(self.templates)
            steps["tagging/stagewise"] = 3.0 * n
        return steps

    def run(self, journal: Journal) -> dict[str, Any]:
        """Train and measure. RETURNS (dict): All numbers."""
        results: dict[str, Any] = {
            kind: journal.do(f"{self.task.name}/{kind}", partial(self._try, kind))
            for kind in self.kinds
        }
        if self.task.name == "tagging":
            results["stagewise"] = journal.do("tagging/stagewise", self._try_stagewise)
        results["times"] = journal.do(f"{self.task.name}/times", self._time)
        return results

    def _make(self, kind: str) -> Any:
        n, objective, each = self.kinds[kind]
        n_templates = len(self.templates)
        model = copy.deepcopy(self.task.model)
        model[self.task.part] = {
            "lines": self.templates[:n],
            "checkpoints": list(range(1, n + 1)) if each else [n],
        }
        learner = model["learner"]
        learner["objective"] = objective
        # The margin is meant for the sum of all templates.
        margin = learner.get("margin", LearnerSettings.margin)
        if objective == "full":
            learner["margin"] = margin * n / n_templates
        else:
            learner["margin"] = [
                margin * (k / n) ** PREFIX_POWER for k in range(1, n + 1)
            ]
        config = {**self.task.config, "model": model}
        return self.nlp.create_pipe(self.task.factory, kind, config=config)

    def _get(self, kind: str) -> Any:
        """A trained component, from memory or from disk."""
        if kind not in self._components:
            component = self._make(kind)
            component.from_bytes(self._path(kind).read_bytes(), exclude=["vocab"])
            self._components[kind] = component
        return self._components[kind]

    def _path(self, kind: str) -> Path:
        return self.folder / f"{self.task.name} {kind}.model"

    def _train(self, kind: str) -> Any:
        component = self._make(kind)
        examples = [Example(self._bare(doc), doc) for doc in self.train]
        component.initialize(lambda: examples, nlp=self.nlp)
        shuffler = random.Random(self.seed)
        for _ in range(self.epochs):
            shuffler.shuffle(examples)
            for batch in minibatch(examples, BATCH):
                component.update(list(batch), drop=DROPOUT)
        # Compiled weights are what is measured, and what another run would load.
        data = component.to_bytes(exclude=["vocab"])
        self.folder.mkdir(parents=True, exist_ok=True)
        write_file(self._path(kind), data)
        return self._get(kind)

    def _bare(self, doc: Doc) -> Doc:
        shows_tags = self.task.name != "tagging" and doc.has_annotation("TAG")
        return Doc(
            doc.vocab,
            words=[token.text for token in doc],
            spaces=[bool(token.whitespace_) for token in doc],
            sent_starts=[token.is_sent_start for token in doc],
            tags=[token.tag_ for token in doc] if shows_tags else None,
        )

    def _try(self, kind: str) -> dict[str, Any]:
        component = self._train(kind)
        n, objective, _ = self.kinds[kind]
        if objective == "full":
            return {"all": self._measure(component, math.inf)}
        base = self._base(component)
        result = {
            "all": self._measure(component, math.inf),
            "margins": [
                {"margin": base * part, **self._measure(component, base * part)}
                for part in CURVE_MARGINS
            ],
        }
        # Force an exit at checkpoint k.
        result["cut"] = [
            self._measure(component, [math.inf] * (k - 1) + [0.0] * (n - k))
            for k in self.task.fixed
            if k < n
        ]
        return result

    def _base(self, component: Any) -> float:
        margin = component.engine.settings.margin
        return float(margin[-1] if isinstance(margin, list) else margin)

    def _measure(self, component: Any, margin: float | list[float]) -> dict[str, Any]:
        component.margin = margin
        examples = [Example(self._bare(doc), doc) for doc in self.test]
        docs = [example.predicted for example in examples]
        statistics = component.statistics(docs)
        component.set_annotations(docs, component.predict(docs))
        scores = component.score(examples)
        result = {name: 100 * (scores[name] or 0.0) for name in self.task.scores}
        result["templates"] = statistics["templates"]
        if self.task.name == "tagging":
            result["unknown"] = self._score_unknown(examples)
        return result

    def _score_unknown(self, examples: Sequence[Example]) -> float | None:
        if not hasattr(self, "_known"):
            self._known = {token.text for doc in self.train for token in doc}
        right = [
            token.tag_ == gold.tag_
            for example in examples
            for token, gold in zip(example.predicted, example.reference, strict=True)
            if gold.text not in self._known
        ]
        return 100 * sum(right) / len(right) if right else None

    def _time(self) -> dict[str, list[float]]:
        """The seconds that each model takes, side by side: in each round all of them,
        so that what else the machine does hits them alike."""
        runs: list[tuple[str, Any, float]] = []
        for kind, (_, objective, _) in self.kinds.items():
            component = self._get(kind)
            runs.append((kind, component, math.inf))
            if objective != "full":
                base = self._base(component)
                runs += [
                    (f"{kind}/{part}", component, base * part) for part in CURVE_MARGINS
                ]
        docs = [self._bare(doc) for doc in self.test]
        times: dict[str, list[float]] = {name: [] for name, _, _ in runs}
        for _ in range(TIMED_ROUNDS):
            for name, component, margin in runs:
                component.margin = margin
                # Once to fill its caches, once to be timed.
                component.predict(docs)
                start = seconds()
                component.predict(docs)
                times[name].append(seconds() - start)
        return times

    def _try_stagewise(self) -> dict[str, Any]:
        decisions = self.record("full")
        columns: list[int] = []
        values: list[np.ndarray] = []
        n_templates = len(self.templates)
        for column in range(n_templates):
            columns.append(column)
            values = decisions.fit(
                columns,
                epochs=STAGEWISE_EPOCHS,
                margin=decisions.margin * len(columns) / n_templates,
                fixed=values,
            )
        held_out = decisions.held_out
        leads, right = find_leads(held_out.ids, held_out.costs, columns, values)
        curve = []
        for part in CURVE_MARGINS:
            margin = part * decisions.margin
            # The first prefix with the lead, or the last one.
            exits = leads >= margin
            exits[:, -1] = True
            first = exits.argmax(axis=1)
            curve.append(
                {
                    "margin": margin,
                    "tag_acc": 100 * float(right[np.arange(len(right)), first].mean()),
                    "templates": float(first.mean() + 1),
                }
            )
        return {"margins": curve}

    def record(self, kind: str, *, on_test: bool = True) -> Decisions:
        """The decisions of the data, with a model's guesses as history.

        on_test (bool): Whether test is held out; if not, a part of train is.
        """
        component = self._get(kind)
        component.engine.make_trainable()
        train = [Example(self._bare(doc), doc) for doc in self.train]
        if on_test:
            held_out = [Example(self._bare(doc), doc) for doc in self.test]
        else:
            train, held_out = split_examples(train, 0.1)
        return record_decisions(component, self.task.part, train, held_out)


def ordering_methods(*, fast: bool) -> dict[str, OrderingMethod]:
    return {
        "Lasso": make_lasso(),
        "GOMP": make_gomp(),
        "Wrapper": make_wrapper(fast=fast),
        "Contribution": make_contribution(),
    }


def plan_orders(n_templates: int) -> dict[str, float]:
    weights = {"Lasso": 10.0, "GOMP": 10.0, "Wrapper": 80.0, "Contribution": 2.0}
    return {
        f"order/{name}": weight * n_templates / 10 for name, weight in weights.items()
    }


def compare_orders(
    experiment: Experiment, journal: Journal, *, fast: bool
) -> Iterator[dict[str, Any]]:
    """Order the templates by each method on a part of train, and measure prefixes of
    the orders, trained on all of train, on test.

    fast (bool): Whether to use the fast form of the wrapper.
    RETURNS (Iterator): A row for each method and size: the accuracy, and the speed-up
        by the measured times of the templates.
    """
    decisions: dict[bool, Decisions] = {}

    def get(on_test: bool) -> Decisions:
        if on_test not in decisions:
            decisions[on_test] = experiment.record("full", on_test=on_test)
        return decisions[on_test]

    n_templates = len(experiment.templates)
    sizes = [size for size in ORDER_SIZES if size < n_templates]
    for name, method in ordering_methods(fast=fast).items():

        def compare(name: str = name, method: OrderingMethod = method) -> Any:
            # A journal for the steps of the method itself.
            own = Journal(experiment.folder / f"{name}.journal", journal.digest)
            placed = method(get(False), sizes[-1], own)
            order = [one.template for one in placed]
            test = get(True)
            times = measure_times(test)
            rows = []
            for size in sizes:
                columns = order[:size]
                values = test.fit(
                    columns,
                    epochs=experiment.epochs,
                    margin=test.margin * size / n_templates,
                )
                n_right = count_right(
                    test.held_out.ids, test.held_out.costs, columns, values
                )
                rows.append(
                    {
                        "method": name,
                        "size": size,
                        "accuracy": 100 * n_right / len(test.held_out),
                        "speed_up": float(times.sum() / times[columns].sum()),
                        "templates": [test.templates[column] for column in columns],
                    }
                )
            own.remove()
            return rows

        yield from journal.do(f"order/{name}", compare)
