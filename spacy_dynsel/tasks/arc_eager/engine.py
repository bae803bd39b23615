"""Dependency parsing: all that a parser learns, uses and stores, apart from spaCy's
contract."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ...base.atomic import assign, new_lock
from ...base.errors import Errors
from ...base.model_file import FileData, dump_model, load_model
from ...base.settings import LearnerSettings
from ...base.templates import Templates
from ...confidence.maps import Evidence, scale_leads
from ...core.lexicon import Lexicon
from ...core.recorder import Recorder
from ...spacy_io.bridge import (
    LEXICAL_COLUMNS,
    LexemeReader,
    find_blank_lines,
    find_words,
    hand_on_starts,
    read_sent_starts,
    read_tags,
)
from ..classifier import Classifier, scale_margins
from ..engine import (
    MIN_TOKENS_FOR_CUTOFF,
    TRAINING_LEXEMES,
    check_lookup,
    get_fold,
    load_clusters,
    lookup_arrays,
    make_classes,
    require,
)
from ..training_state import (
    Resumable,
    check_state,
    describe_settings,
    read_settings,
)
from .decode import ROOT, SPACE, ParseBatch, parse
from .features import (
    ACTION_PLACES,
    ACTIONS,
    BOUNDARY_PLACES,
    LABEL_PLACES,
    Features,
    TagMap,
    tag_keys,
)
from .places import PLACES
from .reranker import SCALE as RANK_SCALE
from .reranker import TRAINING_BRANCHES, TRAINING_LEAD, Reranker
from .train import TrainingBatch

__all__ = [
    "ROOT",
    "SPACE",
    "GoldParse",
    "ParseBatch",
    "ParseExplanation",
    "ParsingModel",
    "TaggedWords",
    "Transition",
]

TASK = "parsing"
MAX_LABELS = (1 << 15) - 2
# See LearnerSettings.
DEFAULTS = {"predicted_history": 0.9, "word_dropout": 0.05}
# How often a word has to occur with a tag to have a part of speech of its own there.
MIN_PAIRS = 5
CLASS_MIN_COUNT = 10
CLASS_MIN_SHARE = 0.1
# By how much the margin of boundaries is larger than that of transitions: few tokens start
# a sentence, and one that is missed spoils two of them. Less than 1.6 lost some on
# development data.
BOUNDARY_CAUTION = 1.75
MIN_BYTES_FOR_THREADS = 1 << 20


class GoldParse(NamedTuple):
    """A doc with what is known about its tree; nothing is known about white space.

    doc (Doc): The doc.
    heads (array): For each token the index of its head, its own for a root, -1 where
        it is not known.
    labels (array): For each token the index of its label, -1 where it is not known.
    sent_starts (array): For each token 1 if a sentence starts there, -1 if not, 0
        where it is not known.
    """

    doc: Doc
    heads: np.ndarray
    labels: np.ndarray
    sent_starts: np.ndarray


class Transition(NamedTuple):
    """A decision of the parser.

    action (str): What it did with N0 and S0, see arc_eager.pxd.
    label (str): The label of the arc that it made, if any.
    top (int): S0, the token on top of the stack.
    lead (float): The lead over the runner-up when the decision was made.
    runner_up (str): The second-best action that was possible.
    stage (int): The stage in which the decision was made, from 1.
    n_templates (int): The number of templates that were read for it.
    n_label_templates (int): The number that were read for the label.
    """

    action: str
    label: str
    top: int
    lead: float
    runner_up: str
    stage: int
    n_templates: int
    n_label_templates: int


class ParseExplanation(NamedTuple):
    """How a token got its place.

    head (int): Its head, itself for a root.
    label (str): Its label.
    transitions (list[Transition]): What the parser did while the token was N0, the
        first in the buffer. Nothing has to be decided at the first one of a sentence.
    weakest_lead (float): The smallest lead among them; infinite if there are none.
    reranked (bool): Whether another tree was chosen, in which its arc differs from
        what the transitions say.
    """

    head: int
    label: str
    transitions: list[Transition]
    weakest_lead: float
    reranked: bool


class TaggedWords(NamedTuple):
    """What training data say about the words of a doc.

    lowers (array), tags (array), pos (array): For each word string IDs and numbers.
    n_blank_lines (int): How many blank lines there are between words of which it is
        known whether a sentence starts there.
    n_split (int): After how many of them one does.
    """

    lowers: np.ndarray
    tags: np.ndarray
    pos: np.ndarray
    n_blank_lines: int = 0
    n_split: int = 0


class CompiledParser(NamedTuple):
    """What predictions read. All of it belongs together, and none of it changes, but
    for the lexicon, which fills.

    labels (tuple[str]): The labels.
    reader (LexemeReader): Reads the atoms of lexemes.
    tags (TagMap): The parts of speech that go with tags.
    lexicon (Lexicon): The lexemes that were met.
    actions, arcs, boundaries: The weights.
    ranks (ShortLineTable): Those of the reranker, if there is one.
    """

    labels: tuple[str, ...]
    reader: LexemeReader
    tags: TagMap
    lexicon: Lexicon
    actions: Any
    arcs: Any
    boundaries: Any
    ranks: Any


class ParsingModel(Resumable):
    """A parser's templates, weights, and what it knows about words and tags.

    actions (Templates), labels (Templates), boundaries (Templates): The templates for
        transitions, for the labels of arcs, and for the boundaries of sentences.
    settings (LearnerSettings): How to learn transitions and boundaries.
    label_settings (LearnerSettings): How to learn labels.
    seeds (int): The number of learners whose weights are averaged.
    branches (Templates), trees (Templates): What a reranker looks at, which chooses
        between the tree and others that second-best actions lead to: the decision at
        which they part, and the tokens for which they differ.
    folds (int): The number of parsers, each of which leaves out a part of the training
        data, that make the trees from which the reranker learns. Without any, there is
        no reranker.
    """

    task = TASK
    needs_first_stage = False

    def __init__(
        self,
        actions: Templates,
        labels: Templates,
        boundaries: Templates,
        settings: LearnerSettings,
        label_settings: LearnerSettings,
        *,
        seeds: int = 1,
        branches: Templates | None = None,
        trees: Templates | None = None,
        folds: int = 0,
    ) -> None:
        for name, value, low in (("seeds", seeds, 1), ("folds", folds, 0)):
            if not low <= value <= 100 or (name == "folds" and value == 1):
                allowed = "between 1 and 100" if low else "0 or between 2 and 100"
                raise ValueError(
                    Errors.DS022.format(name=name, value=value, range=allowed)
                )
        if folds and (branches is None or trees is None):
            raise ValueError(Errors.DS120.format(folds=folds))
        settings = settings.for_task("transitions", **DEFAULTS)
        label_settings = label_settings.for_task("the labels of arcs")
        self.settings = settings
        self.label_settings = label_settings
        self.seeds = seeds
        self.actions = Classifier(
            "actions",
            actions,
            settings,
            places=PLACES["actions"],
            seeds=seeds,
            is_small=True,
        )
        self.arcs = Classifier(
            "labels", labels, label_settings, places=PLACES["labels"], seeds=seeds
        )
        # A list of margins is one for the stages of transitions.
        margin = settings.margin
        last = margin[-1] if isinstance(margin, list) and margin else margin
        self.boundaries = Classifier(
            "boundaries",
            boundaries,
            replace(settings, margin=last),
            places=PLACES["boundaries"],
            is_small=True,
        )
        self.reranker = None
        if folds and branches is not None and trees is not None:
            self.reranker = Reranker(branches, trees, folds)
        used = set().union(*(part.columns for part in self.parts))
        if self.reranker is not None:
            used |= self.reranker.columns
        self._lexical = sorted(used & set(LEXICAL_COLUMNS))
        self._features = (
            Features(self.actions.program, ACTION_PLACES, self._lexical),
            Features(self.arcs.program, LABEL_PLACES, self._lexical),
            Features(self.boundaries.program, BOUNDARY_PLACES, self._lexical),
        )
        if self.reranker is not None:
            self.reranker.bind(self._lexical)
        self.max_lexemes = 1
        # Whether a blank line ends a sentence, if that is set.
        self.split_blank_lines: bool | None = None
        self.lock = new_lock()
        self._reset()

    def _reset(self) -> None:
        self.labels: tuple[str, ...] = ()
        self.actions, self.arcs, self.boundaries = (part.blank() for part in self.parts)
        if self.reranker is not None:
            self.reranker = self.reranker.blank()
        # Whether a blank line ends a sentence in the training data.
        self._blank_lines_split = True
        # These are there once the model is initialized.
        self._reader: Any = None
        self._tags: Any = None
        self._training_lexicon: Any = None
        self._waiting = None
        # Whether it has learned from docs with tags.
        self.reads_tags = False
        # None after learning.
        self._compiled: CompiledParser | None = None

    def copy(self) -> "ParsingModel":
        other = super().copy()
        other.actions, other.arcs, other.boundaries = (one.copy() for one in self.parts)
        if self.reranker is not None:
            other.reranker = self.reranker.copy()
        return other

    @property
    def parts(self) -> list[Classifier]:
        return [self.actions, self.arcs, self.boundaries]

    @property
    def is_initialized(self) -> bool:
        return self._reader is not None

    @property
    def n_stages(self) -> int:
        return self.actions.n_stages

    @property
    def n_label_stages(self) -> int:
        return self.arcs.n_stages

    @property
    def n_outputs(self) -> int:
        return len(self.labels)

    @property
    def splits_blank_lines(self) -> bool:
        """Whether a blank line ends a sentence: as it is set or, failing that, as the
        training data have it."""
        if self.split_blank_lines is None:
            return self._blank_lines_split
        return self.split_blank_lines

    @property
    def compiled(self) -> CompiledParser:
        """What predictions read, of the weights as they are now."""
        compiled = self._compiled
        if compiled is None:
            # Not while they are learned.
            with self.lock:
                compiled = self._compiled
                if compiled is None:
                    compiled = self._compiled = CompiledParser(
                        self.labels,
                        self._reader,
                        self._tags,
                        self._new_lexicon(),
                        self.actions.scorer,
                        self.arcs.scorer,
                        self.boundaries.scorer,
                        None if self.reranker is None else self.reranker.lines,
                    )
        lexicon = compiled.lexicon
        if lexicon.max_records != self.max_lexemes or len(lexicon) >= self.max_lexemes:
            compiled = compiled._replace(lexicon=self._new_lexicon())
            with self.lock:
                # Unless something was learned meanwhile.
                if self._compiled is not None:
                    self._compiled = compiled
        return compiled

    def _new_lexicon(self) -> Lexicon:
        return Lexicon(len(self._lexical), [], self.max_lexemes)

    @property
    def n_lexemes(self) -> int:
        """How many lexemes the lexicon holds."""
        return 0 if self._compiled is None else len(self._compiled.lexicon)

    def initialize(
        self,
        labels: Sequence[str],
        vocab: Vocab,
        get_examples: Callable[[], Iterable[TaggedWords]],
        *,
        lang: str,
        seed: int = 0,
    ) -> None:
        """Prepare for training.

        labels (Sequence[str]): The labels of arcs.
        vocab (Vocab): Where clusters may be found.
        get_examples: Gives what the training data say about words and tags.
        lang (str): The language, for clusters.
        seed (int): For settings without one.
        """
        self._check_labels(labels)
        self._reset()
        classes, tag_map, n_tokens, splits = self._read_tags(get_examples())
        self.labels = tuple(labels)
        self._reader = LexemeReader(
            self._lexical, *classes, *load_clusters(self._lexical, vocab, lang)
        )
        self._tags = tag_map
        self._blank_lines_split = splits
        self._training_lexicon = self._new_training_lexicon()
        for part in self.parts:
            settings = part.settings
            if n_tokens < MIN_TOKENS_FOR_CUTOFF:
                settings = settings.for_small_data()
            part.start(self._count_outputs(part), settings.seeded(seed))
        if self.reranker is not None:
            self.reranker.start(self.actions, self.arcs, n_tokens)

    def with_labels(self, labels: Sequence[str]) -> "ParsingModel":
        """An engine with more labels. What was learned stays as it is."""
        other = self.copy()
        other._check_labels([*self.labels, *labels])
        other.labels = (*self.labels, *labels)
        other.arcs.resize(other._count_outputs(other.arcs))
        other._compiled = None
        return other

    def update(self, batch: list[GoldParse], *, drop: float) -> float:
        """Learn from some docs. RETURNS (float): The loss."""
        with self.lock:
            self.make_trainable()
            self._forget_compiled()
            return self._learn(batch, drop)

    def _forget_compiled(self) -> None:
        """To be called before learning: what is compiled no longer holds."""
        reranker = self.reranker
        assign(
            (self, "_compiled", None),
            *((part, "_scorer", None) for part in self.parts),
            # A loaded one does not learn.
            *(
                []
                if reranker is None or reranker.learner is None
                else [(reranker, "_lines", None)]
            ),
        )

    def _fit_learners(self) -> None:
        n_labels = self.arcs.n_labels
        folds = [] if self.reranker is None else self.reranker.learners
        for learner in (*self.arcs.learners, *(arcs for _, arcs in folds)):
            if learner.n_labels < n_labels:
                learner.resize(n_labels)

    def _resume(self) -> None:
        self._training_lexicon = self._new_training_lexicon()
        for part in self.parts:
            part.resume()

    def _new_training_lexicon(self) -> Lexicon:
        return Lexicon(len(self._lexical), [], TRAINING_LEXEMES)

    def _learn(self, batch: list[GoldParse], drop: float) -> float:
        self.reads_tags = self.reads_tags or any(
            read_tags(gold.doc).any() for gold in batch
        )
        training = self._training_batch(batch, _gold_starts(batch))
        settings = self.actions._used_settings
        loss = 0.0
        for actions, arcs in zip(
            self.actions.learners, self.arcs.learners, strict=True
        ):
            loss += training.update(
                *self._features[:2],
                actions,
                arcs,
                drop,
                settings.word_dropout,
                settings.predicted_history,
            ) / len(self.actions.learners)
        loss += training.update_boundaries(
            self._features[2],
            self.boundaries.learners[0],
            _boundary_gold(batch),
            drop,
            settings.word_dropout,
        )
        if self.reranker is not None:
            self._update_reranker(batch, drop)
        return float(loss)

    def new_recorders(self) -> dict[str, Recorder]:
        """What writes down decisions, with the learners' guesses as history."""
        return {
            part.name: Recorder(
                part.program, part.n_labels, part._used_settings, part.learners[0]
            )
            for part in self.parts
        }

    def record(self, batch: list[GoldParse], recorders: dict[str, Recorder]) -> None:
        """Write down the decisions of some docs."""
        training = self._training_batch(batch, _gold_starts(batch))
        training.update(
            *self._features[:2],
            recorders["actions"],
            recorders["labels"],
            0.0,
            0.0,
            self.settings.predicted_history,
        )
        training.update_boundaries(
            self._features[2],
            recorders["boundaries"],
            _boundary_gold(batch),
            0.0,
            0.0,
        )

    def _update_reranker(self, batch: list[GoldParse], drop: float) -> None:
        """Let each fold's parser learn from what is not in its fold, and the reranker
        from what that parser makes of the rest."""
        reranker = self.reranker
        assert reranker is not None
        settings = self.actions._used_settings
        numbers = [get_fold(gold.doc, reranker.n_folds) for gold in batch]
        is_ready = reranker.count(sum(len(find_words(gold.doc)) for gold in batch))
        for fold, learners in enumerate(reranker.learners):
            inside = [
                gold
                for gold, number in zip(batch, numbers, strict=True)
                if number == fold
            ]
            known = {id(gold) for gold in inside}
            outside = [gold for gold in batch if id(gold) not in known]
            if outside:
                self._training_batch(outside, _gold_starts(outside)).update(
                    *self._features[:2],
                    *learners,
                    drop,
                    settings.word_dropout,
                    settings.predicted_history,
                )
            if inside and is_ready:
                self._training_batch(inside, _gold_starts(inside)).update_ranker(
                    *self._features[:2],
                    reranker.features,
                    *learners,
                    reranker.learner,
                    TRAINING_BRANCHES,
                    TRAINING_LEAD,
                )

    def predict(
        self,
        docs: list[Doc],
        margin: float | list[float],
        label_margin: float | list[float],
        n_threads: int,
        *,
        branches: int = 0,
        branch_lead: float = 0.0,
        trace: list[Any] | None = None,
        with_leads: bool = False,
    ) -> ParseBatch:
        """Predict the trees of docs.

        branches (int): For how many decisions of a sentence the second-best action is
            tried too, if there is a reranker.
        branch_lead (float): The lead from which on actions are not doubted.
        trace (list): Where to put the decisions, see parse.
        with_leads (bool): Whether to say how sure the arcs are.
        """
        if not self.labels:
            raise ValueError(Errors.DS042.format(name=TASK))
        compiled = self.compiled
        reranker = self.reranker if branches else None
        batch = parse(
            docs,
            compiled.lexicon,
            compiled.reader,
            compiled.tags,
            self._features,
            compiled.actions,
            compiled.arcs,
            compiled.boundaries,
            (
                scale_margins(margin, self.n_stages, compiled.actions.scale),
                scale_margins(label_margin, self.n_label_stages, compiled.arcs.scale),
                scale_margins(
                    _boundary_margin(margin),
                    self.boundaries.n_stages,
                    compiled.boundaries.scale,
                ),
            ),
            n_threads,
            n_branches=branches,
            branch_lead=branch_lead,
            rank_features=None if reranker is None else reranker.features,
            ranks=None if reranker is None else compiled.ranks,
            trace=trace,
            with_leads=with_leads,
            split_blank_lines=self.splits_blank_lines,
        )
        batch.made_by = compiled
        return batch

    @property
    def n_groups(self) -> int:
        """How many groups of evidence there are, see ParseBatch.stages."""
        return self.n_stages + 2

    def get_evidence(self, batch: ParseBatch) -> Evidence:
        """What speaks for each arc of a batch with leads."""
        made_by = batch.made_by
        scales = (made_by.actions.scale, made_by.arcs.scale, RANK_SCALE)
        return Evidence(scale_leads(batch.leads, *scales), batch.stages)

    def explain(
        self,
        doc: Doc,
        margin: float | list[float],
        label_margin: float | list[float],
        *,
        branches: int = 0,
        branch_lead: float = 0.0,
    ) -> list[ParseExplanation]:
        """Say for each token how it was parsed."""
        trace: list[Any] = []
        batch = self.predict(
            [doc],
            margin,
            label_margin,
            1,
            branches=branches,
            branch_lead=branch_lead,
            trace=trace,
        )
        made_by = batch.made_by
        transitions: list[list[Transition]] = [[] for _ in doc]
        reranked: set[int] = set()
        ends = self.actions.templates.checkpoints
        label_ends = self.arcs.templates.checkpoints
        for decisions, changed in trace:
            reranked.update(changed)
            for decision in decisions:
                has_label = decision["label_stage"] >= 0
                transitions[decision["front"]].append(
                    Transition(
                        action=ACTIONS[decision["action"]],
                        label=made_by.labels[decision["label"]] if has_label else "",
                        top=decision["top"],
                        lead=decision["lead"] / made_by.actions.scale,
                        runner_up=ACTIONS[decision["second"]],
                        stage=decision["stage"] + 1,
                        n_templates=ends[decision["stage"]],
                        n_label_templates=(
                            label_ends[decision["label_stage"]] if has_label else 0
                        ),
                    )
                )
        names = {ROOT: "ROOT", SPACE: "dep", **dict(enumerate(made_by.labels))}
        return [
            ParseExplanation(
                head=int(batch.heads[i]),
                label=names[int(batch.labels[i])],
                transitions=own,
                weakest_lead=min((one.lead for one in own), default=float("inf")),
                reranked=i in reranked,
            )
            for i, own in enumerate(transitions)
        ]

    def predict_in_training(self, docs: list[Doc]) -> ParseBatch | None:
        """Predict with the weights as they are, without compiling them first: for
        docs that are annotated between two updates. RETURNS: None where nothing is
        being learned."""
        with self.lock:
            if not self.actions.learners:
                return None
            self._fit_learners()
            return self._guess(docs)

    def _guess(self, docs: list[Doc]) -> ParseBatch:
        lengths = np.array([len(doc) for doc in docs], dtype="int64")
        offsets = np.cumsum(lengths) - lengths
        unknown = [np.full(n, -1, dtype="int32") for n in lengths]
        golds = [
            GoldParse(doc, heads, heads, read_sent_starts(doc))
            for doc, heads in zip(docs, unknown, strict=True)
        ]
        words = [_find_words(gold, self.splits_blank_lines) for gold in golds]
        known = np.concatenate([starts for starts, _ in words])
        undivided = self._training_batch(golds, np.zeros(len(known), "uint8"))
        starts = undivided.guess_boundaries(
            self._features[2], self.boundaries.learners[0], known
        )
        # A doc starts with its first token, white space or not.
        starts[
            [o + a[0] for o, (_, a) in zip(offsets, words, strict=True) if len(a)]
        ] = 0
        starts[offsets[lengths > 0]] = 1
        heads, labels = self._training_batch(golds, starts).guess(
            *self._features[:2], self.actions.learners[0], self.arcs.learners[0]
        )
        own = np.concatenate([np.arange(n, dtype="int32") for n in lengths])
        anchors = np.concatenate([anchors for _, anchors in words])
        is_root = heads == -1
        heads -= np.repeat(offsets, lengths).astype("int32")
        heads[is_root] = anchors[is_root]
        labels[is_root] = np.where(anchors == own, ROOT, SPACE)[is_root]
        counts = [np.zeros(part.n_stages, "uint64") for part in self.parts[:2]]
        return ParseBatch(
            heads, labels.astype("uint16"), starts, np.cumsum(lengths), *counts
        )

    def predict_without_exit(self, docs: list[Doc]) -> ParseBatch:
        """Predict the trees of docs by all templates."""
        return self.predict(docs, float("inf"), float("inf"), 1)

    def to_bytes(self) -> bytes:
        """The model as a file."""
        with self.lock:
            return self._to_bytes()

    def _to_bytes(self) -> bytes:
        if self._reader is None:
            return dump_model({"task": self.task, "labels": None}, {})
        parts = {part.name: part.meta() for part in self.parts}
        meta: dict[str, Any] = {
            "task": self.task,
            "labels": self.labels,
            "parts": parts,
            "reads_tags": self.reads_tags,
            "split_blank_lines": self._blank_lines_split,
        }
        arrays = {
            "class_keys": self._reader.class_keys,
            "class_values": self._reader.class_values,
            "cluster_keys": self._reader.cluster_keys,
            "cluster_values": self._reader.cluster_values,
            "tag_keys": self._tags.keys,
            "tag_values": self._tags.values,
        }
        for part in self.parts:
            arrays.update(part.arrays())
        if self.reranker is not None:
            parts["reranker"] = self.reranker.meta()
            arrays.update(self.reranker.arrays())
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
        if meta.get("labels", 0) is None:
            # Saved before it was initialized.
            self.become(self.blank())
            return
        labels: Any = meta.get("labels")
        require(
            isinstance(labels, list)
            and len(labels) <= MAX_LABELS
            and all(isinstance(label, str) and label for label in labels)
            and len(set(labels)) == len(labels),
            "its labels are malformed",
        )
        names = ("class", "cluster")
        sections = [f"{n}_{kind}" for n in names for kind in ("keys", "values")]
        kept = (*sections, "tag_keys", "tag_values")
        require(set(kept) <= set(arrays), "it lacks a section")
        # Copies: the weights become tables, and the data they come from can go.
        tables = {name: arrays[name].copy() for name in kept}
        for name in names:
            check_lookup(name, tables[f"{name}_keys"], tables[f"{name}_values"])
        keys, values = tables["tag_keys"], tables["tag_values"]
        require(
            keys.dtype == "uint64"
            and values.dtype == "uint8"
            and len(keys) == len(values)
            and bool((keys[1:] > keys[:-1]).all())
            and int(keys.min(initial=1)) > 0,
            "its table of tags is malformed",
        )
        splits: Any = meta.get("split_blank_lines", True)
        require(isinstance(splits, bool), "what it says about blank lines is malformed")
        parts: Any = meta.get("parts")
        require(isinstance(parts, dict), "it lacks its classifiers")
        reranker = self.reranker
        if (reranker is not None) != ("reranker" in parts):
            raise ValueError(Errors.DS121)
        jobs: list[Callable[[], Any]] = [
            partial(
                part.load,
                parts.get(part.name),
                arrays,
                self._count_outputs(part, labels),
            )
            for part in self.parts
        ]
        if reranker is not None:
            jobs.append(partial(reranker.load, parts["reranker"], arrays))
        loaded = _run_all(jobs, sum(array.nbytes for array in arrays.values()))
        other = self.blank()
        other.actions, other.arcs, other.boundaries = loaded[:3]
        other.reranker = loaded[3] if reranker is not None else None
        other.labels = tuple(labels)
        other._blank_lines_split = splits
        other._reader = LexemeReader(
            self._lexical, *(tables[name] for name in sections)
        )
        other._tags = TagMap(keys, values)
        other.reads_tags = meta.get("reads_tags") is True
        self.become(other)

    def _get_learners(self) -> dict[str, Any]:
        names: dict[str, Any] = {
            f"{part.name} {i}": learner
            for part in self.parts
            for i, learner in enumerate(part.learners)
        }
        if self.reranker is not None:
            names |= self.reranker.get_learners()
        return names

    def _training_meta(self) -> dict[str, Any]:
        meta: dict[str, Any] = {
            "settings": {
                part.name: describe_settings(part._used_settings, part.settings)
                for part in self.parts
            }
        }
        if self.reranker is not None:
            meta |= self.reranker.training_meta()
        return meta

    def _start_again(self, meta: dict[str, Any]) -> None:
        names = meta["learners"]
        check_state(isinstance(meta.get("settings"), dict), "it lacks its settings")
        self._training_lexicon = self._new_training_lexicon()
        for part in self.parts:
            settings = read_settings(meta["settings"].get(part.name), part.settings)
            part.start(part.n_labels, settings)
            part.learners = part.learners[: sum(n.startswith(part.name) for n in names)]
        if self.reranker is not None and "reranker" in names:
            self.reranker.start_again(self.actions, self.arcs, meta)

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled weights only: caches start empty and training resumes from them.
        templates = tuple(part.templates for part in self.parts)
        settings = (self.settings, self.label_settings, self.seeds)
        reranker: tuple[Any, ...] = (None, None, 0)
        if self.reranker is not None:
            reranker = (
                self.reranker.branches,
                self.reranker.trees,
                self.reranker.n_folds,
            )
        return (
            _restore,
            (*templates, *settings, *reranker, self.split_blank_lines, self.to_bytes()),
        )

    def _count_outputs(
        self, part: Classifier, labels: Sequence[str] | None = None
    ) -> int:
        if part.name == "actions":
            return len(ACTIONS)
        if part.name == "boundaries":
            return 2
        # A parser without labels still has to number them.
        return max(1, len(self.labels if labels is None else labels))

    def _check_labels(self, labels: Sequence[str]) -> None:
        if len(labels) > MAX_LABELS:
            raise ValueError(
                Errors.DS044.format(name=TASK, n_labels=len(labels), most=MAX_LABELS)
            )

    def _training_batch(
        self, batch: list[GoldParse], starts: np.ndarray
    ) -> TrainingBatch:
        return TrainingBatch(
            [gold.doc for gold in batch],
            np.concatenate([gold.heads for gold in batch], dtype="int32"),
            np.concatenate([gold.labels for gold in batch], dtype="int32"),
            starts,
            self._training_lexicon,
            self._reader,
            self._tags,
        )

    def _read_tags(
        self, examples: Iterable[TaggedWords]
    ) -> tuple[tuple[np.ndarray, np.ndarray], TagMap, int, bool]:
        """Learn which tags a word can have, and the parts of speech that go with tags.

        RETURNS (tuple): The ambiguity classes, the parts of speech, the number of
            words, and whether blank lines end sentences.
        """
        words: defaultdict[int, Counter[int]] = defaultdict(Counter)
        by_tag: defaultdict[int, Counter[int]] = defaultdict(Counter)
        by_pair: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)
        n_tokens = n_blank_lines = n_split = 0
        for example in examples:
            n_tokens += len(example.tags)
            n_blank_lines += example.n_blank_lines
            n_split += example.n_split
            for lower, tag, pos in zip(
                example.lowers.tolist(),
                example.tags.tolist(),
                example.pos.tolist(),
                strict=True,
            ):
                if tag:
                    words[lower][tag] += 1
                    if pos:
                        by_tag[tag][pos] += 1
                        by_pair[tag, lower][pos] += 1
        by_word = make_classes(words, CLASS_MIN_COUNT, CLASS_MIN_SHARE)
        table = {tag: _most_common(counts) for tag, counts in by_tag.items()}
        pairs = [
            (tag, lower, _most_common(counts))
            for (tag, lower), counts in by_pair.items()
            if counts.total() >= MIN_PAIRS and _most_common(counts) != table[tag]
        ]
        keys = tag_keys(
            np.array([tag for tag, _, _ in pairs], dtype="uint64"),
            np.array([lower for _, lower, _ in pairs], dtype="uint64"),
        )
        table.update(zip(keys.tolist(), (pos for _, _, pos in pairs), strict=True))
        ordered = sorted(table)
        tag_map = TagMap(
            np.array(ordered, dtype="uint64"),
            np.array([table[key] for key in ordered], dtype="uint8"),
        )
        splits = n_blank_lines == 0 or 2 * n_split > n_blank_lines
        return lookup_arrays(by_word), tag_map, n_tokens, splits


def _most_common(counts: Counter[int]) -> int:
    """The most common value, the smallest of several."""
    return min(counts, key=lambda value: (-counts[value], value))


def _boundary_margin(margin: float | list[float]) -> float:
    """The margin of boundaries; a list is one for the stages of transitions."""
    if isinstance(margin, list):
        margin = max(margin, default=np.inf)
    return BOUNDARY_CAUTION * margin


def _gold_starts(batch: list[GoldParse]) -> np.ndarray:
    starts = np.concatenate([gold.sent_starts == 1 for gold in batch])
    return starts.astype("uint8")


def _boundary_gold(batch: list[GoldParse]) -> np.ndarray:
    """Where sentences start, as far as it is known and to be learned. Docs of one
    sentence stand in for the sentences of a document, laid end to end."""
    parts = []
    for gold in batch:
        words = find_words(gold.doc)
        known = gold.sent_starts[words]
        starts = np.where(known == 0, -1, known == 1)
        if (starts[1:] == 1).any():
            starts[:1] = -1
        else:
            starts[:1] = 1
        parts.append(np.full(len(gold.doc), -1))
        parts[-1].put(words, starts)
    return np.concatenate(parts).astype("int8")


def _find_words(gold: GoldParse, split_blank_lines: bool) -> tuple[np.ndarray, ...]:
    """Words and white space.

    split_blank_lines (bool): Whether a blank line ends a sentence.
    RETURNS (tuple): For words what is known about sentence starts, 0 for white space,
        where a start is as good as one at the next word; and for each token itself if
        it is a word, else the word that it hangs on.
    """
    n = len(gold.doc)
    words = find_words(gold.doc)
    known = np.zeros(n, dtype="int32")
    known.put(words, hand_on_starts(gold.sent_starts, words))
    if split_blank_lines and len(words) < n:
        known[words[find_blank_lines(gold.doc) & (known[words] == 0)]] = 1
    known[words[:1]] = 1
    anchors = np.zeros(n, dtype="int32")
    anchors.put(words, words)
    # The last word up to each token; before the first one, that.
    anchors = np.maximum.accumulate(anchors)
    anchors[: words[0] if len(words) else 0] = words[:1]
    return known, anchors


def _restore(
    actions: Templates,
    labels: Templates,
    boundaries: Templates,
    settings: LearnerSettings,
    label_settings: LearnerSettings,
    seeds: int,
    branches: Templates | None,
    trees: Templates | None,
    folds: int,
    split_blank_lines: bool | None,
    data: bytes,
) -> ParsingModel:
    model = ParsingModel(
        actions,
        labels,
        boundaries,
        settings,
        label_settings,
        seeds=seeds,
        branches=branches,
        trees=trees,
        folds=folds,
    )
    model.split_blank_lines = split_blank_lines
    model.from_bytes(data)
    return model


def _run_all(jobs: list[Callable[[], Any]], n_bytes: int) -> list[Any]:
    """Make tables of weights of some size: if they are large, that is most of the work
    of loading, and two threads share it."""
    if n_bytes < MIN_BYTES_FOR_THREADS:
        return [job() for job in jobs]
    with ThreadPoolExecutor(2) as pool:
        return [one.result() for one in [pool.submit(job) for job in jobs]]
