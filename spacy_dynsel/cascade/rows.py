"""The weights of a level as they are stored and used: those that are not zero."""

from typing import Any, NamedTuple

import numpy as np

from ..core.model_file import require

# Of keys: how many labels a context has, or that it is a feature, or one with a label.
KIND_BITS = 60
FEATURE, PAIR = 5, 6
LABEL_BITS = 12
MOST_STEPS = 2**14 - 1
LARGEST_SHIFT = 24


class Rows(NamedTuple):
    """Rows of weights, sorted by their keys.

    keys (array): What the row is about (uint64), see gram_weights.hpp.
    starts (array): Where the weights of each row start, and the end (uint32).
    labels (array): The label of each weight (uint16); they rise in a row.
    values (array): Each weight (int16), as a number of steps.
    shift (int): A step is two to the power of this, where one is 2**16.
    """

    keys: np.ndarray
    starts: np.ndarray
    labels: np.ndarray
    values: np.ndarray
    shift: int

    def fits(self, n_labels: int) -> bool:
        """Whether these are weights of so many labels, and nothing else."""
        keys, starts, labels, values, shift = self
        n, n_weights = len(keys), len(labels)
        if not (
            isinstance(shift, int)
            and 0 <= shift <= LARGEST_SHIFT
            and len(starts) == n + 1
            and n_weights == len(values) == starts[-1]
            and starts[0] == 0
            and (starts[1:] >= starts[:-1]).all()
            and (keys[1:] > keys[:-1]).all()
            and (labels <= n_labels).all()
            and (np.abs(values.astype("int32")) <= MOST_STEPS).all()
        ):
            return False
        is_first = np.zeros(n_weights + 1, dtype=bool)
        is_first[starts] = True
        rises = (labels[1:] > labels[:-1]) | is_first[1:-1]
        is_gram = keys >> np.uint64(KIND_BITS) != FEATURE
        return bool(rises.all() and have_labels(keys[is_gram], n_labels))

    def to_arrays(self, n_labels: int) -> dict[str, np.ndarray]:
        """What stands in a file."""
        is_feature = (self.keys >> np.uint64(KIND_BITS)) == FEATURE
        narrow = "uint8" if n_labels < 256 else "uint16"
        return {
            "grams": self.keys[~is_feature],
            "features": self.keys[is_feature].astype("uint32"),
            "counts": np.diff(self.starts).astype("uint16"),
            "labels": self.labels.astype(narrow),
            "values": self.values.view("uint16"),
        }

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, np.ndarray], n_labels: int, shift: Any
    ) -> "Rows":
        """Read what to_arrays has made, if it is good."""
        narrow = "uint8" if n_labels < 256 else "uint16"
        for name, kind in (
            ("grams", "uint64"),
            ("features", "uint32"),
            ("counts", "uint16"),
            ("labels", narrow),
            ("values", "uint16"),
        ):
            require(
                name in arrays and arrays[name].dtype == kind, "it lacks its weights"
            )
        grams = arrays["grams"]
        features = arrays["features"].astype("uint64") | np.uint64(FEATURE << KIND_BITS)
        place = np.searchsorted(grams, np.uint64(FEATURE << KIND_BITS))
        keys = np.concatenate([grams[:place], features, grams[place:]])
        starts = np.concatenate([[0], np.cumsum(arrays["counts"], dtype="int64")])
        rows = cls(
            keys,
            starts.astype("uint32"),
            arrays["labels"].astype("uint16"),
            np.array(arrays["values"]).view("int16"),
            shift,
        )
        require(starts[-1] < 2**32 and rows.fits(n_labels), "its weights are malformed")
        return rows


def have_labels(keys: np.ndarray, n_labels: int) -> bool:
    """Whether the keys of label n-grams, and of features with a label, have labels that
    there are."""
    kinds = keys >> np.uint64(KIND_BITS)
    rest = keys & np.uint64(2**KIND_BITS - 1)
    paired = kinds == PAIR
    if (rest[paired] >> np.uint64(32) > n_labels).any():
        return False
    kinds, rest = kinds[~paired], rest[~paired]
    for i in range(FEATURE - 1):
        label = rest >> np.uint64(LABEL_BITS * i) & np.uint64(2**LABEL_BITS - 1)
        if (label[kinds > i] > n_labels).any() or label[kinds <= i].any():
            return False
    is_short = rest >> np.uint64(LABEL_BITS * (FEATURE - 1)) == 0
    return bool((kinds < FEATURE).all() and is_short.all())


def pack(keys: np.ndarray, weights: np.ndarray, exponent: int) -> Rows:
    """Rows of weights that are whole numbers of steps.

    keys (array): The sorted keys of the rows (uint64).
    weights (array): A row each (float32).
    exponent (int): A step is two to the power of it.
    """
    steps = np.rint(np.ldexp(weights, -exponent)).astype("int16")
    rows, labels = np.nonzero(steps)
    counts = np.bincount(rows, minlength=len(keys))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype("uint32")
    shift = exponent + 16
    return Rows(keys, starts, labels.astype("uint16"), steps[rows, labels], shift)
