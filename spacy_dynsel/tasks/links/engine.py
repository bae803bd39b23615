"""Parsing by links: what a graph-based parser learns, uses and stores."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from spacy.tokens import Doc

from ...base.errors import Errors
from ...base.settings import LearnerSettings
from ...base.system_errors import SystemErrors
from ...base.templates import Templates
from ...core.forms.slots import NarrowScorer, WideScorer
from ...core.recorder import Recorder
from ...spacy_io.lexemes import LEXICAL_COLUMNS
from ..arc_eager.batch import ParseBatch
from ..arc_eager.constraints import Constraints
from ..arc_eager.features import Features
from ..arc_eager.gold import GoldParse, boundary_gold, gold_starts
from ..arc_eager.places import BOUNDARY_PLACES, LABEL_PLACES, PLACES
from ..arc_eager.tree_engine import TreeEngine, boundary_margin
from ..classifier import Classifier, SlotForm, find_columns
from ..engine import Margin
from ..evidence import Evidence
from ..margins import scale_margins
from ..word_classes import WordResources
from .decode import parse_by_links
from .explain import LinkExplanation, combine_trees, explain_links
from .pairs import PairExamples
from .part import LinkPart
from .settings import LinkSettings

# How often labels are learned after predicted ones.
PREDICTED_LABELS = 0.5


class LinkEngine(TreeEngine):
    """The templates and weights of links, labels and boundaries.

    pairs (Templates), siblings (Templates): The templates of links, see LinkPart.
    labels (Templates), boundaries (Templates): See ParsingEngine.
    settings (LinkSettings): How to learn links.
    label_settings (LearnerSettings): How to learn labels and boundaries.
    resources (WordResources): Clusters of words.
    """

    task = "links"
    knob_settings = ("label_margin",)
    examples_type = PairExamples
    # The classifier that decides by margins is that of labels.
    knobs: ClassVar[dict[str, str]] = {"label_margin": "labels"}

    def __init__(
        self,
        pairs: Templates,
        siblings: Templates | None,
        labels: Templates,
        boundaries: Templates,
        settings: LinkSettings,
        label_settings: LearnerSettings,
        *,
        resources: WordResources | None = None,
    ) -> None:
        label_settings = label_settings.for_task("the labels of arcs")
        margin = label_settings.margin
        last = margin[-1] if isinstance(margin, list) and margin else margin
        parts: list[Any] = [
            Classifier(
                "labels",
                labels,
                label_settings,
                SlotForm(WideScorer),
                places=PLACES["labels"],
            ),
            Classifier(
                "boundaries",
                boundaries,
                replace(label_settings, margin=last),
                SlotForm(NarrowScorer),
                places=PLACES["boundaries"],
            ),
            LinkPart(pairs, siblings, settings),
        ]
        used = find_columns(labels, boundaries) | parts[2].columns
        lexical = sorted(used & set(LEXICAL_COLUMNS))
        parts[2].bind(lexical)
        self._label_features = Features(parts[0].program, LABEL_PLACES, lexical)
        self._boundary_features = Features(parts[1].program, BOUNDARY_PLACES, lexical)
        super().__init__(parts, lexical, resources)

    @property
    def links(self) -> Any:
        """The links."""
        return self.parts[LinkPart.name]

    def count_stages(self, knob: str) -> int:
        if knob not in self.knobs:
            raise ValueError(SystemErrors.DS264.format(name=self.task, what=knob))
        return super().count_stages(knob)

    # Learning.

    def _learn(self, batch: list[GoldParse], drop: float) -> float:
        self._note_annotation(batch)
        training = self._training_batch(batch, gold_starts(batch))
        settings = self.links.link_settings
        self.links.model.choose_alpha()
        training.update_boundaries(
            self._boundary_features,
            self.boundaries.learners[0],
            boundary_gold(batch),
            drop,
            settings.word_dropout,
        )
        boosting = self.links.boosting
        if boosting is not None:
            boosting.gather(batch)
            training.teach_filters(self.links.model, self.links.filter_learner)
            training.update_labels(
                self._label_features,
                self.arcs.learners[0],
                drop,
                settings.word_dropout,
                PREDICTED_LABELS,
            )
            # The part that these docs have in what the last round got wrong.
            return boosting.n_wrong * len(batch) / len(boosting.lessons)
        return training.update_trees(
            self.links.model,
            self._label_features,
            self.links.filter_learner,
            self.links.learner,
            self.arcs.learners[0],
            settings.cost,
            drop,
            settings.word_dropout,
            PREDICTED_LABELS,
        )

    def get_snapshot(self) -> Any:
        """See Engine. What boosting has gathered is learned now, by one round."""
        if self._snapshot is None:
            with self.lock:
                boosting = self.links.boosting
                if boosting is not None and not boosting.is_current:
                    self.links.learner = boosting.learn_round(
                        self._training_batch,
                        self.links.model,
                        self.links.filter_learner,
                    )
        return super().get_snapshot()

    def record(self, batch: list[GoldParse], recorders: dict[str, Recorder]) -> None:
        training = self._training_batch(batch, gold_starts(batch))
        training.update_labels(
            self._label_features, recorders["labels"], 0.0, 0.0, PREDICTED_LABELS
        )
        training.update_boundaries(
            self._boundary_features,
            recorders["boundaries"],
            boundary_gold(batch),
            0.0,
            0.0,
        )

    def _guess_trees(self, examples: PairExamples) -> tuple[np.ndarray, np.ndarray]:
        return examples.guess_trees(
            self.links.model,
            self._label_features,
            self.links.filter_learner,
            self.links.learner,
            self.arcs.learners[0],
        )

    # Predicting.

    def predict(  # type: ignore[override]
        self,
        docs: list[Doc],
        *,
        label_margin: Margin,
        n_threads: int = 1,
        with_leads: bool = False,
        constraints: Constraints | None = None,
    ) -> ParseBatch:
        """Predict the trees of docs.

        constraints (Constraints): What is set for the tree of a single doc. Where links are
            forbidden, trees may break them, see predict_within.
        """
        return self._predict(docs, label_margin, n_threads, with_leads, constraints, 0)

    def _predict(
        self,
        docs: list[Doc],
        label_margin: Margin,
        n_threads: int,
        with_leads: bool,
        constraints: Constraints | None,
        k: int,
    ) -> Any:
        if not self.labels:
            raise ValueError(Errors.DS042.format(name=self.task, attribute="token.dep"))
        snapshot = self.get_snapshot()
        labels, boundaries = (
            snapshot.scorers[name] for name in ("labels", "boundaries")
        )
        tables = snapshot.scorers[LinkPart.name]
        found = parse_by_links(
            docs,
            snapshot.get_lexicon(self.max_lexemes),
            snapshot.reader,
            snapshot.tags,
            self.links.model,
            tables.filter,
            tables.links,
            tables.alpha,
            (self._label_features, self._boundary_features),
            labels,
            boundaries,
            (
                scale_margins(label_margin, self.arcs.n_stages, labels.scale),
                scale_margins(
                    boundary_margin(label_margin),
                    self.boundaries.n_stages,
                    boundaries.scale,
                ),
            ),
            n_threads,
            with_leads=with_leads,
            split_blank_lines=self.splits_blank_lines,
            rules=None if constraints is None else constraints.to_rules(),
            k=k,
        )
        batch = found[0] if k else found
        batch.made_by = snapshot
        return found

    def predict_several(
        self, doc: Doc, k: int, constraints: Constraints, **knobs: Any
    ) -> list[ParseBatch]:
        """The best trees of a doc that respect constraints, from the best on: those of the
        highest scores among all trees of the links that the filter leaves.

        RETURNS (list[ParseBatch]): At most k, all different.
        """
        best = self.predict_within(doc, constraints, **knobs)
        if best is None:
            return []
        knobs.pop("n_threads", None)
        batch, trees = self._predict(
            [doc], knobs["label_margin"], 1, False, constraints, k
        )
        if not constraints.are_kept(batch.heads)[batch.labels < len(self.labels)].all():
            # The filter left none, and the tree was mended.
            return [best]
        found = []
        for heads in combine_trees(trees, len(doc), k):
            # All is set: links get their labels.
            fixed = constraints.with_heads(heads)
            found.append(self.predict([doc], constraints=fixed, **knobs))
        return found

    def get_counts(self, batch: ParseBatch) -> dict[str, np.ndarray]:
        return {"labels": batch.label_counts}

    def get_statistics(self, batch: ParseBatch) -> dict[str, Any]:
        n = int((batch.labels != 0xFFFE).sum())
        return {"links": int(batch.action_counts[0]) / max(1, n)}

    @property
    def n_groups(self) -> int:
        return 1

    def get_evidence(self, batch: ParseBatch) -> Evidence:
        return Evidence(batch.leads.astype("float64"), batch.stages)

    def explain(  # type: ignore[override]
        self, doc: Doc, *, label_margin: Margin
    ) -> list[LinkExplanation]:
        """Say for each token how probable its link is, and which others there are."""
        batch = self.predict([doc], label_margin=label_margin, with_leads=True)
        return explain_links(batch, self.labels)

    def _get_arguments(self) -> dict[str, Any]:
        return {
            "pairs": self.links.pairs,
            "siblings": self.links.siblings,
            "labels": self.arcs.templates,
            "boundaries": self.boundaries.templates,
            "settings": self.links.link_settings,
            "label_settings": self.arcs.settings,
            "resources": self.resources,
        }

    def _count_labels(self, part: str, labels: Sequence[str]) -> int:
        # A parser without labels still has to number them.
        fixed = {"boundaries": 2, LinkPart.name: 0}
        return fixed.get(part, max(1, len(labels)))
