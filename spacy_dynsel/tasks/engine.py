"""What all tasks share: classifiers over words, what predictions read, the file."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..base.atomic import assign, new_lock
from ..base.errors import Errors
from ..base.settings import LearnerSettings
from ..base.system_errors import SystemErrors
from ..base.templates import Templates
from ..core.lexicon import Lexicon
from ..core.model_file import (
    MIN_BYTES_FOR_THREADS,
    FileData,
    dump_model,
    load_model,
    require,
)
from ..core.recorder import Recorder
from ..spacy_io.lexemes import LexemeReader
from .classifier import Classifier, Part, Stored
from .evidence import Evidence
from .training_state import Resumable, check_state
from .word_classes import WordClasses, WordResources
from .word_tables import get_tables, load_clusters, read_tables

TRAINING_LEXEMES = 1 << 18
# With less data than this, every feature counts.
MIN_TOKENS_FOR_CUTOFF = 10_000
# How much memory the rows of words may take. With many labels they are long.
MAX_ROW_BYTES = 1 << 27

Margin = float | list[float]


class Start(NamedTuple):
    """What an engine has to know when it is initialized.

    vocab (Vocab): Where clusters may be found.
    lang (str): The language, for clusters.
    seed (int): For settings without one.
    is_complete (bool): Whether the examples are all the training data, so that rare
        features can be told.
    tokenizer (Callable): Divides the entries of gazetteers into words.
    is_read (bool): Whether other components learn from the annotation.
    """

    vocab: Vocab
    lang: str
    seed: int = 0
    is_complete: bool = True
    tokenizer: Callable[[str], Doc] | None = None
    is_read: bool = False


class Snapshot:
    """What predictions read. All of it belongs together, and none of it changes, but
    for the lexicons, which fill: after learning there is another one.

    labels (tuple[str]): The labels.
    reader (LexemeReader): Reads the atoms of lexemes.
    scorers (dict): The compiled weights of each classifier.
    """

    def __init__(
        self,
        labels: tuple[str, ...],
        reader: LexemeReader,
        scorers: dict[str, Any],
    ) -> None:
        self.labels = labels
        self.reader = reader
        self.scorers = scorers
        self._lexicons: dict[str, Lexicon] = {}

    def get_lexicon(self, max_records: int, name: str = "") -> Lexicon:
        """The lexicon that predictions share; a full one is replaced.

        name (str): The classifier whose rows it keeps for each word, if any.
        """
        lexicon = self._lexicons.get(name)
        if name:
            row_bytes = self.scorers[name].row_bytes
            max_records = min(max_records, max(1, MAX_ROW_BYTES // max(1, row_bytes)))
        if (
            lexicon is None
            or lexicon.max_records != max_records
            or len(lexicon) >= max_records
        ):
            scorers = [self.scorers[name]] if name else []
            lexicon = Lexicon(len(self.reader.columns), scorers, max_records)
            self._lexicons[name] = lexicon
        return lexicon

    def take_lexicons(self, other: "Snapshot") -> None:
        """Go on with the lexicons of another one, as far as weights are the same."""
        for name, lexicon in other._lexicons.items():
            if self.reader is other.reader and lexicon.serves(self.scorers[name]):
                self._lexicons[name] = lexicon

    @property
    def n_lexemes(self) -> int:
        """How many lexemes the fullest lexicon holds."""
        return max(map(len, self._lexicons.values()), default=0)


class Engine(Resumable):
    """What a component has learned, and all that it does with it, apart from spaCy's
    contract.

    Labels never change: more labels make another engine, see with_labels. Learning is
    all that changes one once it is initialized.

    parts (Sequence[Part]): What has weights; the first one is the classifier that makes
        the decisions which the component is about.
    lexical (list[str]): The columns of lexemes that are read.
    resources (WordResources): What raw text says about words, if there is any.
    """

    task: str
    min_labels = 1
    max_labels: int
    # The settings that are margins, and the classifier that each is for.
    knobs: ClassVar[dict[str, str]]
    # Whether decisions end by these. If not, thresholds of a cascade are turned.
    has_margins = True
    # What else of its state is set from outside.
    run_time_settings: tuple[str, ...] = ()
    # Whether weights become tables when they are loaded, so that a file can go.
    copies_tables = False

    def __init__(
        self,
        parts: Sequence[Part],
        lexical: list[str],
        resources: WordResources | None = None,
    ) -> None:
        self.parts: dict[str, Part] = {part.name: part for part in parts}
        self._main = parts[0].name
        self.lexical = lexical
        self.resources = resources
        self.max_lexemes = 1
        # How many threads learn; None for one a core.
        self.training_threads: int | None = None
        self.lock = new_lock()
        self._reset()

    def _reset(self) -> None:
        self.labels: tuple[str, ...] = ()
        self.parts = {name: part.blank() for name, part in self.parts.items()}
        # These are there once the engine is initialized, the lexicon once it learns.
        self._reader: Any = None
        self._training_lexicon: Any = None
        self._waiting = None
        # What predictions read; None after learning.
        self._snapshot: Snapshot | None = None

    def copy(self) -> "Engine":
        other = super().copy()
        other.parts = {name: part.copy() for name, part in self.parts.items()}
        return other

    # What a task has to say.

    @abstractmethod
    def _initialize(self, examples: list[Any], start: Start) -> None:
        """Prepare for training: learn what the data say as a whole."""

    @abstractmethod
    def predict(
        self,
        docs: list[Doc],
        *,
        n_threads: int = 1,
        with_leads: bool = False,
        **knobs: Any,
    ) -> Any:
        """Predict the annotation of docs.

        n_threads (int): How many threads to use. The result does not depend on it.
        with_leads (bool): Whether to say how sure the decisions are.
        knobs: Margins, and what else can be turned.
        """

    @abstractmethod
    def get_counts(self, batch: Any) -> dict[str, np.ndarray]:
        """How many decisions of a prediction each classifier made at each stage."""

    def get_label_counts(self, batch: Any) -> dict[str, np.ndarray]:
        """How many labels the decisions of a prediction scored at each stage, for
        classifiers that do not score all of them."""
        return {}

    def get_statistics(self, batch: Any) -> dict[str, Any]:
        """What else there is to say about the work of a prediction."""
        return {}

    def check_alpha(self, name: str, alpha: Any) -> None:
        """Raise an error unless these can be the thresholds of a cascade.

        name (str): The name of the component.
        """
        if alpha is not None:
            raise ValueError(SystemErrors.DS248.format(name=name, alpha=alpha))

    @abstractmethod
    def judge(self, batch: Any, golds: Sequence[Any]) -> np.ndarray:
        """For each token whether its decision is right (1) or wrong (0), or that its gold
        annotation is not known (-1)."""

    @property
    @abstractmethod
    def n_groups(self) -> int:
        """How many groups of evidence there are."""

    @abstractmethod
    def get_evidence(self, batch: Any) -> Evidence:
        """What speaks for each unit of a prediction with leads."""

    @abstractmethod
    def explain(self, doc: Doc, **knobs: Any) -> list[Any]:
        """Say for each token how its annotation was found."""

    @abstractmethod
    def record(self, batch: list[Any], recorders: dict[str, Recorder]) -> None:
        """Write down the decisions of some docs, see new_recorders."""

    @abstractmethod
    def _learn(self, batch: list[Any], drop: float) -> float:
        """Learn from some docs. RETURNS (float): The loss."""

    @abstractmethod
    def _guess(self, docs: list[Doc]) -> Any:
        """Predict with the weights as they are, without compiling them first."""

    @abstractmethod
    def _get_arguments(self) -> dict[str, Any]:
        """What the engine was made with."""

    def _count_labels(self, part: str, labels: Sequence[str]) -> int:
        """How many outcomes a decision of a classifier has."""
        return len(labels)

    def _form_options(self, part: str) -> dict[str, Any]:
        """What the compiled form of a classifier depends on beside its weights."""
        return {}

    def _make_snapshot(self, scorers: dict[str, Any]) -> Snapshot:
        return Snapshot(self.labels, self._reader, scorers)

    def _get_extra(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a task adds to the header and to the sections of the file."""
        return {}, {}

    def _load_extra(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Take what a task has added, if it can be used without harm."""

    # What can be seen of it.

    @property
    def main(self) -> Classifier:
        """The classifier that the component is about."""
        return self.parts[self._main]  # type: ignore[return-value]

    @property
    def is_initialized(self) -> bool:
        return self._reader is not None

    @property
    def settings(self) -> LearnerSettings:
        return self.main.settings

    @property
    def templates(self) -> Templates:
        return self.main.templates

    @property
    def n_stages(self) -> int:
        return self.main.n_stages

    def count_stages(self, knob: str) -> int:
        """How many stages a margin is for, the last one included."""
        return self.classifiers[self.knobs[knob]].n_stages

    @property
    def n_outputs(self) -> int:
        """How many outcomes a decision can have."""
        return self._count_labels(self.main.name, self.labels)

    @property
    def needs_first_stage(self) -> bool:
        """Whether templates read what the first stage says, so that its templates
        can't be others."""
        return False

    @property
    def classifiers(self) -> dict[str, Classifier]:
        """The parts that have templates with checkpoints."""
        parts = self.parts.items()
        return {name: part for name, part in parts if isinstance(part, Classifier)}

    def get_snapshot(self) -> Any:
        """What predictions read, compiled from the weights as they are now."""
        snapshot = self._snapshot
        if snapshot is None:
            # Not while they are learned.
            with self.lock:
                if self._snapshot is None:
                    scorers = {
                        name: part.compile(**self._form_options(name))
                        for name, part in self.parts.items()
                    }
                    self._snapshot = self._make_snapshot(scorers)
                snapshot = self._snapshot
        return snapshot

    @property
    def n_lexemes(self) -> int:
        """How many lexemes are kept ready."""
        return 0 if self._snapshot is None else self._snapshot.n_lexemes

    def predict_without_exit(self, docs: list[Doc]) -> Any:
        """Predict by all templates."""
        knobs: dict[str, Any] = dict.fromkeys(self.knobs, float("inf"))
        return self.predict(docs, **knobs)

    # Learning.

    def initialize(
        self, labels: Sequence[str], examples: list[Any], start: Start
    ) -> None:
        """Prepare for training.

        labels (Sequence[str]): The labels.
        examples (list): What the task has to know of the training data.
        start (Start): What else there is to know.
        """
        self.check_labels(labels)
        self._reset()
        self.labels = tuple(labels)
        self._initialize(examples, start)

    def _start(self, start: Start, n_tokens: int) -> None:
        """Make learners that know nothing.

        n_tokens (int): The size of the training data.
        """
        for name, part in self.parts.items():
            settings = part.settings
            if n_tokens < MIN_TOKENS_FOR_CUTOFF:
                settings = settings.for_small_data()
            n_labels = self._count_labels(name, self.labels)
            part.start(n_labels, settings.seeded(start.seed))
            part.n_words = n_tokens
        self._training_lexicon = self._new_training_lexicon()

    def _make_reader(
        self, classes: tuple[np.ndarray, np.ndarray], start: Start
    ) -> LexemeReader:
        resources = self._read_resources(start)
        clusters = load_clusters(self.lexical, start.vocab, start.lang, resources)
        return LexemeReader(self.lexical, *classes, *clusters)

    def _read_resources(self, start: Start) -> dict[str, WordClasses]:
        return {} if self.resources is None else self.resources.read(start.lang)

    def update(self, batch: list[Any], *, drop: float) -> float:
        """Learn from some docs. RETURNS (float): The loss."""
        with self.lock:
            self.make_trainable()
            self._forget_compiled()
            return self._learn(batch, drop)

    def predict_in_training(self, docs: list[Doc]) -> Any:
        """Predict with the weights as they are, without compiling them first: for
        docs that are annotated between two updates. RETURNS: None where nothing is
        being learned."""
        with self.lock:
            if not self.main.learners:
                return None
            self._fit_learners()
            return self._guess(docs)

    def with_labels(self, labels: Sequence[str]) -> "Engine":
        """An engine with more labels. What was learned stays as it is."""
        other = self.copy()
        other.check_labels([*self.labels, *labels])
        other.labels = (*self.labels, *labels)
        for name, part in other.parts.items():
            n_labels = other._count_labels(name, other.labels)
            if n_labels != part.n_labels:
                part.resize(n_labels)
        other._snapshot = None
        return other

    def check_labels(self, labels: Sequence[str]) -> None:
        """Raise an error if there are too many labels."""
        if len(labels) > self.max_labels:
            raise ValueError(
                Errors.DS044.format(
                    name=self.task, n_labels=len(labels), most=self.max_labels
                )
            )

    def new_recorders(self) -> dict[str, Recorder]:
        """What writes down the decisions of each classifier, with the learners'
        guesses as history."""
        return {name: one.new_recorder() for name, one in self.classifiers.items()}

    def _forget_compiled(self) -> None:
        """To be called before learning: what is compiled no longer holds."""
        changes = [change for part in self.parts.values() for change in part.forget()]
        assign((self, "_snapshot", None), *changes)

    def _fit_learners(self) -> None:
        for part in self.parts.values():
            part.fit_learners()

    def _new_training_lexicon(self) -> Lexicon:
        return Lexicon(len(self.lexical), [], TRAINING_LEXEMES)

    def _get_learners(self) -> dict[str, Any]:
        names: dict[str, Any] = {}
        for part in self.parts.values():
            names |= part.get_learners()
        return names

    def _training_meta(self) -> dict[str, Any]:
        parts = {name: part.training_meta() for name, part in self.parts.items()}
        return {"parts": parts}

    def _start_again(self, meta: dict[str, Any]) -> None:
        parts: Any = meta.get("parts")
        check_state(isinstance(parts, dict), "it lacks its settings")
        self._training_lexicon = self._new_training_lexicon()
        for name, part in self.parts.items():
            part.start_again(parts.get(name))

    def _resume(self) -> None:
        self._training_lexicon = self._new_training_lexicon()
        self.get_snapshot()
        for part in self.parts.values():
            part.resume()

    # The file.

    def to_bytes(self) -> bytes:
        """The model as a file."""
        with self.lock:
            if self._reader is None:
                return dump_model({"task": self.task, "labels": None}, {})
            self.get_snapshot()
            extra_meta, extra_arrays = self._get_extra()
            arrays = {**get_tables(self._reader), **extra_arrays}
            for part in self.parts.values():
                arrays |= part.arrays()
            parts = {name: part.meta() for name, part in self.parts.items()}
            meta = {"task": self.task, "labels": self.labels, "parts": parts}
            return dump_model({**meta, **extra_meta}, arrays)

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
        # Without labels it was saved before it was initialized.
        if meta.get("labels", 0) is not None:
            loaded._load(meta, arrays)
        self.become(loaded)

    def _load(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        labels: Any = meta.get("labels")
        require(
            isinstance(labels, list)
            and self.min_labels <= len(labels) <= self.max_labels
            and all(isinstance(label, str) and label for label in labels)
            and len(set(labels)) == len(labels),
            "its labels are malformed",
        )
        metas: Any = meta.get("parts")
        require(isinstance(metas, dict), "it lacks its classifiers")
        self.labels = tuple(labels)
        self._reader = read_tables(self.lexical, arrays, copy=self.copies_tables)
        self._load_extra(meta, arrays)
        jobs: dict[str, Callable[[], Any]] = {
            name: partial(
                part.load,
                Stored(
                    metas.get(name),
                    arrays,
                    self._count_labels(name, labels),
                    self._form_options(name),
                ),
            )
            for name, part in self.parts.items()
        }
        n_bytes = sum(array.nbytes for array in arrays.values())
        if len(jobs) > 1 and n_bytes >= MIN_BYTES_FOR_THREADS:
            with ThreadPoolExecutor(2) as pool:
                futures = {name: pool.submit(job) for name, job in jobs.items()}
                self.parts = {name: one.result() for name, one in futures.items()}
        else:
            self.parts = {name: job() for name, job in jobs.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled weights only: lexicons start empty, and training resumes from them.
        settings = {name: getattr(self, name) for name in self.run_time_settings}
        return restore, (type(self), self._get_arguments(), settings, self.to_bytes())


def restore(
    kind: type[Engine], arguments: dict[str, Any], settings: dict[str, Any], data: bytes
) -> Engine:
    """Make an engine again that was pickled."""
    engine = kind(**arguments)
    for name, value in settings.items():
        setattr(engine, name, value)
    engine.from_bytes(data)
    return engine
