"""The tagger as a pipeline component: spaCy's contract, and no arithmetic."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from spacy.pipeline.tagger import tagger_score
from spacy.strings import StringStore, get_string_id
from spacy.tokens import Doc
from spacy.training import Example

from ..base.errors import Errors
from ..spacy_io.annotations import SPACE_TAG, read_tags, write_tags
from ..spacy_io.tokens import (
    find_words,
    hand_on_starts,
    have_same_words,
    read_sent_starts,
)
from ..tasks.cascading.engine import CascadeEngine
from ..tasks.labelling.batch import LabelBatch
from ..tasks.labelling.gold import GoldDoc, with_labels
from ..tasks.labelling.train import MISSING, NOT
from ..tasks.tagging.engine import SPACE_TAG_NAME, TaggingEngine
from .component import DynselComponent, Verdicts, as_list, match_labels
from .confidences import TAG, write_tokens
from .names import TAG_ATTRIBUTE, Names, check_label
from .settings import AlphaSetting


class TagNames(Names):
    """What tags are to spaCy, and what those of gold data stand for."""

    others = (SPACE_TAG_NAME,)

    def __init__(self, labels: tuple[str, ...]) -> None:
        super().__init__(labels)
        self.space = get_string_id(SPACE_TAG_NAME)
        self._index = {label: i for i, label in enumerate(labels)}
        # By string ID and prefix, as far as seen.
        self._known: dict[tuple[int, str], int | None] = {}

    def find(self, tag: int, prefix: str, strings: StringStore) -> int | None:
        """The label that a gold tag stands for, see WordExamples; None for none.

        tag (int): Its string ID.
        prefix (str): What marks a tag as known to be wrong.
        """
        if (tag, prefix) not in self._known:
            self._known[tag, prefix] = self.get(strings[tag], prefix)
        return self._known[tag, prefix]

    def get(self, tag: str, prefix: str) -> int | None:
        """The same for the name of a tag."""
        if not tag:
            return MISSING
        if tag in self._index:
            return self._index[tag]
        if prefix and tag.startswith(prefix) and tag[len(prefix) :] in self._index:
            return NOT - self._index[tag[len(prefix) :]]
        return None


class DynselTagger(DynselComponent):
    """Tags tokens by a linear model that reads, for each token, only as many feature
    templates as it needs. A replacement for spaCy's Tagger.

    White space gets the tag "_SP", which is no label: it is neither learned nor seen,
    and the words around it are neighbours.

    See DynselComponent for the settings that all components have.

    model (Model): The model, see spacy_dynsel.DynamicTagger.v1 and
        spacy_dynsel.CascadeTagger.v1.
    alpha (float or list[float]): The thresholds of a cascade, which has no margin: the
        part of the best path, in [0, 1), for all levels that filter, or for each.
    overwrite (bool): Whether to replace tags that are set.
    neg_prefix (str): What marks a tag in the training data as known to be wrong.
    """

    architecture = "spacy_dynsel.DynamicTagger.v1"
    engine_type = (TaggingEngine, CascadeEngine)
    gold_attribute = "TAG"
    gold_missing = "no token has a tag"
    names_type = TagNames

    defaults: ClassVar[dict[str, Any]] = {
        **DynselComponent.defaults,
        "margin": 6.0,
        "alpha": None,
        "overwrite": False,
        "neg_prefix": "!",
    }
    usual_name = "dynsel_tagger"
    taught = TAG_ATTRIBUTE
    usual_scorer = staticmethod(tagger_score)

    alpha = AlphaSetting(
        "The part of the best path in the thresholds of a cascade, in [0, 1): for all "
        "levels that filter, or for each; None for what training chose."
    )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order in which they were added."""
        return self._kept_labels

    @property
    def label_data(self) -> tuple[str, ...]:
        """The labels in the form that initialize takes."""
        return self.labels

    def set_annotations(
        self, docs: Iterable[Doc], batch_tag_ids: LabelBatch | list[Any]
    ) -> None:
        """Set the tags of docs.

        docs (Iterable[Doc]): The docs.
        batch_tag_ids (LabelBatch): What predict returned, or a list of such arrays.
        """
        docs = as_list(docs)
        labels = match_labels(docs, batch_tag_ids)
        overwrite = bool(self.cfg["overwrite"])
        names = self._get_names_of(batch_tag_ids, docs)
        with_leads = getattr(batch_tag_ids, "leads", None) is not None
        if with_leads and self.cfg["confidence"]:
            chosen = labels != SPACE_TAG
            if not overwrite:
                # Tags that are there stay, and nothing is known about them.
                chosen &= np.concatenate([[], *map(read_tags, docs)]) == 0
            values = self.get_probabilities(batch_tag_ids)
            write_tokens(docs, TAG, values, chosen)
        write_tags(docs, labels, names.ids, overwrite, names.space)

    def compare(self, examples: list[Example], batch: LabelBatch) -> Verdicts:
        """See DynselComponent.compare: units are tokens."""
        return [
            (None if not gold or label == SPACE_TAG else gold == token.tag_, number)
            for number, (example, labels) in enumerate(
                zip(examples, batch, strict=True)
            )
            for token, gold, label in zip(
                example.predicted,
                example.get_aligned("TAG", as_string=True),
                labels.tolist(),
                strict=True,
            )
        ]

    def add_label(self, label: str) -> int:
        """Add a label, before initialization.

        RETURNS (int): 1, or 0 if the label is there already.
        """
        check_label(self.name, label)
        return self._add_label_early(label)

    def get_gold(self, example: Example) -> GoldDoc:
        """What is known about the labels of a predicted doc, aligned where the words
        differ. Tags that are no labels count as not known."""
        return self._get_gold(
            example, self._get_names(self._known_labels), is_strict=False
        )

    def _choose_labels(self, examples: list[Example], labels: Any) -> Iterable[str]:
        if labels is None:
            prefix = self.cfg["neg_prefix"]
            found = {
                tag
                for example in examples
                for tag in _tag_strings(example.reference)
                if not (prefix and tag.startswith(prefix))
            }
            labels = sorted(found)
        chosen = list(dict.fromkeys([*self._known_labels, *labels]))
        if not chosen:
            raise ValueError(Errors.DS042.format(name=self.name, attribute="token.tag"))
        return chosen

    def _get_gold(
        self, example: Example, names: TagNames, *, is_strict: bool = True
    ) -> GoldDoc:
        prefix = self.cfg["neg_prefix"]
        words = find_words(example.predicted)
        strings = example.reference.vocab.strings
        if have_same_words(example.predicted, example.reference):
            of_reference = find_words(example.reference)
            tags: list[Any] = read_tags(example.reference)[of_reference].tolist()
            found = {tag: names.find(tag, prefix, strings) for tag in set(tags)}
            starts = hand_on_starts(read_sent_starts(example.reference), of_reference)
        else:
            aligned = example.get_aligned("TAG", as_string=True)
            tags = [aligned[word] or "" for word in words]
            found = {tag: names.get(tag, prefix) for tag in set(tags)}
            given = [start or 0 for start in example.get_aligned_sent_starts()]
            starts = hand_on_starts(np.array(given, dtype="int32"), words)
        for tag, label in found.items():
            if label is None and is_strict:
                name = tag if isinstance(tag, str) else strings[tag]
                raise ValueError(
                    Errors.DS046.format(
                        name=self.name, tag=name, n_labels=len(names.labels)
                    )
                )
        labels = [MISSING if (label := found[tag]) is None else label for tag in tags]
        return with_labels(example.predicted, words, labels, starts)


def _tag_strings(doc: Doc) -> Iterator[str]:
    """The tags of the words of a doc."""
    for tag in np.unique(read_tags(doc)[find_words(doc)]).tolist():
        if tag:
            yield doc.vocab.strings[tag]
