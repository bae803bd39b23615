"""What all parsers share: tags, sentences, labels, and what is set from outside."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ...core.model_file import require
from ...spacy_io.annotations import read_pos, read_tags
from ...spacy_io.lexemes import LexemeReader
from ...spacy_io.tokens import read_sent_starts
from ..engine import Engine, Margin, Snapshot, Start
from ..evidence import mark_known
from ..word_tables import is_lookup
from .batch import ParseBatch
from .constraints import FREE, Constraints, mend_trees
from .decode import ROOT, SPACE
from .features import TagMap
from .gold import GoldParse, TaggedWords, find_anchors, learn_words

# By how much the margin of boundaries is larger than that of transitions: few tokens start
# a sentence, and one that is missed spoils two of them. Less than 1.6 lost some on
# development data.
BOUNDARY_CAUTION = 1.75


class ParserSnapshot(Snapshot):
    """See Snapshot.

    tags (TagMap): The parts of speech that go with tags.
    """

    def __init__(
        self,
        labels: tuple[str, ...],
        reader: LexemeReader,
        scorers: dict[str, Any],
        tags: TagMap,
    ) -> None:
        super().__init__(labels, reader, scorers)
        self.tags = tags


class TreeEngine(Engine):
    """An engine that makes trees. It has a classifier of labels and one of boundaries."""

    min_labels = 0
    max_labels = (1 << 15) - 2
    run_time_settings = ("split_blank_lines",)
    copies_tables = True
    # The settings of a component that predictions depend on.
    knob_settings: tuple[str, ...]
    # The class of docs with their trees, in training.
    examples_type: Any
    # The Features of boundaries.
    _boundary_features: Any
    # Whether a blank line ends a sentence, if that is set.
    split_blank_lines: bool | None = None

    def _reset(self) -> None:
        super()._reset()
        # Whether a blank line ends a sentence in the training data.
        self._blank_lines_split = True
        # It is there once the engine is initialized.
        self._tags: Any = None
        # The size of the training data, once it is initialized.
        self._n_tokens = 0
        # Whether it has learned from docs with tags, and with parts of speech.
        self.reads_tags = self.reads_pos = False

    @property
    def arcs(self) -> Any:
        """The classifier of labels."""
        return self.parts["labels"]

    @property
    def boundaries(self) -> Any:
        """The classifier of boundaries."""
        return self.parts["boundaries"]

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

    @abstractmethod
    def _guess_trees(self, examples: Any) -> tuple[np.ndarray, np.ndarray]:
        """Parse with the weights as they are, see TransitionExamples.guess."""

    def _initialize(self, examples: list[TaggedWords], start: Start) -> None:
        facts = learn_words(examples)
        self._reader = self._make_reader(facts.classes, start)
        self._tags = facts.tags
        self._blank_lines_split = facts.splits_blank_lines
        self._n_tokens = facts.n_tokens
        self._start(start, facts.n_tokens)

    def predict_within(
        self, doc: Doc, constraints: Constraints, **knobs: Any
    ) -> ParseBatch | None:
        """Predict trees of a doc that have the links which are set, and none that are
        forbidden. RETURNS (ParseBatch): The trees, or None if there are no such trees."""
        batch = self.predict([doc], constraints=constraints, **knobs)
        mended = mend_trees(doc, batch.heads, batch.starts, constraints)
        if mended is None:
            return None
        if (mended != FREE).any():
            # All is set now, and links get their labels.
            heads = np.where(mended == FREE, constraints.heads, mended)
            constraints = constraints.with_heads(heads)
            batch = self.predict([doc], constraints=constraints, **knobs)
        return batch

    def judge(self, batch: ParseBatch, golds: Sequence[GoldParse]) -> np.ndarray:
        """Which arcs are right, with their labels as far as these are known."""
        heads = np.concatenate([gold.heads for gold in golds])
        labels = np.concatenate([gold.labels for gold in golds])
        own = np.concatenate([np.arange(len(gold.heads)) for gold in golds])
        is_right = (batch.heads == heads) & (
            (batch.labels == labels) | (heads == own) | (labels < 0)
        )
        return mark_known(is_right, heads >= 0)

    def _note_annotation(self, batch: list[GoldParse]) -> None:
        """Remember what there is to be read of docs that it learns from."""
        for gold in batch:
            self.reads_tags = self.reads_tags or bool(read_tags(gold.doc).any())
            self.reads_pos = self.reads_pos or bool(read_pos(gold.doc).any())

    def _guess(self, docs: list[Doc]) -> ParseBatch:
        lengths = np.array([len(doc) for doc in docs], dtype="int64")
        offsets = np.cumsum(lengths) - lengths
        unknown = [np.full(n, -1, dtype="int32") for n in lengths]
        golds = [
            GoldParse(doc, heads, heads, read_sent_starts(doc))
            for doc, heads in zip(docs, unknown, strict=True)
        ]
        words = [find_anchors(gold, self.splits_blank_lines) for gold in golds]
        known = np.concatenate([starts for starts, _ in words])
        undivided = self._training_batch(golds, np.zeros(len(known), "uint8"))
        starts = undivided.guess_boundaries(
            self._boundary_features, self.boundaries.learners[0], known
        )
        # A doc starts with its first token, white space or not.
        starts[
            [o + a[0] for o, (_, a) in zip(offsets, words, strict=True) if len(a)]
        ] = 0
        starts[offsets[lengths > 0]] = 1
        heads, labels = self._guess_trees(self._training_batch(golds, starts))
        own = np.concatenate([np.arange(n, dtype="int32") for n in lengths])
        anchors = np.concatenate([anchors for _, anchors in words])
        is_root = heads == -1
        heads -= np.repeat(offsets, lengths).astype("int32")
        heads[is_root] = anchors[is_root]
        labels[is_root] = np.where(anchors == own, ROOT, SPACE)[is_root]
        counts = [np.zeros(one.n_stages, "uint64") for one in (self.main, self.arcs)]
        return ParseBatch(
            heads, labels.astype("uint16"), starts, np.cumsum(lengths), *counts
        )

    def _make_snapshot(self, scorers: dict[str, Any]) -> ParserSnapshot:
        return ParserSnapshot(self.labels, self._reader, scorers, self._tags)

    def _get_extra(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        meta = {
            "reads_tags": self.reads_tags,
            "reads_pos": self.reads_pos,
            "split_blank_lines": self._blank_lines_split,
        }
        return meta, {"tag_keys": self._tags.keys, "tag_values": self._tags.values}

    def _load_extra(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        require({"tag_keys", "tag_values"} <= set(arrays), "it lacks a section")
        keys, values = arrays["tag_keys"].copy(), arrays["tag_values"].copy()
        is_good = is_lookup(keys, values, "uint8") and int(keys.min(initial=1)) > 0
        require(is_good, "its table of tags is malformed")
        splits: Any = meta.get("split_blank_lines", True)
        require(isinstance(splits, bool), "what it says about blank lines is malformed")
        self._tags = TagMap(keys, values)
        self._blank_lines_split = splits
        self.reads_tags = meta.get("reads_tags") is True
        self.reads_pos = meta.get("reads_pos") is True

    def _training_batch(self, batch: list[GoldParse], starts: np.ndarray) -> Any:
        return self.examples_type(
            [gold.doc for gold in batch],
            np.concatenate([gold.heads for gold in batch], dtype="int32"),
            np.concatenate([gold.labels for gold in batch], dtype="int32"),
            starts,
            self._training_lexicon,
            self._reader,
            self._tags,
        )


def boundary_margin(margin: Margin) -> float:
    """The margin of boundaries; a list is one for the stages of transitions."""
    if isinstance(margin, list):
        margin = max(margin, default=np.inf)
    return BOUNDARY_CAUTION * margin
