"""Cascades over words: what one learns, uses and stores.

A cascade learns level after level from all data. So an update just gathers what it gets,
and the cascade is learned when it is needed: for a prediction, or to be saved. A doc that
was there before takes the place of what was known about it.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from spacy.tokens import Doc

from ...base.errors import Errors
from ...base.settings import check_choice
from ...base.system_errors import SystemErrors
from ...base.templates import Templates
from ...cascade.levels import MOST_LABELS
from ...cascade.settings import CascadeSettings, check_alpha
from ...core.recorder import Recorder
from ...spacy_io.annotations import SPACE_TAG
from ...spacy_io.lexemes import LEXICAL_COLUMNS
from ...spacy_io.tokens import find_sentences
from ..classifier import check_count, find_columns
from ..engine import Snapshot, Start
from ..evidence import Evidence
from ..explanation import Explanation
from ..folds import get_number
from ..labelling.batch import LabelBatch
from ..labelling.engine import LEXICAL_PLACES, LabellingEngine
from ..labelling.gold import (
    GoldDoc,
    GoldWords,
    make_ranges,
    take_words,
)
from ..training_state import check_state
from ..word_classes import WordResources
from .explain import explain_words
from .features import WordFeatures
from .part import CascadePart, Lesson

COPIES = ("sentences", "documents", "both")
PART = "cascade"


class CascadeEngine(LabellingEngine):
    """The templates, the weights and the thresholds of a cascade.

    templates (Templates): The templates. They read words, not labels.
    settings (CascadeSettings): How to learn.
    class_min_count (int), class_min_share (float), resources (WordResources): See
        LabellingEngine.
    cutoff (int): How often a feature has to occur in the training data.
    copies (str): Which copies of the data to learn from.
    """

    task = "cascade"
    has_margins = False
    knobs: ClassVar[dict[str, str]] = {}
    columns = ()
    n_early = 1
    space_name = ""
    max_labels = MOST_LABELS
    # It does not know whose labels it learns, so it takes clusters of resources alone.
    class_column = ""

    def __init__(
        self,
        templates: Templates,
        settings: CascadeSettings,
        *,
        class_min_count: int,
        class_min_share: float,
        cutoff: int,
        copies: str,
        resources: WordResources | None = None,
    ) -> None:
        templates.check_atoms(LEXICAL_PLACES)
        check_count("cutoff", cutoff, 1)
        check_choice("copies", copies, COPIES)
        self.copies = copies
        lexical = sorted(find_columns(templates) & set(LEXICAL_COLUMNS))
        part: Any = CascadePart(PART, templates, lexical, settings, cutoff)
        super().__init__(
            part,
            lexical,
            class_min_count=class_min_count,
            class_min_share=class_min_share,
            resources=resources,
        )

    @property
    def part(self) -> CascadePart:
        return self.parts[PART]  # type: ignore[return-value]

    @property
    def n_stages(self) -> int:
        return self.part.cascade_settings.order

    @property
    def alpha(self) -> list[float | None] | None:
        """The thresholds that training chose; None if there are none yet."""
        cascade = self.part.cascade
        return None if cascade is None else cascade.alpha

    def check_alpha(self, name: str, alpha: Any) -> None:
        if alpha is None:
            return
        n = self.part.cascade_settings.n_filters
        values = alpha if isinstance(alpha, list | tuple) else [alpha] * n
        if len(values) != n:
            raise ValueError(
                Errors.DS022.format(
                    name="alpha",
                    value=alpha,
                    range=f"a number in [0, 1), or a list of {n}, one for each level that "
                    "filters",
                )
            )
        for one in values:
            if one is not None:
                check_alpha(one)

    def count_stages(self, knob: str) -> int:
        raise ValueError(SystemErrors.DS247.format(name=self.task, what=knob))

    def predict_without_exit(self, docs: list[Doc]) -> LabelBatch:
        return self.predict(docs)

    # Learning.

    def _initialize(self, examples: list[GoldDoc], start: Start) -> None:
        golds = [take_words(gold) for gold in examples]
        self._reader = self._make_reader(self._learn_classes(golds, start), start)
        self._start(start, sum(len(gold.words) for gold in golds))

    def _learn(self, batch: list[GoldDoc], drop: float) -> float:
        """Gather what there is to learn. RETURNS (float): How many words the cascade as it
        was last learned gets wrong."""
        golds = [take_words(gold) for gold in batch]
        lessons = self._make_lessons(golds, self._training_lexicon, self._reader)
        return self.part.learn(
            {
                get_number(gold.doc): lesson
                for gold, lesson in zip(golds, lessons, strict=True)
            }
        )

    def _make_lessons(
        self, golds: list[GoldWords], lexicon: Any, reader: Any, copies: str = ""
    ) -> list[Lesson]:
        ranges = [make_ranges([gold], copies or self.copies) for gold in golds]
        starts = np.cumsum([0, *(len(gold.words) for gold in golds)])
        moved = [one + start for one, start in zip(ranges, starts, strict=False)]
        words = WordFeatures([gold.doc for gold in golds], lexicon, reader)
        keys = words.find_keys(
            self.part.program, np.concatenate([np.zeros((0, 2), "int64"), *moved])
        )
        lessons = []
        for gold, pairs in zip(golds, ranges, strict=True):
            lengths = pairs[:, 1] - pairs[:, 0]
            n = int(lengths.sum())
            # That a label is wrong does not say which one is right.
            labels = [np.maximum(gold.labels[a:b], -1) for a, b in pairs.tolist()]
            found = np.concatenate([np.zeros(0, "int32"), *labels]).astype("int32")
            lessons.append(Lesson(keys[:n].copy(), lengths, found))
            keys = keys[n:]
        return lessons

    def predict_in_training(self, docs: list[Doc]) -> LabelBatch | None:
        """Predict by the cascade as it was last learned."""
        with self.lock:
            if not self.part.is_learning or self.part.cascade is None:
                return None
            snapshot = Snapshot(self.labels, self._reader, {PART: self.part.cascade})
            return self._predict(docs, snapshot, None, 1, False)

    def _guess(self, docs: list[Doc]) -> Any:
        return self.predict_in_training(docs)

    def record(self, batch: list[GoldDoc], recorders: dict[str, Recorder]) -> None:
        raise ValueError(
            SystemErrors.DS247.format(name=self.task, what="order of templates")
        )

    def _restore(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._start_again(meta)
        check_state(meta.get("learners") == [PART], "it has other learners")
        self.part.set_state(
            {name: arrays.get(f"0_{name}") for name in self.part.sections}
        )

    def read_arrays(self, golds: Sequence[GoldDoc]) -> tuple[np.ndarray, ...]:
        """Sentences with what is known about their labels, as Cascade.measure takes
        them."""
        snapshot = self.get_snapshot()
        words = [take_words(gold) for gold in golds]
        lexicon = snapshot.get_lexicon(self.max_lexemes)
        lessons = self._make_lessons(words, lexicon, snapshot.reader, "sentences")
        keys, lengths, labels = self.part.join(lessons)
        cascade = snapshot.scorers[PART]
        n_labels = 0 if cascade is None else cascade.n_labels
        offsets = np.arange(0, keys.size + 1, keys.shape[1])
        known = np.where(labels < n_labels, labels, -1)
        return keys.reshape(-1), offsets, lengths, known

    # Predicting.

    def predict(  # type: ignore[override]
        self,
        docs: list[Doc],
        *,
        alpha: Any = None,
        n_threads: int = 1,
        with_leads: bool = False,
    ) -> LabelBatch:
        return self._predict(docs, self.get_snapshot(), alpha, n_threads, with_leads)

    def _predict(
        self,
        docs: list[Doc],
        snapshot: Snapshot,
        alpha: Any,
        n_threads: int,
        with_leads: bool,
    ) -> LabelBatch:
        places, ends, ranges = find_sentences(docs)
        n_tokens = int(ends[-1]) if len(ends) else 0
        labels = np.full(n_tokens, SPACE_TAG, dtype="uint16")
        leads = np.full(n_tokens, np.inf) if with_leads else None
        counts = np.zeros(self.n_stages, dtype="float64")
        cascade = snapshot.scorers[PART]
        if cascade is None or not len(places):
            # Nothing was learned: one label is as good as another.
            labels[places] = 0
        else:
            arrays = self._read_sequences(docs, snapshot, ranges)
            found = cascade.predict(
                *arrays, alpha=alpha, n_threads=n_threads, with_leads=with_leads
            )
            labels[places] = found.labels
            counts += np.array(found.grams) * len(places)
            if leads is not None:
                leads[places] = found.leads
        stages = np.zeros(n_tokens, dtype="uint8") if with_leads else None
        batch = LabelBatch(labels, ends, counts, leads, stages)
        batch.made_by = snapshot
        return batch

    def _read_sequences(
        self, docs: list[Doc], snapshot: Snapshot, ranges: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        lexicon = snapshot.get_lexicon(self.max_lexemes)
        words = WordFeatures(docs, lexicon, snapshot.reader)
        keys = words.find_keys(self.part.program, ranges)
        offsets = np.arange(0, keys.size + 1, keys.shape[1])
        return keys.reshape(-1), offsets, ranges[:, 1] - ranges[:, 0]

    def get_counts(self, batch: LabelBatch) -> dict[str, np.ndarray]:
        return {}

    def get_statistics(self, batch: LabelBatch) -> dict[str, Any]:
        n = int((batch.labels != SPACE_TAG).sum())
        return {"decisions": n, "grams": (batch.stage_counts / max(1, n)).tolist()}

    @property
    def n_groups(self) -> int:
        return 1

    def get_evidence(self, batch: LabelBatch) -> Evidence:
        return Evidence(batch.leads.reshape(-1, 1), batch.stages)

    def explain(self, doc: Doc, *, alpha: Any = None) -> list[Explanation]:  # type: ignore[override]
        """Say for each token how its label was found."""
        snapshot = self.get_snapshot()
        cascade = snapshot.scorers[PART]
        batch = self._predict([doc], snapshot, alpha, 1, False)
        places, _, ranges = find_sentences([doc])
        nothing = Explanation(self.space_name, np.inf, "", 0, 0, {})
        explanations = [nothing] * len(doc)
        if cascade is None:
            for place in places.tolist():
                label = snapshot.labels[batch.labels[place]]
                explanations[place] = Explanation(label, 0.0, "", 0, 0, {})
        elif len(places):
            gaps = cascade.find_gaps(
                *self._read_sequences([doc], snapshot, ranges), alpha=alpha
            )
            found = explain_words(
                batch.labels[places],
                gaps,
                snapshot.labels,
                len(self.templates.templates),
            )
            for place, one in zip(places.tolist(), found, strict=True):
                explanations[place] = one
        return explanations

    def _get_arguments(self) -> dict[str, Any]:
        return {
            "templates": self.templates,
            "settings": self.part.cascade_settings,
            "class_min_count": self.class_min_count,
            "class_min_share": self.class_min_share,
            "cutoff": self.part.cutoff,
            "copies": self.copies,
            "resources": self.resources,
        }

    def _form_options(self, part: str) -> dict[str, Any]:
        return {}

    def _make_history(self) -> Any:
        raise ValueError(
            SystemErrors.DS247.format(name=self.task, what="history of labels")
        )
