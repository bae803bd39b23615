"""The dependency parser as a pipeline component: spaCy's contract, no arithmetic."""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.pipeline._parser_internals.nonproj import (
    DELIMITER,
    projectivize,
)
from spacy.pipeline.dep_parser import parser_score
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..base.errors import Errors, Warnings
from ..base.settings import check_choice, check_number
from ..base.templates import Templates
from ..confidence.maps import Calibration
from ..spacy_io.annotations import read_parse, read_pos, read_tags, write_parses
from ..spacy_io.tokens import (
    find_blank_lines,
    find_untagged,
    find_words,
    hand_on_starts,
    have_same_words,
    read_lowers,
    read_sent_starts,
)
from ..tasks.arc_eager.engine import (
    SPACE,
    GoldParse,
    ParseBatch,
    ParseExplanation,
    ParsingModel,
    TaggedWords,
)
from ..tasks.arc_eager.trees import classify_tree, restore_arcs
from .component import (
    DynselComponent,
    Names,
    RecentDocs,
    as_list,
    get_ids,
    get_seed,
    read_examples,
    read_margin,
    write_margin,
)
from .confidences import ARC, write_tokens
from .tag_source import TagSource

ROOT_LABEL = "ROOT"
# The label of white space.
SPACE_LABEL = "dep"
MISSING = -1
MAX_BRANCHES = 1000
MAX_LEAD = 1e6


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


class WordTree(NamedTuple):
    """The trees of a doc without its white space.

    doc (Doc): The doc.
    heads (array): For each word the number of its head among the words, its own for a
        root, MISSING where it is not known or white space.
    deps (array): For each word the string ID of its label.
    starts (array): For each word 1 if a sentence starts there, -1 if not, 0 where it
        is not known.
    is_partial (bool): Whether there are words without annotation.
    """

    doc: Doc
    heads: np.ndarray
    deps: np.ndarray
    starts: np.ndarray
    is_partial: bool


class DynselParser(DynselComponent):
    """Parses sentences, and finds them where they are not set, by linear models that
    read, for each decision, only as many feature templates as they need. A
    replacement for spaCy's DependencyParser.

    The parser reads token.tag where it is set. Each sentence gets one tree, whose root
    has the label "ROOT"; white space hangs on the word before it with the label "dep".
    Trees that are not projective are learned with labels that say from where an arc
    was lifted, and restored by these.

    vocab (Vocab): The shared vocabulary.
    model (Model): The model, see spacy_dynsel.DynamicParser.v1.
    name (str): The name of the component.
    margin (float or list[float]): The lead over the second-best transition at which a
        decision is made: for all stages, or for each but the last. Infinity means
        that all templates are always used.
    label_margin (float or list[float]): The same for the labels of arcs.
    branches (int): At how many of the least certain decisions of a sentence to try the
        second-best transition as well; 0 means that the first parse is taken.
    branch_lead (float): The lead below which a decision counts as uncertain.
    n_threads (int): How many threads to use for a batch of docs.
    cache_size (int): The number of lexemes for which to keep what was worked out.
    min_label_freq (int): How often a label for a lifted arc has to occur in the
        training data; those that are rarer lose what they say about lifting.
    confidence (bool): Whether to say how likely each annotation is right, in
        token._.dynsel_confidence or span._.dynsel_confidence.
    keep_training_state (bool): Whether to save what learning needs to go on later as if
        it had not been interrupted.
    scorer (Callable): The scoring method.
    split_blank_lines (bool): Whether a blank line between two words, white space with
        two line breaks, ends a sentence unless the next word is set not to start one.
        Without a value the training data decide: it does, unless they have blank lines
        and sentences start after at most half of them.
    """

    architecture = "spacy_dynsel.DynamicParser.v1"
    engine_type = ParsingModel
    names_type = ArcNames
    _has_warned = False

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "dynsel_parser",
        *,
        margin: float | list[float] = 7.0,
        label_margin: float | list[float] = 6.0,
        branches: int = 8,
        branch_lead: float = 3.0,
        n_threads: int = 1,
        cache_size: int = 50_000,
        confidence: bool = False,
        keep_training_state: bool = False,
        min_label_freq: int = 10,
        scorer: Callable[..., dict[str, Any]] | None = parser_score,
        split_blank_lines: bool | None = None,
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
            branch_lead=branch_lead,
            branches=branches,
            label_margin=label_margin,
            min_label_freq=min_label_freq,
            split_blank_lines=split_blank_lines,
        )
        # What gives docs their tags, as far as that is known.
        self._tagger = TagSource()

    calibrated_settings = ("margin", "label_margin", "branches", "branch_lead")

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
    def label_margin(self) -> float | list[float]:
        """The lead at which the label of an arc is decided. Can be set at any time."""
        return read_margin(self.cfg["label_margin"], self.engine.n_label_stages)

    @label_margin.setter
    def label_margin(self, margin: float | list[float]) -> None:
        self.cfg["label_margin"] = write_margin(margin, self.engine.n_label_stages)

    @property
    def branches(self) -> int:
        """At how many uncertain decisions to try the second-best transition. Can be set
        at any time."""
        return self.cfg["branches"]

    @branches.setter
    def branches(self, branches: int) -> None:
        self._set_checked("branches", branches)

    @property
    def branch_lead(self) -> float:
        """The lead below which a decision is uncertain. Can be set at any time."""
        return self.cfg["branch_lead"]

    @branch_lead.setter
    def branch_lead(self, lead: float) -> None:
        self._set_checked("branch_lead", lead)

    @property
    def split_blank_lines(self) -> bool | None:
        """Whether a blank line ends a sentence, or None for what the training data say.
        Can be set at any time."""
        return self.cfg["split_blank_lines"]

    @split_blank_lines.setter
    def split_blank_lines(self, split: bool | None) -> None:
        self._set_checked("split_blank_lines", split)

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
        if self.engine.reads_tags and not self._has_warned and find_untagged(docs):
            self._has_warned = True
            warnings.warn(Warnings.DW121.format(name=self.name), stacklevel=2)
        return batch

    def set_annotations(self, docs: Iterable[Doc], predictions: ParseBatch) -> None:
        """Set the heads, the labels and the sentences of docs.

        docs (Iterable[Doc]): The docs.
        predictions (ParseBatch): What predict returned.
        """
        docs = as_list(docs)
        labels = predictions.labels
        names = self._get_names_of(predictions)
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
        """See DynselComponent.describe; templates and margin are those of transitions,
        and those of labels stand beside."""
        label_checkpoints = list(self.engine.arcs.templates.checkpoints)
        return {
            **super().describe(),
            "label_templates": label_checkpoints[-1],
            "label_checkpoints": label_checkpoints,
            "label_margin": self.cfg["label_margin"],
            "branches": self.branches,
        }

    def explain(self, doc: Doc) -> list[ParseExplanation]:
        """Say for each token how it was parsed.

        doc (Doc): The doc, which is not changed. Sentence starts that are set count.
        RETURNS (list[ParseExplanation]): For each token its head and its label, the
            transitions that were decided while it was the next one to be read, with
            their leads and the templates they took, and whether a reranker has
            changed its arc. Arcs that were lifted are as the parser made them.
        """
        return self._require_engine().explain(
            doc,
            self.margin,
            self.label_margin,
            branches=self.branches,
            branch_lead=self.branch_lead,
        )

    def statistics(self, docs: Iterable[Doc]) -> dict[str, Any]:
        """Say how many templates some docs need.

        docs (Iterable[Doc]): The docs, which are not changed.
        RETURNS (dict): The number of tokens; for transitions, their number (decisions),
            the mean number of templates (templates) and the share that is decided at
            each stage (stages); for labels the same (label_decisions, label_templates
            and label_stages).
        """
        docs = as_list(docs)
        engine = self._require_engine()
        batch = self._predict(docs)
        result: dict[str, Any] = {"tokens": sum(map(len, docs))}
        for prefix, part, counts in (
            ("", engine.actions, batch.action_counts),
            ("label_", engine.arcs, batch.label_counts),
        ):
            n_decisions = int(counts.sum())
            result[f"{prefix}decisions"] = n_decisions
            result[f"{prefix}templates"] = part.mean_templates(counts)
            result[f"{prefix}stages"] = [
                float(count) / max(1, n_decisions) for count in counts
            ]
        return result

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | dict[str, dict[str, int]] | None = None,
    ) -> None:
        """Prepare for training: find the labels, and the tags of words.

        get_examples (Callable): Gives the training data.
        nlp (Language): The pipeline.
        labels (list[str]): The labels; if missing, those of the data are used. What
            `spacy init labels` writes for spaCy's own component will do as well.
        """
        examples = read_examples(get_examples, "DynselParser.initialize")
        util.check_lexeme_norms(self.vocab, "parser")
        names = self._find_labels(examples) if labels is None else _read_labels(labels)
        if names is None:
            raise ValueError(Errors.DS122.format(name=self.name, labels=labels))
        found = dict.fromkeys(self._known_labels)
        for name in names:
            if self._check_arc_label(name):
                # A label for lifted arcs asks for its plain form.
                found |= dict.fromkeys((name.partition(DELIMITER)[0], name))
        found.pop(ROOT_LABEL, None)
        tagger = TagSource(nlp, self)

        def prepare(engine: ParsingModel, names: ArcNames) -> None:
            engine.initialize(
                names.labels,
                self.vocab,
                lambda: (_read_words(example.reference) for example in examples),
                lang=self.vocab.lang if nlp is None else nlp.lang,
                seed=get_seed(nlp),
            )

        self._initialize(list(found) or [SPACE_LABEL], prepare)
        self._tagger = tagger

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from examples. The weights change at once: the learner is online and
        has its own step sizes, so that the optimizer is not used.

        Heads, labels and sentence starts that are missing are not learned, and neither
        are labels that are not known from initialize. Sentences are those of the
        reference, whatever the predicted doc says; arcs that leave them count as
        missing.

        examples (Iterable[Example]): The examples.
        drop (float): The probability with which each template is left out.
        sgd (Optimizer): Not used.
        losses (dict): Where to add the loss.
        RETURNS (dict): The losses.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "DynselParser.update")
        engine = self._require_engine()
        names = self._get_names(engine.labels)
        tagged = self._tagger.tag(
            [example.predicted for example in examples],
            self.name,
            are_known=engine.reads_tags,
        )
        golds = [
            self._get_gold(example, names)._replace(doc=doc)
            for example, doc in zip(examples, tagged, strict=True)
        ]
        golds = [
            gold for gold in golds if (gold.heads != MISSING).any() or _has_starts(gold)
        ]
        if golds:
            losses[self.name] += engine.update(golds, drop=drop)
        self._just_updated = RecentDocs(
            engine, [example.predicted for example in examples]
        )
        return losses

    def add_label(self, label: str) -> int:
        """Add a label, at any time. "ROOT" is always there.

        RETURNS (int): 1, or 0 if the label is there already.
        """
        return self._add_labels([label]) if self._check_arc_label(label) else 0

    @property
    def _exit_templates(self) -> Templates:
        return self.engine.actions.templates

    def _predict(self, docs: list[Doc], *, with_leads: bool = False) -> ParseBatch:
        engine = self._require_engine()
        self._configure(engine, self.cfg)
        return engine.predict(
            docs,
            self.margin,
            self.label_margin,
            self.cfg["n_threads"],
            branches=self.branches,
            branch_lead=self.branch_lead,
            with_leads=with_leads,
        )

    def _configure(self, engine: ParsingModel, cfg: dict[str, Any]) -> None:
        super()._configure(engine, cfg)
        split = cfg["split_blank_lines"]
        if split is not engine.split_blank_lines:
            check_choice("split_blank_lines", split, (True, False, None))
            engine.split_blank_lines = split

    def _check_settings(self, cfg: dict[str, Any]) -> Calibration | None:
        read_margin(cfg["label_margin"], self.engine.n_label_stages)
        check_number("branches", cfg["branches"], 0, MAX_BRANCHES)
        check_number("branch_lead", cfg["branch_lead"], 0, MAX_LEAD, whole=False)
        check_number("min_label_freq", cfg["min_label_freq"], 0, math.inf)
        check_choice("split_blank_lines", cfg["split_blank_lines"], (True, False, None))
        return super()._check_settings(cfg)

    def _check_arc_label(self, label: Any) -> bool:
        """RETURNS (bool): False for the label of roots, which needs no place."""
        self._check_label(label)
        plain, delimiter, head = label.partition(DELIMITER)
        if not plain or DELIMITER in head or (delimiter and not head):
            raise ValueError(Errors.DS124.format(name=self.name, label=label))
        return label != ROOT_LABEL

    def _find_labels(self, examples: Iterable[Example]) -> list[str]:
        """The labels of arcs in the data, without those of lifted arcs that are rare."""
        counts: Counter[str] = Counter()
        for example in examples:
            heads, deps = self._projectivize(_read_tree(example.reference))
            counts.update(
                dep
                for i, (head, dep) in enumerate(zip(heads, deps, strict=True))
                if dep and head not in (MISSING, i) and dep.count(DELIMITER) <= 1
            )
        for label, count in list(counts.items()):
            if DELIMITER in label and count < self.cfg["min_label_freq"]:
                counts[label.partition(DELIMITER)[0]] += counts.pop(label)
        return sorted(label for label in counts if label)

    def get_gold(self, example: Example) -> GoldParse:
        """What is known about the tree of a predicted doc, aligned where the words
        differ."""
        return self._get_gold(example, self._get_names(self._known_labels))

    def _get_gold(self, example: Example, names: ArcNames) -> GoldParse:
        reference = example.reference
        tree = _read_tree(reference)
        words = find_words(example.predicted)
        n = len(example.predicted)
        heads, labels = np.full((2, n), MISSING, dtype="int32")
        if have_same_words(example.predicted, reference):
            found = tree.heads
            if self._classify(tree) == "projective" or (found == MISSING).any():
                labels.put(words, names.find_all(reference, tree.deps))
            else:
                lifted, deps = self._projectivize(tree)
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

    def _classify(self, tree: "WordTree") -> str:
        kind = classify_tree(tree.heads)
        if kind == "cyclic":
            start = tree.doc[:10].text
            raise ValueError(Errors.DS123.format(name=self.name, start=start))
        return kind

    def _projectivize(self, tree: "WordTree") -> tuple[list[int], list[str]]:
        """The heads and labels of a gold tree, which is made projective if all of it
        is known: arcs are lifted, and their labels say from where."""
        kind = self._classify(tree)
        heads = tree.heads.tolist()
        deps = [tree.doc.vocab.strings[dep] for dep in tree.deps.tolist()]
        if kind == "crossing" and MISSING not in heads:
            # One by one: it takes time that grows with the square of the length.
            for start, end in _find_parts(tree.heads):
                found, labels = projectivize(
                    [head - start for head in heads[start:end]], deps[start:end]
                )
                heads[start:end] = [head + start for head in found]
                deps[start:end] = labels
        return heads, deps

    def _find_missing(self, example: Example) -> list[int]:
        """The tokens whose heads are missing, for a reference with other words: the
        alignment has them as roots."""
        missing = np.flatnonzero(read_parse(example.reference)[0] == MISSING).tolist()
        aligned = example.alignment.y2x
        return [int(i) for token in missing for i in aligned[token]]


def _read_labels(labels: Any) -> list[str] | None:
    """The labels that are given as a list or by the actions of spaCy's own component;
    None if they can't be read."""
    if isinstance(labels, dict) and all(
        isinstance(value, dict) for value in labels.values()
    ):
        return sorted({name for names in labels.values() for name in names if name})
    return None if isinstance(labels, str | dict) else list(labels)


def _find_parts(heads: np.ndarray) -> list[tuple[int, int]]:
    """The parts of a doc that no arc leaves."""
    tokens = np.arange(len(heads))
    last = np.maximum.accumulate(np.maximum(tokens, heads))
    first = np.minimum.accumulate(np.minimum(tokens, heads)[::-1])[::-1]
    is_end = (last == tokens) & (np.append(first[1:], len(heads)) > tokens)
    ends = (np.flatnonzero(is_end) + 1).tolist()
    return list(pairwise([0, *ends]))


def _read_tree(doc: Doc) -> WordTree:
    words = find_words(doc)
    all_heads, deps = read_parse(doc)
    # The last place is for heads that are missing, which have the number -1.
    numbers = np.full(len(doc) + 1, MISSING, dtype="int32")
    numbers.put(words, np.arange(len(words)))
    is_missing = all_heads[words] == MISSING
    starts = hand_on_starts(read_sent_starts(doc), words)
    if is_missing.any() and not is_missing.all():
        # spaCy derives from heads where sentences do not start, missing or not.
        starts[starts == -1] = 0
    heads = numbers.take(all_heads[words])
    return WordTree(doc, heads, deps[words], starts, bool(is_missing.any()))


def _has_starts(gold: GoldParse) -> bool:
    """Whether something is known about sentence starts within a doc."""
    return bool(gold.sent_starts[find_words(gold.doc)[1:]].any())


def _read_words(doc: Doc) -> TaggedWords:
    words = find_words(doc)
    n_blank_lines = n_split = 0
    if len(words) < len(doc):
        starts = _read_tree(doc).starts[find_blank_lines(doc)]
        n_blank_lines = int((starts != 0).sum())
        n_split = int((starts == 1).sum())
    return TaggedWords(
        read_lowers(doc)[words],
        read_tags(doc)[words],
        read_pos(doc)[words],
        n_blank_lines,
        n_split,
    )
