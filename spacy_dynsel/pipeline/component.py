"""What all components share: settings that can be turned at any time, what can be seen
of the work, and serialization."""

import math
import warnings
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import srsly
from spacy import util
from spacy.pipeline.pipe import deserialize_config
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ..confidence import Calibration
from ..errors import Errors
from ..model_file import FileData, read_file, write_file
from ..settings import check_margins
from ..templates import Templates

MAX_CACHE_SIZE = 1 << 24

Self = TypeVar("Self", bound="DynselComponent")


class RecentDocs:
    """The docs of the last update, as long as they are in use. An annotating component
    predicts them next: then the weights as they are must do, since compiling them
    after each update would cost more than the update."""

    def __init__(self, docs: Iterable[Doc] = ()) -> None:
        self._docs = weakref.WeakSet(docs)

    def holds(self, docs: list[Doc]) -> bool:
        return bool(docs) and all(doc in self._docs for doc in docs)

    def __reduce__(self) -> tuple[Any, ...]:
        return (RecentDocs, ())


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
    # What confidence depends on, beside the weights.
    calibrated_settings: tuple[str, ...] = ("margin",)
    _calibration: Calibration | None = None
    # The last settings for which the calibration was said not to be made.
    _warned_of: dict[str, Any] | None = None

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
        self._check_settings()
        self._sync_labels()

    @property
    def engine(self) -> Any:
        """What the component has learned."""
        return self.model.shims[0].engine

    @property
    def margin(self) -> float | list[float]:
        """The lead at which a decision is made. Can be set at any time."""
        return self._get_margin("margin")

    @margin.setter
    def margin(self, margin: float | list[float]) -> None:
        self._set_margin("margin", margin, self.engine.n_stages)

    @property
    def n_threads(self) -> int:
        """How many threads a batch of docs may use. Can be set at any time."""
        return self.cfg["n_threads"]

    @n_threads.setter
    def n_threads(self, n_threads: int) -> None:
        before = self.cfg["n_threads"]
        self.cfg["n_threads"] = n_threads
        try:
            self._check_settings()
        except ValueError:
            self.cfg["n_threads"] = before
            raise

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
        once the component is calibrated, see spacy_dynsel.reliability."""
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
        self.cfg["calibration"] = {
            **calibration.to_dict(),
            "settings": self._get_calibrated_settings(),
        }
        self._check_settings()

    def _forget_calibration(self) -> None:
        """What was fitted to other weights says nothing about new ones."""
        self.cfg["calibration"] = None
        self._calibration = None

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
        if isinstance(docs, Doc):
            docs = [docs]
        docs = docs if isinstance(docs, list) else list(docs)
        engine = self._require_engine()
        if self._just_updated.holds(docs):
            return engine.predict_in_training(docs)
        if self.cfg["confidence"]:
            self._check_confidence()
            return self.predict_with_leads(docs)
        return self._predict(docs)

    def predict_with_leads(self, docs: list[Doc]) -> Any:
        """Predict, and say how sure the decisions are."""
        return self._predict(docs, with_leads=True)

    def statistics(self, docs: Iterable[Doc]) -> dict[str, Any]:
        """Say how many templates some docs need.

        docs (Iterable[Doc]): The docs, which are not changed.
        RETURNS (dict): The number of tokens, the mean number of templates for a token
            (templates), and the share of tokens decided at each stage (stages).
        """
        docs = list(docs)
        engine = self._require_engine()
        counts = engine.count_stages(docs, self.margin, self.cfg["n_threads"])
        n_tokens = int(counts.sum())
        return {
            "tokens": n_tokens,
            "templates": engine.mean_templates(counts),
            "stages": [float(count) / max(1, n_tokens) for count in counts],
        }

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score predictions, and add the mean number of templates for a token."""
        examples = list(examples)
        scores = super().score(examples, **kwargs)
        docs = [example.predicted for example in examples]
        self._mean_templates = None
        if self.engine.is_initialized and any(map(len, docs)):
            self._mean_templates = self.statistics(docs)["templates"]
        scores["dynsel_templates"] = self._mean_templates
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
        state = self._get_training_state()
        return util.to_bytes(
            {
                "cfg": lambda: srsly.json_dumps(self.cfg),
                "vocab": lambda: self.vocab.to_bytes(exclude=exclude),
                "model": self.engine.to_bytes,
                **({"training": lambda: state} if state is not None else {}),
            },
            exclude,
        )

    def from_bytes(
        self: Self, bytes_data: bytes, *, exclude: Iterable[str] = ()
    ) -> Self:
        """Load the component."""
        loaders: dict[str, Callable[[Any], Any]] = {
            "cfg": lambda data: self.cfg.update(srsly.json_loads(data)),
            "vocab": lambda data: self.vocab.from_bytes(data, exclude=exclude),
            "model": self._load_engine,
            "training": self.engine.training_from_bytes,
        }
        util.from_bytes(bytes_data, loaders, exclude)
        self._check_settings()
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Serialize the component to a directory."""
        util.to_disk(
            path,
            {
                "cfg": lambda path: write_file(
                    path, srsly.json_dumps(self.cfg, indent=2).encode("utf8")
                ),
                "vocab": lambda path: self.vocab.to_disk(path, exclude=exclude),
                "model": lambda path: write_file(path, self.engine.to_bytes()),
                "training": self._write_training_state,
            },
            exclude,
        )

    def from_disk(self: Self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load the component from a directory."""
        util.from_disk(
            path,
            {
                "cfg": lambda path: self.cfg.update(deserialize_config(path)),
                "vocab": lambda path: self.vocab.from_disk(path, exclude=exclude),
                "model": lambda path: self._load_engine(read_file(path)),
                "training": self._read_training_state,
            },
            exclude,
        )
        self._check_settings()
        return self

    @property
    def _exit_templates(self) -> Templates:
        """The templates that the margin is about."""
        return self.engine.templates

    def _predict(self, docs: list[Doc], *, with_leads: bool = False) -> Any:
        """Predict with the compiled weights, as the settings say."""
        return self.engine.predict(
            docs, self.margin, self.cfg["n_threads"], with_leads=with_leads
        )

    def _get_training_state(self) -> bytes | None:
        if not self.cfg["keep_training_state"]:
            return None
        return self.engine.training_to_bytes()

    def _write_training_state(self, path: Path) -> None:
        state = self._get_training_state()
        if state is None:
            # What an earlier model has left there does not belong to this one.
            path.unlink(missing_ok=True)
        else:
            write_file(path, state)

    def _read_training_state(self, path: Path) -> None:
        if path.exists():
            self.engine.training_from_bytes(path.read_bytes())

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
                Errors.DS193.format(name=self.name, fitted=fitted, found=found),
                stacklevel=3,
            )

    def _get_margin(self, name: str) -> float | list[float]:
        margins = self.cfg[name]
        if isinstance(margins, list):
            return [float(margin) for margin in margins]
        return float(margins)

    def _set_margin(
        self, name: str, margin: float | list[float], n_stages: int
    ) -> None:
        check_margins(margin, n_stages - 1)
        # JSON has no infinity.
        if isinstance(margin, list | tuple):
            self.cfg[name] = ["inf" if math.isinf(m) else float(m) for m in margin]
        else:
            self.cfg[name] = "inf" if math.isinf(margin) else float(margin)

    def _load_engine(self, data: FileData) -> None:
        self.engine.from_bytes(data)
        self._follow_engine()

    def _follow_engine(self) -> None:
        """Take over what the engine has read."""
        if self.engine.is_initialized:
            self.cfg["labels"] = list(self.engine.labels)
            self.model.set_dim("nO", self.engine.n_outputs, force=True)
        self._sync_labels()

    def _sync_labels(self) -> None:
        """Follow a change of the labels."""
        self._just_updated = RecentDocs()

    def _keep_string(self, label: str) -> int:
        """The string ID of a label, which has to outlive memory zones."""
        return self.vocab.strings.add(label, allow_transient=False)  # type: ignore[call-arg]

    def _check_label(self, label: Any) -> None:
        # To spaCy, an empty one means that there is none.
        if not isinstance(label, str) or not label:
            raise ValueError(
                Errors.DS041.format(name=self.name, label=label, type=type(label))
            )

    def _check_settings(self) -> None:
        self._calibration = None
        self._warned_of = None
        stored = self.cfg["calibration"]
        if stored is not None:
            if not isinstance(stored, dict) or "settings" not in stored:
                raise ValueError(Errors.DS191)
            parts = {key: stored[key] for key in stored if key != "settings"}
            self._calibration = Calibration.from_dict(parts)
        self.margin = self.margin
        for name, low, high in (
            ("n_threads", 1, 1024),
            ("cache_size", 1, MAX_CACHE_SIZE),
        ):
            value = self.cfg[name]
            if not isinstance(value, int) or not low <= value <= high:
                raise ValueError(
                    Errors.DS022.format(
                        name=name, value=value, range=f"between {low} and {high}"
                    )
                )
        self.engine.max_lexemes = self.cfg["cache_size"]

    def _require_engine(self) -> Any:
        if not self.engine.is_initialized:
            raise ValueError(Errors.DS040.format(name=self.name))
        return self.engine


def is_complete(nlp: Any) -> bool:
    """Whether initialization sees all training data, and not only the first examples
    of a stream that is read once."""
    training = {} if nlp is None else nlp.config.get("training", {})
    return training.get("max_epochs") != -1
