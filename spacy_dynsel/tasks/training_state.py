"""Training that can be interrupted: all that learning depends on, as a file."""

from abc import abstractmethod
from typing import Any

import numpy as np

from ..base.atomic import Replaceable
from ..base.errors import Errors
from ..base.settings import LearnerSettings
from ..core.checksum import checksum
from ..core.induction import InducingLearner
from ..core.learner import Learner
from ..core.link_learner import LinkLearner
from ..core.model_file import dump_model, load_model
from ..core.rank_learner import RankLearner

KIND = "training"
NO_ROW = 1 << 31
WEIGHTS = ("values", "squares")
LEARNER = ("keys", "states", "labels", *WEIGHTS, "numbers")
SECTIONS = {
    Learner: LEARNER,
    InducingLearner: (*LEARNER, "pairs"),
    RankLearner: ("keys", "counts", *WEIGHTS),
    LinkLearner: ("keys", "steps", *WEIGHTS, "drifts", "numbers"),
}


class Resumable(Replaceable):
    """An engine that changes as a whole, and whose training can go on after saving and
    loading, bit for bit as if it had not been interrupted."""

    task: str
    # Held while something changes: one thread learns, others wait until it is done.
    lock: Any
    # What was read, until learning goes on.
    _waiting: tuple[dict[str, Any], dict[str, np.ndarray]] | None = None

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The model as a file."""

    def training_to_bytes(self) -> bytes | None:
        """The state of training as a file; None if nothing was learned since a model
        without one was loaded."""
        with self.lock:
            return self._training_to_bytes()

    def _training_to_bytes(self) -> bytes | None:
        learners = self._get_learners()
        if learners:
            arrays = {
                f"{number}_{section}": array
                for number, learner in enumerate(learners.values())
                for section, array in learner.get_state().items()
            }
            meta = {
                "kind": KIND,
                "learners": list(learners),
                **self._training_meta(),
            }
        elif self._waiting is not None:
            meta, arrays = self._waiting
        else:
            return None
        return dump_model(
            {**meta, "model": int(checksum(self.to_bytes()))},
            arrays,
        )

    def training_from_bytes(self, data: bytes) -> None:
        """Read the state of training that belongs to the model as it is now. It is used
        when learning goes on."""
        meta, arrays = load_model(data)
        check_state(meta.get("kind") == KIND, "it is another kind of file")
        check_state(
            meta.get("model") == int(checksum(self.to_bytes())),
            "it was saved with another one",
        )
        self._waiting = (meta, arrays)

    def make_trainable(self) -> None:
        """Make sure that there are learners, with room for all labels."""
        if not self._get_learners():
            # A copy, since what was read may turn out not to fit.
            other = self.copy()
            if self._waiting is None:
                other._resume()
            else:
                other._restore(*self._waiting)
            other._waiting = None
            self.become(other)
        self._fit_learners()

    def _restore(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Go on from what was read."""
        names = meta.get("learners")
        check_state(isinstance(names, list) and len(names) > 0, "it lacks its learners")
        self._start_again(meta)
        learners = self._get_learners()
        check_state(list(learners) == names, "it has other learners")
        for number, learner in enumerate(learners.values()):
            sections = SECTIONS[type(learner)]
            found = {name: arrays.get(f"{number}_{name}") for name in sections}
            _check_learner(learner, found)
            learner.set_state(found)

    @abstractmethod
    def _resume(self) -> None:
        """Make the weights of a loaded model trainable: from now on it is corrected."""

    @abstractmethod
    def _fit_learners(self) -> None:
        """Make room in the learners for labels that were added."""

    @abstractmethod
    def _get_learners(self) -> dict[str, Any]:
        """The learners, by names; none if nothing is being learned."""

    @abstractmethod
    def _training_meta(self) -> dict[str, Any]:
        """What else there is to know in training."""

    @abstractmethod
    def _start_again(self, meta: dict[str, Any]) -> None:
        """Make learners that are as yet empty."""


def check_state(condition: bool, what: str) -> None:
    """Raise an error that says what is wrong with a state unless a condition holds."""
    if not condition:
        raise ValueError(Errors.DS194.format(what=what))


def describe_settings(
    used: LearnerSettings, settings: LearnerSettings
) -> dict[str, Any]:
    """What has to be known about the settings of learners to make them again.

    used (LearnerSettings): What they learn with.
    settings (LearnerSettings): What the config says.
    """
    return {
        "small": used == settings.for_small_data().seeded(used.seed),
        "seed": used.seed,
        "optimizer": used.optimizer,
    }


def read_settings(meta: Any, settings: LearnerSettings) -> LearnerSettings:
    """The settings of learners that are made again, see describe_settings."""
    check_state(isinstance(meta, dict), "it lacks its settings")
    check_state(
        meta.get("optimizer") == settings.optimizer,
        f"it was made by optimizer = {meta.get('optimizer')!r}, and the config says "
        f"{settings.optimizer!r}",
    )
    seed = meta.get("seed")
    check_state(isinstance(seed, int) and 0 <= seed < 2**32, "it lacks its seed")
    return (settings.for_small_data() if meta.get("small") else settings).seeded(seed)


def _check_learner(learner: Any, found: dict[str, Any]) -> None:
    """Raise an error unless arrays can be used without harm."""
    check_state(
        all(array is not None for array in found.values()), "it lacks a section"
    )
    keys = found["keys"]
    n_weights = len(found["values"])
    good = (
        all(
            array.dtype == ("uint64" if name == "numbers" else "uint32")
            for name, array in found.items()
        )
        and bool((keys[1:] > keys[:-1]).all())
        and len(found["squares"]) == n_weights
    )
    if isinstance(learner, RankLearner):
        good = (
            good
            and n_weights == len(keys) == len(found["counts"])
            and int(found["counts"].min(initial=1)) > 0
        )
    elif isinstance(learner, LinkLearner):
        good = (
            good
            and n_weights == len(keys) == len(found["steps"])
            and len(found["drifts"]) == 2 * n_weights
            and len(found["numbers"]) == 1
        )
    else:
        states = found["states"]
        parts = learner.parts
        n_outputs = learner.n_labels if parts is None else parts.n_outputs
        good = (
            good
            and len(states) == len(keys)
            and len(found["numbers"]) == 4
            and int(states[states < NO_ROW].sum(dtype="uint64")) == n_weights
            and len(found["labels"]) == n_weights
            and int(found["labels"].max(initial=0)) < max(1, n_outputs)
        )
    check_state(good, "its arrays are malformed")
