"""The entity recognizer as a pipeline component: spaCy's contract, no arithmetic."""

import warnings
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from spacy.pipeline.ner import ner_score
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..base.errors import Errors
from ..base.settings import check_number
from ..base.warnings import Warnings
from ..confidence.maps import ConfidenceMap
from ..spacy_io.annotations import read_entities
from ..spacy_io.tokens import (
    find_words,
    hand_on_starts,
    have_same_words,
    read_sent_starts,
)
from ..tasks.bilou.actions import write_entities
from ..tasks.bilou.batch import EntityBatch
from ..tasks.bilou.engine import MAX_BIAS, MAX_TYPES, EntityEngine
from ..tasks.bilou.explain import Explanations
from ..tasks.bilou.gold import (
    GoldEntities,
    action_names,
    find_entities,
    hand_on_ends,
    mark_starts,
    put_at,
    span_actions,
    to_actions,
    trim,
)
from ..tasks.bilou.train import MISSING
from .component import DynselComponent, Verdicts, as_list, join_labels
from .confidences import ANY
from .names import Names, check_label, read_labels
from .settings import Setting


class RankedEntity(NamedTuple):
    """An entity that was found, and how sure it is.

    doc (int): The number of its doc.
    span (Span): Where it is, and its label.
    lead (float): The weakest lead of its decisions.
    probability (float): How likely it is right, or None unless confidence was fitted.
    """

    doc: int
    span: Span
    lead: float
    probability: float | None


class DynselNER(DynselComponent):
    """Recognizes named entities by a linear model that reads, for each token, only as
    many feature templates as it needs. A replacement for spaCy's EntityRecognizer.

    Entities are made of words. White space between two words of an entity belongs to
    it; it is neither learned nor seen, and the words around it are neighbours.

    See DynselComponent for the settings that all components have.

    model (Model): The model, see spacy_dynsel.DynamicNER.v1.
    o_bias (float): What is added to the score of tokens outside of entities: the
        lower, the more entities are found. See spacy_dynsel.tune_o_bias.v1.
    incorrect_spans_key (str): The key of doc.spans under which training data has spans
        that are known not to be entities.
    """

    architecture = "spacy_dynsel.DynamicNER.v1"
    engine_type = EntityEngine
    gold_attribute = "ENT_IOB"
    gold_missing = "no token has an entity tag, not even O"

    defaults: ClassVar[dict[str, Any]] = {
        **DynselComponent.defaults,
        "margin": 4.0,
        "o_bias": 0.0,
        "incorrect_spans_key": None,
    }
    usual_name = "dynsel_ner"
    usual_scorer = staticmethod(ner_score)
    confidence_settings = ("margin", "o_bias")
    o_bias = Setting("What is added to the score of O.")

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
        actions = join_labels(predictions, "actions")
        names = self._get_names_of(predictions, docs)
        if not write_entities(docs, actions, names.ids):
            raise ValueError(
                Errors.DS103.format(
                    n_predictions=len(actions), n_tokens=sum(map(len, docs))
                )
            )
        if (
            isinstance(predictions, EntityBatch)
            and predictions.leads is not None
            and self.cfg["confidence"]
        ):
            found = find_entities(actions, predictions.ends)
            values = self.get_probabilities(predictions).tolist()
            for entity, value in zip(found, values, strict=True):
                span = docs[entity.doc][entity.start : entity.end]
                span._.set(ANY, value)

    def rank_entities(self, docs: Iterable[Doc]) -> list[RankedEntity]:
        """Find the entities of docs, the least sure first: those that an annotator
        should look at. Entities that are set already are left out.

        docs (Iterable[Doc]): The docs, which are not changed.
        RETURNS (list[RankedEntity]): By probability if confidence was fitted, else by
            lead.
        """
        docs = as_list(docs)
        batch = self.predict_with_leads(docs)
        labels = self._get_names_of(batch, docs).labels
        leads = self._require_engine().get_evidence(batch).leads[:, 0].tolist()
        likely: list[float | None] = [None] * len(leads)
        if self._confidence_map is not None:
            likely = self.get_probabilities(batch).tolist()
        found = [
            RankedEntity(doc, Span(docs[doc], start, end, labels[label]), *how_sure)
            for (doc, start, end, label), *how_sure in zip(
                find_entities(batch.actions, batch.ends), leads, likely, strict=True
            )
        ]
        return sorted(found, key=_rank)

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
        return engine.explain(doc, margin=self.margin, keep_entities=keep_entities)

    def explain_call(self, doc: Doc) -> Explanations:
        """See DynselComponent.explain_call: entities that are set stay."""
        return self.explain(doc, keep_entities=True)

    def compare(self, examples: list[Example], batch: EntityBatch) -> Verdicts:
        """See DynselComponent.compare: units are entities."""
        golds = [self.get_gold(example).actions.tolist() for example in examples]
        verdicts: Verdicts = []
        for doc, start, end, label in find_entities(batch.actions, batch.ends):
            gold = golds[doc][start:end]
            is_right = gold == span_actions(label, end - start)
            verdicts.append((None if MISSING in gold else is_right, doc))
        return verdicts

    def add_label(self, label: str) -> int:
        """Add a label, at any time.

        RETURNS (int): 1, or 0 if the label is there already.
        """
        check_label(self.name, label)
        return self._add_labels([label])

    def _choose_labels(self, examples: list[Example], labels: Any) -> Iterable[str]:
        if labels is None:
            found = {label for example in examples for label in _types_of(example)}
            labels = sorted(name for name in found if not name.startswith("!"))
        given = read_labels(labels)
        if given is None:
            raise ValueError(Errors.DS104.format(name=self.name, labels=labels))
        chosen = list(dict.fromkeys([*self._known_labels, *given]))
        if not chosen and len(examples) > 1:
            warnings.warn(
                Warnings.DW101.format(name=self.name, n=len(examples)), stacklevel=3
            )
        return chosen

    def _get_golds(self, examples: list[Example]) -> list[GoldEntities]:
        # Labels that are new are added.
        new = {label for example in examples for label in self._labels_of(example)}
        self._add_labels(sorted(new))
        return super()._get_golds(examples)

    def predict_afresh(self, docs: list[Doc]) -> EntityBatch:
        engine = self._require_engine()
        self._configure(engine, self.cfg)
        options = {"n_threads": self.cfg["n_threads"], "keep_entities": False}
        return engine.predict(docs, margin=self.margin, **options)

    def _get_gold(self, example: Example, names: Names) -> GoldEntities:
        reference = example.reference
        self._check_types(_types_of(example))
        words = find_words(example.predicted)
        if have_same_words(example.predicted, reference):
            of_reference = find_words(reference)
            iobs, types = read_entities(reference)
            index = {int(type_): i for i, type_ in enumerate(names.ids)}
            known = {t: index[t] for t in _find_types(reference) if t in index}
            found = to_actions(iobs, types, known)
            hand_on_ends(found, of_reference)
            found = found[of_reference]
            starts = hand_on_starts(read_sent_starts(reference), of_reference)
        else:
            tags = example.get_aligned_ner()
            by_name = {name: i for i, name in enumerate(action_names(names.labels))}
            by_name["-"] = MISSING
            found = np.array(
                [MISSING if not tag else by_name.get(tag, 0) for tag in tags], "int32"
            )
            hand_on_ends(found, words)
            found = found[words]
            given = [start or 0 for start in example.get_aligned_sent_starts()]
            starts = hand_on_starts(np.array(given, dtype="int32"), words)
        actions = put_at(words, found, len(example.predicted))
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

    def _configure(self, engine: EntityEngine, cfg: dict[str, Any]) -> None:
        super()._configure(engine, cfg)
        bias = cfg["o_bias"]
        if bias != engine.bias:
            check_number("o_bias", bias, -MAX_BIAS, MAX_BIAS, whole=False)
            engine.bias = float(bias)

    def _check_settings(self, cfg: dict[str, Any]) -> ConfidenceMap | None:
        check_number("o_bias", cfg["o_bias"], -MAX_BIAS, MAX_BIAS, whole=False)
        key = cfg["incorrect_spans_key"]
        if key is not None and not isinstance(key, str):
            raise ValueError(
                Errors.DS021.format(
                    name="incorrect_spans_key", value=key, known="a string, null"
                )
            )
        return super()._check_settings(cfg)

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
        entities = {(trim(ent), ent.label_) for ent in reference.ents}
        spans = [span for span in reference.spans[key] if trim(span)]
        for span in spans:
            if (trim(span), span.label_) in entities:
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
        trimmed = [(trim(span), span.label_) for span in aligned]
        return [
            (tokens.start, tokens.stop, index[label])
            for tokens, label in trimmed
            if label in index and tokens
        ]


def _rank(entity: RankedEntity) -> tuple[float, int, int]:
    sure = entity.lead if entity.probability is None else entity.probability
    return sure, entity.doc, entity.span.start


def _types_of(example: Example) -> set[str]:
    """The labels of the entities of a reference."""
    strings = example.reference.vocab.strings
    return {strings[type_] for type_ in _find_types(example.reference) if type_}


def _find_types(doc: Doc) -> list[int]:
    """The string IDs of the labels of entities that have words."""
    return np.unique(read_entities(doc)[1][find_words(doc)]).tolist()
