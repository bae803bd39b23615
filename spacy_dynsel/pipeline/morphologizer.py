"""The morphologizer as a pipeline component: spaCy's contract, and no arithmetic."""

import warnings
from collections.abc import Iterable
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
from spacy.morphology import Morphology
from spacy.parts_of_speech import IDS as POS_IDS
from spacy.parts_of_speech import NAMES as POS_NAMES
from spacy.pipeline.morphologizer import morphologizer_score
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..base.errors import Errors
from ..base.settings import check_choice
from ..base.warnings import Warnings
from ..confidence.maps import ConfidenceMap
from ..spacy_io.annotations import (
    SPACE_TAG,
    read_morphs,
    read_pos,
    set_morphs,
    write_morphs,
)
from ..spacy_io.tokens import (
    find_words,
    hand_on_starts,
    have_same_words,
    read_sent_starts,
)
from ..tasks.cascading.engine import CascadeEngine
from ..tasks.labelling.batch import LabelBatch
from ..tasks.labelling.gold import GoldDoc, with_labels
from ..tasks.labelling.train import MISSING
from ..tasks.morphology.engine import MorphologyEngine
from ..tasks.morphology.labels import EMPTY, POS, SEPARATOR, find_fault, split_label
from .component import DynselComponent, Verdicts, as_list, match_labels
from .confidences import MORPH, write_tokens
from .names import POS_ATTRIBUTE, Names, check_label
from .settings import AlphaSetting

SPACE_POS = POS_IDS["SPACE"]


class MorphNames(Names):
    """What labels are to spaCy: features and parts of speech."""

    def __init__(self, labels: tuple[str, ...]) -> None:
        super().__init__(labels)
        parts = [split_label(label) for label in labels]
        self.feats = [
            SEPARATOR.join(f"{k}={v}" for k, v in one.items() if k != POS) or EMPTY
            for one in parts
        ]
        pos = [POS_IDS[one.get(POS, "")] for one in parts]
        # The last one is for white space.
        self.pos = np.array([*pos, SPACE_POS], dtype="uint8")
        self.morphs = np.zeros(len(labels) + 1, dtype="uint64")
        self._index = {label: i for i, label in enumerate(labels)}
        # By the IDs of part of speech and features, as far as seen.
        self._known: dict[tuple[int, int], int | None] = {}

        # All that spaCy makes strings of: features, their names, and each with a value.
        self.others = tuple(
            dict.fromkeys(
                string
                for feats, one in zip(self.feats, parts, strict=True)
                for string in (feats, *_list_strings(one))
            )
        )

    def keep(self, vocab: Vocab) -> None:
        super().keep(vocab)
        ids = [vocab.morphology.add(feats) for feats in (*self.feats, EMPTY)]
        self.morphs = np.array(ids, dtype="uint64")

    def find(self, pos: int, morph: int, strings: StringStore) -> int | None:
        """The label of a gold word, MISSING, or None for one that is no label.

        pos (int), morph (int): The IDs of its part of speech and its features, 0 where
            they are not set.
        """
        if (pos, morph) not in self._known:
            feats = strings[morph] if morph else ""
            self._known[pos, morph] = self.get(POS_NAMES[pos], feats)
        return self._known[pos, morph]

    def get(self, pos: str, feats: str) -> int | None:
        """The same for names; empty where they are not set."""
        if not pos and not feats:
            return MISSING
        return self._index.get(join_label(pos, feats))


class DynselMorphologizer(DynselComponent):
    """Sets the part of speech and the morphological features of tokens, by a linear
    model that reads, for each token, only as many feature templates as it needs. A
    replacement for spaCy's Morphologizer.

    White space gets the part of speech SPACE and no features. It is neither learned nor
    seen, and the words around it are neighbours.

    See DynselComponent for the settings that all components have.

    model (Model): The model, see spacy_dynsel.DynamicMorphologizer.v1 and
        spacy_dynsel.CascadeTagger.v1.
    alpha (float or list[float]): The thresholds of a cascade, which has no margin: the
        part of the best path, in [0, 1), for all levels that filter, or for each.
    overwrite (bool): Whether to replace what is set.
    extend (bool): Whether to add to the features that are set, in place of replacing
        them. Of two values for one feature, `overwrite` says which one stays.
    """

    architecture = "spacy_dynsel.DynamicMorphologizer.v1"
    engine_type = (MorphologyEngine, CascadeEngine)
    gold_attribute = "POS"
    gold_missing = "no token has a part of speech"
    names_type = MorphNames

    defaults: ClassVar[dict[str, Any]] = {
        **DynselComponent.defaults,
        "margin": 24.0,
        "alpha": None,
        "overwrite": True,
        "extend": False,
    }
    usual_name = "dynsel_morphologizer"
    taught = POS_ATTRIBUTE
    usual_scorer = staticmethod(morphologizer_score)
    # The label we last warned about.
    _warned_label = ""

    alpha = AlphaSetting(
        "The part of the best path in the thresholds of a cascade, in [0, 1): for all "
        "levels that filter, or for each; None for what training chose."
    )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order in which they were added."""
        return self._kept_labels

    @property
    def label_data(self) -> dict[str, dict[str, Any]]:
        """The labels in the form that initialize takes: for each its features, and the
        number of its part of speech."""
        names = self._get_names(self._known_labels)
        feats = ("" if feats == EMPTY else feats for feats in names.feats)
        return {
            "morph": dict(zip(names.labels, feats, strict=True)),
            "pos": dict(zip(names.labels, names.pos.tolist(), strict=False)),
        }

    def set_annotations(
        self, docs: Iterable[Doc], batch_tag_ids: LabelBatch | list[Any]
    ) -> None:
        """Set parts of speech and features of docs.

        docs (Iterable[Doc]): The docs.
        batch_tag_ids (LabelBatch): What predict returned, or a list of such arrays.
        """
        docs = as_list(docs)
        labels = match_labels(docs, batch_tag_ids)
        overwrite, extend = bool(self.cfg["overwrite"]), bool(self.cfg["extend"])
        names = self._get_names_of(batch_tag_ids, docs)
        with_leads = getattr(batch_tag_ids, "leads", None) is not None
        if with_leads and self.cfg["confidence"]:
            chosen = labels != SPACE_TAG
            if not overwrite:
                # Parts of speech that are there stay, and nothing is known about them.
                chosen &= np.concatenate([[], *map(read_pos, docs)]) == 0
            write_tokens(docs, MORPH, self.get_probabilities(batch_tag_ids), chosen)
        self._introduce(docs, labels, names)
        extended = self._extend(docs, labels, names) if extend else None
        write_morphs(docs, labels, names.morphs, names.pos, overwrite)
        if extended is not None:
            set_morphs(docs, extended)

    def _introduce(
        self, docs: list[Doc], labels: np.ndarray, names: MorphNames
    ) -> None:
        """Make features known to the vocabularies of docs that come from elsewhere."""
        others = {
            id(doc.vocab): doc.vocab for doc in docs if doc.vocab is not self.vocab
        }
        if others:
            used = np.unique(labels)
            feats = [names.feats[i] for i in used[used < len(names.labels)]]
            for vocab in others.values():
                for one in (*feats, EMPTY):
                    vocab.morphology.add(one)

    def _extend(
        self, docs: list[Doc], labels: np.ndarray, names: MorphNames
    ) -> np.ndarray:
        """The features that tokens have, with those that were found."""
        merged, start = [np.zeros(0, "uint64")], 0
        for vocab, group in groupby(docs, lambda doc: doc.vocab):
            old = np.concatenate([read_morphs(doc) for doc in group])
            found = labels[start : start + len(old)]
            new = names.morphs[np.minimum(found, len(names.labels))]
            merged.append(self._merge(vocab, old, new))
            start += len(old)
        return np.concatenate(merged)

    def _merge(self, vocab: Vocab, old: np.ndarray, new: np.ndarray) -> np.ndarray:
        """The same by the IDs of features that a vocabulary knows."""
        strings = vocab.strings
        pairs, inverse = np.unique(
            np.stack([old, new], axis=1), axis=0, return_inverse=True
        )
        merged = []
        for one, other in pairs.tolist():
            mine, found = (
                Morphology.feats_to_dict(strings[id_] if id_ else "")
                for id_ in (one, other)
            )
            both = {**mine, **found} if self.cfg["overwrite"] else {**found, **mine}
            merged.append(vocab.morphology.add(both))
            # It may be known from a memory zone, and its string be lost with that.
            strings.add(Morphology.dict_to_feats(both))
        return np.array(merged, dtype="uint64")[inverse.reshape(-1)]

    def compare(self, examples: list[Example], batch: LabelBatch) -> Verdicts:
        """See DynselComponent.compare: units are tokens."""
        verdicts: Verdicts = []
        for number, (example, labels) in enumerate(zip(examples, batch, strict=True)):
            gold = self.get_gold(example)
            own = self.get_gold(Example(example.predicted, example.predicted))
            verdicts += (
                (
                    None
                    if wanted == MISSING or label == SPACE_TAG
                    else found == wanted,
                    number,
                )
                for label, found, wanted in zip(
                    labels.tolist(), own.labels, gold.labels, strict=True
                )
            )
        return verdicts

    def add_label(self, label: str) -> int:
        """Add a label, before initialization.

        label (str): Features and part of speech, such as "Number=Sing|POS=NOUN".
        RETURNS (int): 1, or 0 if the label is there already.
        """
        label = self._normalize(label)
        return self._add_label_early(label)

    def get_gold(self, example: Example) -> GoldDoc:
        """What is known about the labels of a predicted doc, aligned where the words
        differ. What is no label counts as not known."""
        return self._get_gold(example, self._get_names(self._known_labels), warns=False)

    def _normalize(self, label: Any) -> str:
        """A label as spaCy writes it, or a clear error."""
        check_label(self.name, label)
        what = find_fault(label)
        if what:
            raise ValueError(
                Errors.DS072.format(name=self.name, label=label, what=what)
            )
        return join_label("", label)

    def _check_settings(self, cfg: dict[str, Any]) -> ConfidenceMap | None:
        for name in ("overwrite", "extend"):
            check_choice(name, cfg[name], (True, False))
        labels: Any = cfg["labels"]
        for label in labels if isinstance(labels, list | tuple) else ():
            self._normalize(label)
        return super()._check_settings(cfg)

    def _choose_labels(self, examples: list[Example], labels: Any) -> Iterable[str]:
        if isinstance(labels, dict):
            labels = labels.get("morph", {})
        if labels is None:
            labels = sorted({one for eg in examples for one in _find_labels(eg)})
        given = [self._normalize(label) for label in labels]
        chosen = list(dict.fromkeys([*self._known_labels, *given]))
        if not chosen:
            attribute = "token.pos and token.morph"
            raise ValueError(Errors.DS042.format(name=self.name, attribute=attribute))
        return chosen

    def _get_gold(
        self, example: Example, names: MorphNames, *, warns: bool = True
    ) -> GoldDoc:
        words = find_words(example.predicted)
        reference = example.reference
        strings = reference.vocab.strings
        found: dict[tuple[Any, Any], int | None]
        if have_same_words(example.predicted, reference):
            of_reference = find_words(reference)
            pairs: list[tuple[Any, Any]] = list(
                zip(
                    read_pos(reference)[of_reference].tolist(),
                    read_morphs(reference)[of_reference].tolist(),
                    strict=True,
                )
            )
            found = {pair: names.find(*pair, strings) for pair in dict.fromkeys(pairs)}
            starts = hand_on_starts(read_sent_starts(reference), of_reference)
        else:
            pos = example.get_aligned("POS", as_string=True)
            feats = example.get_aligned("MORPH", as_string=True)
            # One may be aligned where the other is not: then neither counts.
            pairs = [
                ("", "")
                if pos[word] is None or feats[word] is None
                else (pos[word], feats[word])
                for word in words
            ]
            found = {pair: names.get(*pair) for pair in dict.fromkeys(pairs)}
            given = [start or 0 for start in example.get_aligned_sent_starts()]
            starts = hand_on_starts(np.array(given, dtype="int32"), words)
        for pair, label in found.items():
            if label is None and warns:
                self._warn_of(pair, strings, len(names.labels))
        labels = [MISSING if (label := found[one]) is None else label for one in pairs]
        return with_labels(example.predicted, words, labels, starts)

    def _warn_of(
        self, pair: tuple[Any, Any], strings: StringStore, n_labels: int
    ) -> None:
        """Say once that data have a label that is not known."""
        pos, feats = pair
        if not isinstance(pos, str):
            pos, feats = POS_NAMES[pos], strings[feats] if feats else ""
        if not self._warned_label:
            self._warned_label = join_label(pos, feats)
            warnings.warn(
                Warnings.DW110.format(
                    name=self.name, label=self._warned_label, n_labels=n_labels
                ),
                stacklevel=4,
            )


def join_label(pos: str, feats: str) -> str:
    """The label of a part of speech and features, which may be empty, as spaCy writes
    it: parts are sorted, and so are several values of one feature."""
    parts = []
    if feats and feats != EMPTY:
        for part in feats.split(SEPARATOR):
            name, _, value = part.partition("=")
            parts.append(f"{name}={','.join(sorted(value.split(',')))}")
    if pos:
        parts.append(f"{POS}={pos}")
    return SEPARATOR.join(sorted(parts)) or EMPTY


def _list_strings(parts: dict[str, str]) -> Iterable[str]:
    """The strings that spaCy keeps for the parts of a label."""
    for name, values in parts.items():
        if name != POS:
            yield name
            yield from (f"{name}={value}" for value in values.split(","))


def _find_labels(example: Example) -> Iterable[str]:
    """The labels of the words of a reference."""
    doc = example.reference
    words = find_words(doc)
    pairs = zip(
        read_pos(doc)[words].tolist(), read_morphs(doc)[words].tolist(), strict=True
    )
    for pos, morph in set(pairs):
        if pos or morph:
            yield join_label(POS_NAMES[pos], doc.vocab.strings[morph] if morph else "")
