"""Dependency parsing: what a parser learns, uses and stores."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from spacy.tokens import Doc

from ...base.errors import Errors
from ...base.settings import LearnerSettings
from ...base.templates import Templates
from ...core.forms.slots import NarrowScorer, WideScorer
from ...core.learner import Learner
from ...core.recorder import Recorder
from ...spacy_io.lexemes import LEXICAL_COLUMNS
from ...spacy_io.tokens import find_words
from ..classifier import Classifier, SlotForm, check_count, find_columns
from ..engine import Margin, Start
from ..evidence import Evidence, scale_leads
from ..folds import get_fold
from ..margins import scale_margins
from ..parallel import open_pool
from ..word_classes import WordResources
from .batch import ParseBatch
from .constraints import FREE, Constraints
from .decode import parse
from .explain import ParseExplanation, explain_trees
from .features import Features
from .gold import (
    GoldParse,
    TaggedWords,
    boundary_gold,
    gold_starts,
)
from .places import ACTION_PLACES, ACTIONS, BOUNDARY_PLACES, LABEL_PLACES, PLACES
from .reranker import SCALE as RANK_SCALE
from .reranker import TRAINING_BRANCHES, TRAINING_LEAD, Reranker
from .train import TransitionExamples
from .tree_engine import TreeEngine, boundary_margin

# See LearnerSettings.
DEFAULTS = {"predicted_history": 0.9, "word_dropout": 0.05}
# See Classifier.
EARLY_SHARE = 0.625


class ParsingEngine(TreeEngine):
    """A parser's templates, weights, and what it knows about words and tags.

    actions (Templates), labels (Templates), boundaries (Templates): The templates for
        transitions, for the labels of arcs, and for the boundaries of sentences.
    settings (LearnerSettings): How to learn transitions and boundaries.
    label_settings (LearnerSettings): How to learn labels.
    seeds (int): The number of learners whose weights are averaged.
    branches (Templates), trees (Templates): What a reranker looks at, which chooses
        between the tree and others that second-best actions lead to: the decision at
        which they part, and the tokens for which they differ.
    folds (int): The number of parsers, each of which leaves out a part of the training
        data, that make the trees from which the reranker learns. Without any, there is
        no reranker.
    resources (WordResources): Clusters of words.
    """

    task = "parsing"
    knobs: ClassVar[dict[str, str]] = {"margin": "actions", "label_margin": "labels"}
    knob_settings = ("margin", "label_margin", "branches", "branch_lead")
    examples_type = TransitionExamples

    def __init__(
        self,
        actions: Templates,
        labels: Templates,
        boundaries: Templates,
        settings: LearnerSettings,
        label_settings: LearnerSettings,
        *,
        seeds: int = 1,
        branches: Templates | None = None,
        trees: Templates | None = None,
        folds: int = 0,
        resources: WordResources | None = None,
    ) -> None:
        check_count("folds", folds, 0)
        if folds and (branches is None or trees is None):
            raise ValueError(Errors.DS120.format(folds=folds))
        settings = settings.for_task("transitions", **DEFAULTS)
        # A list of margins is one for the stages of transitions.
        margin = settings.margin
        last = margin[-1] if isinstance(margin, list) and margin else margin
        narrow = SlotForm(NarrowScorer)
        parts: list[Any] = [
            Classifier(
                "actions",
                actions,
                settings,
                narrow,
                places=PLACES["actions"],
                seeds=seeds,
                early_share=EARLY_SHARE,
            ),
            Classifier(
                "labels",
                labels,
                label_settings.for_task("the labels of arcs"),
                SlotForm(WideScorer),
                places=PLACES["labels"],
                seeds=seeds,
                early_share=EARLY_SHARE,
            ),
            Classifier(
                "boundaries",
                boundaries,
                replace(settings, margin=last),
                narrow,
                places=PLACES["boundaries"],
                early_share=EARLY_SHARE,
            ),
        ]
        self.n_folds = folds
        if folds and branches is not None and trees is not None:
            parts.append(Reranker(branches, trees))
        used = find_columns(actions, labels, boundaries)
        if folds:
            used |= parts[-1].columns
        lexical = sorted(used & set(LEXICAL_COLUMNS))
        self._features = (
            Features(parts[0].program, ACTION_PLACES, lexical),
            Features(parts[1].program, LABEL_PLACES, lexical),
            Features(parts[2].program, BOUNDARY_PLACES, lexical),
        )
        if folds:
            parts[-1].bind(lexical)
        self._boundary_features = self._features[2]
        super().__init__(parts, lexical, resources)

    @property
    def actions(self) -> Any:
        """The classifier of transitions."""
        return self.parts["actions"]

    @property
    def reranker(self) -> Any:
        """The reranker, or None."""
        return self.parts.get(Reranker.name)

    def _initialize(self, examples: list[TaggedWords], start: Start) -> None:
        super()._initialize(examples, start)
        if self.reranker is not None:
            self.reranker.set_size(self._n_tokens)
            for part in (self.actions, self.arcs):
                part.start_folds(self.n_folds, lambda fold: fold + 1)

    def _learn(self, batch: list[GoldParse], drop: float) -> float:
        self._note_annotation(batch)
        training = self._training_batch(batch, gold_starts(batch))
        pairs = list(zip(self.actions.learners, self.arcs.learners, strict=True))
        n_jobs = len(pairs) + 1 + 2 * self.n_folds
        with open_pool(self.training_threads, n_jobs) as pool:
            reranking = None
            if self.reranker is not None:
                reranking = self._teach_reranker(pool, self.reranker, batch, drop)
            jobs = [pool.submit(self._teach, batch, pair, drop) for pair in pairs]
            boundaries = pool.submit(
                training.update_boundaries,
                self._features[2],
                self.boundaries.learners[0],
                boundary_gold(batch),
                drop,
                self.actions.used_settings.word_dropout,
            )
            loss = sum(job.result() for job in jobs) / len(pairs)
            loss += boundaries.result()
            if reranking is not None:
                reranking.result()
        return float(loss)

    def _teach(
        self, batch: list[GoldParse], learners: tuple[Learner, Learner], drop: float
    ) -> float:
        """Let a learner of transitions and one of labels learn."""
        if not batch:
            return 0.0
        settings = self.actions.used_settings
        rates = (drop, settings.word_dropout, settings.predicted_history)
        training = self._training_batch(batch, gold_starts(batch))
        return training.update(*self._features[:2], *learners, *rates)

    def _teach_reranker(
        self,
        pool: ThreadPoolExecutor,
        reranker: Reranker,
        batch: list[GoldParse],
        drop: float,
    ) -> Future[None]:
        """Let each fold's parser learn from what is not in its fold, and the reranker
        from what that parser makes of the rest. RETURNS (Future): The end of it."""
        numbers = [get_fold(gold.doc, self.n_folds) for gold in batch]
        is_ready = reranker.count(sum(len(find_words(gold.doc)) for gold in batch))
        pairs = list(zip(self.actions.folds, self.arcs.folds, strict=True))
        parts: list[tuple[list[GoldParse], list[GoldParse]]] = []
        # A parser that was loaded has no folds any more.
        for fold in range(len(pairs)):
            parts.append(([], []))
            for gold, number in zip(batch, numbers, strict=True):
                parts[fold][number == fold].append(gold)
        jobs = [
            pool.submit(self._teach, outside, pair, drop)
            for (outside, _), pair in zip(parts, pairs, strict=True)
        ]

        def rank() -> None:
            # One fold after the other: there is one reranker. All jobs that this one waits
            # for have started before it, so a single thread will do.
            for (_, inside), pair, job in zip(parts, pairs, jobs, strict=True):
                job.result()
                if inside and is_ready:
                    self._training_batch(inside, gold_starts(inside)).update_ranker(
                        *self._features[:2],
                        reranker.features,
                        *pair,
                        reranker.learner,
                        TRAINING_BRANCHES,
                        TRAINING_LEAD,
                    )

        return pool.submit(rank)

    def record(self, batch: list[GoldParse], recorders: dict[str, Recorder]) -> None:
        training = self._training_batch(batch, gold_starts(batch))
        training.update(
            *self._features[:2],
            recorders["actions"],
            recorders["labels"],
            0.0,
            0.0,
            self.settings.predicted_history,
        )
        training.update_boundaries(
            self._features[2],
            recorders["boundaries"],
            boundary_gold(batch),
            0.0,
            0.0,
        )

    def predict(  # type: ignore[override]
        self,
        docs: list[Doc],
        *,
        margin: Margin,
        label_margin: Margin,
        n_threads: int = 1,
        with_leads: bool = False,
        branches: int = 0,
        branch_lead: float = 0.0,
        trace: list[Any] | None = None,
        constraints: Constraints | None = None,
    ) -> ParseBatch:
        """Predict the trees of docs.

        branches (int): For how many decisions of a sentence the second-best action is
            tried too, if there is a reranker.
        branch_lead (float): Branch only below this lead.
        trace (list): Where to put the decisions, see parse.
        constraints (Constraints): What is set for the tree of a single doc. Where links are
            forbidden, trees may break them, see predict_within.
        """
        if not self.labels:
            raise ValueError(Errors.DS042.format(name=self.task, attribute="token.dep"))
        snapshot = self.get_snapshot()
        actions, labels, boundaries = (
            snapshot.scorers[name] for name in ("actions", "labels", "boundaries")
        )
        reranker = self.reranker if branches else None
        batch = parse(
            docs,
            snapshot.get_lexicon(self.max_lexemes),
            snapshot.reader,
            snapshot.tags,
            self._features,
            actions,
            labels,
            boundaries,
            (
                scale_margins(margin, self.n_stages, actions.scale),
                scale_margins(label_margin, self.arcs.n_stages, labels.scale),
                scale_margins(
                    boundary_margin(margin), self.boundaries.n_stages, boundaries.scale
                ),
            ),
            n_threads,
            n_branches=branches,
            branch_lead=branch_lead,
            rank_features=None if reranker is None else reranker.features,
            ranks=None if reranker is None else snapshot.scorers[Reranker.name],
            trace=trace,
            with_leads=with_leads,
            split_blank_lines=self.splits_blank_lines,
            rules=None if constraints is None else constraints.to_rules(),
        )
        batch.made_by = snapshot
        return batch

    def predict_several(
        self, doc: Doc, k: int, constraints: Constraints, **knobs: Any
    ) -> list[ParseBatch]:
        """Predict trees of a doc, and what they would be without one of their links, that
        of the least lead first. RETURNS (list[ParseBatch]): At most k, all different."""
        best = self.predict_within(doc, constraints, **{**knobs, "with_leads": True})
        if best is None:
            return []
        found = {best.heads.tobytes(): best}
        leads = self.get_evidence(best).leads[:, [0, 2]].min(axis=1, initial=np.inf)
        leads[constraints.heads != FREE] = np.inf
        for token in np.argsort(leads, kind="stable").tolist():
            if len(found) == k or leads[token] == np.inf:
                break
            others = constraints.without(token, int(best.heads[token]))
            batch = self.predict_within(doc, others, **{**knobs, "with_leads": True})
            if batch is not None:
                found.setdefault(batch.heads.tobytes(), batch)
        return list(found.values())

    def get_counts(self, batch: ParseBatch) -> dict[str, np.ndarray]:
        return {"actions": batch.action_counts, "labels": batch.label_counts}

    @property
    def n_groups(self) -> int:
        """How many groups of evidence there are, see ParseBatch.stages."""
        return self.n_stages + 2

    def get_evidence(self, batch: ParseBatch) -> Evidence:
        scorers = batch.made_by.scorers
        scales = (scorers["actions"].scale, scorers["labels"].scale, RANK_SCALE)
        return Evidence(scale_leads(batch.leads, *scales), batch.stages)

    def explain(  # type: ignore[override]
        self,
        doc: Doc,
        *,
        margin: Margin,
        label_margin: Margin,
        branches: int = 0,
        branch_lead: float = 0.0,
    ) -> list[ParseExplanation]:
        """Say for each token how it was parsed."""
        trace: list[Any] = []
        batch = self.predict(
            [doc],
            margin=margin,
            label_margin=label_margin,
            branches=branches,
            branch_lead=branch_lead,
            trace=trace,
        )
        snapshot = batch.made_by
        return explain_trees(
            batch,
            trace,
            snapshot.labels,
            snapshot.scorers["actions"].scale,
            self.actions.templates.checkpoints,
            self.arcs.templates.checkpoints,
        )

    def _guess_trees(
        self, examples: TransitionExamples
    ) -> tuple[np.ndarray, np.ndarray]:
        return examples.guess(
            *self._features[:2], self.actions.learners[0], self.arcs.learners[0]
        )

    def _load_extra(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        if (self.reranker is not None) != (Reranker.name in meta["parts"]):
            raise ValueError(Errors.DS121)
        super()._load_extra(meta, arrays)

    def _get_arguments(self) -> dict[str, Any]:
        reranker = self.reranker
        return {
            "actions": self.actions.templates,
            "labels": self.arcs.templates,
            "boundaries": self.boundaries.templates,
            "settings": self.actions.settings,
            "label_settings": self.arcs.settings,
            "seeds": self.actions.seeds,
            "branches": None if reranker is None else reranker.branches,
            "trees": None if reranker is None else reranker.trees,
            "folds": self.n_folds,
            "resources": self.resources,
        }

    def _count_labels(self, part: str, labels: Sequence[str]) -> int:
        # A parser without labels still has to number them.
        fixed = {"actions": len(ACTIONS), "boundaries": 2, Reranker.name: 0}
        return fixed.get(part, max(1, len(labels)))
