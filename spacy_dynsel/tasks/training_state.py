"""Training that can be interrupted: all that learning depends on, as a file."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..core.checksum import checksum
from ..core.learner import Learner
from ..core.ranker import RankLearner
from ..errors import Errors
from ..model_file import dump_model, load_model

KIND = "training"
NO_ROW = 1 << 31
WEIGHTS = ("values", "squares")
SECTIONS = {
    Learner: ("keys", "states", "labels", *WEIGHTS, "numbers"),
    RankLearner: ("keys", "counts", *WEIGHTS),
}


class Resumable(ABC):
    """An engine whose training can go on after saving and loading, bit for bit as if it
    had not been interrupted."""

    task: str
    # What was read, until learning goes on.
    _waiting: tuple[dict[str, Any], dict[str, np.ndarray]] | None = None

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The model as a file."""

    def training_to_bytes(self) -> bytes | None:
        """The state of training as a file; None if nothing was learned since a model
        without one was loaded."""
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
        _check(meta.get("kind") == KIND, "it is another kind of file")
        _check(
            meta.get("model") == int(checksum(self.to_bytes())),
            "it was saved with another one",
        )
        self._waiting = (meta, arrays)

    def _restore_training(self) -> bool:
        """Go on from what was read. RETURNS (bool): Whether there was something."""
        if self._waiting is None or self._get_learners():
            return False
        meta, arrays = self._waiting
        names = meta.get("learners")
        _check(isinstance(names, list) and len(names) > 0, "it lacks its learners")
        self._start_again(meta)
        learners = self._get_learners()
        _check(list(learners) == names, "it has other learners")
        for number, learner in enumerate(learners.values()):
            sections = SECTIONS[type(learner)]
            found = {name: arrays.get(f"{number}_{name}") for name in sections}
            _check_learner(learner, found)
            learner.set_state(found)
        self._waiting = None
        return True

    @abstractmethod
    def _get_learners(self) -> dict[str, Any]:
        """The learners, by names; none if nothing is being learned."""

    @abstractmethod
    def _training_meta(self) -> dict[str, Any]:
        """What else there is to know in training."""

    @abstractmethod
    def _start_again(self, meta: dict[str, Any]) -> None:
        """Make learners that are as yet empty."""


def _check(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(Errors.DS194.format(what=what))


def _check_learner(learner: Any, found: dict[str, Any]) -> None:
    """Raise an error unless arrays can be used without harm."""
    _check(all(array is not None for array in found.values()), "it lacks a section")
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
    else:
        states = found["states"]
        good = (
            good
            and len(states) == len(keys)
            and len(found["numbers"]) == 4
            and int(states[states < NO_ROW].sum(dtype="uint64")) == n_weights
            and len(found["labels"]) == n_weights
            and int(found["labels"].max(initial=0)) < max(1, learner.n_labels)
        )
    _check(good, "its arrays are malformed")
