"""Entity recognition: what a recognizer learns, uses and stores."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ...base.atomic import assign
from ...base.errors import Errors
from ...base.settings import LearnerSettings, check_choice
from ...base.templates import CHECKPOINT, Templates, parse_templates
from ...core.forms.packing import MAX_LABELS
from ...core.leads import NO_DECISION, NO_RIVAL
from ...core.learner import Learner
from ...core.model_file import require
from ...core.recorder import Recorder
from ...spacy_io.lexemes import LEXICAL_COLUMNS, N_CASES, LexemeReader
from ...spacy_io.tokens import find_words
from ..classifier import Classifier, Inputs, find_columns
from ..engine import Engine, Margin, Snapshot, Start
from ..evidence import Evidence, mark_known, scale_leads
from ..explanation import Explainer, Explanation
from ..folds import minibatch
from ..margins import scale_margins
from ..parallel import run_all
from ..word_classes import WordResources
from ..word_tables import N_RESERVED, NO_TABLE, lookup_arrays
from .actions import KEEP
from .batch import EntityBatch
from .decode import predict
from .explain import Explanations, explain_entities
from .form import BiasedForm, get_room
from .gazetteer import N_CODES, Gazetteer
from .gazetteers import ARRAYS, Gazetteers, check_arrays, get_checksum
from .gold import (
    GoldEntities,
    action_names,
    count_lowered,
    find_spans,
    own_starts,
)
from .task import COLUMNS, N_CASE_SETS, NAMED_PLACES, REACH, Task
from .train import MISSING, EntityExamples, Explaining, Guessing

DIRECTIONS = ("ltr", "rtl")
OFFSETS = [str(offset) for offset in range(-REACH, REACH + 1)]
ALL_PLACES = [*OFFSETS, *NAMED_PLACES]
# Where each column of a template may be read. How a word was labelled is known for the
# words that were read and the next one.
PLACES: dict[str, Sequence[str]] = {
    **dict.fromkeys(LEXICAL_COLUMNS, ALL_PLACES),
    "action": OFFSETS[:REACH],
    "tag": OFFSETS,
    "seen": OFFSETS[: REACH + 2],
    "seen_last": OFFSETS[: REACH + 2],
    "seen_shares": OFFSETS[: REACH + 2],
    "cases": OFFSETS,
    "lists": OFFSETS,
}
# See LearnerSettings.
DEFAULTS = {"predicted_history": 0.5, "copies": "both", "lone_sentences": 0.5}
# From how many Docs on a word that is written in lower case there has the next class.
LOWERED = (1, 2, 5)
ROUND = 64
# The atoms that need to know the other occurrences of a word.
REMEMBERING = {"seen", "seen_last", "seen_shares", "cases"}
MAX_BIAS = 32.0
MAX_TYPES = (MAX_LABELS - 1) // 4
# How far a second pass trusts the first, whose lead it adds to the score of an action:
# the largest lead that counts.
MAX_TRUSTED_LEAD = 5.0
# The classifiers of the passes.
FIRST = "templates"
SECOND = "second"


class Pass(NamedTuple):
    """One reading of the docs.

    name (str): The classifier that decides.
    tasks (dict): What the loops have to know: whether entities that are set stay, and
        the Task for each case.
    """

    name: str
    tasks: dict[bool, Task]


class EntitySnapshot(Snapshot):
    """See Snapshot.

    passes (list[Pass]): One or two.
    """

    def __init__(
        self,
        labels: tuple[str, ...],
        reader: LexemeReader,
        scorers: dict[str, Any],
        passes: list[Pass],
    ) -> None:
        super().__init__(labels, reader, scorers)
        self.passes = passes

    @property
    def scale(self) -> float:
        """That of the pass which decides in the end."""
        return self.scorers[self.passes[-1].name].scale


class EntityEngine(Engine):
    """An entity recognizer's templates, weights, clusters and gazetteers.

    templates (Templates): The templates, with checkpoints.
    settings (LearnerSettings): How to learn.
    direction (str): How sentences are read, "ltr" or "rtl".
    seeds (int): The number of learners whose weights are averaged.
    gazetteers (Gazetteers): Lists of names. For each list, templates are added that
        look at it.
    two_passes (bool): Whether a second classifier reads each sentence in the opposite
        direction and sees what the first one found: to the score of each action that
        the first has chosen it adds a share of its lead there.
    resources (WordResources): Clusters of words.
    """

    task = "entities"
    min_labels = 0
    max_labels = MAX_TYPES
    knobs: ClassVar[dict[str, str]] = {"margin": FIRST}
    run_time_settings = ("bias",)

    def __init__(
        self,
        templates: Templates,
        settings: LearnerSettings,
        *,
        direction: str,
        seeds: int,
        gazetteers: Gazetteers | None = None,
        two_passes: bool = False,
        resources: WordResources | None = None,
    ) -> None:
        check_choice("direction", direction, DIRECTIONS)
        names = [] if gazetteers is None else gazetteers.names
        lists = [f"list_{name}" for name in names]
        self.gazetteers = gazetteers if lists else None
        self._own_templates = templates
        self.direction = direction
        self._bias = 0.0
        templates = add_list_templates(templates, lists)
        needed = {"lower", "case"} | ({"word"} if lists else set())
        lexical = sorted((find_columns(templates) | needed) & set(LEXICAL_COLUMNS))
        self._dynamic = [*COLUMNS, *lists]
        passes = [
            Classifier(
                name,
                templates,
                settings.for_task("the recognition of entities", **DEFAULTS),
                BiasedForm,
                places={**PLACES, **{column: OFFSETS for column in lists}},
                inputs=Inputs(lexical, self._dynamic, ALL_PLACES),
                seeds=seeds,
            )
            for name in ((FIRST, SECOND) if two_passes else (FIRST,))
        ]
        self._remembers = any(
            atom.column in REMEMBERING or atom.place in NAMED_PLACES
            for spec in templates.templates
            for atom in spec.atoms
        )
        super().__init__(passes, lexical, resources)

    def _reset(self) -> None:
        super()._reset()
        self._list_arrays: dict[str, np.ndarray] = {}
        self._gazetteer: Gazetteer | None = None
        # What predictions read before the bias changed.
        self._former: Any = None

    @property
    def two_passes(self) -> bool:
        return SECOND in self.parts

    @property
    def bias(self) -> float:
        """What is added to the score of O, in both passes: on development data that was
        better than in the second alone."""
        return self._bias

    @bias.setter
    def bias(self, bias: float) -> None:
        if bias != self._bias:
            with self.lock:
                # Words need not be analysed again.
                former = self._snapshot or self._former
                assign(
                    (self, "_bias", bias),
                    (self, "_snapshot", None),
                    (self, "_former", former),
                )

    def _initialize(self, examples: list[GoldEntities], start: Start) -> None:
        if self.gazetteers is not None:
            self._set_lists(self.gazetteers.compile(start.tokenizer))
        self._reader = self._make_reader(self._find_classes(examples), start)
        self._start(start, sum(len(find_words(gold.doc)) for gold in examples))
        for name, part in self.classifiers.items():
            if start.is_complete and part.used_settings.cutoff > 1:
                for batch in minibatch(examples, ROUND):
                    training = self._training_batch(name, batch, None)
                    for learner in part.learners:
                        training.count(learner)
                for learner in part.learners:
                    learner.reject_rare()

    def _find_classes(
        self, examples: list[GoldEntities]
    ) -> tuple[np.ndarray, np.ndarray]:
        """What the column "class" says: in how many Docs a word is written in lower
        case. A word with a capital that never is may well be a name, also at the start
        of a sentence."""
        if "class" not in self.lexical:
            return NO_TABLE
        counts = count_lowered([gold.doc for gold in examples])
        numbers = np.searchsorted(LOWERED, list(counts.values()), side="right")
        found = zip(counts, (numbers - 1 + N_RESERVED).tolist(), strict=True)
        return lookup_arrays(dict(found))

    def _learn(self, batch: list[GoldEntities], drop: float) -> float:
        lone = self.settings.lone_sentences
        n_words = sum(len(find_words(gold.doc)) for gold in batch)
        starts = self._training_starts(batch)

        def teach(
            learner: Learner, copies: list[EntityExamples], history: float
        ) -> float:
            return sum(one.update(learner, drop, history, lone) for one in copies)

        jobs = []
        # The second pass learns from gold data as the first does, so that neither waits.
        for name, part in self.classifiers.items():
            history = part.get_history_rate(n_words)
            copies = [self._training_batch(name, batch, one) for one in starts]
            jobs += [partial(teach, one, copies, history) for one in part.learners]
        return sum(run_all(self.training_threads, jobs)) / len(self.main.learners)

    def record(self, batch: list[GoldEntities], recorders: dict[str, Recorder]) -> None:
        starts = self._training_starts(batch)[0]
        for name, recorder in recorders.items():
            self._training_batch(name, batch, starts).update(
                recorder, 0.0, self.settings.predicted_history
            )

    def predict(  # type: ignore[override]
        self,
        docs: list[Doc],
        *,
        margin: Margin,
        n_threads: int = 1,
        with_leads: bool = False,
        keep_entities: bool = True,
    ) -> EntityBatch:
        """Predict the actions of docs.

        keep_entities (bool): Whether entities that are set stay as they are, and
            blocked tokens blocked.
        RETURNS (EntityBatch): The actions. With two passes, the stages are counted in
            the second.
        """
        snapshot = self.get_snapshot()
        batch: Any = None
        for number in range(len(snapshot.passes)):
            options = {"first": batch, "n_threads": n_threads, "with_leads": with_leads}
            batch = self._read(snapshot, number, docs, margin, keep_entities, **options)
        return batch

    def _read(
        self,
        snapshot: EntitySnapshot,
        number: int,
        docs: list[Doc],
        margin: Margin,
        keep_entities: bool,
        *,
        first: EntityBatch | None = None,
        n_threads: int = 1,
        with_leads: bool = False,
    ) -> EntityBatch:
        """Predict the actions of docs by one pass.

        number (int): The number of the pass.
        first (EntityBatch): What the pass before it found.
        """
        name, tasks = snapshot.passes[number]
        scorer = snapshot.scorers[name]
        support_for_lead, max_support = 0.0, 0
        if number + 1 < len(snapshot.passes):
            # What the next pass adds to its scores.
            support_for_lead = snapshot.scale / scorer.scale
            room = get_room(len(self.templates.templates))
            max_support = int(min(snapshot.scale * MAX_TRUSTED_LEAD, room))
        batch = predict(
            docs,
            tasks[keep_entities],
            snapshot.get_lexicon(self.max_lexemes, name),
            snapshot.reader,
            scorer,
            scale_margins(margin, self.n_stages, scorer.scale),
            n_threads,
            first,
            support_for_lead,
            max_support,
            with_leads,
        )
        batch.made_by = snapshot
        return batch

    def get_counts(self, batch: EntityBatch) -> dict[str, np.ndarray]:
        return {FIRST: batch.stage_counts}

    def judge(self, batch: EntityBatch, golds: Sequence[GoldEntities]) -> np.ndarray:
        """Which actions of words are right."""
        actions = np.concatenate([gold.actions for gold in golds])
        for gold, end in zip(golds, batch.ends.tolist(), strict=True):
            spaces = np.ones(len(gold.doc), dtype=bool)
            spaces[find_words(gold.doc)] = False
            actions[end - len(spaces) : end][spaces] = MISSING
        return mark_known(batch.actions == actions, actions >= 0)

    @property
    def n_groups(self) -> int:
        return 2 * self.n_stages

    def get_evidence(self, batch: EntityBatch) -> Evidence:
        """What speaks for each entity of a batch with leads: its weakest decision, and
        the weaker one of its neighbours, which might have been part of it."""
        scale = batch.made_by.scale
        is_word = batch.leads != NO_DECISION
        own, stages = batch.leads[is_word], batch.stages[is_word]
        doc_ends = np.concatenate([[0], np.cumsum(is_word)])[batch.ends]
        starts, ends = find_spans(batch.actions[is_word])
        weakest = np.array(
            [
                start + int(own[start : end + 1].argmin())
                for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
            ],
            dtype="int64",
        )
        # What lies between docs has no rival.
        leads = np.insert(own, np.insert(doc_ends, 0, 0), NO_RIVAL)
        places = np.searchsorted(doc_ends, starts, side="right") + 1
        beside = np.minimum(leads[starts + places - 1], leads[ends + places + 1])
        # Where there were several decisions, each could be wrong.
        groups = stages[weakest] + self.n_stages * (ends > starts)
        both = np.stack([own[weakest], beside], axis=1)
        return Evidence(scale_leads(both, scale, scale), groups)

    def _guess(self, docs: list[Doc]) -> EntityBatch:
        # With two passes, the first has to do.
        guessing = Guessing(
            docs,
            None,
            self._make_task(FIRST, True),
            self._training_lexicon,
            self._reader,
        )
        actions = guessing.guess(self.main.learners[0])
        ends = np.cumsum([len(doc) for doc in docs], dtype="int64")
        counts = np.zeros(self.n_stages, dtype="uint64")
        return EntityBatch(actions, ends, counts, KEEP in actions)

    def explain(  # type: ignore[override]
        self, doc: Doc, *, margin: Margin, keep_entities: bool
    ) -> Explanations:
        """Say for each token how its action was found, and for each entity how sure
        it is; with two passes, by the second."""
        snapshot = self.get_snapshot()
        first, batch = None, self._read(snapshot, 0, [doc], margin, keep_entities)
        if self.two_passes:
            first = batch
            batch = self._read(snapshot, 1, [doc], margin, keep_entities, first=first)
        name, tasks = snapshot.passes[-1]
        scorer = snapshot.scorers[name]
        explaining = Explaining(
            [doc],
            None,
            tasks[keep_entities],
            snapshot.get_lexicon(self.max_lexemes, name),
            snapshot.reader,
        )
        actions, labels = batch.actions, snapshot.labels
        parts, valid, read, support, pairs = explaining.explain(scorer, actions, first)
        outputs = action_names(labels)
        if self._get_direction(name) == "rtl":
            # They are read as B and L of the reading, and shown as those of the text.
            outputs = ["O", *(f"{kind}-{x}" for x in labels for kind in "LIBU")]
        margins = scale_margins(margin, self.n_stages, scorer.scale)
        explain = Explainer(self.templates, scorer, margins, outputs)
        explanations = Explanations()
        words = set(find_words(doc).tolist())
        for i, action in enumerate(actions.tolist()):
            if i not in words or action == KEEP:
                if action != KEEP:
                    label = outputs[action]
                elif i in words:
                    label = outputs[int(read[i])]
                else:
                    type_ = doc[i].ent_type_
                    label = f"I-{type_}" if type_ in labels else "O"
                explanations.append(Explanation(label, math.inf, "", 0, 0, {}))
            else:
                given = {} if first is None else {"first pass": support[i]}
                explanations.append(
                    explain(parts[i], int(read[i]), valid[i], given, pairs[i])
                )
        explanations.entities = explain_entities(doc, actions, explanations, labels)
        return explanations

    def _get_arguments(self) -> dict[str, Any]:
        return {
            "templates": self._own_templates,
            "settings": self.settings,
            "direction": self.direction,
            "seeds": self.main.seeds,
            "gazetteers": self.gazetteers,
            "two_passes": self.two_passes,
            "resources": self.resources,
        }

    def _count_labels(self, part: str, labels: Sequence[str]) -> int:
        return 1 + 4 * len(labels)

    def _form_options(self, part: str) -> dict[str, Any]:
        n_actions = self._count_labels(part, self.labels)
        return {
            "o_bias": self._bias,
            "cardinalities": {
                "action": n_actions + 1,
                "seen": len(self.labels) + 2,
                "seen_last": n_actions + 1,
                "cases": N_CASE_SETS,
                "case": N_CASES + N_RESERVED,
                "class": len(LOWERED) + N_RESERVED,
                **{column: N_CODES for column in self._dynamic[len(COLUMNS) :]},
            },
        }

    def _make_snapshot(self, scorers: dict[str, Any]) -> EntitySnapshot:
        passes = [
            Pass(name, {keep: self._make_task(name, keep) for keep in (False, True)})
            for name in self.parts
        ]
        snapshot = EntitySnapshot(self.labels, self._reader, scorers, passes)
        if self._former is not None:
            snapshot.take_lexicons(self._former)
            self._former = None
        return snapshot

    def _get_direction(self, name: str) -> str:
        """How a pass reads."""
        if name == FIRST:
            return self.direction
        return "ltr" if self.direction == "rtl" else "rtl"

    def _make_task(self, name: str, keep_entities: bool) -> Task:
        return Task(
            np.array([get_string_id(label) for label in self.labels], dtype="uint64"),
            self._get_direction(name) == "rtl",
            self.lexical,
            self._remembers,
            len(self._dynamic),
            keep_entities,
            self._gazetteer,
        )

    def _set_lists(self, arrays: dict[str, np.ndarray]) -> None:
        self._list_arrays = arrays
        n_lists = len(self._dynamic) - len(COLUMNS)
        self._gazetteer = Gazetteer(arrays, n_lists, self.lexical)

    def _get_extra(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        meta: dict[str, Any] = {"direction": self.direction}
        if self.gazetteers is None:
            return meta, {}
        meta["lists"] = self.gazetteers.names
        meta["list_checksum"] = get_checksum(self._list_arrays)
        return meta, self._list_arrays if self.gazetteers.embed else {}

    def _load_extra(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        require(
            int(arrays["class_values"].max(initial=0)) < len(LOWERED) + N_RESERVED,
            "a word has an unknown class",
        )
        direction = meta.get("direction")
        if direction != self.direction:
            require(direction in DIRECTIONS, "its direction is malformed")
            raise ValueError(
                Errors.DS100.format(found=direction, expected=self.direction)
            )
        if self.two_passes != (SECOND in meta["parts"]):
            raise ValueError(Errors.DS106)
        names = [] if self.gazetteers is None else self.gazetteers.names
        found = meta.get("lists", [])
        if found != names:
            raise ValueError(Errors.DS118.format(found=found, expected=names))
        if self.gazetteers is None:
            return
        if self.gazetteers.embed:
            check_arrays(arrays, len(names))
            lists = {name: arrays[name] for name in ARRAYS}
        else:
            # Words are divided by white space: no tokenizer is needed.
            lists = self.gazetteers.compile()
            if get_checksum(lists) != meta.get("list_checksum"):
                raise ValueError(Errors.DS119.format(names=", ".join(names)))
        self._set_lists(lists)

    def _training_starts(self, batch: list[GoldEntities]) -> list[np.ndarray | None]:
        """The copies of the data to learn from: None for docs as they come, arrays for
        docs that are divided into their gold sentences."""
        copies = self.settings.copies
        gold = np.concatenate([gold.sent_starts for gold in batch]).astype("uint8")
        if copies == "documents":
            return [None]
        if copies == "sentences":
            return [gold]
        own = np.concatenate([own_starts(gold.doc) for gold in batch])
        return [gold] if (own == gold).all() else [gold, None]

    def _training_batch(
        self, name: str, batch: list[GoldEntities], starts: np.ndarray | None
    ) -> EntityExamples:
        negatives = []
        offset = 0
        for gold in batch:
            for start, end, label in gold.negatives:
                negatives.append((start + offset, end + offset, label))
            offset += len(gold.doc)
        return EntityExamples(
            [gold.doc for gold in batch],
            starts,
            self._make_task(name, False),
            self._training_lexicon,
            self._reader,
            np.concatenate([gold.actions for gold in batch], dtype="int32"),
            np.array(negatives, dtype="int64").reshape(-1, 3),
        )


def add_list_templates(templates: Templates, lists: list[str]) -> Templates:
    """Add templates that look at gazetteers to the first stage of a list."""
    if not lists:
        return templates
    lines = templates.to_lines()
    added = [f"{column}[{place}]" for column in lists for place in (-1, 0, 1)]
    added += ["lists", "lists case", "lists action[-1]"]
    first = lines.index(CHECKPOINT) if CHECKPOINT in lines else len(lines)
    return parse_templates(
        [
            *lines[:first],
            *(line for line in added if line not in lines),
            *lines[first:],
        ],
        source=templates.source,
    )
