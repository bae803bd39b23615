"""The entity recognizer as a pipeline component: spaCy's contract, no arithmetic."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.pipeline.ner import ner_score
from spacy.tokens import Doc, Span
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..base.errors import Errors, Warnings
from ..base.settings import check_number
from ..confidence.maps import Calibration
from ..spacy_io.annotations import read_entities
from ..spacy_io.tokens import (
    find_words,
    hand_on_starts,
    have_same_words,
    read_sent_starts,
)
from ..tasks.bilou.actions import write_entities
from ..tasks.bilou.engine import (
    MAX_BIAS,
    MAX_TYPES,
    MISSING,
    EntityBatch,
    EntityModel,
    Explanations,
    GoldEntities,
    action_names,
    mark_starts,
)
from .component import (
    DynselComponent,
    Names,
    RecentDocs,
    as_list,
    get_seed,
    is_complete,
    read_examples,
)
from .confidences import ANY


class DynselNER(DynselComponent):
    """Recognizes named entities by a linear model that reads, for each token, only as
    many feature templates as it needs. A replacement for spaCy's EntityRecognizer.

    Entities are made of words. White space between two words of an entity belongs to
    it; it is neither learned nor seen, and the words around it are neighbours.

    vocab (Vocab): The shared vocabulary.
    model (Model): The model, see spacy_dynsel.DynamicNER.v1.
    name (str): The name of the component.
    margin (float or list[float]): The lead over the second-best action at which a
        decision is made: for all stages, or for each but the last. Infinity means
        that all templates are always used.
    o_bias (float): What is added to the score of tokens outside of entities: the
        lower, the more entities are found. See spacy_dynsel.tune_o_bias.v1.
    n_threads (int): How many threads to use for a batch of docs.
    cache_size (int): The number of lexemes for which to keep what was worked out.
    incorrect_spans_key (str): The key of doc.spans under which training data has spans
        that are known not to be entities.
    confidence (bool): Whether to say how likely each annotation is right, in
        token._.dynsel_confidence or span._.dynsel_confidence.
    keep_training_state (bool): Whether to save what learning needs to go on later as if
        it had not been interrupted.
    scorer (Callable): The scoring method.
    """

    architecture = "spacy_dynsel.DynamicNER.v1"
    engine_type = EntityModel

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "dynsel_ner",
        *,
        margin: float | list[float] = 4.0,
        o_bias: float = 0.0,
        n_threads: int = 1,
        cache_size: int = 50_000,
        confidence: bool = False,
        keep_training_state: bool = False,
        incorrect_spans_key: str | None = None,
        scorer: Callable[..., dict[str, Any]] | None = ner_score,
    ) -> None:
        super().__init__(
            vocab,
            model,
            name,
            margin=margin,
            n_threads=n_threads,
            cache_size=cache_size,
            scorer=scorer,
            confidence=confidence,
            keep_training_state=keep_training_state,
            incorrect_spans_key=incorrect_spans_key,
            o_bias=o_bias,
        )

    calibrated_settings = ("margin", "o_bias")

    @property
    def labels(self) -> tuple[str, ...]:
        """The entity labels, sorted."""
        return tuple(sorted(self._kept_labels))

    @property
    def label_data(self) -> tuple[str, ...]:
        """The labels in the form that initialize takes."""
        return self.labels

    @property
    def move_names(self) -> list[str]:
        """The names of the actions."""
        return action_names(self._known_labels)

    @property
    def incorrect_spans_key(self) -> str | None:
        """The key of doc.spans for what is known not to be an entity."""
        return self.cfg["incorrect_spans_key"]

    @property
    def o_bias(self) -> float:
        """What is added to the score of O. Can be set at any time."""
        return self.cfg["o_bias"]

    @o_bias.setter
    def o_bias(self, bias: float) -> None:
        self._set_checked("o_bias", bias)

    @property
    def is_resizable(self) -> bool:
        """Labels can be added at any time."""
        return True

    def predict(self, docs: Iterable[Doc]) -> EntityBatch:
        """Predict the actions of docs, without changing them. Labels of entities that
        were set before are added to the labels, as spaCy's own component does.

        docs (Iterable[Doc]): The docs.
        RETURNS (EntityBatch): For each doc an array of actions.
        """
        docs = as_list(docs)
        batch = super().predict(docs)
        if batch.has_kept and self._add_preset_labels(docs):
            # What was set is part of what the decisions after it see.
            batch = super().predict(docs)
        return batch

    def set_annotations(
        self, docs: Iterable[Doc], predictions: EntityBatch | list[Any]
    ) -> None:
        """Set the entities of docs. Entities that were set before are kept, blocked
        tokens stay blocked.

        docs (Iterable[Doc]): The docs.
        predictions (EntityBatch): What predict returned, or a list of such arrays.
        """
        docs = as_list(docs)
        if isinstance(predictions, EntityBatch):
            actions = predictions.actions
        else:
            actions = np.concatenate(
                [np.zeros(0, "uint16"), *map(np.asarray, predictions)]
            ).astype("uint16")
        names = self._get_names_of(predictions)
        if not write_entities(docs, actions, names.ids):
            raise ValueError(
                Errors.DS103.format(
                    n_predictions=len(actions), n_tokens=sum(map(len, docs))
                )
            )
        with_leads = getattr(predictions, "leads", None) is not None
        if with_leads and self.cfg["confidence"]:
            found = self.engine.find_entities(predictions)
            values = self.get_probabilities(predictions).tolist()
            for entity, value in zip(found, values, strict=True):
                span = docs[entity.doc][entity.start : entity.end]
                span._.set(ANY, value)

    def explain(self, doc: Doc, *, keep_entities: bool = False) -> Explanations:
        """Say for each token how its action is found.

        doc (Doc): The doc, before or after it went through the component.
        keep_entities (bool): Whether entities that are set stay as they are, as they
            do when the component is called; else they do not matter.
        RETURNS (Explanations): For each token its action, lead, runner-up, stage,
            number of templates, and what each template contributed; as `entities`,
            for each entity the weakest lead of its decisions.
        """
        engine = self._require_engine()
        self._configure(engine, self.cfg)
        return engine.explain(doc, self.margin, keep_entities=keep_entities)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | dict[str, dict[str, int]] | None = None,
    ) -> None:
        """Prepare for training: find the labels and the features.

        get_examples (Callable): Gives the training data.
        nlp (Language): The pipeline.
        labels (list[str]): The labels; if missing, those of the data are used. What
            `spacy init labels` writes for spaCy's own component will do as well.
        """
        examples = read_examples(get_examples, "DynselNER.initialize")
        util.check_lexeme_norms(self.vocab, "ner")
        if labels is None:
            found = {label for example in examples for label in _types_of(example)}
            given = sorted(name for name in found if not name.startswith("!"))
        else:
            given = self._read_labels(labels)
        names = list(dict.fromkeys([*self._known_labels, *given]))
        for label in names:
            self._check_label(label)
        if not names and len(examples) > 1:
            warnings.warn(
                Warnings.DW101.format(name=self.name, n=len(examples)), stacklevel=2
            )

        def prepare(engine: EntityModel, names: Names) -> None:
            golds = [self._get_gold(example, names) for example in examples]
            engine.initialize(
                names.labels,
                self.vocab,
                lambda: iter(golds),
                lang=self.vocab.lang if nlp is None else nlp.lang,
                count_features=is_complete(nlp),
                tokenizer=None if nlp is None else nlp.tokenizer,
                seed=get_seed(nlp),
            )

        self._initialize(names, prepare)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from examples. The weights change at once: the learner is online and
        has its own step sizes, so that the optimizer is not used. Labels that are new
        are added.

        examples (Iterable[Example]): The examples.
        drop (float): The probability with which each template is left out.
        sgd (Optimizer): Not used.
        losses (dict): Where to add the loss.
        RETURNS (dict): The losses.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "DynselNER.update")
        self._require_engine()
        new = {label for example in examples for label in self._labels_of(example)}
        # Labels may be added by others meanwhile: they stay as they are from here on.
        with self.engine.lock:
            self._add_labels(sorted(new))
            engine = self.engine
            names = self._get_names(engine.labels)
            golds = [self._get_gold(example, names) for example in examples]
            docs = [gold.doc for gold in golds]
            golds = [
                gold
                for gold in golds
                if gold.negatives or (gold.actions != MISSING).any()
            ]
            if golds:
                losses[self.name] += engine.update(golds, drop=drop)
            self._just_updated = RecentDocs(engine, docs)
        return losses

    def add_label(self, label: str) -> int:
        """Add a label, at any time.

        RETURNS (int): 1, or 0 if the label is there already.
        """
        self._check_label(label)
        return self._add_labels([label])

    def get_gold(self, example: Example) -> GoldEntities:
        """What is known about the entities of a predicted doc, aligned where the words
        differ. What has a label that is not known is outside.

        example (Example): The doc and its reference.
        """
        return self._get_gold(example, self._get_names(self._known_labels))

    def _get_gold(self, example: Example, names: Names) -> GoldEntities:
        reference = example.reference
        self._check_types(_types_of(example))
        words = find_words(example.predicted)
        if have_same_words(example.predicted, reference):
            of_reference = find_words(reference)
            iobs, types = read_entities(reference)
            index = {int(type_): i for i, type_ in enumerate(names.ids)}
            known = {t: index[t] for t in _find_types(reference) if t in index}
            found = _to_actions(iobs, types, known)
            _hand_on_ends(found, of_reference)
            found = found[of_reference]
            starts = hand_on_starts(read_sent_starts(reference), of_reference)
        else:
            tags = example.get_aligned_ner()
            by_name = {name: i for i, name in enumerate(action_names(names.labels))}
            by_name["-"] = MISSING
            found = np.array(
                [MISSING if not tag else by_name.get(tag, 0) for tag in tags], "int32"
            )
            _hand_on_ends(found, words)
            found = found[words]
            given = [start or 0 for start in example.get_aligned_sent_starts()]
            starts = hand_on_starts(np.array(given, dtype="int32"), words)
        actions = _put_at(words, found, len(example.predicted))
        starts = mark_starts(example.predicted, words, starts)
        negatives = self._get_negatives(example, names)
        return GoldEntities(example.predicted, actions, starts, negatives)

    def _labels_of(self, example: Example) -> set[str]:
        """The labels that an example speaks of."""
        key = self.cfg["incorrect_spans_key"]
        found = _types_of(example)
        if key is not None and key in example.reference.spans:
            spans = example.reference.spans[key]
            found |= {span.label_ for span in spans} - {"O"}
        self._check_types(found)
        return {label for label in found if label}

    def _add_preset_labels(self, docs: list[Doc]) -> bool:
        """Add the labels of entities that are set, as far as there is room for them.
        RETURNS (bool): Whether there were new ones."""
        found = set()
        known = self._get_names(self._known_labels).ids
        for doc in docs:
            unknown = np.setdiff1d(read_entities(doc)[1], known)
            found |= {doc.vocab.strings[type_] for type_ in unknown.tolist() if type_}
        names = sorted(name for name in found if not name.startswith("!"))
        return self._add_labels(names[: MAX_TYPES - len(known)]) > 0

    def _configure(self, engine: EntityModel, cfg: dict[str, Any]) -> None:
        super()._configure(engine, cfg)
        bias = cfg["o_bias"]
        if bias != engine.bias:
            check_number("o_bias", bias, -MAX_BIAS, MAX_BIAS, whole=False)
            engine.bias = float(bias)

    def _check_settings(self, cfg: dict[str, Any]) -> Calibration | None:
        check_number("o_bias", cfg["o_bias"], -MAX_BIAS, MAX_BIAS, whole=False)
        key = cfg["incorrect_spans_key"]
        if key is not None and not isinstance(key, str):
            raise ValueError(
                Errors.DS021.format(
                    name="incorrect_spans_key", value=key, known="a string, null"
                )
            )
        return super()._check_settings(cfg)

    def _read_labels(self, labels: Any) -> list[str]:
        """The labels that are given as a list or by the actions of spaCy's own
        component."""
        if isinstance(labels, dict):
            if not all(isinstance(value, dict) for value in labels.values()):
                raise ValueError(Errors.DS104.format(name=self.name, labels=labels))
            return sorted({name for names in labels.values() for name in names if name})
        if isinstance(labels, str):
            raise ValueError(Errors.DS104.format(name=self.name, labels=labels))
        return list(labels)

    def _check_types(self, labels: Iterable[str]) -> None:
        for label in sorted(labels):
            if label.startswith("!"):
                raise ValueError(Errors.DS102.format(name=self.name, label=label))

    def _get_negatives(
        self, example: Example, names: Names
    ) -> list[tuple[int, int, int]]:
        """The spans that are known not to be entities."""
        key = self.cfg["incorrect_spans_key"]
        if key is None or key not in example.reference.spans:
            return []
        reference = example.reference
        entities = {(_trim(ent), ent.label_) for ent in reference.ents}
        spans = [span for span in reference.spans[key] if _trim(span)]
        for span in spans:
            if (_trim(span), span.label_) in entities:
                raise ValueError(
                    Errors.DS101.format(
                        name=self.name,
                        start=span.start,
                        end=span.end,
                        label=span.label_,
                        key=key,
                    )
                )
        aligned = example.get_aligned_spans_y2x(spans, allow_overlap=True)
        self._check_types({span.label_ for span in aligned})
        index = {label: i for i, label in enumerate(names.labels)}
        trimmed = [(_trim(span), span.label_) for span in aligned]
        return [
            (tokens.start, tokens.stop, index[label])
            for tokens, label in trimmed
            if label in index and tokens
        ]


def _types_of(example: Example) -> set[str]:
    """The labels of the entities of a reference."""
    strings = example.reference.vocab.strings
    return {strings[type_] for type_ in _find_types(example.reference) if type_}


def _to_actions(
    iobs: np.ndarray, types: np.ndarray, index: dict[int, int]
) -> np.ndarray:
    """Actions from token.ent_iob and token.ent_type: blocked tokens and entities
    without a label are outside, like what has a type that is not in the index."""
    n = len(iobs)
    actions = np.where(iobs == 0, MISSING, 0).astype("int32")
    inside = (iobs == 1) | (iobs == 3)
    goes_on = np.zeros(n, dtype=bool)
    goes_on[:-1] = iobs[1:] == 1
    for type_, label in index.items():
        here = inside & (types == type_)
        kinds = np.where(iobs == 3, np.where(goes_on, 0, 3), np.where(goes_on, 1, 2))
        actions[here] = (1 + 4 * label + kinds)[here]
    return actions


def _find_types(doc: Doc) -> list[int]:
    """The string IDs of the labels of entities that have words."""
    return np.unique(read_entities(doc)[1][find_words(doc)]).tolist()


def _hand_on_ends(actions: np.ndarray, words: np.ndarray) -> None:
    """Let entities begin and end with words: what stands at white space is handed on to
    the token beside it.

    actions (array): Those of all tokens, which are changed.
    words (array): The tokens that are words.
    """
    spaces = np.setdiff1d(np.arange(len(actions)), words).tolist()
    for i in spaces:
        # From B to the I or L after it.
        if actions[i] % 4 == 1 and i + 1 < len(actions):
            if actions[i + 1] == actions[i] + 1:
                actions[i + 1] = actions[i]
            elif actions[i + 1] == actions[i] + 2:
                actions[i + 1] = actions[i] + 3
    for i in reversed(spaces):
        # From L to the B or I before it.
        if actions[i] > 0 and actions[i] % 4 == 3 and i:
            if actions[i - 1] == actions[i] - 1:
                actions[i - 1] = actions[i]
            elif actions[i - 1] == actions[i] - 2:
                actions[i - 1] = actions[i] + 1


def _put_at(words: np.ndarray, found: np.ndarray, n_tokens: int) -> np.ndarray:
    """The actions of all tokens, given those of words: white space within an entity
    goes on with it, other white space is as well known as the word before it."""
    actions = np.full(n_tokens, MISSING, dtype="int32")
    actions.put(words, found)
    if len(words) < n_tokens:
        last = MISSING
        is_word = np.zeros(n_tokens, dtype=bool)
        is_word[words] = True
        for i in range(n_tokens):
            if is_word[i]:
                last = actions[i]
            elif last > 0 and last % 4 in (1, 2):
                actions[i] = last - last % 4 + 2
            elif last != MISSING:
                actions[i] = 0
    return actions


def _trim(span: Span) -> range:
    """The tokens of a span without white space around it."""
    words = find_words(span.doc)
    words = words[(words >= span.start) & (words < span.end)].tolist()
    return range(words[0], words[-1] + 1) if words else range(0)
