"""Labelling: what engines share that give one label to each word."""

import math
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from spacy.tokens import Doc

from ...base.errors import Errors
from ...base.templates import Template, Templates
from ...core.forms.packing import MAX_LABELS
from ...core.learner import Learner
from ...core.model_file import require
from ...core.recorder import Recorder
from ...spacy_io.annotations import SPACE_TAG
from ...spacy_io.lexemes import LEXICAL_COLUMNS
from ...spacy_io.tokens import read_lowers
from ..classifier import Classifier, check_count
from ..engine import Engine, Margin, Start
from ..evidence import Evidence, mark_known, scale_leads
from ..explanation import Explainer, Explanation
from ..folds import get_fold, get_number, minibatch
from ..margins import scale_margins
from ..parallel import run_all
from ..training_state import check_state
from ..word_classes import WordResources
from ..word_tables import N_RESERVED, lookup_arrays, make_classes
from .batch import LabelBatch
from .gold import (
    GoldDoc,
    GoldWords,
    make_ranges,
    take_words,
    whole_docs,
    without_labels,
)
from .history import REACH, History
from .train import WordExamples

OFFSETS = [str(offset) for offset in range(-REACH, REACH + 1)]
# Where a column that labels say something about may be read.
LABEL_OFFSETS = OFFSETS[:REACH] + OFFSETS[REACH + 1 :]
LEXICAL_PLACES: dict[str, Sequence[str]] = dict.fromkeys(LEXICAL_COLUMNS, OFFSETS)
# See LearnerSettings.
DEFAULTS = {"predicted_history": 1.0, "word_dropout": 0.05, "copies": "both"}
ROUND = 64
# How many models of folds there are where they are needed, how long they learn, and how
# many templates they leave out.
FOLDS = 4
FOLD_EPOCHS = 6
FOLD_DROPOUT = 0.1


class LabellingEngine(Engine):
    """Templates, weights, ambiguity classes and clusters of what labels words.

    labels (Classifier): The classifier.
    lexical (list[str]): The columns of lexemes that are read.
    class_min_count (int): How often a word has to occur in the training data to have
        an ambiguity class. The class of a rarer word would leak its gold label.
    class_min_share (float): The share of a word's occurrences that a label needs to be
        part of its class.
    folds (int): If not 0, docs that are annotated in training, for components that
        read the labels, get those of one of this many models, which has not seen them.
        If missing, there are some where such a component is trained at the same time.
    resources (WordResources): Clusters of words, and ambiguity classes of those that
        are not frequent in the training data.
    """

    max_labels = MAX_LABELS
    knobs: ClassVar[dict[str, str]] = {"margin": "templates"}
    # What templates read of labels, and how many stages guess those of words to come.
    columns: tuple[str, ...]
    n_early: int
    # The loop of prediction.
    decode: Callable[..., LabelBatch]
    # What an explanation of white space calls its label.
    space_name: str
    # With how many labels at most a word leaves the first stage; 0 if no stage rules
    # any out.
    n_candidates = 0
    # What resources call its ambiguity classes.
    class_column: str

    def __init__(
        self,
        labels: Classifier,
        lexical: list[str],
        *,
        class_min_count: int,
        class_min_share: float,
        folds: int | None = None,
        resources: WordResources | None = None,
    ) -> None:
        if folds is not None:
            check_count("folds", folds, 0)
        self.check_look_ahead(labels.templates)
        self.folds = folds
        self.class_min_count = class_min_count
        self.class_min_share = class_min_share
        super().__init__([labels], lexical, resources)

    # What a task has to say.

    @abstractmethod
    def _make_history(self) -> History:
        """What templates read of labels."""

    def _scale(self, margin: Margin, scale: float) -> list[int]:
        """Margins as the integers that scores are compared with."""
        return scale_margins(margin, self.n_stages, scale)

    def _get_decoding_options(self) -> dict[str, Any]:
        """What decoding needs beside what all tasks do."""
        return {}

    # What all of them do alike.

    def _reset(self) -> None:
        super()._reset()
        # What the folds' models have yet to learn from, and whether they were asked for.
        self._waiting_words: list[GoldWords] = []
        self._is_asked = False
        # The docs that the folds' models have learned from.
        self._known: set[int] = set()
        self._n_classes = 0
        self._history: Any = None

    @property
    def history(self) -> History:
        if self._history is None:
            self._history = self._make_history()
        return self._history

    @property
    def n_folds(self) -> int:
        return len(self.main.folds)

    def _initialize(self, examples: list[GoldDoc], start: Start) -> None:
        golds = [take_words(gold) for gold in examples]
        self._reader = self._make_reader(self._learn_classes(golds, start), start)
        self._start(start, sum(len(gold.words) for gold in golds))
        n_folds = self.folds if self.folds is not None else FOLDS * start.is_read
        if n_folds:
            self.main.start_folds(n_folds, lambda fold: 0)
            self._waiting_words = golds
        if start.is_complete and self.main.used_settings.cutoff > 1:
            for learner in self.main.learners:
                for batch in minibatch(golds, ROUND):
                    self._training_batch(batch, whole_docs(batch)).count(learner)
                learner.reject_rare()

    def _learn(self, batch: list[GoldDoc], drop: float) -> float:
        golds = [take_words(gold) for gold in batch]
        rate = self.main.get_history_rate(sum(len(gold.words) for gold in golds))
        copies = self.settings.copies
        jobs = self._plan(self.main.learners, golds, drop, copies, rate)
        if self.main.folds and not self._waiting_words:
            numbers = [get_number(gold.doc) for gold in golds]
            for fold in range(self.n_folds):
                part = [
                    gold
                    for gold, number in zip(golds, numbers, strict=True)
                    if number not in self._known and number % self.n_folds != fold
                ]
                jobs += self._plan_fold(fold, part, drop)
        return float(run_all(self.training_threads, jobs)[0])

    def _plan(
        self,
        learners: Sequence[Learner],
        golds: list[GoldWords],
        drop: float,
        copies: str,
        history_rate: float,
    ) -> list[Callable[[], float]]:
        """What learners have to do. RETURNS (list): For each a function that returns its
        loss.

        history_rate (float): How often decisions see predicted labels before them.
        """
        settings = self.main.used_settings
        batch = self._training_batch(golds, make_ranges(golds, copies))
        rates = (drop, settings.word_dropout, history_rate)
        return [partial(batch.update, learner, *rates) for learner in learners]

    def _plan_fold(
        self, fold: int, part: list[GoldWords], drop: float
    ) -> list[Callable[[], float]]:
        """What a fold's model has to do. One copy is enough for it.

        part (list): Docs that are not in its fold.
        """
        if not part:
            return []
        rate = self.main.used_settings.predicted_history
        return self._plan([self.main.folds[fold]], part, drop, "sentences", rate)

    def _train_folds(self) -> None:
        """Train the models that annotate docs in training, if that was not done. They
        are finished before others learn from their labels, so that these are as good as
        they will be in the end."""
        examples = self._waiting_words
        if not examples:
            return
        rng = np.random.default_rng(self.main.used_settings.seed)
        orders = [rng.permutation(len(examples)).tolist() for _ in range(FOLD_EPOCHS)]
        numbers = [get_number(gold.doc) for gold in examples]

        def train(fold: int) -> None:
            for order in orders:
                for batch in minibatch(order, ROUND):
                    rest = [i for i in batch if numbers[i] % self.n_folds != fold]
                    part = [examples[i] for i in rest]
                    for job in self._plan_fold(fold, part, FOLD_DROPOUT):
                        job()

        jobs = [partial(train, fold) for fold in range(self.n_folds)]
        run_all(self.training_threads, jobs)
        self._known = set(numbers)
        self._waiting_words = []

    @property
    def needs_first_stage(self) -> bool:
        return self._looks_ahead(self.templates)

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
        with_guesses: bool = False,
    ) -> LabelBatch:
        snapshot = self.get_snapshot()
        scorer = snapshot.scorers["templates"]
        batch = self.decode(
            docs,
            snapshot.get_lexicon(self.max_lexemes, "templates"),
            snapshot.reader,
            scorer,
            self._scale(margin, scorer.scale),
            n_threads,
            with_leads,
            with_guesses,
            **self._get_decoding_options(),
        )
        batch.made_by = snapshot
        return batch

    def get_counts(self, batch: LabelBatch) -> dict[str, np.ndarray]:
        return {"templates": batch.stage_counts}

    def get_label_counts(self, batch: LabelBatch) -> dict[str, np.ndarray]:
        found = batch.label_counts
        return {} if found is None else {"templates": found}

    def judge(self, batch: LabelBatch, golds: Sequence[GoldDoc]) -> np.ndarray:
        labels = np.concatenate([gold.labels for gold in golds])
        return mark_known(batch.labels == labels, labels >= 0)

    @property
    def n_groups(self) -> int:
        return self.n_stages

    def get_evidence(self, batch: LabelBatch) -> Evidence:
        scale = batch.made_by.scorers["templates"].scale
        return Evidence(scale_leads(batch.leads, scale), batch.stages)

    def _guess(self, docs: list[Doc]) -> LabelBatch:
        # The first time anything will do: training shows a first row before it waits.
        if self._is_asked:
            self._train_folds()
        self._is_asked = True
        has_folds = bool(self.main.folds) and not self._waiting_words
        golds = [without_labels(doc) for doc in docs]
        labels = np.full(sum(len(doc) for doc in docs), SPACE_TAG, dtype="uint16")
        ends = np.cumsum([len(doc) for doc in docs], dtype="int64")
        folds = [get_fold(doc, self.n_folds) if has_folds else 0 for doc in docs]
        learners = self.main.folds if has_folds else self.main.learners[:1]
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
        return LabelBatch(labels, ends, np.zeros(self.n_stages, dtype="uint64"))

    def explain(self, doc: Doc, *, margin: Margin) -> list[Explanation]:  # type: ignore[override]
        """Say for each token how its label was found."""
        found = self.predict([doc], margin=margin, with_guesses=True)
        snapshot = found.made_by
        scorer = snapshot.scorers["templates"]
        gold = without_labels(doc)
        labels, guesses = found[0][gold.words], found.guesses[gold.words]
        batch = WordExamples(
            [doc],
            gold.labels,
            make_ranges([gold], "sentences"),
            snapshot.get_lexicon(self.max_lexemes, "templates"),
            snapshot.reader,
            self.history,
            self.n_early,
        )
        margins = self._scale(margin, scorer.scale)
        explain = Explainer(
            self.templates, scorer, margins, snapshot.labels, self.n_candidates
        )
        nothing = Explanation(self.space_name, math.inf, "", 0, 0, {})
        explanations = [nothing] * len(doc)
        outputs, pairs = batch.explain(scorer, labels, guesses)
        for i, (word, label) in enumerate(zip(gold.words, labels, strict=True)):
            valid = self._find_valid(scorer, doc[int(word)].orth, margins)
            joined = [(*ranks, scorer.combine(row)) for *ranks, row in pairs[i]]
            explanations[word] = explain(
                scorer.combine(outputs[i]), int(label), valid, pairs=joined
            )
        return explanations

    def _find_valid(
        self, scorer: Any, orth: int, margins: list[int]
    ) -> np.ndarray | None:
        """Which labels a word can get; None for all."""
        return None

    def _get_arguments(self) -> dict[str, Any]:
        return {
            "templates": self.templates,
            "settings": self.settings,
            "class_min_count": self.class_min_count,
            "class_min_share": self.class_min_share,
            "folds": self.folds,
            "resources": self.resources,
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
    ) -> WordExamples:
        return WordExamples(
            [gold.doc for gold in batch],
            np.concatenate([gold.labels for gold in batch], dtype="int32"),
            ranges,
            self._training_lexicon,
            self._reader,
            self.history,
            self.n_early,
        )

    def _learn_classes(
        self, examples: Iterable[GoldWords], start: Start
    ) -> tuple[np.ndarray, np.ndarray]:
        """Give each frequent word the set of labels that it often has as its class, and
        others that which resources know."""
        labels: defaultdict[int, Counter[int]] = defaultdict(Counter)
        others: dict[int, tuple[int, ...]] = {}
        if "class" in self.lexical:
            resources = self._read_resources(start)
            if self.class_column in resources:
                others = resources[self.class_column].get_classes(
                    self.class_column, self.labels
                )
            for gold in examples:
                lowers = read_lowers(gold.doc)[gold.words][gold.labels >= 0]
                known = gold.labels[gold.labels >= 0]
                for lower, label in zip(lowers.tolist(), known.tolist(), strict=True):
                    labels[lower][label] += 1
        by_word = make_classes(
            labels, self.class_min_count, self.class_min_share, others
        )
        self._n_classes = len(set(by_word.values()))
        return lookup_arrays(by_word)

    def _reads_labels(self, template: Template) -> set[str]:
        """The places whose labels a template reads."""
        return {atom.place for atom in template.atoms if atom.column in self.columns}

    def _looks_ahead(self, templates: Templates) -> bool:
        """Whether a template reads the label of a word to come."""
        ahead = set(OFFSETS[REACH + 1 :])
        return any(
            self._reads_labels(template) & ahead for template in templates.templates
        )

    def check_look_ahead(self, templates: Templates) -> None:
        """Labels of words to come are what early stages say, so that the first one can
        read none."""
        first = templates.templates[: templates.checkpoints[0]]
        early = [template for template in first if self._reads_labels(template)]
        if early and self._looks_ahead(templates):
            raise ValueError(Errors.DS070.format(template=early[0]))
