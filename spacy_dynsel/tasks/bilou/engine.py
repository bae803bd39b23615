"""Entity recognition: all that a recognizer learns, uses and stores, apart from
spaCy's contract."""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ...base.atomic import assign
from ...base.errors import Errors, Warnings
from ...base.settings import LearnerSettings
from ...base.templates import CHECKPOINT, Templates, parse_templates
from ...confidence.maps import NO_RIVAL, Evidence, scale_leads
from ...core.checksum import checksum
from ...core.forms.cached import CachedScorer
from ...core.forms.packing import (
    MAX_LABELS,
    MAX_WEIGHT,
    find_labels,
    pack_weights,
    unpack_weights,
)
from ...core.learner import Learner
from ...core.recorder import Recorder
from ...spacy_io.bridge import (
    KEEP,
    LEXICAL_COLUMNS,
    N_CASES,
    LexemeReader,
    find_words,
    hand_on_starts,
    read_sent_starts,
)
from ..classifier import mean_weights
from ..engine import (
    N_RESERVED,
    Compiled,
    Explanation,
    LinearModel,
    minibatch,
    require,
)
from .gazetteer import N_CODES, Gazetteer
from .gazetteers import ARRAYS, Gazetteers
from .loops import (
    COLUMNS,
    MISSING,
    N_CASE_SETS,
    NAMED_PLACES,
    NO_DECISION,
    REACH,
    EntityBatch,
    Explaining,
    Guessing,
    Task,
    TrainingBatch,
    predict,
)

__all__ = [
    "KEEP",
    "MISSING",
    "PLACES",
    "EntityBatch",
    "EntityExplanation",
    "EntityModel",
    "Explanations",
    "GoldEntities",
    "action_names",
    "entity_f",
]

TASK = "entities"
DIRECTIONS = ("ltr", "rtl")
OFFSETS = [str(offset) for offset in range(-REACH, REACH + 1)]
ALL_PLACES = [*OFFSETS, *NAMED_PLACES]
# Where each column of a template may be read. How a word was labelled is known for the
# words that were read and the next one.
PLACES: dict[str, Sequence[str]] = {
    # Ambiguity classes are those of tags.
    **{column: ALL_PLACES for column in LEXICAL_COLUMNS if column != "class"},
    "action": OFFSETS[:REACH],
    "tag": OFFSETS,
    "seen": OFFSETS[: REACH + 2],
    "seen_last": OFFSETS[: REACH + 2],
    "seen_shares": OFFSETS[: REACH + 2],
    "cases": OFFSETS,
    "lists": OFFSETS,
}
# See LearnerSettings.
DEFAULTS = {"predicted_history": 0.5, "copies": "both"}
ROUND = 64
# The atoms that need to know the other occurrences of a word.
REMEMBERING = {"seen", "seen_last", "seen_shares", "cases"}
MAX_BIAS = 32.0
MAX_SCORE = (1 << 15) - 1
MAX_TYPES = (MAX_LABELS - 1) // 4
# The score of beginning an entity of a type that nothing was learned about.
NEVER = -32767
# How far a second pass trusts the first, whose lead it adds to the score of an action:
# the largest lead that counts.
MAX_TRUSTED_LEAD = 5.0


class GoldEntities(NamedTuple):
    """A doc with what is known about its entities.

    doc (Doc): The doc.
    actions (array): For each token its action or MISSING; that of white space follows
        from those of the words beside it.
    sent_starts (array): For each token whether a sentence starts there, a word.
    negatives (list): Spans that are no entities: start, end and index of the label.
        They start and end with words.
    """

    doc: Doc
    actions: np.ndarray
    sent_starts: np.ndarray
    negatives: list[tuple[int, int, int]]


class EntityExplanation(NamedTuple):
    """How sure an entity is.

    start (int): Its first token.
    end (int): The token after its last.
    label (str): Its label.
    weakest_lead (float): The smallest lead among the decisions that made it; infinite
        for an entity that was set before.
    """

    start: int
    end: int
    label: str
    weakest_lead: float


class FoundEntity(NamedTuple):
    """An entity: the number of its doc, its first token, the token after its last one,
    and the number of its label."""

    doc: int
    start: int
    end: int
    label: int


class Explanations(list[Explanation]):
    """An explanation for each token, and one for each entity.

    entities (list[EntityExplanation]): The entities.
    """

    entities: list[EntityExplanation]


def action_names(labels: Sequence[str]) -> list[str]:
    """The actions, by their index."""
    return ["O", *(f"{kind}-{label}" for label in labels for kind in "BILU")]


def entity_f(actions: np.ndarray, gold: np.ndarray) -> float:
    """The F1 of entities. Those that lie on a token of which nothing is known, or that
    were set before, do not count.

    actions (array): The predicted action of each token, or KEEP.
    gold (array): The true one, or MISSING.
    """

    def count_without(condition: np.ndarray) -> int:
        sums = np.concatenate([[0], np.cumsum(condition)])
        return int((sums[starts] == sums[ends + 1]).sum())

    starts, ends = find_spans(actions)
    n_found = count_without(gold == MISSING)
    n_right = count_without(gold != actions)
    return 2 * n_right / max(1, n_found + len(find_spans(gold)[0]))


def find_spans(actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where entities start, and their last tokens."""
    actions = actions.astype("int32")
    inside = (actions != 0) & (actions != KEEP) & (actions != MISSING)
    kinds = (actions - 1) % 4
    return (
        np.flatnonzero(inside & np.isin(kinds, (0, 3))),
        np.flatnonzero(inside & np.isin(kinds, (2, 3))),
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


class CompiledEntities(Compiled):
    """See Compiled.

    make_task (Callable): Makes a Task, see EntityModel._make_task.
    second (CompiledEntities): What reads the docs after it, if there are two passes.
    """

    def __init__(
        self,
        labels: tuple[str, ...],
        reader: LexemeReader,
        scorer: CachedScorer,
        make_task: Callable[[bool], Task],
        second: "CompiledEntities | None",
    ) -> None:
        super().__init__(labels, reader, scorer)
        self.second = second
        self._tasks = {keep: make_task(keep) for keep in (False, True)}

    def get_task(self, keep_entities: bool) -> Task:
        """What the loops have to know.

        keep_entities (bool): Whether entities that are set stay as they are.
        """
        return self._tasks[keep_entities]

    @property
    def n_lexemes(self) -> int:
        # Each pass has a lexicon of its own, of the same size.
        return max(
            super().n_lexemes, 0 if self.second is None else self.second.n_lexemes
        )


class EntityModel(LinearModel):
    """An entity recognizer's templates, weights and clusters.

    templates (Templates): The templates, with checkpoints.
    settings (LearnerSettings): How to learn.
    direction (str): How sentences are read, "ltr" or "rtl".
    seeds (int): The number of learners whose weights are averaged.
    gazetteers (Gazetteers): Lists of names. For each list, templates are added that
        look at it.
    two_passes (bool): Whether a second model reads each sentence in the opposite
        direction and sees what the first one found: to the score of each action that
        the first has chosen it adds a share of its lead there.
    """

    task = TASK
    min_labels = 0

    def __init__(
        self,
        templates: Templates,
        settings: LearnerSettings,
        *,
        direction: str,
        seeds: int,
        gazetteers: Gazetteers | None = None,
        two_passes: bool = False,
    ) -> None:
        if direction not in DIRECTIONS:
            raise ValueError(
                Errors.DS021.format(
                    name="direction", value=direction, known=", ".join(DIRECTIONS)
                )
            )
        if not 1 <= seeds <= 100:
            raise ValueError(
                Errors.DS022.format(
                    name="seeds", value=seeds, range="between 1 and 100"
                )
            )
        names = [] if gazetteers is None else gazetteers.names
        lists = [f"list_{name}" for name in names]
        self.gazetteers = gazetteers if lists else None
        self._own_templates = templates
        self.direction = direction
        self.seeds = seeds
        self._bias = 0.0
        self._second: EntityModel | None = None
        super().__init__(
            add_list_templates(templates, lists),
            settings.for_task("the recognition of entities", **DEFAULTS),
            places={**PLACES, **{column: OFFSETS for column in lists}},
            dynamic=[*COLUMNS, *lists],
            all_places=ALL_PLACES,
            needed=("lower", "case", "word") if lists else ("lower", "case"),
        )
        self._remembers = any(
            atom.column in REMEMBERING or atom.place in NAMED_PLACES
            for spec in self.templates.templates
            for atom in spec.atoms
        )
        if two_passes:
            self._second = EntityModel(
                self._own_templates,
                self.settings,
                direction="ltr" if self.direction == "rtl" else "rtl",
                seeds=self.seeds,
                gazetteers=self.gazetteers,
            )
            # They change together.
            self._second.lock = self.lock

    def _reset(self) -> None:
        super()._reset()
        self._learners: list[Learner] = []
        self._list_arrays: dict[str, np.ndarray] = {}
        self._gazetteer: Gazetteer | None = None
        if self._second is not None:
            self._second = self._second.blank()

    def copy(self) -> "EntityModel":
        other = super().copy()
        if self._second is not None:
            other._second = self._second.copy()
        return other

    @property
    def n_outputs(self) -> int:
        return self._count_outputs(self.labels)

    @property
    def bias(self) -> float:
        """What is added to the score of O."""
        return self._bias

    @bias.setter
    def bias(self, bias: float) -> None:
        if bias == self._bias:
            return
        with self.lock:
            # In both passes, which was better on development data than in the second
            # alone. The weights stay as they are.
            passes = [self] if self._second is None else [self, self._second]
            assign(
                *((one, "_bias", bias) for one in passes),
                *((one, "_compiled", None) for one in passes),
            )

    def initialize(
        self,
        labels: Sequence[str],
        vocab: Vocab,
        get_examples: Callable[[], Iterable[GoldEntities]],
        *,
        lang: str,
        count_features: bool,
        tokenizer: Callable[[str], Doc] | None = None,
        seed: int = 0,
    ) -> None:
        """Prepare for training; see TaggingModel.initialize.

        tokenizer (Callable): Divides the entries of gazetteers into words.
        """
        self._check_labels(labels)
        self._reset()
        self.labels = tuple(labels)
        if self.gazetteers is not None:
            self._set_lists(self.gazetteers.compile(tokenizer))
        nothing = (np.zeros(0, dtype="uint64"), np.zeros(0, dtype="uint32"))
        self._reader = self._make_reader(nothing, self._load_clusters(vocab, lang))
        if self._second is not None:
            self._second.initialize(
                labels,
                vocab,
                get_examples,
                lang=lang,
                count_features=count_features,
                tokenizer=tokenizer,
                seed=seed,
            )
        self._start(sum(len(find_words(gold.doc)) for gold in get_examples()), seed)
        if count_features and self._used_settings.cutoff > 1:
            for batch in minibatch(get_examples(), ROUND):
                training = self._training_batch(batch, None)
                for learner in self._learners:
                    training.count(learner)
            for learner in self._learners:
                learner.reject_rare()

    def with_labels(self, labels: Sequence[str]) -> "EntityModel":
        """An engine with more labels. What was learned stays as it is."""
        other = self.copy()
        other._check_labels([*self.labels, *labels])
        other.labels = (*self.labels, *labels)
        other._compiled = None
        if other._second is not None:
            other._second = other._second.with_labels(labels)
        if other._packed is not None:
            # The form of the slots depends on the number of labels.
            index, slots, scale = other._packed
            weights = unpack_weights(index, slots)
            other._packed = (*pack_weights(*weights, other.n_outputs), scale)
        return other

    def update(self, batch: list[GoldEntities], *, drop: float) -> float:
        """Learn from some docs. RETURNS (float): The loss."""
        with self.lock:
            self.make_trainable()
            self._forget_compiled()
            loss = self._learn(batch, drop)
            if self._second is not None:
                loss += self._second._learn(batch, drop)
            return loss

    def _learn(self, batch: list[GoldEntities], drop: float) -> float:
        history = self.settings.predicted_history
        loss = 0.0
        for starts in self._training_starts(batch):
            training = self._training_batch(batch, starts)
            for learner in self._learners:
                loss += training.update(learner, drop, history) / len(self._learners)
        return float(loss)

    def _forget_compiled(self) -> None:
        passes = [self] if self._second is None else [self, self._second]
        assign(
            *((one, name, None) for one in passes for name in ("_packed", "_compiled"))
        )

    def new_recorders(self) -> dict[str, Recorder]:
        """What writes down decisions, with the learner's guesses as history."""
        return {"templates": self._new_recorder(self._learners[0])}

    def record(self, batch: list[GoldEntities], recorders: dict[str, Recorder]) -> None:
        """Write down the decisions of some docs."""
        self._training_batch(batch, next(iter(self._training_starts(batch)))).update(
            recorders["templates"], 0.0, self.settings.predicted_history
        )

    def predict(
        self,
        docs: list[Doc],
        margin: float | list[float],
        n_threads: int,
        *,
        keep_entities: bool = True,
        with_leads: bool = False,
    ) -> EntityBatch:
        """Predict the actions of docs.

        keep_entities (bool): Whether entities that are set stay as they are, and
            blocked tokens blocked.
        with_leads (bool): Whether to say how sure the decisions are.
        RETURNS (EntityBatch): The actions. With two passes, the stages are counted in
            the second.
        """
        compiled = self.compiled
        batch = self._predict_once(
            compiled, docs, margin, n_threads, keep_entities, with_leads=with_leads
        )
        if compiled.second is not None:
            batch = self._predict_once(
                *(compiled.second, docs, margin, n_threads, keep_entities, batch),
                with_leads=with_leads,
            )
        return batch

    def find_entities(self, batch: EntityBatch) -> list[FoundEntity]:
        """The entities of a batch, apart from those that were set before."""
        starts, ends = find_spans(batch.actions)
        types = (batch.actions[starts].astype("int64") - 1) // 4
        docs = np.searchsorted(batch.ends, starts, side="right")
        offsets = np.concatenate([[0], batch.ends])[docs]
        return [
            FoundEntity(*numbers)
            for numbers in zip(
                docs.tolist(),
                (starts - offsets).tolist(),
                (ends + 1 - offsets).tolist(),
                types.tolist(),
                strict=True,
            )
        ]

    @property
    def n_groups(self) -> int:
        return 2 * self.n_stages

    def get_evidence(self, batch: EntityBatch) -> Evidence:
        """What speaks for each entity of a batch with leads: its weakest decision, and
        the weaker one of its neighbours, which might have been part of it."""
        scale = batch.made_by.scorer.scale
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

    def _predict_once(
        self,
        compiled: CompiledEntities,
        docs: list[Doc],
        margin: float | list[float],
        n_threads: int,
        keep_entities: bool,
        first: EntityBatch | None = None,
        *,
        with_leads: bool = False,
    ) -> EntityBatch:
        """Predict the actions of docs by one pass."""
        scorer = compiled.scorer
        support_for_lead, max_support = 0.0, 0
        if compiled.second is not None:
            scale = compiled.second.scorer.scale
            support_for_lead = scale / scorer.scale
            max_support = int(min(scale * MAX_TRUSTED_LEAD, self._room))
        batch = predict(
            docs,
            compiled.get_task(keep_entities),
            compiled.get_lexicon(self.max_lexemes),
            compiled.reader,
            scorer,
            scorer.margins(margin),
            n_threads,
            first,
            support_for_lead,
            max_support,
            with_leads,
        )
        batch.made_by = compiled
        return batch

    def predict_in_training(self, docs: list[Doc]) -> EntityBatch | None:
        """See TaggingModel. With two passes, the first has to do."""
        with self.lock:
            if not self._learners:
                return None
            self._fit_learners()
            guessing = Guessing(
                docs,
                None,
                self._make_task(True),
                self._training_lexicon,
                self._reader,
            )
            actions = guessing.guess(self._learners[0])
        ends = np.cumsum([len(doc) for doc in docs], dtype="int64")
        counts = np.zeros(self.n_stages, dtype="uint64")
        return EntityBatch(actions, ends, counts, KEEP in actions)

    def count_stages(
        self, docs: list[Doc], margin: float | list[float], n_threads: int
    ) -> np.ndarray:
        return self.predict(docs, margin, n_threads, keep_entities=False).stage_counts

    def explain(
        self, doc: Doc, margin: float | list[float], *, keep_entities: bool
    ) -> Explanations:
        """Say for each token how its action was found, and for each entity how sure
        it is; with two passes, by the second."""
        compiled = self.compiled
        first = None
        batch = self._predict_once(compiled, [doc], margin, 1, keep_entities)
        direction = self.direction
        if compiled.second is not None and self._second is not None:
            compiled, first = compiled.second, batch
            batch = self._predict_once(compiled, [doc], margin, 1, keep_entities, first)
            direction = self._second.direction
        scorer = compiled.scorer
        actions = batch.actions
        explaining = Explaining(
            [doc],
            None,
            compiled.get_task(keep_entities),
            compiled.get_lexicon(self.max_lexemes),
            compiled.reader,
        )
        parts, valid, read, support = explaining.explain(scorer, actions, first)
        margins = [*scorer.margins(margin), 0]
        names = [str(template) for template in self.templates.templates]
        labels = compiled.labels
        outputs = action_names(labels)
        if direction == "rtl":
            # They are read as B and L of the reading, and shown as those of the text.
            outputs = ["O", *(f"{kind}-{x}" for x in labels for kind in "LIBU")]
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
                explanations.append(
                    self._explain(
                        scorer,
                        parts[i],
                        int(read[i]),
                        margins,
                        names,
                        outputs,
                        valid[i],
                        {} if first is None else {"first pass": support[i]},
                    )
                )
        explanations.entities = _explain_entities(doc, actions, explanations, labels)
        return explanations

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled weights only: caches start empty and training resumes from them.
        state = (self._own_templates, self.settings, self.direction, self.seeds)
        return (
            _restore,
            (
                *(*state, self.gazetteers, self._second is not None),
                *(self._bias, self.to_bytes()),
            ),
        )

    def _count_outputs(self, labels: Sequence[str]) -> int:
        return 1 + 4 * len(labels)

    def _check_labels(self, labels: Sequence[str]) -> None:
        if self._count_outputs(labels) > MAX_LABELS:
            raise ValueError(
                Errors.DS044.format(name=TASK, n_labels=len(labels), most=MAX_TYPES)
            )

    def _cardinalities(self) -> dict[str, int]:
        return {
            "action": self.n_outputs + 1,
            "seen": len(self.labels) + 2,
            "seen_last": self.n_outputs + 1,
            "cases": N_CASE_SETS,
            "case": N_CASES + N_RESERVED,
            **{column: N_CODES for column in self._program.dynamic[len(COLUMNS) :]},
        }

    @property
    def _room(self) -> int:
        """What the bias, or a first pass, may add to a score. Weights that are small, or
        none, are scaled up by far: no sum may overflow."""
        return (MAX_SCORE - MAX_WEIGHT * len(self.templates.templates)) // 2

    def _make_scorer(
        self, index: np.ndarray, slots: np.ndarray, scale: float
    ) -> CachedScorer:
        room = self._room
        o_bias = int(np.clip(np.rint(self._bias * scale), -room, room))
        # With fewer templates, what there is room for outweighs all of them.
        n_templates = len(self.templates.templates)
        if abs(self._bias * scale) > room and room < MAX_WEIGHT * n_templates:
            warnings.warn(
                Warnings.DW102.format(
                    bias=self._bias, used=o_bias / scale, n_templates=n_templates
                ),
                stacklevel=2,
            )
        bias = {0: o_bias}
        # A type without weights must not win where all others have lost.
        actions = find_labels(slots, self.n_outputs)
        for number in set(range(len(self.labels))) - {(i - 1) // 4 for i in actions}:
            bias.update({1 + 4 * number + kind: NEVER for kind in range(4)})
        return CachedScorer(
            self._program,
            self.n_outputs,
            index,
            slots,
            scale,
            self._cardinalities(),
            bias,
        )

    def _compile(self) -> CompiledEntities:
        if self._packed is None:
            self._packed = self._pack()
        return CompiledEntities(
            self.labels,
            self._reader,
            self._make_scorer(*self._packed),
            self._make_task,
            None if self._second is None else self._second.compiled,
        )

    def _make_task(self, keep_entities: bool) -> Task:
        return Task(
            np.array([get_string_id(label) for label in self.labels], dtype="uint64"),
            self.direction == "rtl",
            self._program.lexical,
            self._remembers,
            len(self._program.dynamic),
            keep_entities,
            self._gazetteer,
        )

    def _set_lists(self, arrays: dict[str, np.ndarray]) -> None:
        self._list_arrays = arrays
        names = self._program.dynamic[len(COLUMNS) :]
        self._gazetteer = Gazetteer(arrays, len(names), self._program.lexical)

    def _list_checksum(self, arrays: dict[str, np.ndarray]) -> int:
        return int(checksum(b"".join(arrays[name].tobytes() for name in ARRAYS)))

    def _extra_meta(self) -> dict[str, Any]:
        meta: dict[str, Any] = {"direction": self.direction}
        if self.gazetteers is not None:
            meta["lists"] = self.gazetteers.names
            meta["list_checksum"] = self._list_checksum(self._list_arrays)
        return meta

    def _tables(self) -> dict[str, np.ndarray]:
        tables = super()._tables()
        if self.gazetteers is not None and self.gazetteers.embed:
            tables.update(self._list_arrays)
        if self._second is not None:
            tables["second"] = np.frombuffer(self._second.to_bytes(), dtype="uint8")
        return tables

    def _check(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        super()._check(meta, arrays)
        if meta.get("direction") != self.direction:
            require(meta.get("direction") in DIRECTIONS, "its direction is malformed")
            raise ValueError(
                Errors.DS100.format(found=meta["direction"], expected=self.direction)
            )

        self._check_lists(meta, arrays)
        if (self._second is not None) != ("second" in arrays):
            raise ValueError(Errors.DS106)

    def _check_lists(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        names = [] if self.gazetteers is None else self.gazetteers.names
        found = meta.get("lists", [])
        if found != names:
            raise ValueError(Errors.DS118.format(found=found, expected=names))
        if self.gazetteers is None or not self.gazetteers.embed:
            return
        require(set(ARRAYS) <= set(arrays), "it lacks its gazetteers")
        for kind in ("folded", "exact"):
            keys, lists = arrays[f"{kind}_keys"], arrays[f"{kind}_lists"]
            require(
                keys.dtype == "uint64"
                and lists.dtype == "uint32"
                and len(keys) == len(lists)
                and bool((keys[1:] > keys[:-1]).all())
                and int(keys.min(initial=1)) > 0
                and int(lists.max(initial=0)) < 1 << len(names),
                "its gazetteers are malformed",
            )

    def _load_extra(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        if self.gazetteers is not None:
            lists = {name: arrays[name] for name in ARRAYS if name in arrays}
            if not self.gazetteers.embed:
                # Words are divided by white space: no tokenizer is needed.
                lists = self.gazetteers.compile()
                if self._list_checksum(lists) != meta.get("list_checksum"):
                    names = ", ".join(self.gazetteers.names)
                    raise ValueError(Errors.DS119.format(names=names))
            self._set_lists(lists)
        super()._load_extra(meta, arrays)
        if self._second is not None:
            self._second.from_bytes(arrays["second"])
            require(
                self._second.is_initialized and self._second.labels == self.labels,
                "its second pass has other labels",
            )

    def _new_learner(self, settings: LearnerSettings) -> None:
        super()._new_learner(settings)
        settings = self._used_settings
        self._learners = [
            Learner(
                self._program,
                self.n_outputs,
                replace(settings, seed=((settings.seed or 0) + i * 1000) % 2**32),
            )
            for i in range(self.seeds)
        ]
        self._learner = self._learners[0]

    def _get_learners(self) -> dict[str, Learner]:
        names = {f"seed {i}": learner for i, learner in enumerate(self._learners)}
        if self._second is not None:
            second = self._second._get_learners().items()
            names |= {f"second {name}": learner for name, learner in second}
        return names

    def _start_again(self, meta: dict[str, Any]) -> None:
        super()._start_again(meta)
        names = meta["learners"]
        n_seeds = sum(str(name).startswith("seed") for name in names)
        self._learners = self._learners[:n_seeds]
        if self._second is not None:
            self._second._start_again({**meta, "learners": names[:n_seeds]})

    def _resume(self) -> None:
        super()._resume()
        # Copies would learn the same: one goes on from the average.
        self._learners = [self._learner]
        if self._second is not None:
            self._second._resume()

    def _get_weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return mean_weights(self._learners)

    def _training_starts(self, batch: list[GoldEntities]) -> list[np.ndarray | None]:
        """The copies of the data to learn from: None for docs as they come, arrays for
        docs that are divided into their gold sentences."""
        copies = self.settings.copies
        gold = np.concatenate([gold.sent_starts for gold in batch]).astype("uint8")
        if copies == "documents":
            return [None]
        if copies == "sentences":
            return [gold]
        own = np.concatenate([_own_starts(gold.doc) for gold in batch])
        return [gold] if (own == gold).all() else [gold, None]

    def _training_batch(
        self,
        batch: list[GoldEntities],
        starts: np.ndarray | None,
    ) -> TrainingBatch:
        negatives = []
        offset = 0
        for gold in batch:
            for start, end, label in gold.negatives:
                negatives.append((start + offset, end + offset, label))
            offset += len(gold.doc)
        return TrainingBatch(
            [gold.doc for gold in batch],
            starts,
            self._make_task(False),
            self._training_lexicon,
            self._reader,
            np.concatenate([gold.actions for gold in batch], dtype="int32"),
            np.array(negatives, dtype="int64").reshape(-1, 3),
        )


def _explain_entities(
    doc: Doc,
    actions: np.ndarray,
    explanations: list[Explanation],
    labels: Sequence[str],
) -> list[EntityExplanation]:
    entities = [
        EntityExplanation(ent.start, ent.end, ent.label_, math.inf)
        for ent in doc.ents
        if (actions[ent.start : ent.end] == KEEP).all()
    ]
    start = 0
    for i, action in enumerate(actions.tolist()):
        if action in (0, KEEP):
            continue
        kind = (action - 1) % 4
        if kind in (0, 3):
            start = i
        if kind in (2, 3):
            # What had no rival says nothing.
            leads = [w.lead for w in explanations[start : i + 1] if w.runner_up]
            label = labels[(action - 1) // 4]
            weakest = min(leads, default=math.inf)
            entities.append(EntityExplanation(start, i + 1, label, weakest))
    return sorted(entities)


def _own_starts(doc: Doc) -> np.ndarray:
    words = find_words(doc)
    return mark_starts(doc, words, hand_on_starts(read_sent_starts(doc), words))


def mark_starts(doc: Doc, words: np.ndarray, known: np.ndarray) -> np.ndarray:
    """For each token of a doc whether a sentence starts there, a word.

    words (array): The tokens that are words.
    known (array): For each word 1 if a sentence starts there.
    """
    starts = np.zeros(len(doc), dtype="uint8")
    starts.put(words, known == 1)
    starts[words[:1]] = 1
    return starts


def _restore(
    templates: Templates,
    settings: LearnerSettings,
    direction: str,
    seeds: int,
    gazetteers: Gazetteers | None,
    two_passes: bool,
    bias: float,
    data: bytes,
) -> EntityModel:
    model = EntityModel(
        templates,
        settings,
        direction=direction,
        seeds=seeds,
        gazetteers=gazetteers,
        two_passes=two_passes,
    )
    model.bias = bias
    model.from_bytes(data)
    return model
