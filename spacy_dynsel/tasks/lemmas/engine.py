"""Lemmatizing: what a lemmatizer learns, uses and stores."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ...base.settings import LearnerSettings
from ...base.templates import Templates
from ...core.forms.packing import MAX_LABELS
from ...core.model_file import require
from ...core.recorder import Recorder
from ...spacy_io.lemmas import NO_LEMMA, SPACE_LEMMA, TABLE_LEMMA
from ...spacy_io.lexemes import LEXICAL_COLUMNS
from ..classifier import CachedForm, Classifier, Inputs, find_columns
from ..engine import Engine, Margin, Snapshot, Start
from ..evidence import Evidence, mark_known, scale_leads
from ..explanation import Explainer, Explanation
from ..folds import minibatch
from ..margins import scale_margins
from ..word_tables import NO_TABLE
from .cache import LemmaCache
from .decode import LemmaBatch, predict
from .gold import GoldLemmas, without_lemmas
from .known import KNOWN_LEAD, KnownLemmas, load_known
from .known import SECTION as KNOWN
from .script_set import ScriptSet
from .scripts import read_script
from .tables import SECTION, Tables, load_tables
from .train import LemmaItems

PLACE = "0"
# What the task knows of a word beside its lexeme.
GIVEN = ["pos", "morph"]
# Where each column of a lemmatizing template may be read: there are no neighbours.
PLACES: dict[str, Sequence[str]] = {
    **{column: [PLACE] for column in LEXICAL_COLUMNS if column != "class"},
    **{column: [PLACE] for column in GIVEN},
}
ROUND = 64
# How many words to learn from are kept ready.
MAX_ITEMS = 1 << 18
# What stands in explanations for what is no script.
OTHERS = {
    SPACE_LEMMA: "white space",
    TABLE_LEMMA: "lookup table",
    NO_LEMMA: "no script applies",
}


class LemmaSnapshot(Snapshot):
    """What predictions read, see Snapshot.

    scripts (ScriptSet): The labels.
    tables (Tables): Lemmas that are given, or None.
    known (KnownLemmas): Lemmas that were learned from.
    reads_pos (bool): Whether decisions look at parts of speech and features.
    """

    def __init__(
        self,
        scripts: ScriptSet,
        reader: Any,
        scorers: dict[str, Any],
        tables: Tables | None,
        known: KnownLemmas,
        reads_pos: bool,
    ) -> None:
        super().__init__(scripts.labels, reader, scorers)
        self.scripts = scripts
        self.tables = tables
        self.known = known
        self.reads_pos = reads_pos
        self._cache: LemmaCache | None = None

    def get_cache(self, max_lemmas: int, margins: list[int]) -> LemmaCache:
        """The cache that predictions share; one that is full, or was filled with other
        margins, is replaced."""
        cache = self._cache
        if (
            cache is None
            or cache.max_lemmas != max_lemmas
            or cache.margins != margins
            or len(cache) >= max_lemmas
        ):
            cache = self._cache = LemmaCache(max_lemmas, margins)
        return cache

    @property
    def n_lexemes(self) -> int:
        return 0 if self._cache is None else len(self._cache)

    def make_lemma(self, label: int, form: str, pos: int) -> str | None:
        """The lemma that a label stands for.

        label (int): A label, or what stands for none, see LemmaBatch.
        """
        if label == SPACE_LEMMA:
            return form
        if label == TABLE_LEMMA:
            return None if self.tables is None else self.tables.find(form, pos)
        return self.scripts.apply(label, form)


class LemmaEngine(Engine):
    """A lemmatizer's templates, weights, scripts and tables.

    templates (Templates): The templates, with checkpoints.
    settings (LearnerSettings): How to learn.
    """

    task = "lemmas"
    max_labels = MAX_LABELS
    knobs: ClassVar[dict[str, str]] = {"margin": "templates"}

    def __init__(self, templates: Templates, settings: LearnerSettings) -> None:
        lexical = sorted(find_columns(templates) & set(LEXICAL_COLUMNS))
        scripts = Classifier(
            "templates",
            templates,
            settings.for_task("lemmas"),
            CachedForm,
            places=PLACES,
            inputs=Inputs([], [*lexical, *GIVEN], [PLACE]),
        )
        super().__init__([scripts], lexical)

    def _reset(self) -> None:
        super()._reset()
        self.tables: Tables | None = None
        self.known = KnownLemmas()
        # Whether words had parts of speech when they were learned from; if not, these
        # are not looked at.
        self.reads_pos = False
        # Whether what is learned are corrections of finished weights.
        self.corrects = False
        self._scripts: ScriptSet | None = None
        self._items: LemmaItems | None = None

    def with_tables(self, tables: Tables | None) -> "LemmaEngine":
        """An engine with other tables. What was learned stays as it is."""
        other: Any = self.copy()
        other.tables = tables
        other._snapshot = None
        return other

    def _initialize(self, examples: list[GoldLemmas], start: Start) -> None:
        self._reader = self._make_reader(NO_TABLE, start)
        self._start(start, sum(len(gold.words) for gold in examples))
        self.reads_pos = any(gold.pos.any() for gold in examples)
        learner = self.main.learners[0]
        if start.is_complete and self.main.used_settings.cutoff > 1:
            for batch in minibatch(examples, ROUND):
                items, numbers = self._find_items(batch)
                items.count(learner, numbers)
            learner.reject_rare()

    def _learn(self, batch: list[GoldLemmas], drop: float) -> float:
        items, numbers = self._find_items(batch)
        loss = items.update(self.main.learners[0], numbers, drop)
        self.known = self.known.add(
            (lemma, pos if self.reads_pos else 0)
            for gold in batch
            for lemma, pos in zip(gold.lemmas, gold.pos.tolist(), strict=True)
            if lemma is not None
        )
        return loss

    def find_unreachable(self, batch: Sequence[GoldLemmas]) -> tuple[str, str] | None:
        """The first form whose lemma no script makes, and its lemma."""
        for gold in batch:
            items, numbers = self._find_items([gold])
            for word, lemma, can_be in zip(
                gold.words.tolist(),
                gold.lemmas,
                items.is_reachable(numbers).tolist(),
                strict=True,
            ):
                if lemma is not None and not can_be:
                    return gold.doc[word].text, lemma
        return None

    def _resume(self) -> None:
        super()._resume()
        self.corrects = True

    def record(self, batch: list[GoldLemmas], recorders: dict[str, Recorder]) -> None:
        items, numbers = self._find_items(batch)
        items.update(recorders["templates"], numbers, 0.0)

    def _find_items(self, batch: Sequence[GoldLemmas]) -> tuple[LemmaItems, np.ndarray]:
        """What there is to learn from some docs, and which of it occurs."""
        items = self._items
        scripts = self._get_scripts()
        if items is None or items.scripts is not scripts or len(items) >= MAX_ITEMS:
            items = self._items = LemmaItems(scripts, self._reader, self.reads_pos)
        numbers = [np.zeros(0, dtype="int32")]
        numbers += [
            items.add(gold.doc, gold.words, gold.pos, gold.morphs, gold.lemmas)
            for gold in batch
        ]
        return items, np.concatenate(numbers)

    def predict(  # type: ignore[override]
        self,
        docs: list[Doc],
        *,
        margin: Margin,
        n_threads: int = 1,
        with_leads: bool = False,
    ) -> LemmaBatch:
        snapshot = self.get_snapshot()
        scorer = snapshot.scorers["templates"]
        margins = scale_margins(margin, self.n_stages, scorer.scale)
        batch = predict(
            docs,
            snapshot.get_cache(self.max_lexemes, margins),
            snapshot.reader,
            scorer,
            snapshot.scripts,
            snapshot.tables,
            snapshot.known,
            math.ceil(KNOWN_LEAD * scorer.scale),
            snapshot.reads_pos,
            n_threads,
            with_leads,
        )
        batch.made_by = snapshot
        return batch

    def get_counts(self, batch: LemmaBatch) -> dict[str, np.ndarray]:
        return {"templates": batch.stage_counts}

    def judge(self, batch: LemmaBatch, golds: Sequence[GoldLemmas]) -> np.ndarray:
        true = np.zeros(len(batch.lemmas), dtype="uint64")
        known = np.zeros(len(batch.lemmas), dtype=bool)
        start = 0
        for gold in golds:
            for word, lemma in zip(gold.words.tolist(), gold.lemmas, strict=True):
                if lemma is not None:
                    true[start + word] = get_string_id(lemma)
                    known[start + word] = True
            start += len(gold.doc)
        return mark_known(batch.lemmas == true, known)

    @property
    def n_groups(self) -> int:
        return self.n_stages

    def get_evidence(self, batch: LemmaBatch) -> Evidence:
        scale = batch.made_by.scorers["templates"].scale
        leads: Any = batch.leads
        stages: Any = batch.stages
        return Evidence(scale_leads(leads, scale), stages)

    def _guess(self, docs: list[Doc]) -> LemmaBatch:
        lengths = [len(doc) for doc in docs]
        ends = np.cumsum(lengths, dtype="int64")
        labels = np.full(sum(lengths), SPACE_LEMMA, dtype="uint16")
        lemmas = np.zeros(sum(lengths), dtype="uint64")
        snapshot = self._make_snapshot({})
        for doc, end in zip(docs, ends.tolist(), strict=True):
            gold = without_lemmas(doc)
            items, numbers = self._find_items([gold])
            guessed = items.guess(self.main.learners[0], numbers)
            start = end - len(doc)
            labels[start + gold.words] = guessed
            for i, token in enumerate(doc, start):
                if (
                    labels[i] != SPACE_LEMMA
                    and self.tables is not None
                    and self.tables.find(token.text, token.pos) is not None
                ):
                    labels[i] = TABLE_LEMMA
                text = snapshot.make_lemma(int(labels[i]), token.text, token.pos)
                lemmas[i] = get_string_id(text or "")
        batch = LemmaBatch(labels, lemmas, ends, np.zeros(self.n_stages, "uint64"))
        batch.made_by = snapshot
        return batch

    def explain(self, doc: Doc, *, margin: Margin) -> list[Explanation]:  # type: ignore[override]
        """Say for each token how its label was found."""
        found = self.predict([doc], margin=margin)
        labels = found.labels.tolist()
        snapshot = found.made_by
        scorer = snapshot.scorers["templates"]
        gold = without_lemmas(doc)
        items = LemmaItems(snapshot.scripts, snapshot.reader, snapshot.reads_pos)
        numbers = items.add(doc, gold.words, gold.pos, gold.morphs, gold.lemmas)
        margins = scale_margins(margin, self.n_stages, scorer.scale)
        explain = Explainer(self.templates, scorer, margins, snapshot.labels)
        explanations = [
            Explanation(OTHERS.get(label, ""), math.inf, "", 0, 0, {})
            for label in labels
        ]
        preference = ("known lemma", math.ceil(KNOWN_LEAD * scorer.scale))
        explained = zip(gold.words, *items.explain(scorer, numbers), strict=True)
        for word, parts, choices, pairs in explained:
            if labels[word] not in OTHERS:
                explanations[word] = explain(
                    parts, labels[word], choices, pairs=pairs, preference=preference
                )
        return explanations

    def _get_arguments(self) -> dict[str, Any]:
        return {"templates": self.templates, "settings": self.settings}

    def _make_snapshot(self, scorers: dict[str, Any]) -> LemmaSnapshot:
        return LemmaSnapshot(
            self._get_scripts(),
            self._reader,
            scorers,
            self.tables,
            self.known,
            self.reads_pos,
        )

    def _get_scripts(self) -> ScriptSet:
        """The labels as scripts."""
        if self._scripts is None or self._scripts.labels != self.labels:
            self._scripts = ScriptSet(self.labels)
        return self._scripts

    def _form_options(self, part: str) -> dict[str, Any]:
        return {"cardinalities": {}}

    def _get_extra(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        arrays = {KNOWN: self.known.to_array()}
        if self.tables is not None:
            arrays[SECTION] = self.tables.to_array()
        return {"reads_pos": self.reads_pos}, arrays

    def _load_extra(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        require(
            isinstance(meta.get("reads_pos"), bool)
            and all(read_script(label) is not None for label in self.labels),
            "its scripts are malformed",
        )
        self.reads_pos = meta["reads_pos"]
        self.known = load_known(arrays)
        self.tables = load_tables(arrays)
