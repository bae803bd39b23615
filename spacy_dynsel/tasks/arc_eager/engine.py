"""Dependency parsing: what a parser learns, uses and stores."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from spacy.tokens import Doc

from ...base.errors import Errors
from ...base.settings import LearnerSettings
from ...base.templates import Templates
from ...core.forms.slots import NarrowScorer, WideScorer
from ...core.learner import Learner
from ...core.model_file import require
from ...core.recorder import Recorder
from ...spacy_io.annotations import read_tags
from ...spacy_io.lexemes import LEXICAL_COLUMNS, LexemeReader
from ...spacy_io.tokens import find_words, read_sent_starts
from ..classifier import Classifier, SlotForm, check_count, find_columns
from ..engine import Engine, Margin, Snapshot, Start
from ..evidence import Evidence, mark_known, scale_leads
from ..folds import get_fold
from ..margins import scale_margins
from ..word_classes import WordResources
from ..word_tables import is_lookup
from .batch import ParseBatch
from .constraints import FREE, Constraints, mend_trees
from .decode import ROOT, SPACE, parse
from .explain import ParseExplanation, explain_trees
from .features import Features, TagMap
from .gold import (
    GoldParse,
    TaggedWords,
    boundary_gold,
    find_anchors,
    gold_starts,
    learn_words,
)
from .places import ACTION_PLACES, ACTIONS, BOUNDARY_PLACES, LABEL_PLACES, PLACES
from .reranker import SCALE as RANK_SCALE
from .reranker import TRAINING_BRANCHES, TRAINING_LEAD, Reranker
from .train import TransitionExamples

# See LearnerSettings.
DEFAULTS = {"predicted_history": 0.9, "word_dropout": 0.05}
# See Classifier.
EARLY_SHARE = 0.625
# By how much the margin of boundaries is larger than that of transitions: few tokens start
# a sentence, and one that is missed spoils two of them. Less than 1.6 lost some on
# development data.
BOUNDARY_CAUTION = 1.75


class ParserSnapshot(Snapshot):
    """See Snapshot.

    tags (TagMap): The parts of speech that go with tags.
    """

    def __init__(
        self,
        labels: tuple[str, ...],
        reader: LexemeReader,
        scorers: dict[str, Any],
        tags: TagMap,
    ) -> None:
        super().__init__(labels, reader, scorers)
        self.tags = tags


class ParsingEngine(Engine):
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
    min_labels = 0
    max_labels = (1 << 15) - 2
    knobs: ClassVar[dict[str, str]] = {"margin": "actions", "label_margin": "labels"}
    run_time_settings = ("split_blank_lines",)
    copies_tables = True

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
        # Whether a blank line ends a sentence, if that is set.
        self.split_blank_lines: bool | None = None
        super().__init__(parts, lexical, resources)

    def _reset(self) -> None:
        super()._reset()
        # Whether a blank line ends a sentence in the training data.
        self._blank_lines_split = True
        # It is there once the engine is initialized.
        self._tags: Any = None
        # Whether it has learned from docs with tags.
        self.reads_tags = False

    @property
    def actions(self) -> Any:
        """The classifier of transitions."""
        return self.parts["actions"]

    @property
    def arcs(self) -> Any:
        """The classifier of labels."""
        return self.parts["labels"]

    @property
    def boundaries(self) -> Any:
        """The classifier of boundaries."""
        return self.parts["boundaries"]

    @property
    def reranker(self) -> Any:
        """The reranker, or None."""
        return self.parts.get(Reranker.name)

    @property
    def n_outputs(self) -> int:
        return len(self.labels)

    @property
    def splits_blank_lines(self) -> bool:
        """Whether a blank line ends a sentence: as it is set or, failing that, as the
        training data have it."""
        if self.split_blank_lines is None:
            return self._blank_lines_split
        return self.split_blank_lines

    def _initialize(self, examples: list[TaggedWords], start: Start) -> None:
        facts = learn_words(examples)
        self._reader = self._make_reader(facts.classes, start)
        self._tags = facts.tags
        self._blank_lines_split = facts.splits_blank_lines
        self._start(start, facts.n_tokens)
        if self.reranker is not None:
            self.reranker.set_size(facts.n_tokens)
            for part in (self.actions, self.arcs):
                part.start_folds(self.n_folds, lambda fold: fold + 1)

    def _learn(self, batch: list[GoldParse], drop: float) -> float:
        self.reads_tags = self.reads_tags or any(
            read_tags(gold.doc).any() for gold in batch
        )
        training = self._training_batch(batch, gold_starts(batch))
        loss = 0.0
        pairs = list(zip(self.actions.learners, self.arcs.learners, strict=True))
        for learners in pairs:
            loss += self._teach(training, learners, drop) / len(pairs)
        loss += training.update_boundaries(
            self._features[2],
            self.boundaries.learners[0],
            boundary_gold(batch),
            drop,
            self.actions.used_settings.word_dropout,
        )
        if self.reranker is not None:
            self._teach_reranker(self.reranker, batch, drop)
        return float(loss)

    def _teach(
        self,
        training: TransitionExamples,
        learners: tuple[Learner, Learner],
        drop: float,
    ) -> float:
        """Let a learner of transitions and one of labels learn."""
        settings = self.actions.used_settings
        rates = (drop, settings.word_dropout, settings.predicted_history)
        return training.update(*self._features[:2], *learners, *rates)

    def _teach_reranker(
        self, reranker: Reranker, batch: list[GoldParse], drop: float
    ) -> None:
        """Let each fold's parser learn from what is not in its fold, and the reranker
        from what that parser makes of the rest."""
        numbers = [get_fold(gold.doc, self.n_folds) for gold in batch]
        is_ready = reranker.count(sum(len(find_words(gold.doc)) for gold in batch))
        pairs = zip(self.actions.folds, self.arcs.folds, strict=True)
        for fold, learners in enumerate(pairs):
            parts: tuple[list[GoldParse], list[GoldParse]] = ([], [])
            for gold, number in zip(batch, numbers, strict=True):
                parts[number == fold].append(gold)
            outside, inside = parts
            if outside:
                training = self._training_batch(outside, gold_starts(outside))
                self._teach(training, learners, drop)
            if inside and is_ready:
                self._training_batch(inside, gold_starts(inside)).update_ranker(
                    *self._features[:2],
                    reranker.features,
                    *learners,
                    reranker.learner,
                    TRAINING_BRANCHES,
                    TRAINING_LEAD,
                )

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
                    _boundary_margin(margin), self.boundaries.n_stages, boundaries.scale
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

    def predict_within(
        self, doc: Doc, constraints: Constraints, **knobs: Any
    ) -> ParseBatch | None:
        """Predict trees of a doc that have the links which are set, and none that are
        forbidden. RETURNS (ParseBatch): The trees, or None if there are no such trees."""
        batch = self.predict([doc], constraints=constraints, **knobs)
        mended = mend_trees(doc, batch.heads, batch.starts, constraints)
        if mended is None:
            return None
        if (mended != FREE).any():
            # All is set now, and links get their labels.
            heads = np.where(mended == FREE, constraints.heads, mended)
            constraints = constraints.with_heads(heads)
            batch = self.predict([doc], constraints=constraints, **knobs)
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

    def judge(self, batch: ParseBatch, golds: Sequence[GoldParse]) -> np.ndarray:
        """Which arcs are right, with their labels as far as these are known."""
        heads = np.concatenate([gold.heads for gold in golds])
        labels = np.concatenate([gold.labels for gold in golds])
        own = np.concatenate([np.arange(len(gold.heads)) for gold in golds])
        is_right = (batch.heads == heads) & (
            (batch.labels == labels) | (heads == own) | (labels < 0)
        )
        return mark_known(is_right, heads >= 0)

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

    def _guess(self, docs: list[Doc]) -> ParseBatch:
        lengths = np.array([len(doc) for doc in docs], dtype="int64")
        offsets = np.cumsum(lengths) - lengths
        unknown = [np.full(n, -1, dtype="int32") for n in lengths]
        golds = [
            GoldParse(doc, heads, heads, read_sent_starts(doc))
            for doc, heads in zip(docs, unknown, strict=True)
        ]
        words = [find_anchors(gold, self.splits_blank_lines) for gold in golds]
        known = np.concatenate([starts for starts, _ in words])
        undivided = self._training_batch(golds, np.zeros(len(known), "uint8"))
        starts = undivided.guess_boundaries(
            self._features[2], self.boundaries.learners[0], known
        )
        # A doc starts with its first token, white space or not.
        starts[
            [o + a[0] for o, (_, a) in zip(offsets, words, strict=True) if len(a)]
        ] = 0
        starts[offsets[lengths > 0]] = 1
        heads, labels = self._training_batch(golds, starts).guess(
            *self._features[:2], self.actions.learners[0], self.arcs.learners[0]
        )
        own = np.concatenate([np.arange(n, dtype="int32") for n in lengths])
        anchors = np.concatenate([anchors for _, anchors in words])
        is_root = heads == -1
        heads -= np.repeat(offsets, lengths).astype("int32")
        heads[is_root] = anchors[is_root]
        labels[is_root] = np.where(anchors == own, ROOT, SPACE)[is_root]
        counts = [np.zeros(one.n_stages, "uint64") for one in (self.actions, self.arcs)]
        return ParseBatch(
            heads, labels.astype("uint16"), starts, np.cumsum(lengths), *counts
        )

    def _make_snapshot(self, scorers: dict[str, Any]) -> ParserSnapshot:
        return ParserSnapshot(self.labels, self._reader, scorers, self._tags)

    def _get_extra(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        meta = {
            "reads_tags": self.reads_tags,
            "split_blank_lines": self._blank_lines_split,
        }
        return meta, {"tag_keys": self._tags.keys, "tag_values": self._tags.values}

    def _load_extra(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        if (self.reranker is not None) != (Reranker.name in meta["parts"]):
            raise ValueError(Errors.DS121)
        require({"tag_keys", "tag_values"} <= set(arrays), "it lacks a section")
        keys, values = arrays["tag_keys"].copy(), arrays["tag_values"].copy()
        is_good = is_lookup(keys, values, "uint8") and int(keys.min(initial=1)) > 0
        require(is_good, "its table of tags is malformed")
        splits: Any = meta.get("split_blank_lines", True)
        require(isinstance(splits, bool), "what it says about blank lines is malformed")
        self._tags = TagMap(keys, values)
        self._blank_lines_split = splits
        self.reads_tags = meta.get("reads_tags") is True

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

    def _training_batch(
        self, batch: list[GoldParse], starts: np.ndarray
    ) -> TransitionExamples:
        return TransitionExamples(
            [gold.doc for gold in batch],
            np.concatenate([gold.heads for gold in batch], dtype="int32"),
            np.concatenate([gold.labels for gold in batch], dtype="int32"),
            starts,
            self._training_lexicon,
            self._reader,
            self._tags,
        )


def _boundary_margin(margin: Margin) -> float:
    """The margin of boundaries; a list is one for the stages of transitions."""
    if isinstance(margin, list):
        margin = max(margin, default=np.inf)
    return BOUNDARY_CAUTION * margin
