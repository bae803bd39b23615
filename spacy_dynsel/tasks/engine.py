"""What the models of all tasks have in common: templates, weights in both forms, the
lexicon, and the file."""

import zlib
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from spacy.lookups import load_lookups
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..base.atomic import assign, new_lock
from ..base.errors import Errors
from ..base.model_file import FileData, dump_model, load_model
from ..base.settings import LearnerSettings
from ..base.templates import Templates
from ..core.forms.cached import CachedScorer
from ..core.forms.packing import (
    MAX_LABELS,
    MAX_WEIGHT,
    check_weights,
    pack_weights,
    quantize,
    unpack_weights,
)
from ..core.learner import Learner
from ..core.lexicon import Lexicon
from ..core.program import Program
from ..core.recorder import Recorder
from ..spacy_io.bridge import LEXICAL_COLUMNS, LexemeReader, find_words
from .training_state import Resumable, describe_settings, read_settings

# Values of a small column that are not its own: unknown, before start, after end.
N_RESERVED = 3
TRAINING_LEXEMES = 1 << 18
# With less data than this, every feature counts.
MIN_TOKENS_FOR_CUTOFF = 10_000

T = TypeVar("T")


class Explanation(NamedTuple):
    """Why a token got its label.

    label (str): The label.
    lead (float): Its lead over the runner-up when the decision was made.
    runner_up (str): The second-best label, empty if there is only one label.
    stage (int): The stage in which the decision was made, from 1.
    n_templates (int): The number of templates that were read.
    contributions (dict): For each of them what it added to the label and to the
        runner-up; under "bias", what was added to labels whatever the token; under
        "first pass", what another model found that has read the token before.
    """

    label: str
    lead: float
    runner_up: str
    stage: int
    n_templates: int
    contributions: dict[str, tuple[float, float]]


class Compiled:
    """What predictions read. All of it belongs together, and none of it changes: after
    learning there is another one.

    labels (tuple[str]): The labels.
    reader (LexemeReader): Reads the atoms of lexemes.
    scorer (CachedScorer): The weights.
    """

    def __init__(
        self, labels: tuple[str, ...], reader: LexemeReader, scorer: CachedScorer
    ) -> None:
        self.labels = labels
        self.reader = reader
        self.scorer = scorer
        self._lexicon: Lexicon | None = None

    def get_lexicon(self, max_records: int) -> Lexicon:
        """The lexicon that predictions share; a full one is replaced."""
        lexicon = self._lexicon
        if (
            lexicon is None
            or lexicon.max_records != max_records
            or len(lexicon) >= max_records
        ):
            lexicon = Lexicon(len(self.reader.columns), [self.scorer], max_records)
            self._lexicon = lexicon
        return lexicon

    @property
    def n_lexemes(self) -> int:
        """How many lexemes the lexicon holds."""
        return 0 if self._lexicon is None else len(self._lexicon)


class LinearModel(Resumable):
    """A linear classifier with early exit over the decisions of a task.

    A task says which columns and places there are, how its docs become decisions, and
    what else its file holds.

    Labels never change: more labels make another engine, see with_labels. Learning is
    all that changes one once it is initialized.

    templates (Templates): The templates, with checkpoints.
    settings (LearnerSettings): How to learn.
    places (dict): Where each column may be read.
    dynamic (list[str]): The columns that the task itself writes.
    all_places (list[str]): All places, by their index.
    needed (Sequence[str]): Lexical columns that the task reads, templates or not.
    """

    task: str
    # The fewest labels that a model can have.
    min_labels = 1

    def __init__(
        self,
        templates: Templates,
        settings: LearnerSettings,
        *,
        places: dict[str, Sequence[str]],
        dynamic: list[str],
        all_places: list[str],
        needed: Sequence[str] = (),
    ) -> None:
        templates.check_atoms(places)
        settings.stage_margins(len(templates.checkpoints))
        self.templates = templates
        self.settings = settings
        self.max_lexemes = 1
        self.lock = new_lock()
        used = {atom.column for spec in templates.templates for atom in spec.atoms}
        lexical = sorted((used | set(needed)) & set(LEXICAL_COLUMNS))
        self._program = Program(templates, lexical, dynamic, all_places)
        self._reset()

    def _reset(self) -> None:
        """Know nothing."""
        self.labels: tuple[str, ...] = ()
        self._used_settings = self.settings
        # These are there once the model is initialized, the learner and its lexicon
        # once it is trained.
        self._reader: Any = None
        self._learner: Any = None
        self._training_lexicon: Any = None
        self._waiting = None
        # The weights as a file has them, and what predictions make of them; None after
        # learning.
        self._packed: tuple[np.ndarray, np.ndarray, float] | None = None
        self._compiled: Compiled | None = None

    @property
    def is_initialized(self) -> bool:
        return self._reader is not None

    @property
    def n_stages(self) -> int:
        return len(self.templates.checkpoints)

    @property
    def n_groups(self) -> int:
        """How many groups of evidence there are, see get_evidence."""
        return self.n_stages

    @property
    def n_outputs(self) -> int:
        """How many outcomes a decision can have."""
        return len(self.labels)

    @property
    def compiled(self) -> Any:
        """What predictions read, of the weights as they are now."""
        compiled = self._compiled
        if compiled is None:
            # Not while they are learned.
            with self.lock:
                if self._compiled is None:
                    self._compiled = self._compile()
                compiled = self._compiled
        return compiled

    @property
    def scorer(self) -> CachedScorer:
        """The compiled form of the weights as they are now."""
        return self.compiled.scorer

    @property
    def lexicon(self) -> Lexicon:
        """The lexicon that predictions share."""
        return self.compiled.get_lexicon(self.max_lexemes)

    @property
    def n_lexemes(self) -> int:
        """How many lexemes the lexicon holds."""
        return 0 if self._compiled is None else self._compiled.n_lexemes

    @property
    def needs_first_stage(self) -> bool:
        """Whether templates read what the first stage says, so that its templates
        can't be others."""
        return False

    @abstractmethod
    def predict(
        self, docs: list[Doc], margin: float | list[float], n_threads: int
    ) -> Any:
        """Predict the labels of docs."""

    def predict_without_exit(self, docs: list[Doc]) -> Any:
        """Predict the labels of docs by all templates."""
        return self.predict(docs, float("inf"), 1)

    @abstractmethod
    def predict_in_training(self, docs: list[Doc]) -> Any:
        """Predict with the weights as they are, without compiling them first: for
        docs that are annotated between two updates."""

    def count_stages(
        self, docs: list[Doc], margin: float | list[float], n_threads: int
    ) -> np.ndarray:
        """How many decisions some docs take at each stage, whatever annotation they
        have."""
        return self.predict(docs, margin, n_threads).stage_counts

    def mean_templates(self, stage_counts: np.ndarray) -> float:
        """The mean number of templates of some decisions."""
        ends = np.asarray(self.templates.checkpoints)
        return float(stage_counts @ ends / max(1, stage_counts.sum()))

    def to_bytes(self) -> bytes:
        """The model as a file."""
        with self.lock:
            return self._to_bytes()

    def _to_bytes(self) -> bytes:
        if self._reader is None:
            return dump_model({"task": self.task, "labels": None}, {})
        scorer = self.scorer
        meta = {
            "task": self.task,
            "labels": self.labels,
            "templates": self.templates.to_lines(),
            "scale": scorer.scale,
            **self._extra_meta(),
        }
        arrays = {"index": scorer.index, "slots": scorer.slots, **self._tables()}
        return dump_model(meta, arrays)

    def from_bytes(self, data: FileData) -> None:
        """Read a model. Nothing changes if the data is not good."""
        self.from_contents(*load_model(data))

    def from_contents(
        self, meta: dict[str, Any], arrays: dict[str, np.ndarray]
    ) -> None:
        """Take over what is in a file, if it is good."""
        if meta.get("task") != self.task:
            raise ValueError(
                Errors.DS037.format(found=meta.get("task"), expected=self.task)
            )
        loaded = self.blank()
        if meta.get("labels", 0) is not None:
            loaded._check(meta, arrays)
            loaded.labels = tuple(meta["labels"])
            loaded._load_extra(meta, arrays)
            loaded._packed = (arrays["index"], arrays["slots"], meta["scale"])
            loaded._compiled = loaded._compile()
        self.become(loaded)

    # What a task adds to the file and takes from it.

    def _extra_meta(self) -> dict[str, Any]:
        return {}

    def _tables(self) -> dict[str, np.ndarray]:
        """The tables of the lexeme reader."""
        return {
            "class_keys": self._reader.class_keys,
            "class_values": self._reader.class_values,
            "cluster_keys": self._reader.cluster_keys,
            "cluster_values": self._reader.cluster_values,
        }

    def _load_extra(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._reader = self._make_reader(
            (arrays["class_keys"], arrays["class_values"]),
            (arrays["cluster_keys"], arrays["cluster_values"]),
        )

    def _count_outputs(self, labels: list[str]) -> int:
        """How many outcomes a decision has with some labels."""
        return len(labels)

    def _cardinalities(self) -> dict[str, int]:
        """How many values the small columns of the task have."""
        return {}

    # The two forms of the weights.

    def _get_weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._learner.get_weights()

    def _pack(self) -> tuple[np.ndarray, np.ndarray, float]:
        """The weights of the learners in the form of a file."""
        keys, labels, values = self._get_weights()
        scale = MAX_WEIGHT / max(1e-6, float(np.abs(values).max(initial=0.0)))
        weights = quantize(values, scale)
        weights[np.abs(values) <= self._used_settings.smallest_weight] = 0
        # Learners may have gone on with more labels, see with_labels.
        weights[labels >= self.n_outputs] = 0
        index, slots = pack_weights(keys, labels, weights, self.n_outputs)
        return index, slots, scale

    def _compile(self) -> Compiled:
        if self._packed is None:
            self._packed = self._pack()
        return Compiled(self.labels, self._reader, self._make_scorer(*self._packed))

    def _make_scorer(
        self, index: np.ndarray, slots: np.ndarray, scale: float
    ) -> CachedScorer:
        return CachedScorer(
            self._program, self.n_outputs, index, slots, scale, self._cardinalities()
        )

    def _forget_compiled(self) -> None:
        """To be called before learning: what is compiled no longer holds."""
        assign((self, "_packed", None), (self, "_compiled", None))

    def _make_reader(
        self,
        classes: tuple[np.ndarray, np.ndarray],
        clusters: tuple[np.ndarray, np.ndarray],
    ) -> LexemeReader:
        return LexemeReader(self._program.lexical, *classes, *clusters)

    def _start(self, n_tokens: int, seed: int) -> None:
        """Start to learn, from nothing.

        n_tokens (int): The size of the training data.
        seed (int): For settings without one.
        """
        settings = self.settings
        if n_tokens < MIN_TOKENS_FOR_CUTOFF:
            settings = settings.for_small_data()
        self._new_learner(settings.seeded(seed))

    def _new_learner(self, settings: LearnerSettings) -> None:
        settings = settings.seeded(0)
        self._used_settings = settings
        self._learner = Learner(self._program, self.n_outputs, settings)
        self._training_lexicon = Lexicon(
            len(self._program.lexical), [], TRAINING_LEXEMES
        )

    def _fit_learners(self) -> None:
        for learner in self._get_learners().values():
            if learner.n_labels < self.n_outputs:
                learner.resize(self.n_outputs)

    def _new_recorder(self, guide: Learner) -> Recorder:
        return Recorder(self._program, self.n_outputs, self._used_settings, guide)

    def _training_meta(self) -> dict[str, Any]:
        return {"settings": describe_settings(self._used_settings, self.settings)}

    def _start_again(self, meta: dict[str, Any]) -> None:
        self._new_learner(read_settings(meta.get("settings"), self.settings))

    def _resume(self) -> None:
        """Make the weights of a loaded model trainable: from now on it is corrected."""
        scorer = self.scorer
        keys, labels, weights = unpack_weights(scorer.index, scorer.slots)
        self._new_learner(self.settings.for_small_data())
        values = weights.astype("float32") / np.float32(scorer.scale)
        self._learner.correct_from(keys, labels, values)

    def _load_clusters(self, vocab: Vocab, lang: str) -> tuple[np.ndarray, np.ndarray]:
        return load_clusters(self._program.lexical, vocab, lang)

    def _explain(
        self,
        scorer: CachedScorer,
        token_parts: np.ndarray,
        label: int,
        margins: list[int],
        names: Sequence[str],
        outputs: Sequence[str],
        valid: np.ndarray | None = None,
        given: dict[str, np.ndarray] | None = None,
    ) -> Explanation:
        """How one decision was made.

        scorer (CachedScorer): What made it.
        token_parts (array): What each template adds to each output, as integers.
        label (int): The decision.
        margins (list[int]): The margin of each stage.
        names (Sequence[str]): The templates.
        outputs (Sequence[str]): The names of the outputs.
        valid (array): Which outputs were possible; all, if not given.
        given (dict): What else was added to each output before the first stage.
        """
        given = dict(given or {})
        if scorer.bias is not None:
            given["bias"] = scorer.bias
        choices = np.arange(len(outputs)) if valid is None else np.flatnonzero(valid)
        sums = token_parts.cumsum(axis=0, dtype="int32")
        for row in given.values():
            sums += row[: len(outputs)]
        for stage, end in enumerate(self.templates.checkpoints):
            scores = sums[end - 1]
            ranked = choices[np.argsort(-scores[choices], kind="stable")]
            second = int(ranked[1]) if len(ranked) > 1 else -1
            lead = int(scores[ranked[0]] - scores[second]) if second >= 0 else 0
            if second < 0 or lead >= margins[stage]:
                break
        contributions = {names[t]: token_parts[t] for t in range(end)}
        contributions.update(given)
        return Explanation(
            label=outputs[label],
            lead=lead / scorer.scale,
            runner_up=outputs[second] if second >= 0 else "",
            stage=stage + 1,
            n_templates=end,
            contributions={
                name: (
                    float(row[label] / scorer.scale),
                    float(row[second] / scorer.scale) if second >= 0 else 0.0,
                )
                for name, row in contributions.items()
            },
        )

    def _check(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Raise an error unless the contents of a file can be used without harm."""
        labels: Any = meta.get("labels")
        require(
            isinstance(labels, list)
            and self.min_labels <= len(labels)
            and self._count_outputs(labels) <= MAX_LABELS
            and all(isinstance(label, str) and label for label in labels)
            and len(set(labels)) == len(labels),
            "its labels are malformed",
        )
        scale = meta.get("scale")
        require(isinstance(scale, float) and 0 < scale < 1e9, "its scale is malformed")
        self.templates.check_lines(meta.get("templates"))
        names = ("class_keys", "class_values", "cluster_keys", "cluster_values")
        require({"index", "slots", *names} <= set(arrays), "it lacks a section")
        check_weights(arrays["index"], arrays["slots"], self._count_outputs(labels))
        for kind in ("class", "cluster"):
            check_lookup(kind, arrays[f"{kind}_keys"], arrays[f"{kind}_values"])


def require(condition: bool, what: str) -> None:
    """Raise an error that says what is wrong with a file unless a condition holds."""
    if not condition:
        raise ValueError(Errors.DS035.format(what=what))


def check_lookup(kind: str, keys: np.ndarray, values: np.ndarray) -> None:
    """Raise an error unless arrays from a file are what lookup_arrays makes."""
    require(
        keys.dtype == "uint64"
        and values.dtype == "uint32"
        and len(keys) == len(values)
        and bool((keys[1:] > keys[:-1]).all())
        and int(values.min(initial=N_RESERVED)) >= N_RESERVED,
        f"its {kind} table is malformed",
    )


def load_clusters(
    columns: list[str], vocab: Vocab, lang: str
) -> tuple[np.ndarray, np.ndarray]:
    """Brown clusters from the vocabulary or, failing that, from the package
    spacy-lookups-data; none where neither has any or no column asks for them."""
    table = {}
    if any(column.startswith("cluster") for column in columns):
        name = "lexeme_cluster"
        lookups = vocab.lookups
        if not lookups.has_table(name):
            lookups = load_lookups(lang, [name], strict=False)
        if lookups.has_table(name):
            table = lookups.get_table(name)
    return lookup_arrays(
        {
            vocab.strings.as_int(word): cluster + N_RESERVED
            for word, cluster in table.items()
            if cluster  # 0 stands for words that have none
        }
    )


def make_classes(
    words: dict[int, Counter[int]], min_count: int, min_share: float
) -> dict[int, int]:
    """Give each frequent word the set of tags that it often has as its class.

    words (dict): How often each word has which tag.
    min_count (int): How often a word has to occur to have a class.
    min_share (float): The share of its occurrences that a tag needs.
    """
    classes: dict[tuple[int, ...], int] = {}
    by_word = {}
    for word, counts in sorted(words.items()):
        total = counts.total()
        if total >= min_count:
            often = (tag for tag, count in counts.items() if count >= min_share * total)
            key = tuple(sorted(often))
            by_word[word] = classes.setdefault(key, len(classes) + N_RESERVED)
    return by_word


def get_number(doc: Doc) -> int:
    """A number for a doc: always the same for its text, white space that makes tokens
    apart."""
    words = find_words(doc)
    text = doc.text
    if len(words) < len(doc):
        text = "".join(doc[int(word)].text_with_ws for word in words)
    return zlib.crc32(text.encode("utf8"))


def get_fold(doc: Doc, n_folds: int) -> int:
    """The part of the data to which a doc belongs."""
    return get_number(doc) % n_folds


def lookup_arrays(table: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """A table as arrays for binary search."""
    keys = np.array(sorted(table), dtype="uint64")
    values = np.array([table[int(key)] for key in keys], dtype="uint32")
    return keys, values


def minibatch(examples: Iterable[T], size: int) -> Iterator[list[T]]:
    batch: list[T] = []
    for example in examples:
        batch.append(example)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
