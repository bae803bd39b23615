"""Tagging: what a tagger learns, uses and stores."""

import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
from spacy.tokens import Doc

from ...base.errors import Errors
from ...base.settings import LearnerSettings
from ...base.templates import Template, Templates
from ...core.forms.packing import MAX_LABELS
from ...core.learner import Learner
from ...core.model_file import require
from ...core.recorder import Recorder
from ...spacy_io.annotations import SPACE_TAG
from ...spacy_io.lexemes import LEXICAL_COLUMNS
from ...spacy_io.tokens import read_lowers
from ..classifier import (
    CachedForm,
    Classifier,
    Inputs,
    check_count,
    find_columns,
    scale_margins,
)
from ..engine import Engine, Margin, Start
from ..evidence import Evidence, scale_leads
from ..explanation import Explainer, Explanation
from ..folds import get_fold, get_number, minibatch
from ..training_state import check_state
from ..word_tables import N_RESERVED, lookup_arrays, make_classes
from .decode import REACH, TagBatch, predict
from .gold import (
    GoldDoc,
    GoldWords,
    make_ranges,
    take_words,
    whole_docs,
    without_labels,
)
from .train import TaggingExamples

# What spaCy calls the tag of white space.
SPACE_TAG_NAME = "_SP"
OFFSETS = [str(offset) for offset in range(-REACH, REACH + 1)]
# Where each column of a tagging template may be read.
PLACES: dict[str, Sequence[str]] = {
    **{column: OFFSETS for column in LEXICAL_COLUMNS},
    "tag": OFFSETS[:REACH] + OFFSETS[REACH + 1 :],
}
# See LearnerSettings.
DEFAULTS = {"predicted_history": 1.0, "word_dropout": 0.05, "copies": "both"}
ROUND = 64
# How many models of folds there are where they are needed, how long they learn, and how
# many templates they leave out.
FOLDS = 4
FOLD_EPOCHS = 6
FOLD_DROPOUT = 0.1


class TaggingEngine(Engine):
    """A tagger's templates, weights, ambiguity classes and clusters.

    templates (Templates): The templates, with checkpoints.
    settings (LearnerSettings): How to learn.
    class_min_count (int): How often a word has to occur in the training data to have
        an ambiguity class. The class of a rarer word would leak its gold tag.
    class_min_share (float): The share of a word's occurrences that a tag needs to be
        part of its class.
    folds (int): If not 0, docs that are annotated in training, for components that
        read tags, get the tags of one of this many taggers, which has not seen them.
        If missing, there are some where such a component is trained with the tagger.
    """

    task = "tagging"
    max_labels = MAX_LABELS
    knobs: ClassVar[dict[str, str]] = {"margin": "templates"}

    def __init__(
        self,
        templates: Templates,
        settings: LearnerSettings,
        *,
        class_min_count: int,
        class_min_share: float,
        folds: int | None = None,
    ) -> None:
        if folds is not None:
            check_count("folds", folds, 0)
        lexical = sorted(find_columns(templates) & set(LEXICAL_COLUMNS))
        tags = Classifier(
            "templates",
            templates,
            settings.for_task("tagging", **DEFAULTS),
            CachedForm,
            places=PLACES,
            inputs=Inputs(lexical, ["tag"], OFFSETS),
        )
        _check_look_ahead(templates)
        self.folds = folds
        self.class_min_count = class_min_count
        self.class_min_share = class_min_share
        super().__init__([tags], lexical)

    def _reset(self) -> None:
        super()._reset()
        # What the folds' models have yet to learn from, and whether they were asked for.
        self._waiting_words: list[GoldWords] = []
        self._is_asked = False
        # The docs that the folds' models have learned from.
        self._known: set[int] = set()
        self._n_classes = 0

    @property
    def n_folds(self) -> int:
        return len(self.main.folds)

    def _initialize(self, examples: list[GoldDoc], start: Start) -> None:
        golds = [take_words(gold) for gold in examples]
        self._reader = self._make_reader(self._learn_classes(golds), start)
        self._start(start, sum(len(gold.words) for gold in golds))
        n_folds = self.folds if self.folds is not None else FOLDS * start.is_read
        if n_folds:
            self.main.start_folds(n_folds, lambda fold: 0)
            self._waiting_words = golds
        learner = self.main.learners[0]
        if start.is_complete and self.main.used_settings.cutoff > 1:
            for batch in minibatch(golds, ROUND):
                self._training_batch(batch, whole_docs(batch)).count(learner)
            learner.reject_rare()

    def _learn(self, batch: list[GoldDoc], drop: float) -> float:
        golds = [take_words(gold) for gold in batch]
        loss = self._teach(self.main.learners[0], golds, drop, self.settings.copies)
        if self.main.folds and not self._waiting_words:
            new = [gold for gold in golds if get_number(gold.doc) not in self._known]
            for fold in range(self.n_folds):
                self._teach_fold(fold, new, drop)
        return loss

    def _teach(
        self, learner: Learner, golds: list[GoldWords], drop: float, copies: str
    ) -> float:
        settings = self.main.used_settings
        batch = self._training_batch(golds, make_ranges(golds, copies))
        rates = (drop, settings.word_dropout, settings.predicted_history)
        return float(batch.update(learner, *rates))

    def _teach_fold(self, fold: int, batch: list[GoldWords], drop: float) -> None:
        """Let a fold's model learn from all docs that are not in its fold."""
        part = [gold for gold in batch if get_fold(gold.doc, self.n_folds) != fold]
        if part:
            # One copy is enough for it.
            self._teach(self.main.folds[fold], part, drop, "sentences")

    def _train_folds(self) -> None:
        """Train the models that annotate docs in training, if that was not done. They
        are finished before others learn from their tags, so that these are as good as
        they will be in the end."""
        examples = self._waiting_words
        if not examples:
            return
        rng = np.random.default_rng(self.main.used_settings.seed)
        orders = [rng.permutation(len(examples)).tolist() for _ in range(FOLD_EPOCHS)]

        def train(fold: int) -> None:
            for order in orders:
                for batch in minibatch((examples[i] for i in order), ROUND):
                    self._teach_fold(fold, batch, FOLD_DROPOUT)

        # Each has a learner of its own, so that it does not matter who is first.
        with ThreadPoolExecutor(min(self.n_folds, os.cpu_count() or 1)) as pool:
            list(pool.map(train, range(self.n_folds)))
        self._known = {get_number(gold.doc) for gold in examples}
        self._waiting_words = []

    @property
    def needs_first_stage(self) -> bool:
        return _looks_ahead(self.templates)

    def record(self, batch: list[GoldDoc], recorders: dict[str, Recorder]) -> None:
        golds = [take_words(gold) for gold in batch]
        self._training_batch(golds, make_ranges(golds, "sentences")).update(
            recorders["templates"], 0.0, 0.0, self.settings.predicted_history
        )

    def predict(  # type: ignore[override]
        self,
        docs: list[Doc],
        *,
        margin: Margin,
        n_threads: int = 1,
        with_leads: bool = False,
    ) -> TagBatch:
        snapshot = self.get_snapshot()
        scorer = snapshot.scorers["templates"]
        batch = predict(
            docs,
            snapshot.get_lexicon(self.max_lexemes, "templates"),
            snapshot.reader,
            scorer,
            scale_margins(margin, self.n_stages, scorer.scale),
            n_threads,
            with_leads,
        )
        batch.made_by = snapshot
        return batch

    def get_counts(self, batch: TagBatch) -> dict[str, np.ndarray]:
        return {"templates": batch.stage_counts}

    def judge(self, batch: TagBatch, golds: Sequence[GoldDoc]) -> np.ndarray:
        labels = np.concatenate([gold.labels for gold in golds])
        return (batch.labels == labels)[labels >= 0]

    @property
    def n_groups(self) -> int:
        return self.n_stages

    def get_evidence(self, batch: TagBatch) -> Evidence:
        scale = batch.made_by.scorers["templates"].scale
        return Evidence(scale_leads(batch.leads, scale), batch.stages)

    def _guess(self, docs: list[Doc]) -> TagBatch:
        # The first time anything will do: training shows a first row before it waits.
        if self._is_asked:
            self._train_folds()
        self._is_asked = True
        has_folds = bool(self.main.folds) and not self._waiting_words
        golds = [without_labels(doc) for doc in docs]
        labels = np.full(sum(len(doc) for doc in docs), SPACE_TAG, dtype="uint16")
        ends = np.cumsum([len(doc) for doc in docs], dtype="int64")
        folds = [get_fold(doc, self.n_folds) if has_folds else 0 for doc in docs]
        learners = self.main.folds if has_folds else self.main.learners
        for fold, learner in enumerate(learners):
            chosen = [i for i in range(len(docs)) if folds[i] == fold]
            part = [golds[i] for i in chosen]
            if not part:
                continue
            ranges = make_ranges(part, "sentences")
            guessed = self._training_batch(part, ranges).guess(learner)
            for i in chosen:
                words = golds[i].words
                labels[ends[i] - len(docs[i]) + words] = guessed[: len(words)]
                guessed = guessed[len(words) :]
        return TagBatch(labels, ends, np.zeros(self.n_stages, dtype="uint64"))

    def explain(self, doc: Doc, *, margin: Margin) -> list[Explanation]:  # type: ignore[override]
        """Say for each token how its label was found."""
        found = self.predict([doc], margin=margin)
        snapshot = found.made_by
        scorer = snapshot.scorers["templates"]
        gold = without_labels(doc)
        labels = found[0][gold.words]
        lexicon = snapshot.get_lexicon(self.max_lexemes, "templates")
        batch = TaggingExamples(
            [doc],
            gold.labels,
            make_ranges([gold], "sentences"),
            lexicon,
            snapshot.reader,
        )
        margins = scale_margins(margin, self.n_stages, scorer.scale)
        explain = Explainer(self.templates, scorer, margins, snapshot.labels)
        explanations = [Explanation(SPACE_TAG_NAME, math.inf, "", 0, 0, {})] * len(doc)
        for word, parts, label in zip(
            gold.words, batch.explain(scorer, labels), labels, strict=True
        ):
            explanations[word] = explain(parts, int(label))
        return explanations

    def _get_arguments(self) -> dict[str, Any]:
        return {
            "templates": self.templates,
            "settings": self.settings,
            "class_min_count": self.class_min_count,
            "class_min_share": self.class_min_share,
            "folds": self.folds,
        }

    def _training_to_bytes(self) -> bytes | None:
        # What they have yet to learn from is not saved.
        self._train_folds()
        return super()._training_to_bytes()

    def _training_meta(self) -> dict[str, Any]:
        return {**super()._training_meta(), "known": sorted(self._known)}

    def _start_again(self, meta: dict[str, Any]) -> None:
        super()._start_again(meta)
        check_state(self.folds in (None, self.n_folds), "it has other folds")
        self._known = set(meta.get("known", []))

    def _form_options(self, part: str) -> dict[str, Any]:
        return {
            "cardinalities": {
                "tag": len(self.labels) + 1,
                "class": self._n_classes + N_RESERVED,
            }
        }

    def _get_extra(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"n_classes": self._n_classes}, {}

    def _load_extra(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        n_classes: Any = meta.get("n_classes")
        require(
            isinstance(n_classes, int) and 0 <= n_classes < 1 << 20,
            "its number of ambiguity classes is malformed",
        )
        require(
            int(arrays["class_values"].max(initial=0)) < n_classes + N_RESERVED,
            "a word has an unknown ambiguity class",
        )
        self._n_classes = n_classes

    def _training_batch(
        self, batch: list[GoldWords], ranges: np.ndarray
    ) -> TaggingExamples:
        return TaggingExamples(
            [gold.doc for gold in batch],
            np.concatenate([gold.labels for gold in batch], dtype="int32"),
            ranges,
            self._training_lexicon,
            self._reader,
        )

    def _learn_classes(
        self, examples: Iterable[GoldWords]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Give each frequent word the set of tags that it often has as its class."""
        tags: defaultdict[int, Counter[int]] = defaultdict(Counter)
        if "class" in self.lexical:
            for gold in examples:
                lowers = read_lowers(gold.doc)[gold.words][gold.labels >= 0]
                known = gold.labels[gold.labels >= 0]
                for lower, label in zip(lowers.tolist(), known.tolist(), strict=True):
                    tags[lower][label] += 1
        by_word = make_classes(tags, self.class_min_count, self.class_min_share)
        self._n_classes = len(set(by_word.values()))
        return lookup_arrays(by_word)


def _read_tags(template: Template) -> set[str]:
    """The places whose tags a template reads."""
    return {atom.place for atom in template.atoms if atom.column == "tag"}


def _looks_ahead(templates: Templates) -> bool:
    """Whether a template reads the tag of a word to come."""
    ahead = set(OFFSETS[REACH + 1 :])
    return any(_read_tags(template) & ahead for template in templates.templates)


def _check_look_ahead(templates: Templates) -> None:
    """Tags of words to come are what the first stage says, so that it can read none."""
    first = templates.templates[: templates.checkpoints[0]]
    early = [template for template in first if _read_tags(template)]
    if early and _looks_ahead(templates):
        raise ValueError(Errors.DS070.format(template=early[0]))
