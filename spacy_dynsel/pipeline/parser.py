"""The dependency parser as a pipeline component: spaCy's contract, no arithmetic."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from spacy.language import Language
from spacy.pipeline._parser_internals.nonproj import DELIMITER
from spacy.pipeline.dep_parser import parser_score
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ..base.errors import Errors
from ..base.settings import check_choice, check_number
from ..base.system_errors import SystemErrors
from ..confidence.maps import ConfidenceMap
from ..spacy_io.annotations import read_parse, write_parses
from ..spacy_io.tokens import find_words, hand_on_starts, have_same_words
from ..tasks.arc_eager.batch import ParseBatch
from ..tasks.arc_eager.constraints import Constraints, read_constraints
from ..tasks.arc_eager.decode import SPACE
from ..tasks.arc_eager.engine import ParsingEngine
from ..tasks.arc_eager.gold import (
    MISSING,
    GoldParse,
    TaggedWords,
    WordTree,
    lift_arcs,
    read_tree,
    read_words,
)
from ..tasks.arc_eager.trees import classify_tree, restore_arcs
from ..tasks.links.engine import LinkEngine
from .component import DynselComponent, Verdicts, as_list
from .confidences import ARC, write_tokens
from .names import (
    POS_ATTRIBUTE,
    TAG_ATTRIBUTE,
    Names,
    check_label,
    get_ids,
    read_labels,
)
from .settings import MarginSetting, Setting
from .sources import PARTS_OF_SPEECH, TAGS, Source

ROOT_LABEL = "ROOT"
# The label of white space.
SPACE_LABEL = "dep"
MAX_BRANCHES = 1000
MAX_LEAD = 1e6
MAX_TREES = 10_000


class ArcNames(Names):
    """What labels of arcs are to spaCy, and what those of gold data stand for."""

    def __init__(self, labels: tuple[str, ...]) -> None:
        super().__init__(labels)
        # See write_parses.
        self.deps = get_ids((*labels, SPACE_LABEL, ROOT_LABEL))
        # By label, with room for those of roots and of white space.
        self.is_lifted = np.zeros(1 << 16, dtype=bool)
        self.is_lifted[: len(labels)] = [DELIMITER in label for label in labels]
        lifted = [label for label in labels if DELIMITER in label]
        # See restore_arcs.
        self.lifted = {
            get_string_id(label): tuple(get_ids(label.split(DELIMITER)).tolist())
            for label in lifted
        }
        parts = {part for label in lifted for part in label.split(DELIMITER)}
        self.others = (SPACE_LABEL, ROOT_LABEL, *sorted(parts))
        self._index = {label: i for i, label in enumerate(labels)}
        # By string ID, as far as seen.
        self._known: dict[int, int] = {0: MISSING}

    def find_all(self, doc: Doc, deps: np.ndarray) -> np.ndarray:
        """The labels that token.dep of a gold doc stands for."""
        ids = deps.tolist()
        for dep in set(ids) - self._known.keys():
            self._known[dep] = self.get(doc.vocab.strings[dep])
        return np.array([self._known[dep] for dep in ids], dtype="int32")

    def get(self, name: str) -> int:
        """The label that a name stands for."""
        if name in self._index:
            return self._index[name]
        return self._index.get(name.partition(DELIMITER)[0], MISSING)


class DynselParser(DynselComponent):
    """Parses sentences, and finds them where they are not set, by linear models that
    read, for each decision, only as many feature templates as they need. A
    replacement for spaCy's DependencyParser.

    The parser reads token.tag where it is set. Each sentence gets one tree, whose root
    has the label "ROOT"; white space hangs on the word before it with the label "dep".
    Trees that are not projective are learned with labels that say from where an arc
    was lifted, and restored by these.

    See DynselComponent for the settings that all components have.

    model (Model): The model, see spacy_dynsel.DynamicParser.v1 and
        spacy_dynsel.LinkParser.v1. The latter has no transitions, so that margin, branches
        and branch_lead mean nothing to it.
    label_margin (float or list[float]): The same for the labels of arcs.
    branches (int): At how many of the least certain decisions of a sentence to try the
        second-best transition as well; 0 means that the first parse is taken.
    branch_lead (float): The lead below which a decision counts as uncertain.
    min_label_freq (int): How often a label for a lifted arc has to occur in the
        training data; those that are rarer lose what they say about lifting.
    split_blank_lines (bool): Whether a blank line between two words, white space with
        two line breaks, ends a sentence unless the next word is set not to start one.
        Without a value the training data decide: it does, unless they have blank lines
        and sentences start after at most half of them.
    """

    architecture = "spacy_dynsel.DynamicParser.v1"
    engine_type = (ParsingEngine, LinkEngine)
    gold_attribute = "DEP"
    gold_missing = "no token has a head"
    decision = "transition"
    names_type = ArcNames
    learns_from = (TAG_ATTRIBUTE, POS_ATTRIBUTE)

    defaults: ClassVar[dict[str, Any]] = {
        **DynselComponent.defaults,
        "margin": 7.0,
        "label_margin": 6.0,
        "branches": 8,
        "branch_lead": 3.0,
        "min_label_freq": 10,
        "split_blank_lines": None,
    }
    usual_name = "dynsel_parser"
    usual_scorer = staticmethod(parser_score)
    label_margin = MarginSetting("The lead at which the label of an arc is decided.")
    branches = Setting("At how many uncertain decisions to try the second-best one.")
    branch_lead = Setting("The lead below which a decision is uncertain.")
    split_blank_lines = Setting(
        "Whether a blank line ends a sentence, or None for what the training data say."
    )

    def __init__(
        self, vocab: Vocab, model: Model, name: str | None = None, **settings: Any
    ) -> None:
        super().__init__(vocab, model, name, **settings)
        # What gives docs what it learns from, as far as that is known.
        self._sources = (Source(TAGS), Source(PARTS_OF_SPEECH))

    @property
    def labels(self) -> tuple[str, ...]:
        """What token.dep_ can be, sorted; before initialization, what was added."""
        names = {name.partition(DELIMITER)[0] for name in self._kept_labels}
        if self.engine.is_initialized:
            names |= {ROOT_LABEL, SPACE_LABEL}
        return tuple(sorted(names))

    @property
    def label_data(self) -> tuple[str, ...]:
        """The labels in the form that initialize takes: those of lifted arcs are
        there, and "ROOT" is not."""
        return self._known_labels

    @property
    def is_resizable(self) -> bool:
        """Labels can be added at any time."""
        return True

    def predict(self, docs: Iterable[Doc]) -> ParseBatch:
        """Predict the trees of docs, without changing them.

        docs (Iterable[Doc]): The docs.
        RETURNS (ParseBatch): The trees.
        """
        docs = as_list(docs)
        batch = super().predict(docs)
        for source, are_known in zip(self._sources, self._get_known(), strict=True):
            source.check(docs, self.name, are_known=are_known)
        return batch

    def set_annotations(self, docs: Iterable[Doc], predictions: ParseBatch) -> None:
        """Set the heads, the labels and the sentences of docs.

        docs (Iterable[Doc]): The docs.
        predictions (ParseBatch): What predict returned.
        """
        docs = as_list(docs)
        labels = predictions.labels
        names = self._get_names_of(predictions, docs)
        write_parses(docs, predictions.heads, labels, predictions.starts, names.deps)
        lifted = names.is_lifted.take(labels)
        if lifted.any():
            end = 0
            for doc in docs:
                start, end = end, end + len(doc)
                tokens = np.flatnonzero(lifted[start:end]).tolist()
                if tokens:
                    restore_arcs(doc, tokens, names.lifted)
        if predictions.leads is not None and self.cfg["confidence"]:
            values = self.get_probabilities(predictions)
            write_tokens(docs, ARC, values, labels != SPACE)

    def parse(
        self,
        doc: Doc,
        *,
        heads: Mapping[int, int] | None = None,
        forbid: Iterable[tuple[int, int]] = (),
    ) -> Doc:
        """Parse a doc as a call does, but with links that are set or forbidden. All else is
        decided in their light.

        doc (Doc): The doc.
        heads (Mapping[int, int]): For the index of a word that of its head, or its own for
            the root of a sentence.
        forbid (Iterable[tuple[int, int]]): The index of a word, and that of one which must
            not be its head, or its own for one which must not be a root.
        RETURNS (Doc): The same doc.
        """
        [batch], constraints = self._predict_within(doc, 1, heads, forbid)
        self._write_within(doc, batch, constraints)
        return doc

    def k_best(
        self,
        doc: Doc,
        k: int,
        *,
        heads: Mapping[int, int] | None = None,
        forbid: Iterable[tuple[int, int]] = (),
    ) -> list[Doc]:
        """Parse copies of a doc in several ways: first as parse does, then as it would if
        the link of the least lead were forbidden, then that of the next to least lead, and
        so on.

        doc (Doc): The doc, which is left as it is.
        k (int): How many ways there are at most, all of them different.
        heads (Mapping[int, int]), forbid (Iterable[tuple[int, int]]): See parse.
        RETURNS (list[Doc]): Copies of the doc, with annotation.
        """
        check_number("k", k, 1, MAX_TREES)
        batches, constraints = self._predict_within(doc, k, heads, forbid)
        copies = [doc.copy() for _ in batches]
        for copy, batch in zip(copies, batches, strict=True):
            self._write_within(copy, batch, constraints)
        return copies

    def _predict_within(
        self,
        doc: Doc,
        k: int,
        heads: Mapping[int, int] | None,
        forbid: Iterable[tuple[int, int]],
    ) -> tuple[list[ParseBatch], Constraints]:
        """Predict up to k trees with links that are set or forbidden."""
        engine = self._require_engine()
        with_leads = bool(self.cfg["confidence"])
        if with_leads:
            self._check_confidence()
        constraints = read_constraints(doc, heads, forbid, self.name)
        self._configure(engine, self.cfg)
        knobs = {**self._get_knobs(), "with_leads": with_leads}
        if k == 1:
            batch = engine.predict_within(doc, constraints, **knobs)
            found = [] if batch is None else [batch]
        else:
            found = engine.predict_several(doc, k, constraints, **knobs)
        if not found:
            start = doc[:10].text
            raise ValueError(SystemErrors.DS261.format(name=self.name, start=start))
        return found, constraints

    def _write_within(
        self, doc: Doc, batch: ParseBatch, constraints: Constraints
    ) -> None:
        names = self._get_names_of(batch, [doc])
        # The labels of lifted arcs would move them.
        moved = names.is_lifted.take(batch.labels) & constraints.is_bound
        for token in np.flatnonzero(moved).tolist():
            plain = names.labels[batch.labels[token]].partition(DELIMITER)[0]
            batch.labels[token] = names.get(plain)
        self.set_annotations([doc], batch)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """See DynselComponent.score."""
        # spaCy's scorer takes the places at which a doc has no head for places without
        # one in all later docs, too: what is annotated has to come first.
        ordered = sorted(
            examples,
            key=lambda example: (
                not example.reference.has_annotation("DEP", require_complete=True)
            ),
        )
        return super().score(ordered, **kwargs)

    def describe(self) -> dict[str, Any]:
        """See DynselComponent.describe."""
        described = super().describe()
        if "branches" in self.engine.knob_settings:
            described["branches"] = self.branches
        return described

    def compare(self, examples: list[Example], batch: ParseBatch) -> Verdicts:
        """See DynselComponent.compare: units are tokens."""
        verdicts: Verdicts = []
        for number, example in enumerate(examples):
            heads, deps = example.get_aligned_parse(projectivize=False)
            for token, head, dep in zip(example.predicted, heads, deps, strict=True):
                is_space = batch.labels[len(verdicts)] == SPACE
                if head is None or not dep or is_space:
                    verdicts.append((None, number))
                    continue
                # However a corpus calls its roots.
                same = token.dep_ == dep or head == token.i
                verdicts.append((same and token.head.i == head, number))
        return verdicts

    def add_label(self, label: str) -> int:
        """Add a label, at any time. "ROOT" is always there.

        RETURNS (int): 1, or 0 if the label is there already.
        """
        return self._add_labels([label]) if self._check_arc_label(label) else 0

    def _join(self, nlp: Language | None) -> None:
        self._sources = (Source(TAGS, nlp, self), Source(PARTS_OF_SPEECH, nlp, self))

    def _get_knobs(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.engine.knob_settings}

    def _get_confidence_settings(self) -> dict[str, Any]:
        return {name: self.cfg[name] for name in self.engine.knob_settings}

    def _configure(self, engine: Any, cfg: dict[str, Any]) -> None:
        super()._configure(engine, cfg)
        split = cfg["split_blank_lines"]
        if split is not engine.split_blank_lines:
            check_choice("split_blank_lines", split, (True, False, None))
            engine.split_blank_lines = split

    def _check_settings(self, cfg: dict[str, Any]) -> ConfidenceMap | None:
        check_number("branches", cfg["branches"], 0, MAX_BRANCHES)
        check_number("branch_lead", cfg["branch_lead"], 0, MAX_LEAD, whole=False)
        check_number("min_label_freq", cfg["min_label_freq"], 0, math.inf)
        check_choice("split_blank_lines", cfg["split_blank_lines"], (True, False, None))
        return super()._check_settings(cfg)

    def _check_arc_label(self, label: Any) -> bool:
        """RETURNS (bool): False for the label of roots, which needs no place."""
        check_label(self.name, label)
        plain, delimiter, head = label.partition(DELIMITER)
        if not plain or DELIMITER in head or (delimiter and not head):
            raise ValueError(Errors.DS124.format(name=self.name, label=label))
        return label != ROOT_LABEL

    def _choose_labels(self, examples: list[Example], labels: Any) -> Iterable[str]:
        names = self._find_labels(examples) if labels is None else read_labels(labels)
        if names is None:
            raise ValueError(Errors.DS122.format(name=self.name, labels=labels))
        found = dict.fromkeys(self._known_labels)
        for name in names:
            if self._check_arc_label(name):
                # A label for lifted arcs asks for its plain form.
                found |= dict.fromkeys((name.partition(DELIMITER)[0], name))
        found.pop(ROOT_LABEL, None)
        return list(found) or [SPACE_LABEL]

    def _find_labels(self, examples: Iterable[Example]) -> list[str]:
        """The labels of arcs in the data, without those of lifted arcs that are rare."""
        counts: Counter[str] = Counter()
        for example in examples:
            tree = read_tree(example.reference)
            self._classify(tree)
            heads, deps = lift_arcs(tree)
            counts.update(
                dep
                for i, (head, dep) in enumerate(zip(heads, deps, strict=True))
                if dep and head not in (MISSING, i) and dep.count(DELIMITER) <= 1
            )
        for label, count in list(counts.items()):
            if DELIMITER in label and count < self.cfg["min_label_freq"]:
                counts[label.partition(DELIMITER)[0]] += counts.pop(label)
        return sorted(label for label in counts if label)

    def _read_all(self, examples: list[Example], names: ArcNames) -> list[TaggedWords]:
        return [read_words(example.reference) for example in examples]

    def _get_golds(self, examples: list[Example]) -> list[GoldParse]:
        # Sentences are those of the reference, whatever the predicted doc says.
        docs = [example.predicted for example in examples]
        for source, are_known in zip(self._sources, self._get_known(), strict=True):
            docs = source.annotate(docs, self.name, are_known=are_known)
        golds = super()._get_golds(examples)
        return [gold._replace(doc=doc) for gold, doc in zip(golds, docs, strict=True)]

    def _get_known(self) -> tuple[bool, bool]:
        """Whether it has learned from docs with tags, and with parts of speech."""
        return self.engine.reads_tags, self.engine.reads_pos

    def _get_gold(self, example: Example, names: ArcNames) -> GoldParse:
        reference = example.reference
        tree = read_tree(reference)
        words = find_words(example.predicted)
        n = len(example.predicted)
        heads, labels = np.full((2, n), MISSING, dtype="int32")
        if have_same_words(example.predicted, reference):
            found = tree.heads
            if self._classify(tree) == "projective" or (found == MISSING).any():
                labels.put(words, names.find_all(reference, tree.deps))
            else:
                lifted, deps = lift_arcs(tree)
                found = np.array(lifted, dtype="int32")
                labels.put(words, [names.get(dep) for dep in deps])
            heads.put(words, np.where(found == MISSING, MISSING, words.take(found)))
            starts = tree.starts
        else:
            self._classify(tree)
            aligned, deps = example.get_aligned_parse(projectivize=not tree.is_partial)
            heads.put(
                words, [MISSING if aligned[i] is None else aligned[i] for i in words]
            )
            heads[self._find_missing(example)] = MISSING
            labels.put(words, [names.get(deps[i] or "") for i in words])
            given = [
                0 if start is None else 1 if start else -1
                for start in example.get_aligned_sent_starts()
            ]
            starts = hand_on_starts(np.array(given, dtype="int32"), words)
            if tree.is_partial and (heads != MISSING).any():
                starts[starts == -1] = 0
        sent_starts = np.zeros(n, dtype="int32")
        sent_starts.put(words, starts)
        return GoldParse(example.predicted, heads, labels, sent_starts)

    def _classify(self, tree: WordTree) -> str:
        kind = classify_tree(tree.heads)
        if kind == "cyclic":
            start = tree.doc[:10].text
            raise ValueError(Errors.DS123.format(name=self.name, start=start))
        return kind

    def _find_missing(self, example: Example) -> list[int]:
        """The tokens whose heads are missing, for a reference with other words: the
        alignment has them as roots."""
        missing = np.flatnonzero(read_parse(example.reference)[0] == MISSING).tolist()
        aligned = example.alignment.y2x
        return [int(i) for token in missing for i in aligned[token]]
