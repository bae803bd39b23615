"""One of several classifiers of a task: its templates, and its weights in both forms."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.atomic import Replaceable
from ..base.errors import Errors
from ..base.settings import LearnerSettings
from ..base.templates import Templates
from ..core.forms.narrow import NarrowScorer
from ..core.forms.packing import MAX_WEIGHT, quantize
from ..core.forms.wide import WideScorer
from ..core.learner import Learner
from ..core.program import Program

# By how much less the true label has to lead in training while there are two checkpoints
# or more to come. A lead that rests on few templates is worth less; this way it is worth
# as much as later ones of the same size when a decision is made.
EARLY_SHARE = 0.625


class Classifier(Replaceable):
    """A linear classifier over slots, which the task fills.

    name (str): What errors and files call it.
    templates (Templates): The templates, with checkpoints.
    settings (LearnerSettings): How to learn.
    places (dict): Where each column may be read.
    seeds (int): The number of learners whose weights are averaged.
    is_small (bool): Whether there are up to four labels.
    """

    def __init__(
        self,
        name: str,
        templates: Templates,
        settings: LearnerSettings,
        *,
        places: dict[str, Sequence[str]],
        seeds: int = 1,
        is_small: bool = False,
    ) -> None:
        templates.check_atoms(places)
        settings.stage_margins(len(templates.checkpoints))
        self.name = name
        self.templates = templates
        self.settings = settings
        self.seeds = seeds
        self.form = NarrowScorer if is_small else WideScorer
        slots = dict.fromkeys(
            atom for template in templates.templates for atom in template.atoms
        )
        self.program = Program(templates, [], [], [], list(slots))
        self._reset()

    def _reset(self) -> None:
        self.n_labels = 0
        self.learners: list[Learner] = []
        self._used_settings = self.settings
        self._scorer: Any = None

    @property
    def columns(self) -> set[str]:
        """The columns that the templates look at."""
        return {atom.column for spec in self.templates.templates for atom in spec.atoms}

    @property
    def n_stages(self) -> int:
        return len(self.templates.checkpoints)

    def mean_templates(self, stage_counts: np.ndarray) -> float:
        """The mean number of templates of some decisions."""
        ends = np.asarray(self.templates.checkpoints)
        return float(stage_counts @ ends / max(1, stage_counts.sum()))

    def start(self, n_labels: int, settings: LearnerSettings) -> None:
        """Start to learn, from nothing."""
        self.n_labels = n_labels
        self._used_settings = settings.seeded(0)
        self._scorer = None
        self.learners = [self.new_learner(i * 1000) for i in range(self.seeds)]

    def new_learner(self, offset: int) -> Learner:
        """Another learner of the same kind, with a seed of its own."""
        seed = ((self._used_settings.seed or 0) + offset) % 2**32
        return self._make_learner(replace(self._used_settings, seed=seed))

    def resume(self) -> None:
        """Go on from compiled weights: from now on they are corrected."""
        scorer = self.scorer
        settings = self.settings.for_small_data().seeded(0)
        keys, labels, weights = scorer.unpack()
        values = weights.astype("float32") / np.float32(scorer.scale)
        learner = self._make_learner(settings)
        learner.correct_from(keys, labels, values)
        self.learners = [learner]
        self._used_settings = settings

    def resize(self, n_labels: int) -> None:
        """Make room for more labels. Learners follow when they go on."""
        self.n_labels = n_labels
        if self._scorer is not None:
            # The form of the weights depends on the number of labels.
            scorer = self._scorer
            self._scorer = self._compile(scorer.unpack(), scorer.scale)

    def changed(self) -> None:
        """Say that the learners have learned something."""
        self._scorer = None

    @property
    def scorer(self) -> Any:
        """The compiled form of the weights as they are now."""
        if self._scorer is None:
            keys, labels, values = mean_weights(self.learners)
            scale = MAX_WEIGHT / max(1e-6, float(np.abs(values).max(initial=0.0)))
            weights = quantize(values, scale)
            weights[np.abs(values) <= self._used_settings.smallest_weight] = 0
            # Learners may have gone on with more labels.
            weights[labels >= self.n_labels] = 0
            self._scorer = self._compile((keys, labels, weights), scale)
        return self._scorer

    def margins(self, margin: float | list[float]) -> list[int]:
        """The margin of each stage but the last, as integers."""
        return scale_margins(margin, self.n_stages, self.scorer.scale)

    def meta(self) -> dict[str, Any]:
        return {"templates": self.templates.to_lines(), "scale": self.scorer.scale}

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = self.scorer.arrays()
        return {f"{self.name}_{part}": array for part, array in arrays.items()}

    def load(
        self, meta: Any, arrays: dict[str, np.ndarray], n_labels: int
    ) -> "Classifier":
        """A classifier with the weights of a file, if they can be used without harm."""
        parts = {part: f"{self.name}_{part}" for part in self.form.parts}
        if not isinstance(meta, dict) or not set(parts.values()) <= set(arrays):
            raise ValueError(Errors.DS035.format(what=f"it lacks its {self.name}"))
        scale = meta.get("scale")
        if not isinstance(scale, float) or not 0 < scale < 1e9:
            raise ValueError(Errors.DS035.format(what="its scale is malformed"))
        self.templates.check_lines(meta.get("templates"))
        weights = {part: arrays[section] for part, section in parts.items()}
        self.form.check(weights, n_labels)
        loaded = self.blank()
        loaded.n_labels = n_labels
        loaded._scorer = self.form(self.program, n_labels, weights, scale)
        return loaded

    def _make_learner(self, settings: LearnerSettings) -> Learner:
        if not isinstance(settings.margin, list):
            early = [EARLY_SHARE * settings.margin] * (self.n_stages - 2)
            late = [settings.margin] * (self.n_stages - len(early))
            settings = replace(settings, margin=[*early, *late])
        return Learner(self.program, self.n_labels, settings)

    def _compile(
        self, weights: tuple[np.ndarray, np.ndarray, np.ndarray], scale: float
    ) -> Any:
        packed = self.form.pack(*weights, self.n_labels)
        return self.form(self.program, self.n_labels, packed, scale)


def mean_weights(
    learners: Sequence[Learner],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean of the weights of some learners, see Learner.get_weights."""
    parts = [learner.get_weights() for learner in learners]
    if len(parts) == 1:
        return parts[0]
    ids = [keys.astype("uint64") << 32 | labels for keys, labels, _ in parts]
    unique, inverse = np.unique(np.concatenate(ids), return_inverse=True)
    values = np.concatenate([values for _, _, values in parts])
    sums = np.bincount(inverse, weights=values, minlength=len(unique))
    means = (sums / len(parts)).astype("float32")
    return (
        (unique >> 32).astype("uint32"),
        (unique & 0xFFFFFFFF).astype("uint32"),
        means,
    )


def scale_margins(
    margin: float | list[float], n_stages: int, scale: float
) -> list[int]:
    """Margins as the integers that scores are compared with."""
    values = margin if isinstance(margin, list | tuple) else [margin] * (n_stages - 1)
    # Larger than any lead: never exit early.
    return [
        1 << 17 if value * scale > 1 << 16 else int(np.ceil(value * scale))
        for value in values
    ]
