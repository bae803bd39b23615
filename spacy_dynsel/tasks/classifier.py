"""A linear classifier with early exit: its templates, and its weights in both forms."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..base.atomic import Replaceable
from ..base.errors import Errors
from ..base.settings import LearnerSettings
from ..base.system_errors import SystemErrors
from ..base.templates import Templates
from ..core.forms.cached import CachedScorer
from ..core.forms.factored import FactoredScorer
from ..core.forms.packing import (
    check_weights,
    compile_weights,
    find_pair_scale,
    pack_weights,
    unpack_weights,
)
from ..core.forms.word_scorer import WordScorer
from ..core.induction import InducingLearner
from ..core.label_parts import LabelParts
from ..core.learner import Learner
from ..core.pairs import check_pairs, find_pair_keys, join_pairs
from ..core.program import Program
from ..core.recorder import Recorder
from ..core.weight_state import mean_weights
from .training_state import check_state, describe_settings, read_settings

SEED_STEP = 1000


class Inputs(NamedTuple):
    """What the templates of a classifier over words read.

    lexical (list[str]): The columns of lexemes.
    dynamic (list[str]): The columns that the task itself writes.
    places (list[str]): All places, by their index.
    """

    lexical: list[str]
    dynamic: list[str]
    places: list[str]


class Stored(NamedTuple):
    """What a file says about a part.

    meta: Its part of the header; it may be anything.
    arrays (dict): All sections.
    n_labels (int): The number of labels.
    options (dict): What else the compiled form depends on.
    """

    meta: Any
    arrays: dict[str, np.ndarray]
    n_labels: int
    options: dict[str, Any]


class Part(Replaceable):
    """Something with weights that an engine learns, compiles and stores."""

    name: str
    settings = LearnerSettings()
    n_labels = 0
    n_words = 0

    @abstractmethod
    def start(self, n_labels: int, settings: LearnerSettings) -> None:
        """Start to learn, from nothing."""

    @abstractmethod
    def resume(self) -> None:
        """Go on from compiled weights."""

    @abstractmethod
    def resize(self, n_labels: int) -> None:
        """Make room for more labels. Learners follow when they go on."""

    @abstractmethod
    def fit_learners(self) -> None:
        """Make room in the learners for all labels."""

    @abstractmethod
    def get_learners(self) -> dict[str, Any]:
        """The learners, by names; none if nothing is being learned."""

    @abstractmethod
    def training_meta(self) -> dict[str, Any]:
        """What has to be known to make the learners again."""

    @abstractmethod
    def start_again(self, meta: Any) -> None:
        """Make learners that are as yet empty; see training_meta."""

    @abstractmethod
    def forget(self) -> list[tuple[Any, str, Any]]:
        """What to assign before learning: compiled weights no longer hold."""

    @abstractmethod
    def compile(self, **options: Any) -> Any:
        """The compiled form of the weights as they are now.

        options: What else the form depends on.
        """

    @abstractmethod
    def meta(self) -> dict[str, Any]:
        """What a file says about the compiled weights."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """The sections of a file with the compiled weights."""

    @abstractmethod
    def load(self, stored: Stored) -> "Part":
        """Another one with the weights of a file, if they can be used without harm."""


class Classifier(Part):
    """A linear classifier. It alone owns its weights: while they are learned, by one
    learner a seed and one a fold, and compiled.

    name (str): What errors and files call it.
    templates (Templates): The templates, with checkpoints.
    settings (LearnerSettings): How to learn.
    form: The class of the compiled weights, see core.forms.
    places (dict): Where each column may be read.
    inputs (Inputs): What the templates read; if missing, they read slots that the task
        fills.
    seeds (int): The number of learners whose weights are averaged.
    early_share (float): The part of the margin by which the true label has to lead in
        training while there are two checkpoints or more to come. A lead that rests on
        few templates is worth less: asked for less in training, it is worth as much as
        a later one of the same size when a decision is made.

    label_parts (LabelParts): What labels are made of, if they have parts. An engine sets
        it before it starts to learn.
    has_wholes (list[bool]): With parts: for each template whether it has weights for
        whole labels, and not just for parts.
    """

    def __init__(
        self,
        name: str,
        templates: Templates,
        settings: LearnerSettings,
        form: Any,
        *,
        places: dict[str, Sequence[str]],
        inputs: Inputs | None = None,
        seeds: int = 1,
        early_share: float = 1.0,
    ) -> None:
        check_count("seeds", seeds, 1)
        if settings.induction is not None and not form.takes_pairs:
            raise ValueError(SystemErrors.DS280.format(name=name))
        templates.check_atoms(places)
        settings.stage_margins(len(templates.checkpoints))
        self.name = name
        self.templates = templates
        self.settings = settings
        self.form = form
        self.seeds = seeds
        self.has_wholes: list[bool] = []
        self._early_share = early_share
        if inputs is None:
            atoms = (atom for spec in templates.templates for atom in spec.atoms)
            self.program = Program(templates, [], [], [], list(dict.fromkeys(atoms)))
        else:
            self.program = Program(templates, *inputs)
        self._reset()

    def _reset(self) -> None:
        self.n_labels = 0
        self.label_parts: LabelParts | None = None
        self.used_settings = self.settings
        self.learners: list[Learner] = []
        # Each of these leaves out a part of the data.
        self.folds: list[Learner] = []
        # The size of the training data, and how much was learned from.
        self.n_words = 0
        self.n_learned = 0
        # The compiled weights, if nothing was learned since, and what they were made
        # with.
        self._scorer: Any = None
        self._options: dict[str, Any] = {}

    @property
    def n_stages(self) -> int:
        return len(self.templates.checkpoints)

    @property
    def n_outputs(self) -> int:
        """How many things have weights: labels, and their parts."""
        parts = self.label_parts
        return self.n_labels if parts is None else parts.n_outputs

    def mean_templates(self, stage_counts: np.ndarray) -> float:
        """The mean number of templates that some decisions read."""
        ends = np.asarray(self.templates.checkpoints)
        return float(stage_counts @ ends / max(1, stage_counts.sum()))

    # Learning.

    def start(self, n_labels: int, settings: LearnerSettings) -> None:
        self.n_labels = n_labels
        self.used_settings = settings.seeded(0)
        self._scorer = None
        self.learners = [self._seeded(i * SEED_STEP) for i in range(self.seeds)]

    def get_history_rate(self, n_words: int) -> float:
        """How often decisions see predicted labels before them. With locally optimal
        learning to search, this grows from epoch to epoch.

        n_words (int): How many words are learned from now.
        """
        induction = self.used_settings.induction
        epoch = self.n_learned // max(1, self.n_words)
        self.n_learned += n_words
        if induction is None or induction.reference is None:
            return self.used_settings.predicted_history
        return 1 - induction.reference ** (epoch + 1)

    def start_folds(self, n_folds: int, offset: Callable[[int], int]) -> None:
        """Start one more learner for each fold.

        offset (Callable): What to add to the seed, given the number of the fold.
        """
        self.folds = [self._seeded(offset(fold)) for fold in range(n_folds)]

    def resume(self) -> None:
        """Go on from compiled weights: from now on they are corrected."""
        scorer = self._scorer
        keys, labels, weights = self.form.unpack(scorer)
        self.used_settings = self.settings.for_small_data().seeded(0)
        learner = self._make_learner(self.used_settings)
        values = weights.astype("float32") / np.float32(scorer.scale)
        learner.correct_from(keys, labels, values)
        if isinstance(learner, InducingLearner):
            learner.set_pairs(scorer.pairs)
        # One learner goes on from the average: others would learn the same. Nothing is
        # new to a fold.
        self.learners = [learner]
        self.folds = []

    def resize(self, n_labels: int) -> None:
        self.n_labels = n_labels
        if self._scorer is not None:
            # The form of the weights depends on the number of labels.
            weights = self.form.unpack(self._scorer)
            packed = self.form.pack(*weights, n_labels, **self._options)
            if self.settings.induction is not None:
                packed["pairs"] = self._scorer.pairs
            self._make_scorer(packed, self._scorer.scale, self._options)

    def fit_learners(self) -> None:
        for learner in (*self.learners, *self.folds):
            if learner.n_labels < self.n_labels:
                learner.resize(self.n_labels)

    def new_recorder(self) -> Recorder:
        """Make what writes decisions down, with a learner's guesses as history."""
        return Recorder(
            self.program, self.n_labels, self.used_settings, self.learners[0]
        )

    def get_learners(self) -> dict[str, Learner]:
        names = {f"{self.name} seed {i}": one for i, one in enumerate(self.learners)}
        return names | {f"{self.name} fold {i}": o for i, o in enumerate(self.folds)}

    def training_meta(self) -> dict[str, Any]:
        return {
            "settings": describe_settings(self.used_settings, self.settings),
            "seeds": len(self.learners),
            "folds": len(self.folds),
            "words": [self.n_words, self.n_learned],
        }

    def start_again(self, meta: Any) -> None:
        check_state(isinstance(meta, dict), "it lacks its settings")
        counts = (meta.get("seeds"), meta.get("folds"))
        check_state(
            all(isinstance(n, int) and 0 <= n <= 100 for n in counts),
            "it lacks its learners",
        )
        self.start(self.n_labels, read_settings(meta.get("settings"), self.settings))
        self.learners = self.learners[: counts[0]]
        self.start_folds(counts[1], lambda fold: 0)
        words = meta.get("words", [0, 0])
        check_state(
            isinstance(words, list) and [type(n) for n in words] == [int, int],
            "it lacks the size of its data",
        )
        self.n_words, self.n_learned = words

    # The compiled form.

    def forget(self) -> list[tuple[Any, str, Any]]:
        return [(self, "_scorer", None)]

    def compile(self, **options: Any) -> Any:
        if self._scorer is None:
            keys, labels, values = mean_weights(
                learner.get_weights() for learner in self.learners
            )
            pairs, scale = self._find_pairs(), None
            if pairs is not None:
                n_templates = len(self.templates.templates)
                scale = find_pair_scale(keys, values, pairs, n_templates)
            # Learners may have gone on with more labels.
            keys, labels, weights, scale = compile_weights(
                keys,
                labels,
                values,
                self.n_outputs,
                self.used_settings.smallest_weight,
                scale,
            )
            packed = self.form.pack(keys, labels, weights, self.n_labels, **options)
            if pairs is not None:
                kept = np.isin(find_pair_keys(pairs), keys)
                packed["pairs"] = pairs.reshape(-1, 4)[kept].ravel()
            self._make_scorer(packed, scale, options)
        elif options != self._options:
            arrays = self.form.get_arrays(self._scorer)
            self._make_scorer(arrays, self._scorer.scale, options)
        return self._scorer

    def meta(self) -> dict[str, Any]:
        return {"templates": self.templates.to_lines(), "scale": self._scorer.scale}

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = self.form.get_arrays(self._scorer)
        return {f"{self.name}_{part}": array for part, array in arrays.items()}

    def _find_pairs(self) -> np.ndarray | None:
        """The pairs of features that learners have induced."""
        found = [
            learner.get_pairs()
            for learner in self.learners
            if isinstance(learner, InducingLearner)
        ]
        return join_pairs(found) if found else None

    def load(self, stored: Stored) -> "Classifier":
        meta, arrays, n_labels, options = stored
        names = [*self.form.parts]
        if self.settings.induction is not None:
            names.append("pairs")
        elif f"{self.name}_pairs" in arrays:
            raise ValueError(SystemErrors.DS281.format(name=self.name))
        parts = {part: f"{self.name}_{part}" for part in names}
        if not isinstance(meta, dict) or not set(parts.values()) <= set(arrays):
            raise ValueError(Errors.DS035.format(what=f"it lacks its {self.name}"))
        scale = meta.get("scale")
        if not isinstance(scale, float) or not 0 < scale < 1e9:
            raise ValueError(Errors.DS035.format(what="its scale is malformed"))
        self.templates.check_lines(meta.get("templates"))
        packed = {part: arrays[section] for part, section in parts.items()}
        self.form.check(packed, n_labels, **options)
        if "pairs" in packed:
            check_pairs(packed["pairs"], len(self.templates.templates))
        loaded = self.blank()
        loaded.n_labels = n_labels
        loaded.label_parts = options.get("parts")
        loaded._make_scorer(packed, scale, options)
        return loaded

    def _make_scorer(
        self, packed: dict[str, np.ndarray], scale: float, options: dict[str, Any]
    ) -> None:
        self._options = options
        self._scorer = self.form.make(
            self.program, self.n_labels, packed, scale, **options
        )

    def _seeded(self, offset: int) -> Learner:
        """A learner with a seed of its own."""
        seed = ((self.used_settings.seed or 0) + offset) % 2**32
        return self._make_learner(replace(self.used_settings, seed=seed))

    def _make_learner(self, settings: LearnerSettings) -> Learner:
        if self._early_share != 1.0 and not isinstance(settings.margin, list):
            early = [self._early_share * settings.margin] * (self.n_stages - 2)
            late = [settings.margin] * (self.n_stages - len(early))
            settings = replace(settings, margin=[*early, *late])
        kind = Learner if settings.induction is None else InducingLearner
        if self.label_parts is None:
            return kind(self.program, self.n_labels, settings)
        return kind(
            self.program, self.n_labels, settings, self.label_parts, self.has_wholes
        )


class CachedForm:
    """Rows of scores that the lexicon keeps for each word; see CachedScorer."""

    parts = ("index", "slots")
    takes_pairs = True

    @staticmethod
    def pack(
        keys: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        n_labels: int,
        **options: Any,
    ) -> dict[str, np.ndarray]:
        index, slots = pack_weights(keys, labels, weights, n_labels)
        return {"index": index, "slots": slots}

    @staticmethod
    def check(packed: dict[str, np.ndarray], n_labels: int, **options: Any) -> None:
        check_weights(packed["index"], packed["slots"], n_labels)

    @staticmethod
    def unpack(scorer: CachedScorer) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return unpack_weights(scorer.weights.index, scorer.weights.slots)

    @staticmethod
    def get_arrays(scorer: CachedScorer) -> dict[str, np.ndarray]:
        arrays = {"index": scorer.weights.index, "slots": scorer.weights.slots}
        return arrays if scorer.pairs is None else {**arrays, "pairs": scorer.pairs}

    @staticmethod
    def make(
        program: Program,
        n_labels: int,
        packed: dict[str, np.ndarray],
        scale: float,
        **options: Any,
    ) -> WordScorer:
        return CachedScorer(
            program,
            n_labels,
            packed["index"],
            packed["slots"],
            scale,
            pairs=packed.get("pairs"),
            **options,
        )


class FactoredForm(CachedForm):
    """Candidates that the lexicon keeps for each word, and weights of the parts of
    labels and of whole ones; see FactoredScorer. Options have the parts."""

    @staticmethod
    def pack(
        keys: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        n_labels: int,
        **options: Any,
    ) -> dict[str, np.ndarray]:
        return CachedForm.pack(keys, labels, weights, options["parts"].n_outputs)

    @staticmethod
    def check(packed: dict[str, np.ndarray], n_labels: int, **options: Any) -> None:
        CachedForm.check(packed, options["parts"].n_outputs)

    @staticmethod
    def make(
        program: Program,
        n_labels: int,
        packed: dict[str, np.ndarray],
        scale: float,
        **options: Any,
    ) -> FactoredScorer:
        return FactoredScorer(
            program,
            index=packed["index"],
            slots=packed["slots"],
            scale=scale,
            pairs=packed.get("pairs"),
            **options,
        )


class SlotForm:
    """Tables for a classifier over slots; see WideScorer and NarrowScorer.

    scorer (type): The class of the tables.
    """

    takes_pairs = False

    def __init__(self, scorer: Any) -> None:
        self.parts = scorer.parts
        self.pack = scorer.pack
        self.check = scorer.check
        self.make = scorer

    @staticmethod
    def unpack(scorer: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return scorer.unpack()

    @staticmethod
    def get_arrays(scorer: Any) -> dict[str, np.ndarray]:
        return scorer.arrays()


def check_count(name: str, value: Any, least: int) -> None:
    """Raise an error unless a number of learners makes sense. A single fold would leave
    nothing to learn from."""
    if not least <= value <= 100 or (least == 0 and value == 1):
        allowed = f"between {least} and 100" if least else "0 or between 2 and 100"
        raise ValueError(Errors.DS022.format(name=name, value=value, range=allowed))


def find_columns(*lists: Templates) -> set[str]:
    """The columns that templates read."""
    return {
        atom.column
        for templates in lists
        for spec in templates.templates
        for atom in spec.atoms
    }
