"""What all components share: settings that can be turned at any time, learning, what
can be seen of the work, and serialization."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..base.atomic import assign
from ..base.errors import Errors
from ..base.settings import check_choice, check_number
from ..base.warnings import Warnings
from ..confidence.maps import ConfidenceMap
from ..tasks.engine import Start
from .margins import read_margin
from .names import Names, check_label
from .recent_docs import RecentDocs
from .settings import MarginSetting, Setting
from .stored import StoredComponent
from .training_data import get_seed, is_complete, is_learned_from, read_examples

MAX_CACHE_SIZE = 1 << 24
# The scoring method of spaCy's own component.
USUAL = object()

# For each unit whether it is right, None where that is not known, and its doc.
Verdicts = list[tuple[bool | None, int]]


class DynselComponent(StoredComponent):
    """A component around a linear model that reads, for each decision, only as many
    feature templates as it needs. Tasks add labels, gold and annotations.

    vocab (Vocab): The shared vocabulary.
    model (Model): The model.
    name (str): The name of the component.
    margin (float or list[float]): The lead over the second-best label at which a
        decision is made: for all stages, or for each but the last. Infinity means
        that all templates are always used.
    n_threads (int): How many threads to use for a batch of docs.
    training_threads (int): How many threads learn, where there are several learners;
        None for one a core. What they learn does not depend on it.
    cache_size (int): How many words to keep analysed. Each is analysed once, then
        cached.
    confidence (bool): Whether to say how likely each annotation is right, in
        token._.dynsel_confidence or span._.dynsel_confidence.
    keep_training_state (bool): Whether to save what learning needs to go on later as if
        it had not been interrupted.
    scorer (Callable): The scoring method.
    """

    # The settings, and what they are unless said otherwise.
    defaults: ClassVar[dict[str, Any]] = {
        "n_threads": 1,
        "training_threads": None,
        "cache_size": 50_000,
        "confidence": False,
        "keep_training_state": False,
    }
    usual_name: str
    usual_scorer: Callable[..., dict[str, Any]]
    # What the model has to be.
    architecture: str
    engine_type: type | tuple[type, ...]
    names_type: type[Names] = Names
    # What confidence depends on, beside the weights.
    confidence_settings: tuple[str, ...] = ("margin",)
    # What data need to have to learn from them, and what to say where they don't.
    gold_attribute: str
    gold_missing: str
    # What templates are read for.
    decision = "word"
    # What others learn from, as this one predicts it; what it learns from in this way.
    taught = ""
    learns_from: tuple[str, ...] = ()
    _confidence_map: ConfidenceMap | None = None
    # The settings we last warned about.
    _warned_of: dict[str, Any] | None = None
    _names: Names | None = None

    margin = MarginSetting("The lead at which a decision is made.")
    n_threads = Setting("How many threads a batch of docs may use.")
    training_threads = Setting("How many threads learn; None for one a core.")
    keep_training_state = Setting("Whether to save what learning needs to go on later.")

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str | None = None,
        *,
        scorer: Any = USUAL,
        **settings: Any,
    ) -> None:
        name = self.usual_name if name is None else name
        unknown = sorted(set(settings) - set(self.defaults))
        if unknown:
            raise TypeError(Errors.DS053.format(name=name, unknown=", ".join(unknown)))
        engines = [getattr(shim, "engine", None) for shim in model.shims]
        if not any(isinstance(engine, self.engine_type) for engine in engines):
            raise ValueError(
                Errors.DS047.format(name=name, architecture=self.architecture)
            )
        self.vocab = vocab
        self.model = model
        self.name = name
        self.scorer = self.usual_scorer if scorer is USUAL else scorer
        self.cfg: dict[str, Any] = {
            "confidence_map": None,
            "labels": [],
            **self.defaults,
            **settings,
        }
        self._mean_templates: float | None = None
        self._just_updated = RecentDocs()
        self._confidence_map = self._check_settings(self.cfg)
        self._configure(self.engine, self.cfg)
        self._get_names(self._known_labels)

    def __repr__(self) -> str:
        state = "not initialized"
        if self.engine.is_initialized:
            knobs = ", ".join(f"{k} {v}" for k, v in self._get_knobs().items())
            state = f"{len(self.labels)} labels, {knobs}"
        return f"<{type(self).__name__} '{self.name}': {state}>"

    @property
    def engine(self) -> Any:
        """What the component has learned. It is replaced, never changed, by whatever
        does more than learn: who needs several things of it asks for it once."""
        return self.model.shims[0].engine

    @property
    def cache_size(self) -> int:
        """How many words are kept analysed at most."""
        return self.cfg["cache_size"]

    @property
    def n_cached(self) -> int:
        """How many words are kept analysed now, never more than cache_size."""
        return self.engine.n_lexemes

    @property
    def confidence(self) -> bool:
        """Whether to say how likely each annotation is right. Can be set at any time
        once it was fitted, see spacy_dynsel.confidence.reliability."""
        return self.cfg["confidence"]

    @confidence.setter
    def confidence(self, confidence: bool) -> None:
        if confidence and self._confidence_map is None:
            raise ValueError(Errors.DS190.format(name=self.name))
        self.cfg["confidence"] = bool(confidence)

    def set_confidence_map(self, found: ConfidenceMap) -> None:
        """Set the map from leads to probabilities, fitted with the settings as they
        are now."""
        stored = {
            **found.to_dict(),
            "settings": self._get_confidence_settings(),
        }
        cfg = {**self.cfg, "confidence_map": stored}
        self._replace(self.engine, cfg, self._check_settings(cfg))

    def get_probabilities(self, batch: Any) -> np.ndarray:
        """How likely each unit of a prediction with leads is right."""
        if self._confidence_map is None:
            raise ValueError(Errors.DS190.format(name=self.name))
        return self._confidence_map(self.engine.get_evidence(batch))

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

    def predict_afresh(self, docs: list[Doc]) -> Any:
        """Predict whatever annotation docs have."""
        return self._predict(docs)

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

    def annotate_for_training(self, docs: list[Doc]) -> None:
        """Annotate docs for a component that learns from what is predicted: by a model
        that has not seen them, if there is one."""
        batch = self._require_engine().predict_in_training(docs)
        self.set_annotations(docs, self._predict(docs) if batch is None else batch)

    def statistics(self, docs: Iterable[Doc]) -> dict[str, Any]:
        """Say how many templates some docs need.

        docs (Iterable[Doc]): The docs, which are not changed.
        RETURNS (dict): The number of tokens; the number of decisions (decisions), the
            mean number of templates that they read (templates), and the share of them
            that is made at each stage (stages). Where stages rule out labels, the mean
            number of labels that each stage has to choose from (labels). For a parser
            these are transitions, and there is the same for labels (label_decisions
            and so on). For a cascade there is the mean number of label n-grams that each
            level looked at for a word (grams).
        """
        docs = as_list(docs)
        engine = self._require_engine()
        batch = self.predict_afresh(docs)
        counts = engine.get_counts(batch)
        label_counts = engine.get_label_counts(batch)
        result: dict[str, Any] = {"tokens": sum(map(len, docs))}
        for knob, part in engine.knobs.items():
            prefix = knob.removesuffix("margin")
            n_decisions = int(counts[part].sum())
            result |= {
                f"{prefix}decisions": n_decisions,
                f"{prefix}templates": engine.classifiers[part].mean_templates(
                    counts[part]
                ),
                f"{prefix}stages": [
                    float(count) / max(1, n_decisions) for count in counts[part]
                ],
            }
            if part in label_counts:
                # How many decisions reach each stage.
                reached = np.cumsum(counts[part][::-1])[::-1]
                left = label_counts[part] / np.maximum(1, reached)
                result[f"{prefix}labels"] = left.tolist()
        return {**result, **engine.get_statistics(batch)}

    def explain(self, doc: Doc) -> list[Any]:
        """Say for each token how its annotation was found.

        doc (Doc): The doc, whose annotation does not matter and is not changed.
        """
        engine = self._require_engine()
        self._configure(engine, self.cfg)
        return engine.explain(doc, **self._get_knobs())

    def explain_call(self, doc: Doc) -> list[Any]:
        """Say for each token how it is annotated when the component is called."""
        return self.explain(doc)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | dict[str, dict[str, Any]] | None = None,
    ) -> None:
        """Prepare for training: find the labels, and what else the data say as a whole.

        get_examples (Callable): Gives the training data.
        nlp (Language): The pipeline.
        labels (list[str]): The labels; if missing, those of the data are used. What
            `spacy init labels` writes for spaCy's own component will do as well.
        """
        examples = read_examples(get_examples, f"{type(self).__name__}.initialize")
        util.check_lexeme_norms(self.vocab, self.name)
        chosen = tuple(self._choose_labels(examples, labels))
        for label in chosen:
            check_label(self.name, label)
        # What was fitted to other weights says nothing about new ones.
        cfg = {**self.cfg, "confidence_map": None, "labels": list(chosen)}
        engine = self.engine.blank()
        self._configure(engine, cfg)
        names = self.names_type(chosen)
        names.keep(self.vocab)
        start = Start(
            self.vocab,
            self.vocab.lang if nlp is None else nlp.lang,
            seed=get_seed(nlp),
            is_complete=is_complete(nlp),
            tokenizer=None if nlp is None else nlp.tokenizer,
            is_read=is_learned_from(nlp, self, self.taught),
        )
        engine.initialize(chosen, self._read_all(examples, names), start)
        self._replace(engine, cfg, None)
        self._join(nlp)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from examples. The weights change at once: the learner is online and
        has its own step sizes, so that the optimizer is not used. What is missing in
        the annotation is not learned.

        examples (Iterable[Example]): The examples.
        drop (float): The probability with which each template is left out.
        sgd (Optimizer): Not used.
        losses (dict): Where to add the loss.
        RETURNS (dict): The losses.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        self._require_engine()
        # Others may add labels meanwhile: from here on they stay as they are.
        with self.engine.lock:
            golds = [gold for gold in self._get_golds(examples) if gold.is_known]
            engine = self.engine
            self._configure(engine, self.cfg)
            if golds:
                losses[self.name] += engine.update(golds, drop=drop)
            docs = [example.predicted for example in examples]
            self._just_updated = RecentDocs(engine, docs)
        return losses

    def get_gold(self, example: Example) -> Any:
        """What is known about the annotation of a predicted doc, aligned where the
        words differ."""
        return self._get_gold(example, self._get_names(self._known_labels))

    @abstractmethod
    def compare(self, examples: list[Example], batch: Any) -> Verdicts:
        """Compare annotated docs with their references.

        examples (list[Example]): The docs, annotated by what was predicted.
        batch: What was predicted, with leads.
        RETURNS (list): For each unit that has a lead whether it is right, None where
            that is not known, and the number of its doc.
        """

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score predictions, and note the mean number of templates for a token."""
        examples = list(examples)
        scores = super().score(examples, **kwargs)
        docs = [example.predicted for example in examples]
        self._mean_templates = None
        if self.engine.is_initialized and any(map(len, docs)):
            self._mean_templates = self.statistics(docs).get("templates")
        return scores

    def describe(self) -> dict[str, Any]:
        """What is worth knowing about the component without loading it.

        RETURNS (dict): The number of its templates and after how many of them there
            are checkpoints, the margin, and the mean number of templates for a token
            of the data that it was last scored on. For a parser these are those of
            transitions, and those of labels stand beside. Of a cascade, its order and
            its alpha.
        """
        described: dict[str, Any] = {}
        engine = self.engine
        for knob, part in engine.knobs.items():
            prefix = knob.removesuffix("margin")
            checkpoints = list(engine.classifiers[part].templates.checkpoints)
            described |= {
                f"{prefix}templates": checkpoints[-1],
                f"{prefix}checkpoints": checkpoints,
                knob: self.cfg[knob],
            }
        if not engine.has_margins:
            return {"order": engine.n_stages, **self._get_knobs()}
        return {**described, "mean_templates": self._mean_templates}

    # What a component has to say.

    @abstractmethod
    def _choose_labels(self, examples: list[Example], labels: Any) -> Iterable[str]:
        """The labels to learn: those that are given, or else those of the data."""

    def _read_all(self, examples: list[Example], names: Any) -> list[Any]:
        """What an engine has to know of the training data as a whole."""
        return [self._get_gold(example, names) for example in examples]

    @abstractmethod
    def _get_gold(self, example: Example, names: Any) -> Any:
        """What is known about the annotation of a predicted doc, in terms of labels."""

    def _get_golds(self, examples: list[Example]) -> list[Any]:
        """The same for the docs of an update."""
        names = self._get_names(self.engine.labels)
        return [self._get_gold(example, names) for example in examples]

    def _join(self, nlp: Language | None) -> None:
        """Remember what matters of the pipeline."""

    def _get_knobs(self) -> dict[str, Any]:
        """What the engine is told for each prediction."""
        if self.engine.has_margins:
            return {"margin": self.margin}
        return {"alpha": self.cfg["alpha"]}

    @property
    def _known_labels(self) -> tuple[str, ...]:
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

    def _get_names_of(self, batch: Any, docs: list[Doc]) -> Any:
        """What the labels of a prediction are to spaCy, and to the docs that get them."""
        made_by = getattr(batch, "made_by", None)
        names = self._get_names(
            self._known_labels if made_by is None else made_by.labels
        )
        # A sourced component keeps the vocabulary of its first pipeline.
        reached = self.vocab
        for doc in docs:
            if doc.vocab is not reached:
                reached = doc.vocab
                names.reach(reached)
        return names

    def _predict(self, docs: list[Doc], *, with_leads: bool = False) -> Any:
        """Predict with the compiled weights, as the settings say."""
        engine = self._require_engine()
        self._configure(engine, self.cfg)
        return engine.predict(
            docs,
            n_threads=self.cfg["n_threads"],
            with_leads=with_leads,
            **self._get_knobs(),
        )

    def _configure(self, engine: Any, cfg: dict[str, Any]) -> None:
        engine.max_lexemes = cfg["cache_size"]
        engine.training_threads = cfg["training_threads"]

    def _replace(
        self, engine: Any, cfg: dict[str, Any], found: ConfidenceMap | None
    ) -> None:
        assign(
            (self.model.shims[0], "engine", engine),
            (self, "cfg", cfg),
            (self, "_confidence_map", found),
            (self, "_warned_of", None),
            (self, "_just_updated", RecentDocs()),
        )
        if engine.is_initialized:
            self.model.set_dim("nO", engine.n_outputs, force=True)
        self._get_names(self._known_labels)

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
                    engine, {**self.cfg, "labels": all_labels}, self._confidence_map
                )
        return len(new)

    def _add_label_early(self, label: str) -> int:
        """Add a label, if the component is not initialized yet.

        RETURNS (int): 1, or 0 if the label is there already.
        """
        known = self._known_labels
        if label in known:
            return 0
        if self.engine.is_initialized:
            raise ValueError(
                Errors.DS043.format(name=self.name, label=label, n_labels=len(known))
            )
        return self._add_labels([label])

    def _get_confidence_settings(self) -> dict[str, Any]:
        if not self.engine.has_margins:
            return self._get_knobs()
        return {name: self.cfg[name] for name in self.confidence_settings}

    def _check_confidence(self) -> None:
        """Raise an error if confidence was not fitted, and warn if for other settings."""
        if self._confidence_map is None:
            raise ValueError(Errors.DS190.format(name=self.name))
        fitted = self.cfg["confidence_map"]["settings"]
        found = self._get_confidence_settings()
        if found not in (fitted, self._warned_of):
            self._warned_of = found
            warnings.warn(
                Warnings.DW193.format(name=self.name, fitted=fitted, found=found),
                stacklevel=3,
            )

    def _check_settings(self, cfg: dict[str, Any]) -> ConfidenceMap | None:
        found = None
        stored = cfg["confidence_map"]
        if stored is not None:
            if not isinstance(stored, dict) or "settings" not in stored:
                raise ValueError(Errors.DS191)
            parts = {key: stored[key] for key in stored if key != "settings"}
            found = ConfidenceMap.from_dict(parts)
        for knob in self.engine.knobs:
            read_margin(cfg[knob], self.engine.count_stages(knob))
        self.engine.check_alpha(self.name, cfg.get("alpha"))
        check_number("n_threads", cfg["n_threads"], 1, 1024)
        if cfg["training_threads"] is not None:
            check_number("training_threads", cfg["training_threads"], 1, 1024)
        check_number("cache_size", cfg["cache_size"], 1, MAX_CACHE_SIZE)
        for name in ("confidence", "keep_training_state"):
            check_choice(name, cfg[name], (True, False))
        labels: Any = cfg["labels"]
        if not isinstance(labels, list | tuple):
            raise ValueError(Errors.DS054.format(name=self.name, labels=labels))
        for label in labels:
            check_label(self.name, label)
        return found

    def _require_engine(self) -> Any:
        if not self.engine.is_initialized:
            raise ValueError(Errors.DS040.format(name=self.name))
        return self.engine


def as_list(docs: Iterable[Doc]) -> list[Doc]:
    """Docs as a list; one doc is as good as a list of it."""
    if isinstance(docs, Doc):
        return [docs]
    return docs if isinstance(docs, list) else list(docs)


def match_labels(docs: list[Doc], predictions: Any) -> np.ndarray:
    """The labels of all tokens of docs, see join_labels, or an error if there are more
    or fewer of these."""
    labels = join_labels(predictions, "labels")
    n_tokens = sum(map(len, docs))
    if n_tokens != len(labels):
        raise ValueError(
            Errors.DS045.format(n_predictions=len(labels), n_tokens=n_tokens)
        )
    return labels


def join_labels(predictions: Any, name: str) -> np.ndarray:
    """The labels of all tokens of all docs: those of a batch, or of an array a doc.

    name (str): What a batch calls them.
    """
    found = getattr(predictions, name, None)
    if found is None:
        parts = [np.zeros(0, "uint16"), *map(np.asarray, predictions)]
        found = np.concatenate(parts).astype("uint16")
    return found
