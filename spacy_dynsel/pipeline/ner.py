"""The entity recognizer as a pipeline component: spaCy's contract, no arithmetic."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.pipeline.ner import ner_score
from spacy.tokens import Doc, Span
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..bridge import (
    find_words,
    hand_on_starts,
    have_same_words,
    read_entities,
    read_sent_starts,
    write_entities,
)
from ..errors import Errors
from ..model_file import FileData
from ..tasks.bilou import (
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
from .component import DynselComponent, RecentDocs, is_complete
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
        return tuple(sorted(self.cfg["labels"]))

    @property
    def label_data(self) -> tuple[str, ...]:
        """The labels in the form that initialize takes."""
        return self.labels

    @property
    def move_names(self) -> list[str]:
        """The names of the actions."""
        return action_names(self.cfg["labels"])

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
        before = self.cfg["o_bias"]
        self.cfg["o_bias"] = bias
        try:
            self._check_settings()
        except ValueError:
            self.cfg["o_bias"] = before
            raise

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
        docs = docs if isinstance(docs, list) else list(docs)
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
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        if isinstance(predictions, EntityBatch):
            actions = predictions.actions
        else:
            actions = np.concatenate(
                [np.zeros(0, "uint16"), *map(np.asarray, predictions)]
            ).astype("uint16")
        if not write_entities(docs, actions, self._types):
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
        return self._require_engine().explain(
            doc, self.margin, keep_entities=keep_entities
        )

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
        validate_get_examples(get_examples, "DynselNER.initialize")
        util.check_lexeme_norms(self.vocab, "ner")
        self._forget_calibration()
        if labels is None:
            found = {
                example.reference.vocab.strings[type_]
                for example in get_examples()
                for type_ in _find_types(example.reference)
                if type_
            }
            names = sorted(name for name in found if not name.startswith("!"))
        else:
            names = self._read_labels(labels)
        for label in names:
            self._check_label(label)
        before = self.cfg["labels"]
        self.cfg["labels"] = list(dict.fromkeys([*before, *names]))
        self._sync_labels()
        try:
            self.engine.initialize(
                list(self.cfg["labels"]),
                self.vocab,
                lambda: (self.get_gold(example) for example in get_examples()),
                lang=self.vocab.lang if nlp is None else nlp.lang,
                count_features=is_complete(nlp),
                tokenizer=None if nlp is None else nlp.tokenizer,
            )
        except BaseException:
            # The labels are those that the engine has room for.
            is_ready = self.engine.is_initialized
            self.cfg["labels"] = list(self.engine.labels) if is_ready else before
            self._sync_labels()
            raise
        self._sync_labels()

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
        engine = self._require_engine()
        golds = [self.get_gold(example, add_labels=True) for example in examples]
        # A label that was first seen in a doc of a memory zone is forgotten with it,
        # and must be there when it is found.
        for label in self.cfg["labels"]:
            self._keep_string(label)
        self._just_updated = RecentDocs(gold.doc for gold in golds)
        golds = [
            gold for gold in golds if gold.negatives or (gold.actions != MISSING).any()
        ]
        if golds:
            losses[self.name] += engine.update(golds, drop=drop)
        return losses

    def add_label(self, label: str) -> int:
        """Add a label, at any time.

        RETURNS (int): 1, or 0 if the label is there already.
        """
        self._check_label(label)
        if label in self.cfg["labels"]:
            return 0
        if self.engine.is_initialized:
            self.engine.add_label(label)
        self.cfg["labels"].append(label)
        self._sync_labels()
        return 1

    def get_gold(self, example: Example, *, add_labels: bool = False) -> GoldEntities:
        """What is known about the entities of a predicted doc, aligned where the words
        differ.

        example (Example): The doc and its reference.
        add_labels (bool): Whether labels that are new are added; else, what has one
            is outside.
        """
        reference = example.reference
        words = find_words(example.predicted)
        if have_same_words(example.predicted, reference):
            of_reference = find_words(reference)
            iobs, types = read_entities(reference)
            strings = reference.vocab.strings
            names = {t: strings[t] for t in _find_types(reference)}
            self._check_types(names.values(), add_labels)
            index = {label: i for i, label in enumerate(self.cfg["labels"])}
            found = _to_actions(
                iobs, types, {t: index[x] for t, x in names.items() if x in index}
            )
            _hand_on_ends(found, of_reference)
            found = found[of_reference]
            known = hand_on_starts(read_sent_starts(reference), of_reference)
        else:
            tags = example.get_aligned_ner()
            self._check_types({tag[2:] for tag in tags if tag}, add_labels)
            index = {name: i for i, name in enumerate(self.move_names)}
            index["-"] = MISSING
            found = np.array(
                [MISSING if not tag else index.get(tag, 0) for tag in tags], "int32"
            )
            _hand_on_ends(found, words)
            found = found[words]
            given = [start or 0 for start in example.get_aligned_sent_starts()]
            known = hand_on_starts(np.array(given, dtype="int32"), words)
        actions = _put_at(words, found, len(example.predicted))
        starts = mark_starts(example.predicted, words, known)
        negatives = self._get_negatives(example, add_labels)
        return GoldEntities(example.predicted, actions, starts, negatives)

    def _add_preset_labels(self, docs: list[Doc]) -> bool:
        """Add the labels of entities that are set, as far as there is room for them.
        RETURNS (bool): Whether there were new ones."""
        found = set()
        for doc in docs:
            unknown = np.setdiff1d(read_entities(doc)[1], self._types)
            found |= {doc.vocab.strings[type_] for type_ in unknown.tolist() if type_}
        names = sorted(name for name in found if not name.startswith("!"))
        names = names[: MAX_TYPES - len(self.cfg["labels"])]
        return sum(self.add_label(name) for name in names) > 0

    def _sync_labels(self) -> None:
        super()._sync_labels()
        self._types = np.array(
            [self._keep_string(label) for label in self.cfg["labels"]], dtype="uint64"
        )
        self.engine.set_types(self._types)
        if self.engine.is_initialized:
            self.model.set_dim("nO", self.engine.n_outputs, force=True)

    def _load_engine(self, data: FileData) -> None:
        # The bias first: weights that are there would be compiled again with it.
        self._check_settings()
        super()._load_engine(data)

    def _check_settings(self) -> None:
        super()._check_settings()
        bias = self.cfg["o_bias"]
        if (
            not isinstance(bias, int | float)
            or isinstance(bias, bool)
            or math.isnan(bias)
            or abs(bias) > MAX_BIAS
        ):
            raise ValueError(
                Errors.DS022.format(
                    name="o_bias",
                    value=bias,
                    range=f"between {-MAX_BIAS} and {MAX_BIAS}",
                )
            )
        self.engine.bias = float(bias)

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

    def _check_types(self, names: Iterable[str], add_labels: bool) -> None:
        for name in sorted(names):
            if name.startswith("!"):
                raise ValueError(Errors.DS102.format(name=self.name, label=name))
            if add_labels and name:
                self.add_label(name)

    def _get_negatives(
        self, example: Example, add_labels: bool
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
        self._check_types({span.label_ for span in aligned} - {"O"}, add_labels)
        index = {label: i for i, label in enumerate(self.cfg["labels"])}
        trimmed = [(_trim(span), span.label_) for span in aligned]
        return [
            (tokens.start, tokens.stop, index[label])
            for tokens, label in trimmed
            if label in index and tokens
        ]


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
    actions[words] = found
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
