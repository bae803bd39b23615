"""Structured prediction cascades (Weiss and Taskar 2010): exact labels of sequences by
label n-grams, of which simpler models leave just a few."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import Errors
from ..base.system_errors import SystemErrors
from ..core.model_file import FileData, dump_model, load_model, require
from .decoding import Decoder
from .levels import LONGEST, MOST_LABELS, Lattices, Level, Sequences
from .rows import Rows
from .settings import CascadeSettings, check_alpha, to_number
from .training import Training, join_positions, make_level

FORMAT = "cascade"
# Their sum has room in 32 bits.
MOST_FEATURES = 2**16


class Prediction(NamedTuple):
    """What a cascade says about sequences.

    labels (array): The label of each position.
    leads (array): By how much the best labels with another label at the position are
        worse, or infinity if there are none in the last lattice; None if not asked for.
    grams (list[float]): How many n-grams a position each level looked at.
    """

    labels: np.ndarray
    leads: np.ndarray | None
    grams: list[float]


@dataclass(frozen=True)
class LevelReport:
    """What is known about one level.

    order (int): The length of its n-grams.
    alpha (float): The part of the best path in its threshold, or None if it keeps all.
    learned_alpha (float): The same, when it was learned.
    loss (float): The share of units that it loses, by data that it was not learned from.
    kept (float): The share of cliques that it keeps, by the same data.
    """

    order: int
    alpha: float | None
    learned_alpha: float
    loss: float
    kept: float


class Step(NamedTuple):
    """Labelled sequences on their way through a cascade.

    order (int): Of the level.
    lattices (Lattices): What the levels before it left.
    lost (array): For each position whether it, or one before it, filtered its label; None
        of the last level, which does not filter.
    """

    order: int
    lattices: Lattices
    lost: np.ndarray | None


class Cascade:
    """Labels sequences of feature sets by levels of rising order.

    Sequences are arrays: the keys of features, one position after the other, where the
    features of each position start (and the end of the last), and the number of positions
    of each sequence. Keys are numbers from 0 to 2**32 - 1, such as hashes; labels are
    numbers from 0 on.

    settings (CascadeSettings): See there.
    """

    def __init__(self, settings: CascadeSettings | None = None) -> None:
        self.settings = settings or CascadeSettings()
        self.n_labels = 0
        self.reports: list[LevelReport] = []
        self._alphas: list[float | None] = []
        # The weights of each level by its name; and levels that were needed to learn or to
        # look at lattices, decoders that were needed to label.
        self._rows: dict[str, Rows] = {}
        self._levels: dict[str, Level] = {}
        self._decoders: dict[int, Decoder] = {}

    def fit(
        self,
        features: Any,
        offsets: Any,
        lengths: Any,
        labels: Any,
        groups: Any = None,
        allowed: Any = None,
    ) -> "Cascade":
        """Learn from labelled sequences, from the beginning.

        features (array): The keys of features, position after position.
        offsets (array): Where the features of each position start, and the end.
        lengths (array): The number of positions of each sequence.
        labels (array): The label of each position, or -1 if it is not known.
        groups (array): A number for each sequence. Those with the same number (of one
            document, one writer) resemble each other, and fall into the same part of the
            data. Each is on its own if missing.
        allowed (array): For each position and each label whether it may be there, such as
            by a dictionary; all may if missing. A sequence whose labels are not allowed is
            passed over.
        RETURNS (Cascade): Itself.
        """
        settings = self.settings
        sequences = read_sequences(features, offsets, lengths, labels, allowed)
        n_labels = sequences.n_labels
        if n_labels == 0:
            raise ValueError(SystemErrors.DS240)
        folds = get_folds(groups, len(sequences), settings.folds)
        training = Training(settings, sequences, n_labels, folds)
        rows: dict[str, Rows] = {}
        reports: list[LevelReport] = []
        epsilons = settings.get_epsilons()
        for order in range(settings.first_order, settings.order + 1):
            if order == settings.order or settings.every_order:
                rows[name_final(order)] = training.learn_labels().pack()
            if order < settings.order:
                found = training.add_filter(epsilons[order - settings.first_order])
                rows[name_filter(len(reports))] = found.level.pack()
                reports.append(LevelReport(order, *found[1:]))
        self.n_labels = n_labels
        self._rows, self.reports = rows, reports
        self._levels, self._decoders = {}, {}
        self._alphas = [report.alpha for report in reports]
        return self

    @property
    def alpha(self) -> list[float | None]:
        """The part of the best path in the threshold of each level that filters, in
        [0, 1), or None to keep everything. Closer to 1 is faster and loses more. It can be
        set at any time, to a list or to one value for all."""
        return list(self._alphas)

    @alpha.setter
    def alpha(self, value: Any) -> None:
        self._require_fitted()
        self._alphas = self._check_alphas(value)

    def _check_alphas(self, value: Any) -> list[float | None]:
        """One alpha for each level that filters, or a clear error."""
        values = [value] * len(self._alphas) if np.ndim(value) == 0 else list(value)
        if len(values) != len(self._alphas):
            raise ValueError(
                Errors.DS022.format(
                    name="alpha",
                    value=value,
                    range=f"a number in [0, 1), or a list of {len(self._alphas)}",
                )
            )
        return [None if one is None else check_alpha(one) for one in values]

    def predict(
        self,
        features: Any,
        offsets: Any,
        lengths: Any,
        *,
        allowed: Any = None,
        order: int | None = None,
        with_leads: bool = False,
        n_threads: int = 1,
        alpha: Any = None,
    ) -> Prediction:
        """Label sequences. The arrays are those of fit, without labels.

        order (int): The order of the level to label by: the highest if missing; with
            every_order, also a lower one.
        with_leads (bool): Whether to tell by how much labels lead.
        n_threads (int): The number of threads. Any number gives the same labels.
        alpha (float or list[float]): In place of that of the cascade.
        """
        n = len(offsets) - 1 if len(offsets) else 0
        sequences = read_sequences(features, offsets, lengths, np.full(n, -1), allowed)
        return self._predict(sequences, order, with_leads, n_threads, alpha)

    def _predict(
        self,
        sequences: Sequences,
        order: int | None,
        with_leads: bool,
        n_threads: int,
        alpha: Any = None,
    ) -> Prediction:
        self._require_fitted()
        self._check_labels(sequences)
        alphas = self._alphas if alpha is None else self._check_alphas(alpha)
        order = self.settings.order if order is None else order
        if order not in self._final_orders:
            raise ValueError(
                Errors.DS021.format(
                    name="order",
                    value=order,
                    known=", ".join(map(str, self._final_orders)),
                )
            )
        if n_threads < 1:
            raise ValueError(
                Errors.DS022.format(
                    name="n_threads", value=n_threads, range="at least 1"
                )
            )
        n_filters = order - self.settings.first_order
        labels, leads, counts = self._get_decoder(order).decode(
            sequences,
            [to_number(one) for one in alphas[:n_filters]],
            with_leads,
            n_threads,
        )
        n = max(sequences.n_positions, 1)
        return Prediction(labels, leads, [float(count / n) for count in counts])

    def measure(
        self,
        features: Any,
        offsets: Any,
        lengths: Any,
        labels: Any,
        *,
        allowed: Any = None,
    ) -> list[dict[str, float]]:
        """Compare with labels that are known, at each order that there is. The arrays are
        those of fit.

        RETURNS (list[dict]): For each level its order and the numbers of n-grams (grams)
            and of (n-1)-grams (states) a position. If it filters: what it loses (loss), as the share of units of which
            it or a level before it filtered the truth. If it labels: the share of right
            labels (accuracy), and of sequences with right labels only (whole).
        """
        sequences = self._read_labelled(features, offsets, lengths, labels, allowed)
        gold = sequences.gold_labels
        known = gold >= 0
        n = max(sequences.n_positions, 1)
        results = []
        for step in self._filter(sequences, self._alphas):
            result: dict[str, float] = {
                "order": step.order,
                "grams": step.lattices.count() / n,
                "states": step.lattices.count(states=True) / n,
            }
            if step.order in self._final_orders:
                labelled = self._predict(sequences, step.order, False, 1).labels
                right = (labelled == gold) | ~known
                whole = join_positions(sequences, right, np.logical_and)
                result["accuracy"] = find_share(right[known])
                result["whole"] = find_share(whole)
            if step.lost is not None:
                units = step.lost[known]
                if self.settings.unit == "sequence":
                    units = join_positions(sequences, step.lost, np.logical_or)
                result["loss"] = 1 - find_share(~units)
            results.append(result)
        return results

    def find_lost(
        self,
        features: Any,
        offsets: Any,
        lengths: Any,
        labels: Any,
        *,
        alpha: Sequence[float | None] | None = None,
    ) -> np.ndarray:
        """Find out which sequences lose their labels to a filter. The arrays are those of
        fit.

        alpha (list[float]): Of each level that filters, in place of that of the cascade.
        RETURNS (array): For each sequence whether one of its n-grams was filtered.
        """
        sequences = self._read_labelled(features, offsets, lengths, labels)
        alphas = self._alphas if alpha is None else self._check_alphas(alpha)
        lost = np.zeros(sequences.n_positions, dtype=bool)
        for step in self._filter(sequences, alphas):
            if step.lost is not None:
                lost |= step.lost
        result = np.zeros(len(sequences), dtype=bool)
        result[np.diff(sequences.bounds) > 0] = join_positions(
            sequences, lost, np.logical_or
        )
        return result

    def find_gaps(
        self, features: Any, offsets: Any, lengths: Any, *, alpha: Any = None
    ) -> list[np.ndarray]:
        """Find out how close labels come to the best sequence. The arrays are those of
        fit.

        alpha (float or list[float]): In place of that of the cascade.
        RETURNS (list[array]): For each level, for each position and label, by how much
            the best sequence with that label there is worse than the best of all; or
            infinity if there is none left.
        """
        n = len(offsets) - 1 if len(offsets) else 0
        sequences = self._read_labelled(features, offsets, lengths, np.full(n, -1))
        alphas = self._alphas if alpha is None else self._check_alphas(alpha)
        names = [*map(name_filter, range(self.settings.n_filters))]
        levels = map(self._get_level, [*names, name_final(self.settings.order)])
        tables = []
        for level, step in zip(levels, self._filter(sequences, alphas), strict=True):
            table = np.full((n, self.n_labels), np.inf)
            for i, start in enumerate(sequences.bounds[:-1].tolist()):
                places, grams, _ = step.lattices.get_grams(i)
                gaps, _ = level.get_gaps(sequences, step.lattices, i)
                np.minimum.at(table, (places + start, grams[:, -1]), gaps)
            tables.append(table)
        return tables

    def correct(
        self, features: Any, offsets: Any, lengths: Any, labels: Any
    ) -> "Cascade":
        """Make another cascade that has also learned from some more sequences. Just its
        last level learns, what the others filter and the thresholds stay. The arrays are
        those of fit."""
        sequences = self._read_labelled(features, offsets, lengths, labels)
        *_, step = self._filter(sequences, self._alphas, keep_truth=True)
        settings = self.settings
        name = name_final(settings.order)
        level = self._make_level(name)
        level.learn_labels(
            sequences,
            step.lattices,
            np.arange(len(sequences), dtype="int64"),
            settings.cost if settings.final == "hinge" else 0.0,
        )
        # Steps from averaged weights are not averaged.
        level.tidy()
        result = type(self)(settings)
        result.__dict__.update(self.__dict__)
        result._alphas = list(self._alphas)
        result._rows = {**self._rows, name: level.pack()}
        result._levels, result._decoders = {}, {}
        return result

    def _read_labelled(
        self,
        features: Any,
        offsets: Any,
        lengths: Any,
        labels: Any,
        allowed: Any = None,
    ) -> Sequences:
        self._require_fitted()
        sequences = read_sequences(features, offsets, lengths, labels, allowed)
        self._check_labels(sequences)
        return sequences

    def _check_labels(self, sequences: Sequences) -> None:
        if not sequences.has_labels(self.n_labels):
            raise ValueError(SystemErrors.DS241.format(n_labels=self.n_labels))

    def _filter(
        self,
        sequences: Sequences,
        alphas: Sequence[float | None],
        keep_truth: bool = False,
    ) -> Iterator[Step]:
        """Filter labelled sequences, level by level."""
        ids = np.arange(len(sequences), dtype="int64")
        lattices = Lattices(len(sequences), self.n_labels)
        lattices.start(sequences, self.settings.first_order)
        order = self.settings.first_order
        for i, alpha in enumerate(map(to_number, alphas)):
            level = self._get_level(name_filter(i))
            limits = np.empty(sequences.n_positions)
            level.judge(sequences, lattices, ids, limits)
            # What an earlier level lost has no limit.
            yield Step(order, lattices, (limits < alpha) | np.isneginf(limits))
            following = Lattices(len(sequences), self.n_labels)
            level.filter(sequences, lattices, ids, alpha, keep_truth, following)
            lattices = following
            order += 1
        yield Step(order, lattices, None)

    def to_bytes(self) -> bytes:
        """The cascade in the form of a file."""
        return dump_model(*self.to_contents())

    def to_contents(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The header and the sections of a file."""
        self._require_fitted()
        meta = {
            "task": FORMAT,
            "settings": asdict(self.settings),
            "n_labels": self.n_labels,
            "alphas": self._alphas,
            "reports": [asdict(report) for report in self.reports],
            "shifts": {name: rows.shift for name, rows in self._rows.items()},
        }
        arrays = {}
        for name, rows in self._rows.items():
            for part, array in rows.to_arrays(self.n_labels).items():
                arrays[f"{name}_{part}"] = array
        return meta, arrays

    @property
    def _final_orders(self) -> list[int]:
        """The orders at which there are levels that label."""
        settings = self.settings
        first = settings.first_order if settings.every_order else settings.order
        return list(range(first, settings.order + 1))

    def _make_level(self, name: str) -> Level:
        level = make_level(self.settings, self.n_labels)
        level.unpack(self._rows[name])
        return level

    def _get_level(self, name: str) -> Level:
        """A level to look at lattices with."""
        if name not in self._levels:
            self._levels[name] = self._make_level(name)
        return self._levels[name]

    def _get_decoder(self, order: int) -> Decoder:
        if order not in self._decoders:
            settings = self.settings
            n_filters = order - settings.first_order
            names = [*map(name_filter, range(n_filters)), name_final(order)]
            self._decoders[order] = Decoder(
                [self._rows[name] for name in names],
                self.n_labels,
                settings.first_order,
                settings.cliques == "states",
                settings.pairs,
            )
        return self._decoders[order]

    @classmethod
    def from_bytes(cls, data: FileData) -> "Cascade":
        """Read what to_bytes has made."""
        return cls.from_contents(*load_model(data))

    @classmethod
    def from_contents(
        cls, meta: dict[str, Any], arrays: dict[str, np.ndarray]
    ) -> "Cascade":
        """The cascade of a file, if it is good."""
        if meta.get("task") != FORMAT:
            raise ValueError(
                Errors.DS037.format(found=meta.get("task"), expected=FORMAT)
            )
        try:
            result = cls(CascadeSettings(**meta["settings"]))
            settings = result.settings
            result.n_labels = meta["n_labels"]
            result._alphas = [
                None if alpha is None else check_alpha(alpha)
                for alpha in meta["alphas"]
            ]
            result.reports = [LevelReport(**report) for report in meta["reports"]]
        except (KeyError, TypeError, ValueError) as error:
            require(False, f"its description is malformed ({error})")
        require(
            isinstance(result.n_labels, int) and 0 < result.n_labels <= MOST_LABELS,
            "it has no labels",
        )
        require(
            len(result._alphas) == len(result.reports) == settings.n_filters,
            "it has other levels than its settings say",
        )
        shifts: Any = meta.get("shifts")
        require(isinstance(shifts, dict), "it lacks its levels")
        for name in (
            *map(name_filter, range(settings.n_filters)),
            *map(name_final, result._final_orders),
        ):
            start = f"{name}_"
            parts = {
                key.removeprefix(start): array
                for key, array in arrays.items()
                if key.startswith(start)
            }
            result._rows[name] = Rows.from_arrays(
                parts, result.n_labels, shifts.get(name)
            )
        return result

    def _require_fitted(self) -> None:
        if not self._rows:
            raise ValueError(SystemErrors.DS242)


def name_filter(number: int) -> str:
    """What files call a level that filters."""
    return f"filter{number}"


def name_final(order: int) -> str:
    """What files call a level that labels."""
    return f"final{order}"


def find_share(right: np.ndarray) -> float:
    """The share of what is right; of nothing, all."""
    return float(right.mean()) if len(right) else 1.0


def read_sequences(
    features: Any, offsets: Any, lengths: Any, labels: Any, allowed: Any = None
) -> Sequences:
    """Sequences, or an error that says what is wrong with the arrays."""
    arrays = {}
    for name, given, low, high, dtype in (
        ("features", features, 0, 2**32 - 1, "uint32"),
        ("offsets", offsets, 0, 2**63 - 1, "int64"),
        ("lengths", lengths, 0, LONGEST, "int64"),
        ("labels", labels, -1, MOST_LABELS - 1, "int32"),
    ):
        array = np.asarray(given)
        if array.size == 0:
            array = array.astype("int64")
        if (
            array.ndim != 1
            or array.dtype.kind not in "iu"
            or (array.size and (array.min() < low or array.max() > high))
        ):
            raise ValueError(
                SystemErrors.DS243.format(
                    what=f"'{name}' is not a row of integers from {low} to {high}"
                )
            )
        # A copy: nobody else can change it while threads read it.
        arrays[name] = np.array(array, dtype=dtype)
    n = len(arrays["labels"])
    bounds = arrays["offsets"]
    if len(bounds) != n + 1:
        what = f"'offsets' has {len(bounds)} entries for {n} positions, not {n + 1}"
        raise ValueError(SystemErrors.DS243.format(what=what))
    if bounds[0] != 0 or (np.diff(bounds) < 0).any():
        what = "'offsets' does not start with 0, or does not rise"
        raise ValueError(SystemErrors.DS243.format(what=what))
    if (np.diff(bounds) > MOST_FEATURES).any():
        what = f"a position has more than {MOST_FEATURES} features"
        raise ValueError(SystemErrors.DS243.format(what=what))
    if bounds[-1] != len(arrays["features"]):
        what = (
            f"'offsets' ends with {bounds[-1]}, and there are {len(features)} features"
        )
        raise ValueError(SystemErrors.DS243.format(what=what))
    if arrays["lengths"].sum() != n:
        what = f"'lengths' adds up to {arrays['lengths'].sum()}, not to {n} positions"
        raise ValueError(SystemErrors.DS243.format(what=what))
    if allowed is None:
        return Sequences(**arrays)
    given = np.array(allowed, dtype=bool, ndmin=2)
    if given.ndim != 2 or len(given) != n or not 0 < given.shape[1] <= MOST_LABELS:
        what = f"'allowed' has the shape {given.shape}, and there are {n} positions"
        raise ValueError(SystemErrors.DS243.format(what=what))
    if not given.any(axis=1).all():
        what = f"'allowed' lets position {given.any(axis=1).argmin()} have no label"
        raise ValueError(SystemErrors.DS243.format(what=what))
    return Sequences(**arrays, allowed=given.view("uint8"))


def get_folds(groups: Any, n: int, n_folds: int) -> np.ndarray:
    """The part of the data to which each sequence belongs."""
    given = np.arange(n) if groups is None else np.asarray(groups)
    if given.shape != (n,):
        what = f"'groups' has the shape {given.shape}, and there are {n} sequences"
        raise ValueError(SystemErrors.DS243.format(what=what))
    _, numbers = np.unique(given, return_inverse=True)
    return numbers.reshape(-1) % n_folds
