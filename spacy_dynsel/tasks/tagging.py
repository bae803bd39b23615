"""Tagging: all that a tagger learns, uses and stores, apart from spaCy's contract."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.lookups import load_lookups
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..bridge import LEXICAL_COLUMNS, LexemeReader, read_lowers
from ..core.learner import Learner
from ..core.lexicon import Lexicon
from ..core.program import Program
from ..core.scorer import (
    MAX_LABELS,
    MAX_WEIGHT,
    Scorer,
    check_weights,
    pack_weights,
    quantize,
    unpack_weights,
)
from ..errors import Errors
from ..model_file import dump_model, load_model
from ..settings import LearnerSettings
from ..templates import Templates
from ._tagging import REACH, TagBatch, TrainingBatch, explain, predict

TASK = "tagging"
OFFSETS = [str(offset) for offset in range(-REACH, REACH + 1)]
# Where each column of a tagging template may be read.
PLACES: dict[str, Sequence[str]] = {
    **{column: OFFSETS for column in LEXICAL_COLUMNS},
    "tag": OFFSETS[:REACH],
}
# Values of a small column that are not its own: unknown, before start, after end.
N_RESERVED = 3
TRAINING_LEXEMES = 1 << 18
# With less data than this, every feature counts.
MIN_TOKENS_FOR_CUTOFF = 10_000
# What a loaded model's weights count as when training goes on: see Learner.
RESUMED_SQUARES = 10.0
ROUND = 64


class Explanation(NamedTuple):
    """Why a token got its label.

    label (str): The label.
    lead (float): Its lead over the runner-up when the decision was made.
    runner_up (str): The second-best label, empty if there is only one label.
    stage (int): The stage in which the decision was made, from 1.
    n_templates (int): The number of templates that were read.
    contributions (dict): For each of them what it added to the label and to the
        runner-up.
    """

    label: str
    lead: float
    runner_up: str
    stage: int
    n_templates: int
    contributions: dict[str, tuple[float, float]]


class GoldDoc(NamedTuple):
    """A doc with what is known about its labels (see TrainingBatch)."""

    doc: Doc
    labels: np.ndarray
    sent_starts: np.ndarray


class TaggingModel:
    """A tagger's templates, weights, ambiguity classes and clusters.

    templates (Templates): The templates, with checkpoints.
    settings (LearnerSettings): How to learn.
    class_min_count (int): How often a word has to occur in the training data to have
        an ambiguity class of its own. Classes of rarer words give the answer away.
    class_min_share (float): The share of a word's occurrences that a tag needs to be
        part of its class.
    """

    def __init__(
        self,
        templates: Templates,
        settings: LearnerSettings,
        *,
        class_min_count: int,
        class_min_share: float,
    ) -> None:
        templates.check_atoms(PLACES)
        settings.stage_margins(len(templates.checkpoints))
        self.templates = templates
        self.settings = settings
        self.class_min_count = class_min_count
        self.class_min_share = class_min_share
        self.max_lexemes = 1
        self.labels: list[str] = []
        used = {atom.column for spec in templates.templates for atom in spec.atoms}
        self._program = Program(
            templates, sorted(used & set(LEXICAL_COLUMNS)), ["tag"], OFFSETS
        )
        self._n_classes = 0
        self._reader: LexemeReader | None = None
        self._learner: Learner | None = None
        self._training_lexicon: Lexicon | None = None
        self._scorer: Scorer | None = None
        self._lexicon: Lexicon | None = None

    @property
    def is_initialized(self) -> bool:
        return self._reader is not None

    @property
    def n_stages(self) -> int:
        return len(self.templates.checkpoints)

    @property
    def scorer(self) -> Scorer:
        """The compiled form of the weights as they are now."""
        if self._scorer is None:
            assert self._learner is not None
            keys, labels, values = self._learner.get_weights()
            scale = MAX_WEIGHT / max(1e-6, float(np.abs(values).max(initial=0.0)))
            weights = quantize(values, scale)
            weights[np.abs(values) <= self._prune] = 0
            index, slots = pack_weights(keys, labels, weights, len(self.labels))
            self._scorer = self._make_scorer(index, slots, scale)
            self._lexicon = None
        return self._scorer

    @property
    def lexicon(self) -> Lexicon:
        """The lexicon that predictions share; a full one is replaced."""
        scorer = self.scorer
        if (
            self._lexicon is None
            or self._lexicon.max_records != self.max_lexemes
            or len(self._lexicon) >= self.max_lexemes
        ):
            self._lexicon = Lexicon(
                len(self._program.lexical), [scorer], self.max_lexemes
            )
        return self._lexicon

    def initialize(
        self,
        labels: list[str],
        vocab: Vocab,
        get_examples: Callable[[], Iterable[GoldDoc]],
        *,
        lang: str,
        count_features: bool,
    ) -> None:
        """Prepare for training.

        labels (list[str]): The labels.
        vocab (Vocab): Where clusters may be found.
        get_examples: Gives the training data.
        lang (str): The language, for clusters.
        count_features (bool): Whether the examples are all the training data, so that
            rare features can be told.
        """
        if len(labels) > MAX_LABELS:
            raise ValueError(
                Errors.DS044.format(name=TASK, n_labels=len(labels), most=MAX_LABELS)
            )
        self.labels = list(labels)
        class_keys, class_values = self._learn_classes(get_examples())
        cluster_keys, cluster_values = self._load_clusters(vocab, lang)
        self._reader = LexemeReader(
            self._program.lexical,
            class_keys,
            class_values,
            cluster_keys,
            cluster_values,
        )
        self._scorer = None
        n_tokens = sum(len(gold.doc) for gold in get_examples())
        if n_tokens < MIN_TOKENS_FOR_CUTOFF:
            self._new_learner(self.settings.for_small_data())
            return
        self._new_learner(self.settings)
        if count_features and self.settings.cutoff > 1:
            for batch in _minibatch(get_examples(), ROUND):
                self._training_batch(batch, _whole_docs(batch)).count(self._learner)
            self._learner.reject_rare()

    def update(self, batch: list[GoldDoc], *, drop: float) -> float:
        """Learn from some docs. RETURNS (float): The loss."""
        if self._learner is None:
            self._resume()
        ranges = _training_ranges(batch, self.settings.copies)
        loss = self._training_batch(batch, ranges).update(
            self._learner, drop, self.settings.predicted_history
        )
        self._scorer = None
        return float(loss)

    def predict(
        self, docs: list[Doc], margin: float | list[float], n_threads: int
    ) -> TagBatch:
        """Predict the labels of docs."""
        scorer = self.scorer
        return predict(
            docs,
            self.lexicon,
            self._reader,
            scorer,
            scorer.margins(margin),
            n_threads,
        )

    def predict_in_training(self, docs: list[Doc]) -> TagBatch:
        """Predict with the weights as they are, without compiling them first: for
        docs that are annotated between two updates."""
        golds = [GoldDoc(doc, _all_missing(doc), np.zeros(0, "int32")) for doc in docs]
        labels = self._training_batch(golds, _whole_docs(golds)).guess(self._learner)
        ends = np.cumsum([len(doc) for doc in docs])
        return TagBatch(labels, ends, np.zeros(self.n_stages, dtype="uint64"))

    def explain(self, doc: Doc, margin: float | list[float]) -> list[Explanation]:
        """Say for each token how its label was found."""
        scorer = self.scorer
        lexicon = self.lexicon
        labels = self.predict([doc], margin, 1)[0]
        parts = explain(doc, labels, lexicon, self._reader, scorer)
        margins = [*scorer.margins(margin), 0]
        names = [str(template) for template in self.templates.templates]
        explanations = []
        for token_parts, label in zip(parts, labels, strict=True):
            sums = token_parts.cumsum(axis=0, dtype="int32")
            for stage, end in enumerate(self.templates.checkpoints):
                scores = sums[end - 1]
                ranked = np.argsort(-scores, kind="stable")
                second = int(ranked[1]) if len(ranked) > 1 else -1
                lead = int(scores[ranked[0]] - scores[second]) if second >= 0 else 0
                if second < 0 or lead >= margins[stage]:
                    break
            assert ranked[0] == label
            read = token_parts[:end] / scorer.scale
            explanations.append(
                Explanation(
                    label=self.labels[label],
                    lead=lead / scorer.scale,
                    runner_up=self.labels[second] if second >= 0 else "",
                    stage=stage + 1,
                    n_templates=end,
                    contributions={
                        names[t]: (
                            float(read[t, label]),
                            float(read[t, second]) if second >= 0 else 0.0,
                        )
                        for t in range(end)
                    },
                )
            )
        return explanations

    def mean_templates(self, stage_counts: np.ndarray) -> float:
        """The mean number of templates of some decisions."""
        ends = np.asarray(self.templates.checkpoints)
        return float(stage_counts @ ends / max(1, stage_counts.sum()))

    def to_bytes(self) -> bytes:
        """The model as a file."""
        if self._reader is None:
            return dump_model({"task": TASK, "labels": None}, {})
        scorer = self.scorer
        meta = {
            "task": TASK,
            "labels": self.labels,
            "templates": self.templates.to_lines(),
            "scale": scorer.scale,
            "n_classes": self._n_classes,
        }
        arrays = {
            "index": scorer.index,
            "slots": scorer.slots,
            "class_keys": self._reader.class_keys,
            "class_values": self._reader.class_values,
            "cluster_keys": self._reader.cluster_keys,
            "cluster_values": self._reader.cluster_values,
        }
        return dump_model(meta, arrays)

    def from_bytes(self, data: bytes) -> None:
        """Read a model. Nothing changes if the data is not good."""
        meta, arrays = load_model(data)
        if meta.get("task") != TASK:
            raise ValueError(Errors.DS037.format(found=meta.get("task"), expected=TASK))
        if meta.get("labels", 0) is None:
            # Saved before it was initialized.
            self._reader = None
            self.labels = []
            return
        self._check(meta, arrays)
        self.labels = meta["labels"]
        self._n_classes = meta["n_classes"]
        self._reader = LexemeReader(
            self._program.lexical,
            arrays["class_keys"],
            arrays["class_values"],
            arrays["cluster_keys"],
            arrays["cluster_values"],
        )
        self._learner = None
        self._training_lexicon = None
        self._lexicon = None
        self._scorer = self._make_scorer(
            arrays["index"], arrays["slots"], meta["scale"]
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled weights only: caches start empty and training resumes from them.
        state = (self.templates, self.settings, self.class_min_count)
        return (_restore, (*state, self.class_min_share, self.to_bytes()))

    def _make_scorer(
        self, index: np.ndarray, slots: np.ndarray, scale: float
    ) -> Scorer:
        cardinalities = {
            "tag": len(self.labels) + 1,
            "class": self._n_classes + N_RESERVED,
        }
        return Scorer(
            self._program, len(self.labels), index, slots, scale, cardinalities
        )

    def _new_learner(self, settings: LearnerSettings) -> None:
        self._prune = settings.prune
        self._learner = Learner(self._program, len(self.labels), settings)
        self._training_lexicon = Lexicon(
            len(self._program.lexical), [], TRAINING_LEXEMES
        )

    def _resume(self) -> None:
        """Make the weights of a loaded model trainable."""
        scorer = self.scorer
        keys, labels, weights = unpack_weights(scorer.index, scorer.slots)
        self._new_learner(self.settings.for_small_data())
        values = weights.astype("float32") / np.float32(scorer.scale)
        assert self._learner is not None
        self._learner.set_weights(keys, labels, values, RESUMED_SQUARES)

    def _training_batch(
        self, batch: list[GoldDoc], ranges: np.ndarray
    ) -> TrainingBatch:
        return TrainingBatch(
            [gold.doc for gold in batch],
            np.concatenate([gold.labels for gold in batch], dtype="int32"),
            ranges,
            self._training_lexicon,
            self._reader,
        )

    def _learn_classes(
        self, examples: Iterable[GoldDoc]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Give each frequent word the set of tags that it often has as its class."""
        self._n_classes = 0
        tags: defaultdict[int, Counter[int]] = defaultdict(Counter)
        if "class" in self._program.lexical:
            for gold in examples:
                lowers = read_lowers(gold.doc)[gold.labels >= 0]
                known = gold.labels[gold.labels >= 0]
                for lower, label in zip(lowers.tolist(), known.tolist(), strict=True):
                    tags[lower][label] += 1
        classes: dict[tuple[int, ...], int] = {}
        by_word = {}
        for lower, counts in sorted(tags.items()):
            total = counts.total()
            if total >= self.class_min_count:
                key = tuple(
                    sorted(
                        label
                        for label, count in counts.items()
                        if count >= self.class_min_share * total
                    )
                )
                by_word[lower] = classes.setdefault(key, len(classes) + N_RESERVED)
        self._n_classes = len(classes)
        return _lookup_arrays(by_word)

    def _load_clusters(self, vocab: Vocab, lang: str) -> tuple[np.ndarray, np.ndarray]:
        """Brown clusters from the vocabulary or, failing that, from the package
        spacy-lookups-data; none where neither has any."""
        table = {}
        if any(column.startswith("cluster") for column in self._program.lexical):
            name = "lexeme_cluster"
            lookups = vocab.lookups
            if not lookups.has_table(name):
                lookups = load_lookups(lang, [name], strict=False)
            if lookups.has_table(name):
                table = lookups.get_table(name)
        return _lookup_arrays(
            {
                vocab.strings.as_int(word): cluster + N_RESERVED
                for word, cluster in table.items()
            }
        )

    def _check(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Raise an error unless the contents of a file can be used without harm."""

        def require(condition: bool, what: str) -> None:
            if not condition:
                raise ValueError(Errors.DS035.format(what=what))

        labels = meta.get("labels")
        require(
            isinstance(labels, list)
            and 0 < len(labels) <= MAX_LABELS
            and all(isinstance(label, str) for label in labels)
            and len(set(labels)) == len(labels),
            "its labels are malformed",
        )
        scale = meta.get("scale")
        require(isinstance(scale, float) and 0 < scale < 1e9, "its scale is malformed")
        n_classes = meta.get("n_classes")
        require(
            isinstance(n_classes, int) and 0 <= n_classes < 1 << 20,
            "its number of ambiguity classes is malformed",
        )
        expected, found = self.templates.to_lines(), meta.get("templates")
        if found != expected:
            require(isinstance(found, list), "its templates are malformed")
            different = [
                f"line {i} is {one!r} in the config and {other!r} in the file"
                for i, (one, other) in enumerate(zip(expected, found, strict=False), 1)
                if one != other
            ]
            different.append(f"{len(expected)} lines against {len(found)}")
            raise ValueError(Errors.DS036.format(what=different[0]))
        names = ("class_keys", "class_values", "cluster_keys", "cluster_values")
        require({"index", "slots", *names} <= set(arrays), "it lacks a section")
        check_weights(arrays["index"], arrays["slots"], len(labels))
        for kind in ("class", "cluster"):
            keys, values = arrays[f"{kind}_keys"], arrays[f"{kind}_values"]
            require(
                keys.dtype == "uint64"
                and values.dtype == "uint32"
                and len(keys) == len(values)
                and bool((keys[1:] > keys[:-1]).all())
                and int(values.min(initial=N_RESERVED)) >= N_RESERVED,
                f"its {kind} table is malformed",
            )
        require(
            int(arrays["class_values"].max(initial=0)) < n_classes + N_RESERVED,
            "a word has an unknown ambiguity class",
        )


def _restore(
    templates: Templates,
    settings: LearnerSettings,
    class_min_count: int,
    class_min_share: float,
    data: bytes,
) -> TaggingModel:
    model = TaggingModel(
        templates,
        settings,
        class_min_count=class_min_count,
        class_min_share=class_min_share,
    )
    model.from_bytes(data)
    return model


def _lookup_arrays(table: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    keys = np.array(sorted(table), dtype="uint64")
    values = np.array([table[int(key)] for key in keys], dtype="uint32")
    return keys, values


def _minibatch(examples: Iterable[GoldDoc], size: int) -> Iterator[list[GoldDoc]]:
    batch = []
    for example in examples:
        batch.append(example)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _whole_docs(batch: Sequence[GoldDoc]) -> np.ndarray:
    """Each doc as a sequence of its own."""
    ends = np.cumsum([len(gold.doc) for gold in batch], dtype="int64")
    starts = ends - np.array([len(gold.doc) for gold in batch], dtype="int64")
    return np.stack([starts, ends], axis=1)


def _training_ranges(batch: Sequence[GoldDoc], copies: str) -> np.ndarray:
    """The sequences to learn from.

    Sentences are what the gold sentence starts say, and documents the whole docs; but
    where docs are single sentences, the batch laid end to end stands in for a
    document, so that what happens at unmarked boundaries is learned all the same.
    """
    whole = _whole_docs(batch)
    sentences: list[tuple[int, int]] = []
    documents: list[tuple[int, int]] = []
    for (start, end), gold in zip(whole.tolist(), batch, strict=True):
        inner = np.flatnonzero(gold.sent_starts[1:] == 1) + 1 + start
        bounds = [start, *inner.tolist(), end]
        sentences += zip(bounds, bounds[1:], strict=False)
        if len(bounds) > 2:
            documents.append((start, end))
        elif documents and documents[-1][1] == start and joined:
            documents[-1] = (documents[-1][0], end)
        else:
            documents.append((start, end))
        joined = len(bounds) == 2
    ranges = []
    if copies != "documents":
        ranges += sentences
    if copies != "sentences":
        ranges += [
            pair for pair in documents if copies == "documents" or pair not in sentences
        ]
    return np.array(ranges, dtype="int64").reshape(-1, 2)


def _all_missing(doc: Doc) -> np.ndarray:
    return np.full(len(doc), -1, dtype="int32")
