"""Tagging: all that a tagger learns, uses and stores, apart from spaCy's contract."""

import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ...base.errors import Errors
from ...base.settings import LearnerSettings
from ...base.templates import Template, Templates
from ...confidence.maps import Evidence, scale_leads
from ...core.forms.packing import MAX_LABELS
from ...core.learner import Learner
from ...core.recorder import Recorder
from ...spacy_io.bridge import (
    LEXICAL_COLUMNS,
    SPACE_TAG,
    find_words,
    hand_on_starts,
    read_lowers,
    read_sent_starts,
)
from ..engine import (
    N_RESERVED,
    Explanation,
    LinearModel,
    get_fold,
    get_number,
    lookup_arrays,
    make_classes,
    minibatch,
    require,
)
from .loops import MISSING, NOT, REACH, TagBatch, TrainingBatch, predict

__all__ = [
    "MISSING",
    "NOT",
    "PLACES",
    "SPACE_TAG",
    "SPACE_TAG_NAME",
    "Explanation",
    "GoldDoc",
    "TagBatch",
    "TaggingModel",
]

TASK = "tagging"
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


class GoldDoc(NamedTuple):
    """A doc with what is known about its labels.

    doc (Doc): The doc.
    labels (array): For each token what TrainingBatch takes; white space does not count.
    sent_starts (array): For each token 1 if a sentence starts there.
    """

    doc: Doc
    labels: np.ndarray
    sent_starts: np.ndarray


class GoldWords(NamedTuple):
    """A GoldDoc without white space: labels and sent_starts are those of its words."""

    doc: Doc
    words: np.ndarray
    labels: np.ndarray
    sent_starts: np.ndarray


def take_words(gold: GoldDoc) -> GoldWords:
    words = find_words(gold.doc)
    starts = hand_on_starts(gold.sent_starts, words)
    return GoldWords(gold.doc, words, gold.labels[words], starts)


class TaggingModel(LinearModel):
    """A tagger's templates, weights, ambiguity classes and clusters.

    templates (Templates): The templates, with checkpoints.
    settings (LearnerSettings): How to learn.
    class_min_count (int): How often a word has to occur in the training data to have
        an ambiguity class of its own. Classes of rarer words give the answer away.
    class_min_share (float): The share of a word's occurrences that a tag needs to be
        part of its class.
    folds (int): If not 0, docs that are annotated in training, for components that
        read tags, get the tags of one of this many taggers, which has not seen them.
        If missing, there are some where such a component is trained with the tagger.
    """

    task = TASK

    def __init__(
        self,
        templates: Templates,
        settings: LearnerSettings,
        *,
        class_min_count: int,
        class_min_share: float,
        folds: int | None = None,
    ) -> None:
        if folds is not None and (not 0 <= folds <= 100 or folds == 1):
            raise ValueError(
                Errors.DS022.format(
                    name="folds", value=folds, range="0 or between 2 and 100"
                )
            )
        super().__init__(
            templates,
            settings.for_task("tagging", **DEFAULTS),
            places=PLACES,
            dynamic=["tag"],
            all_places=OFFSETS,
        )
        _check_look_ahead(templates)
        self.folds = folds
        self.class_min_count = class_min_count
        self.class_min_share = class_min_share

    def _reset(self) -> None:
        super()._reset()
        self.n_folds = 0
        self._folds: list[Learner] = []
        # What the folds' models have yet to learn from, and whether they were asked for.
        self._waiting_words: list[GoldWords] = []
        self._is_asked = False
        # The docs that the folds' models have learned from.
        self._known: set[int] = set()
        self._n_classes = 0

    def initialize(
        self,
        labels: Sequence[str],
        vocab: Vocab,
        get_examples: Callable[[], Iterable[GoldDoc]],
        *,
        lang: str,
        count_features: bool,
        is_read: bool = False,
        seed: int = 0,
    ) -> None:
        """Prepare for training.

        labels (Sequence[str]): The labels.
        vocab (Vocab): Where clusters may be found.
        get_examples: Gives the training data.
        lang (str): The language, for clusters.
        count_features (bool): Whether the examples are all the training data, so that
            rare features can be told.
        is_read (bool): Whether other components learn from the tags.
        seed (int): For settings without one.
        """
        if len(labels) > MAX_LABELS:
            raise ValueError(
                Errors.DS044.format(name=TASK, n_labels=len(labels), most=MAX_LABELS)
            )
        self._reset()
        self.labels = tuple(labels)
        self.n_folds = self.folds if self.folds is not None else FOLDS * is_read

        def get_words() -> Iterable[GoldWords]:
            return map(take_words, get_examples())

        classes = self._learn_classes(get_words())
        self._reader = self._make_reader(classes, self._load_clusters(vocab, lang))
        self._start(sum(len(gold.words) for gold in get_words()), seed)
        if self.n_folds:
            self._waiting_words = list(get_words())
        if count_features and self._used_settings.cutoff > 1:
            for batch in minibatch(get_words(), ROUND):
                self._training_batch(batch, _whole_docs(batch)).count(self._learner)
            self._learner.reject_rare()

    def update(self, batch: list[GoldDoc], *, drop: float) -> float:
        """Learn from some docs. RETURNS (float): The loss."""
        with self.lock:
            self.make_trainable()
            self._forget_compiled()
            return self._learn([take_words(gold) for gold in batch], drop)

    def _learn(self, golds: list[GoldWords], drop: float) -> float:
        ranges = _training_ranges(golds, self.settings.copies)
        settings = self._used_settings
        rates = (drop, settings.word_dropout, settings.predicted_history)
        loss = self._training_batch(golds, ranges).update(self._learner, *rates)
        if self._folds and not self._waiting_words:
            new = [gold for gold in golds if get_number(gold.doc) not in self._known]
            for fold in range(len(self._folds)):
                self._teach_fold(fold, new, drop)
        return float(loss)

    def _train_folds(self) -> None:
        """Train the models that annotate docs in training, if that was not done. They
        are finished before others learn from their tags, so that these are as good as
        they will be in the end."""
        examples = self._waiting_words
        if not examples:
            return
        rng = np.random.default_rng(self._used_settings.seed)
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

    def _teach_fold(self, fold: int, batch: list[GoldWords], drop: float) -> None:
        """Let a fold's model learn from all docs that are not in its fold."""
        settings = self._used_settings
        part = [gold for gold in batch if get_fold(gold.doc, self.n_folds) != fold]
        if part:
            # One copy is enough for it.
            self._training_batch(part, _training_ranges(part, "sentences")).update(
                self._folds[fold],
                drop,
                settings.word_dropout,
                settings.predicted_history,
            )

    @property
    def needs_first_stage(self) -> bool:
        return _looks_ahead(self.templates)

    def new_recorders(self) -> dict[str, Recorder]:
        """What writes down decisions, with the learner's guesses as history."""
        return {"templates": self._new_recorder(self._learner)}

    def record(self, batch: list[GoldDoc], recorders: dict[str, Recorder]) -> None:
        """Write down the decisions of some docs."""
        golds = [take_words(gold) for gold in batch]
        self._training_batch(golds, _training_ranges(golds, "sentences")).update(
            recorders["templates"], 0.0, 0.0, self.settings.predicted_history
        )

    def predict(
        self,
        docs: list[Doc],
        margin: float | list[float],
        n_threads: int,
        *,
        with_leads: bool = False,
    ) -> TagBatch:
        """Predict the labels of docs.

        with_leads (bool): Whether to say how sure the decisions are.
        """
        compiled = self.compiled
        batch = predict(
            docs,
            compiled.get_lexicon(self.max_lexemes),
            compiled.reader,
            compiled.scorer,
            compiled.scorer.margins(margin),
            n_threads,
            with_leads,
        )
        batch.made_by = compiled
        return batch

    def get_evidence(self, batch: TagBatch) -> Evidence:
        """What speaks for each label of a batch with leads."""
        scale = batch.made_by.scorer.scale
        return Evidence(scale_leads(batch.leads, scale), batch.stages)

    def predict_in_training(self, docs: list[Doc]) -> TagBatch | None:
        """Predict with the weights as they are, without compiling them first: for
        docs that are annotated between two updates. RETURNS: None where nothing is
        being learned."""
        with self.lock:
            return None if self._learner is None else self._guess(docs)

    def _guess(self, docs: list[Doc]) -> TagBatch:
        # The first time anything will do: training shows a first row before it waits.
        if self._is_asked:
            self._train_folds()
        self._is_asked = True
        has_folds = bool(self._folds) and not self._waiting_words
        golds = [_without_labels(doc) for doc in docs]
        labels = np.full(sum(len(doc) for doc in docs), SPACE_TAG, dtype="uint16")
        ends = np.cumsum([len(doc) for doc in docs], dtype="int64")
        folds = [get_fold(doc, self.n_folds) if has_folds else 0 for doc in docs]
        for fold, learner in enumerate(self._folds if has_folds else [self._learner]):
            chosen = [i for i in range(len(docs)) if folds[i] == fold]
            part = [golds[i] for i in chosen]
            if not part:
                continue
            ranges = _training_ranges(part, "sentences")
            guessed = self._training_batch(part, ranges).guess(learner)
            for i in chosen:
                words = golds[i].words
                labels[ends[i] - len(docs[i]) + words] = guessed[: len(words)]
                guessed = guessed[len(words) :]
        return TagBatch(labels, ends, np.zeros(self.n_stages, dtype="uint64"))

    def _new_learner(self, settings: LearnerSettings) -> None:
        super()._new_learner(settings)
        self._folds = [
            Learner(self._program, self.n_outputs, self._used_settings)
            for _ in range(self.n_folds)
        ]

    def explain(self, doc: Doc, margin: float | list[float]) -> list[Explanation]:
        """Say for each token how its label was found."""
        found = self.predict([doc], margin, 1)
        made_by = found.made_by
        scorer = made_by.scorer
        gold = _without_labels(doc)
        labels = found[0][gold.words]
        ranges = _training_ranges([gold], "sentences")
        lexicon = made_by.get_lexicon(self.max_lexemes)
        batch = TrainingBatch([doc], gold.labels, ranges, lexicon, made_by.reader)
        parts = batch.explain(scorer, labels)
        margins = [*scorer.margins(margin), 0]
        names = [str(template) for template in self.templates.templates]
        nothing = Explanation(SPACE_TAG_NAME, math.inf, "", 0, 0, {})
        explanations = [nothing] * len(doc)
        for word, word_parts, label in zip(gold.words, parts, labels, strict=True):
            explanations[word] = self._explain(
                scorer, word_parts, int(label), margins, names, made_by.labels
            )
        return explanations

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled weights only: caches start empty and training resumes from them.
        state = (self.templates, self.settings, self.class_min_count)
        return (
            _restore,
            (*state, self.class_min_share, self.folds, self.to_bytes()),
        )

    def _get_learners(self) -> dict[str, Learner]:
        if self._learner is None:
            return {}
        folds = {f"fold {i}": learner for i, learner in enumerate(self._folds)}
        return {"learner": self._learner, **folds}

    def _training_to_bytes(self) -> bytes | None:
        # What they have yet to learn from is not saved.
        self._train_folds()
        return super()._training_to_bytes()

    def _training_meta(self) -> dict[str, Any]:
        return {**super()._training_meta(), "known": sorted(self._known)}

    def _start_again(self, meta: dict[str, Any]) -> None:
        n_folds = sum(str(name).startswith("fold") for name in meta["learners"])
        self.n_folds = min(n_folds, n_folds if self.folds is None else self.folds)
        super()._start_again(meta)
        self._known = set(meta.get("known", []))

    def _resume(self) -> None:
        super()._resume()
        # All that was learned is in the model, which has seen all docs.
        self._folds = []

    def _cardinalities(self) -> dict[str, int]:
        return {
            "tag": len(self.labels) + 1,
            "class": self._n_classes + N_RESERVED,
        }

    def _extra_meta(self) -> dict[str, Any]:
        return {"n_classes": self._n_classes}

    def _load_extra(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        super()._load_extra(meta, arrays)
        self._n_classes = meta["n_classes"]

    def _training_batch(
        self, batch: list[GoldWords], ranges: np.ndarray
    ) -> TrainingBatch:
        return TrainingBatch(
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
        self._n_classes = 0
        tags: defaultdict[int, Counter[int]] = defaultdict(Counter)
        if "class" in self._program.lexical:
            for gold in examples:
                lowers = read_lowers(gold.doc)[gold.words][gold.labels >= 0]
                known = gold.labels[gold.labels >= 0]
                for lower, label in zip(lowers.tolist(), known.tolist(), strict=True):
                    tags[lower][label] += 1
        by_word = make_classes(tags, self.class_min_count, self.class_min_share)
        self._n_classes = len(set(by_word.values()))
        return lookup_arrays(by_word)

    def _check(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        n_classes: Any = meta.get("n_classes")
        require(
            isinstance(n_classes, int) and 0 <= n_classes < 1 << 20,
            "its number of ambiguity classes is malformed",
        )
        super()._check(meta, arrays)
        require(
            int(arrays["class_values"].max(initial=0)) < n_classes + N_RESERVED,
            "a word has an unknown ambiguity class",
        )


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


def _restore(
    templates: Templates,
    settings: LearnerSettings,
    class_min_count: int,
    class_min_share: float,
    folds: int | None,
    data: bytes,
) -> TaggingModel:
    model = TaggingModel(
        templates,
        settings,
        class_min_count=class_min_count,
        class_min_share=class_min_share,
        folds=folds,
    )
    model.from_bytes(data)
    return model


def _without_labels(doc: Doc) -> GoldWords:
    """A doc that is to be tagged."""
    labels = np.full(len(doc), MISSING, dtype="int32")
    return take_words(GoldDoc(doc, labels, read_sent_starts(doc)))


def _whole_docs(batch: Sequence[GoldWords]) -> np.ndarray:
    """Each doc as a sequence of its own."""
    lengths = np.array([len(gold.words) for gold in batch], dtype="int64")
    ends = np.cumsum(lengths)
    return np.stack([ends - lengths, ends], axis=1)


def _training_ranges(batch: Sequence[GoldWords], copies: str) -> np.ndarray:
    """The sequences to learn from.

    Sentences are what the gold sentence starts say, and documents the whole docs; but
    where docs are single sentences, the batch laid end to end stands in for a
    document, so that what happens at unmarked boundaries is learned all the same.
    """
    sentences: list[tuple[int, int]] = []
    documents: list[tuple[int, int]] = []
    open_document = False  # whether the last document can take in more sentences
    for (start, end), gold in zip(_whole_docs(batch).tolist(), batch, strict=True):
        inner = np.flatnonzero(gold.sent_starts[1:] == 1) + 1 + start
        bounds = [start, *inner.tolist(), end]
        sentences += pairwise(bounds)
        is_sentence = len(bounds) == 2
        if is_sentence and open_document:
            documents[-1] = (documents[-1][0], end)
        else:
            documents.append((start, end))
        open_document = is_sentence
    if copies == "sentences":
        ranges = sentences
    elif copies == "documents":
        ranges = documents
    else:
        known = set(sentences)
        ranges = sentences + [pair for pair in documents if pair not in known]
    return np.array(ranges, dtype="int64").reshape(-1, 2)
