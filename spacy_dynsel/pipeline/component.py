"""What all components share: settings that can be turned at any time, what can be seen
of the work, and serialization."""

import math
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import srsly
from spacy import util
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model

from ..base.atomic import assign, write_files
from ..base.errors import Errors, Warnings
from ..base.model_file import read_file
from ..base.settings import check_choice, check_margins, check_number
from ..base.templates import Templates
from ..confidence.maps import Calibration

MAX_CACHE_SIZE = 1 << 24

Self = TypeVar("Self", bound="DynselComponent")


class RecentDocs:
    """The docs of the last update, as long as they are in use. An annotating component
    gets them next: then the weights as they are must do, since compiling them after
    each update would cost more than the update."""

    def __init__(self, engine: Any = None, docs: Iterable[Doc] = ()) -> None:
        self._engine = engine
        self._docs = weakref.WeakSet(docs)

    def take(self, engine: Any, docs: list[Doc]) -> bool:
        """Whether an engine has learned from all of some docs just now. Each doc counts
        once: what is asked for later is asked for its own sake."""
        if engine is not self._engine or not all(doc in self._docs for doc in docs):
            return False
        self._docs.difference_update(docs)
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return (RecentDocs, ())


class Names:
    """What labels are to spaCy. Components add what they need.

    labels (tuple[str]): The labels.
    """

    # What else than labels has to be in the vocabulary.
    others: tuple[str, ...] = ()
    # Whether they may vanish from the vocabulary, with a memory zone.
    is_transient = True

    def __init__(self, labels: tuple[str, ...]) -> None:
        self.labels = labels
        self.ids = get_ids(labels)

    def keep(self, vocab: Vocab) -> None:
        """Make sure that the names outlive memory zones. One that was first seen in a
        zone is lost with it, whoever asks for it, and comes back here."""
        for name in (*self.labels, *self.others):
            vocab.strings.add(name, allow_transient=False)  # type: ignore[call-arg]
        self.is_transient = vocab.in_memory_zone  # type: ignore[attr-defined]


def get_ids(names: Iterable[str]) -> np.ndarray:
    """The string IDs of names, which are the same in each vocabulary."""
    return np.array([get_string_id(name) for name in names], dtype="uint64")


class DynselComponent(TrainablePipe):
    """A component around a linear model that reads, for each decision, only as many
    feature templates as it needs. Tasks add labels, gold and annotations.

    vocab (Vocab): The shared vocabulary.
    model (Model): The model.
    name (str): The name of the component.
    margin (float or list[float]): The lead over the second-best label at which a
        decision is made: for all stages, or for each but the last. Infinity means
        that all templates are always used.
    n_threads (int): How many threads to use for a batch of docs.
    cache_size (int): The number of lexemes for which to keep what was worked out.
    scorer (Callable): The scoring method.
    confidence (bool): Whether to say how likely each annotation is right.
    keep_training_state (bool): Whether to save what learning needs to go on later as if
        it had not been interrupted.
    settings: What else belongs to cfg.
    """

    # What the model has to be.
    architecture: str
    engine_type: type
    names_type: type[Names] = Names
    # What confidence depends on, beside the weights.
    calibrated_settings: tuple[str, ...] = ("margin",)
    _calibration: Calibration | None = None
    # The settings we last warned about.
    _warned_of: dict[str, Any] | None = None
    _names: Names | None = None

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str,
        *,
        margin: float | list[float],
        n_threads: int,
        cache_size: int,
        scorer: Any,
        confidence: bool,
        keep_training_state: bool,
        **settings: Any,
    ) -> None:
        engines = [getattr(shim, "engine", None) for shim in model.shims]
        if not any(isinstance(engine, self.engine_type) for engine in engines):
            raise ValueError(
                Errors.DS047.format(name=name, architecture=self.architecture)
            )
        self.vocab = vocab
        self.model = model
        self.name = name
        self.scorer = scorer
        self.cfg: dict[str, Any] = {
            "cache_size": cache_size,
            "calibration": None,
            "confidence": confidence,
            "keep_training_state": keep_training_state,
            "labels": [],
            "margin": margin,
            "n_threads": n_threads,
            **settings,
        }
        self._mean_templates: float | None = None
        self._just_updated = RecentDocs()
        self._calibration = self._check_settings(self.cfg)
        self._configure(self.engine, self.cfg)
        self._get_names(self._known_labels)

    def __repr__(self) -> str:
        state = "not initialized"
        if self.engine.is_initialized:
            state = f"{len(self.labels)} labels, margin {self.cfg['margin']}"
        return f"<{type(self).__name__} '{self.name}': {state}>"

    @property
    def engine(self) -> Any:
        """What the component has learned. It is replaced, never changed, by whatever
        does more than learn: who needs several things of it asks for it once."""
        return self.model.shims[0].engine

    @property
    def margin(self) -> float | list[float]:
        """The lead at which a decision is made. Can be set at any time."""
        return read_margin(self.cfg["margin"], self.engine.n_stages)

    @margin.setter
    def margin(self, margin: float | list[float]) -> None:
        self.cfg["margin"] = write_margin(margin, self.engine.n_stages)

    @property
    def n_threads(self) -> int:
        """How many threads a batch of docs may use. Can be set at any time."""
        return self.cfg["n_threads"]

    @n_threads.setter
    def n_threads(self, n_threads: int) -> None:
        self._set_checked("n_threads", n_threads)

    @property
    def cache_size(self) -> int:
        """For how many lexemes to keep at most what was worked out."""
        return self.cfg["cache_size"]

    @property
    def n_cached(self) -> int:
        """For how many lexemes it is kept now, never more than cache_size."""
        return self.engine.n_lexemes

    @property
    def confidence(self) -> bool:
        """Whether to say how likely each annotation is right. Can be set at any time
        once the component is calibrated, see spacy_dynsel.confidence.reliability."""
        return self.cfg["confidence"]

    @confidence.setter
    def confidence(self, confidence: bool) -> None:
        if confidence and self._calibration is None:
            raise ValueError(Errors.DS190.format(name=self.name))
        self.cfg["confidence"] = bool(confidence)

    @property
    def keep_training_state(self) -> bool:
        """Whether to save what learning needs to go on later. Can be set at any time."""
        return self.cfg["keep_training_state"]

    @keep_training_state.setter
    def keep_training_state(self, keep: bool) -> None:
        self.cfg["keep_training_state"] = bool(keep)

    def calibrate(self, calibration: Calibration) -> None:
        """Set the map from leads to probabilities, fitted with the settings as they
        are now."""
        stored = {
            **calibration.to_dict(),
            "settings": self._get_calibrated_settings(),
        }
        cfg = {**self.cfg, "calibration": stored}
        self._replace(self.engine, cfg, self._check_settings(cfg))

    def get_probabilities(self, batch: Any) -> np.ndarray:
        """How likely each unit of a prediction with leads is right."""
        if self._calibration is None:
            raise ValueError(Errors.DS190.format(name=self.name))
        return self._calibration(self.engine.get_evidence(batch))

    def predict(self, docs: Iterable[Doc]) -> Any:
        """Predict the labels of docs, without changing them.

        docs (Iterable[Doc]): The docs.
        RETURNS: For each doc an array of labels, see set_annotations.
        """
        docs = as_list(docs)
        if self.cfg["confidence"]:
            self._check_confidence()
            return self.predict_with_leads(docs)
        return self._predict(docs)

    def predict_with_leads(self, docs: list[Doc]) -> Any:
        """Predict, and say how sure the decisions are."""
        return self._predict(docs, with_leads=True)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate a stream of docs. Those of the last update are annotated as they
        have to be for a component that learns from it: see
        training.annotating_components.

        stream (Iterable[Doc]): The docs.
        batch_size (int): The number of docs to annotate at once.
        YIELDS (Doc): The docs, in order.
        """
        error_handler = self.get_error_handler()
        for docs in util.minibatch(stream, size=batch_size):
            try:
                batch = None
                engine = self.engine
                if self._just_updated.take(engine, docs):
                    batch = engine.predict_in_training(docs)
                self.set_annotations(
                    docs, self.predict(docs) if batch is None else batch
                )
                yield from docs
            except Exception as error:
                error_handler(self.name, self, docs, error)

    def statistics(self, docs: Iterable[Doc]) -> dict[str, Any]:
        """Say how many templates some docs need.

        docs (Iterable[Doc]): The docs, which are not changed.
        RETURNS (dict): The number of tokens, the mean number of templates for a token
            (templates), and the share of tokens decided at each stage (stages).
        """
        docs = as_list(docs)
        engine = self._require_engine()
        self._configure(engine, self.cfg)
        counts = engine.count_stages(docs, self.margin, self.cfg["n_threads"])
        n_tokens = int(counts.sum())
        return {
            "tokens": n_tokens,
            "templates": engine.mean_templates(counts),
            "stages": [float(count) / max(1, n_tokens) for count in counts],
        }

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score predictions, and note the mean number of templates for a token."""
        examples = list(examples)
        scores = super().score(examples, **kwargs)
        docs = [example.predicted for example in examples]
        self._mean_templates = None
        if self.engine.is_initialized and any(map(len, docs)):
            self._mean_templates = self.statistics(docs)["templates"]
        return scores

    def describe(self) -> dict[str, Any]:
        """What is worth knowing about the component without loading it.

        RETURNS (dict): The number of its templates and after how many of them there
            are checkpoints, the margin, and the mean number of templates for a token
            of the data that it was last scored on.
        """
        checkpoints = list(self._exit_templates.checkpoints)
        return {
            "templates": checkpoints[-1],
            "checkpoints": checkpoints,
            "margin": self.cfg["margin"],
            "mean_templates": self._mean_templates,
        }

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the component."""
        files: dict[str, Any] = {**self._get_files(exclude)}
        if "vocab" not in exclude:
            files["vocab"] = self.vocab.to_bytes(exclude=exclude)
        found = {name: data for name, data in files.items() if data is not None}
        return srsly.msgpack_dumps(found)

    def from_bytes(
        self: Self, bytes_data: bytes, *, exclude: Iterable[str] = ()
    ) -> Self:
        """Load the component. Nothing changes if the data can't be used."""
        try:
            files = srsly.msgpack_loads(bytes_data)
        except Exception as error:
            raise ValueError(Errors.DS051.format(name=self.name)) from error
        if not isinstance(files, dict):
            raise ValueError(Errors.DS051.format(name=self.name))
        files = {name: data for name, data in files.items() if name not in exclude}
        self._load(
            files,
            lambda: self.vocab.from_bytes(files["vocab"], exclude=exclude),
        )
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Serialize the component to a directory. What was there before stays whole if
        that fails."""
        folder = Path(path)
        files = self._get_files(exclude)
        folder.mkdir(parents=True, exist_ok=True)
        if "vocab" not in exclude:
            self.vocab.to_disk(folder / "vocab", exclude=exclude)
        write_files(folder, files, last="training")

    def from_disk(self: Self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load the component from a directory. Nothing changes if its files can't be
        used."""
        folder = Path(path)
        files: dict[str, Any] = {}
        for name in ("cfg", "model", "training", "vocab"):
            if name not in exclude and (
                (folder / name).exists() or name in ("cfg", "model")
            ):
                is_folder = name == "vocab"
                files[name] = None if is_folder else read_file(folder / name)
        self._load(
            files,
            lambda: self.vocab.from_disk(folder / "vocab", exclude=exclude),
        )
        return self

    @property
    def _exit_templates(self) -> Templates:
        """The templates that the margin is about."""
        return self.engine.templates

    @property
    def _known_labels(self) -> tuple[str, ...]:
        """The labels of the engine; before there are any, those that were added."""
        engine = self.engine
        return engine.labels if engine.is_initialized else tuple(self.cfg["labels"])

    @property
    def _kept_labels(self) -> tuple[str, ...]:
        """The same, and the vocabulary knows them all."""
        return self._get_names(self._known_labels).labels

    def _get_names(self, labels: tuple[str, ...]) -> Any:
        """What labels are to spaCy."""
        names = self._names
        if names is None or not (names.labels is labels or names.labels == labels):
            names = self.names_type(labels)
        if names.is_transient:
            names.keep(self.vocab)
        self._names = names
        return names

    def _get_names_of(self, batch: Any) -> Any:
        """What the labels of a prediction are to spaCy."""
        made_by = getattr(batch, "made_by", None)
        return self._get_names(
            self._known_labels if made_by is None else made_by.labels
        )

    def _predict(self, docs: list[Doc], *, with_leads: bool = False) -> Any:
        """Predict with the compiled weights, as the settings say."""
        engine = self._require_engine()
        self._configure(engine, self.cfg)
        return engine.predict(
            docs, self.margin, self.cfg["n_threads"], with_leads=with_leads
        )

    def _configure(self, engine: Any, cfg: dict[str, Any]) -> None:
        """Let an engine have the settings that it needs."""
        engine.max_lexemes = cfg["cache_size"]

    def _replace(
        self, engine: Any, cfg: dict[str, Any], calibration: Calibration | None
    ) -> None:
        """Change all that a component knows, at once."""
        assign(
            (self.model.shims[0], "engine", engine),
            (self, "cfg", cfg),
            (self, "_calibration", calibration),
            (self, "_warned_of", None),
            (self, "_just_updated", RecentDocs()),
        )
        if engine.is_initialized:
            self.model.set_dim("nO", engine.n_outputs, force=True)
        self._get_names(self._known_labels)

    def _initialize(self, labels: Iterable[str], prepare: Callable[..., None]) -> None:
        """Replace the engine by one that is ready to learn.

        labels (Iterable[str]): The labels.
        prepare (Callable): Prepares an engine, given what the labels are to spaCy.
        """
        labels = tuple(labels)
        # What was fitted to other weights says nothing about new ones.
        cfg = {**self.cfg, "calibration": None, "labels": list(labels)}
        engine = self.engine.blank()
        self._configure(engine, cfg)
        names = self.names_type(labels)
        names.keep(self.vocab)
        prepare(engine, names)
        self._replace(engine, cfg, None)

    def _add_labels(self, labels: Iterable[str]) -> int:
        """Add labels at any time. RETURNS (int): How many are new."""
        with self.engine.lock:
            engine = self.engine
            known = set(self._known_labels)
            new = [label for label in dict.fromkeys(labels) if label not in known]
            if new:
                all_labels = [*self._known_labels, *new]
                if engine.is_initialized:
                    engine = engine.with_labels(new)
                self._replace(
                    engine, {**self.cfg, "labels": all_labels}, self._calibration
                )
        return len(new)

    def _get_files(self, exclude: Iterable[str]) -> dict[str, bytes | None]:
        """The contents of the files of the component, None for one that is not there."""
        with self.engine.lock:
            engine = self.engine
            state = None
            if self.cfg["keep_training_state"] and "training" not in exclude:
                state = engine.training_to_bytes()
            cfg = {**self.cfg, "labels": list(self._known_labels)}
            files = {
                "cfg": srsly.json_dumps(cfg, indent=2).encode("utf8"),
                "model": engine.to_bytes(),
                "training": state,
            }
        return {name: data for name, data in files.items() if name not in exclude}

    def _load(self, files: dict[str, Any], load_vocab: Callable[[], Any]) -> None:
        """Take over what was read, if all of it is good."""
        with self.engine.lock:
            cfg = dict(self.cfg)
            if "cfg" in files:
                cfg.update(self._read_settings(files["cfg"]))
            engine = self.engine.blank() if "model" in files else self.engine.copy()
            calibration = self._check_settings(cfg)
            self._configure(engine, cfg)
            if "model" in files:
                engine.from_bytes(files["model"])
            if engine.is_initialized:
                cfg["labels"] = list(engine.labels)
            if "training" in files:
                engine.training_from_bytes(files["training"])
            if "vocab" in files:
                load_vocab()
            self._names = None
            self._replace(engine, cfg, calibration)

    def _read_settings(self, data: Any) -> dict[str, Any]:
        """The settings of a file, or a clear error."""
        try:
            cfg = srsly.json_loads(data if isinstance(data, str) else bytes(data))
        except Exception as error:
            raise ValueError(Errors.DS052.format(name=self.name)) from error
        if not isinstance(cfg, dict):
            raise ValueError(Errors.DS052.format(name=self.name))
        unknown = sorted(set(cfg) - set(self.cfg))
        if unknown:
            raise ValueError(
                Errors.DS053.format(name=self.name, unknown=", ".join(unknown))
            )
        return cfg

    def _get_calibrated_settings(self) -> dict[str, Any]:
        return {name: self.cfg[name] for name in self.calibrated_settings}

    def _check_confidence(self) -> None:
        """Raise an error without a calibration, and warn if it is for other settings."""
        if self._calibration is None:
            raise ValueError(Errors.DS190.format(name=self.name))
        fitted = self.cfg["calibration"]["settings"]
        found = self._get_calibrated_settings()
        if found not in (fitted, self._warned_of):
            self._warned_of = found
            warnings.warn(
                Warnings.DW193.format(name=self.name, fitted=fitted, found=found),
                stacklevel=3,
            )

    def _check_label(self, label: Any) -> None:
        # To spaCy, an empty one means that there is none.
        if not isinstance(label, str) or not label or not _is_text(label):
            raise ValueError(
                Errors.DS041.format(name=self.name, label=label, type=type(label))
            )

    def _set_checked(self, name: str, value: Any) -> None:
        """Change a setting that can have the value."""
        self._check_settings({**self.cfg, name: value})
        self.cfg[name] = value

    def _check_settings(self, cfg: dict[str, Any]) -> Calibration | None:
        """Raise an error unless the settings can be used. RETURNS: What they say about
        confidence."""
        calibration = None
        stored = cfg["calibration"]
        if stored is not None:
            if not isinstance(stored, dict) or "settings" not in stored:
                raise ValueError(Errors.DS191)
            parts = {key: stored[key] for key in stored if key != "settings"}
            calibration = Calibration.from_dict(parts)
        read_margin(cfg["margin"], self.engine.n_stages)
        check_number("n_threads", cfg["n_threads"], 1, 1024)
        check_number("cache_size", cfg["cache_size"], 1, MAX_CACHE_SIZE)
        for name in ("confidence", "keep_training_state"):
            check_choice(name, cfg[name], (True, False))
        labels: Any = cfg["labels"]
        if not isinstance(labels, list | tuple):
            raise ValueError(Errors.DS054.format(name=self.name, labels=labels))
        for label in labels:
            self._check_label(label)
        return calibration

    def _require_engine(self) -> Any:
        if not self.engine.is_initialized:
            raise ValueError(Errors.DS040.format(name=self.name))
        return self.engine


def is_complete(nlp: Any) -> bool:
    """Whether initialization sees all training data, and not only the first examples
    of a stream that is read once."""
    return get_training_settings(nlp).get("max_epochs") != -1


def read_examples(
    get_examples: Callable[[], Iterable[Example]], method: str
) -> list[Example]:
    """The training data, read once: that takes time, and a stream may give something
    else the next time, or nothing.

    method (str): Who asks for them, for errors.
    """
    examples: Any = None
    if callable(get_examples):
        found = get_examples()
        examples = list(found) if isinstance(found, Iterable) else found
    validate_get_examples(
        get_examples if examples is None else lambda: examples, method
    )
    return examples


def get_seed(nlp: Any) -> int:
    """The seed of the training, for learners that have none of their own."""
    seed = get_training_settings(nlp).get("seed")
    return seed if isinstance(seed, int) and 0 <= seed < 2**32 else 0


def get_training_settings(nlp: Any) -> dict[str, Any]:
    """What the config of a pipeline says about training."""
    if nlp is None:
        return {}
    config = nlp.config
    try:
        return config.interpolate().get("training", {})
    except ValueError:
        # A config that is not complete says nothing that could be relied on.
        return config.get("training", {})


def as_list(docs: Iterable[Doc]) -> list[Doc]:
    """Docs as a list; one doc is as good as a list of it."""
    if isinstance(docs, Doc):
        return [docs]
    return docs if isinstance(docs, list) else list(docs)


def read_margin(margin: Any, n_stages: int) -> float | list[float]:
    """The exit margins that a setting stands for, or a clear error."""
    # Most often there is nothing to find out, and single docs would feel it.
    if type(margin) is float and margin >= 0:
        return margin
    if isinstance(margin, list | tuple):
        values: Any = [_to_number(one) for one in margin]
        check_margins(values, n_stages - 1)
        return values
    value = _to_number(margin)
    check_margins(value, n_stages - 1)
    return value


def write_margin(margin: Any, n_stages: int) -> Any:
    """Exit margins as a setting. JSON has no infinity."""
    value = read_margin(margin, n_stages)
    if isinstance(value, list):
        return ["inf" if math.isinf(one) else one for one in value]
    return "inf" if math.isinf(value) else value


def _to_number(margin: Any) -> Any:
    """A margin as a number, if it is one."""
    if margin == "inf":
        return math.inf
    if isinstance(margin, int) and not isinstance(margin, bool):
        return float(margin) if margin < 1e300 else math.inf
    return margin


def _is_text(label: str) -> bool:
    """Whether a string can be stored: halves of characters can't."""
    return label.isascii() or label == label.encode("utf8", "replace").decode("utf8")
