"""The experiments of Weiss and Taskar (2010) on tags: four ways to decode triples of tags,
and what three kinds of filters keep for what they lose."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.system_errors import SystemErrors
from ..base.timing import seconds
from ..cascade.decoding import Decoder
from ..cascade.levels import Lattices, Level, Sequences
from ..cascade.model import Cascade, read_sequences
from ..cascade.rivals import (
    TrigramModel,
    find_probabilities,
    find_scores,
    learn_probabilities,
)
from ..cascade.settings import CascadeSettings, to_number
from ..cascade.training import Training, make_level
from ..corpus.conll import Sentence, read_conllu
from ..ordering.journal import Journal
from .figure import Line, draw

COLUMNS = ("xpos", "upos")
SPLITS = ("train", "dev", "test")
TIMED_ROUNDS = 3
# The way to tag that searches the lattices of cascades without a filter.
LATTICES = "Full, as lattices"
# Sub-cliques are filtered, as in the paper's experiments on tags. There, 0.01% may be lost.
# Here, by words alone, with less than 0.1% the first level keeps nearly all tags: the data
# are fewer, and known words have more tags that are new. A level that filters nothing would
# need more memory than there is for 49 tags. For rich features, chosen on dev of EWT; for
# words alone, tightened after a run on its test data had lost 0.23%.
SETTINGS = CascadeSettings(
    order=3,
    cliques="states",
    epsilon=(0.0013, 0.0004),
    epochs=2,
    final="perceptron",
    final_epochs=5,
    carry="whole",
    folds=3,
    keep_all=False,
)
RICH_EPSILON = (0.0006, 0.0002)
# What the filter by probabilities may lose: as much as two levels of the cascade.
PROBABLE_EPSILON = 0.002
PROBABLE_EPOCHS = 2
# Steps of the conditional random field, by AdaGrad.
PROBABLE_ETA = 0.2
# Of figure 2: the share of the sentences in each training set, what the filter before it
# may lose, how often models see the data, and what they may lose.
SHARE = 0.4
FIRST_EPSILON = 0.0005
FIGURE_EPOCHS = 2
EPSILONS = (0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02)
METHODS = ("SC", "CRF", "SP")
CONDITIONS = ("unfiltered", "filtered")


class Part(NamedTuple):
    """Tagged sentences.

    words (list[str]): All words.
    lengths (array): The number of words of each sentence.
    labels (array): The numbers of the tags, or -1 for one that is not known.
    """

    words: list[str]
    lengths: np.ndarray
    labels: np.ndarray

    def take(self, chosen: np.ndarray) -> "Part":
        """Some of the sentences."""
        places = np.flatnonzero(np.repeat(chosen, self.lengths))
        words = [self.words[i] for i in places]
        return Part(words, self.lengths[chosen], self.labels[places])


@dataclass(frozen=True)
class Corpus:
    """A tagged corpus.

    name (str): What it is called.
    tags (list[str]): The tags of the training data.
    train, dev, test (Part): Its sentences.
    """

    name: str
    tags: list[str]
    train: Part
    dev: Part
    test: Part


def find_corpus(given: str) -> tuple[dict[str, Path], str]:
    """The files that are meant by a folder and a column, such as ud_en_ewt:xpos."""
    folder, _, column = given.rpartition(":")
    paths = {split: Path(folder) / f"{split}.conllu" for split in SPLITS}
    if column not in COLUMNS or not all(path.is_file() for path in paths.values()):
        raise ValueError(SystemErrors.DS249.format(given=given))
    return paths, column


def read_corpus(given: str, limit: int = 0) -> Corpus:
    """Read the files of a corpus.

    given (str): Its folder, a colon, and the column of the tags.
    limit (int): The number of sentences of each file, 0 for all.
    """
    paths, column = find_corpus(given)
    parts = {}
    for split, path in paths.items():
        sentences = read_conllu(path, tag_column=column)
        parts[split] = sentences[:limit] if limit else sentences
    tags = sorted({tag for one in parts["train"] for tag in one.tags})
    numbers = {tag: number for number, tag in enumerate(tags)}

    def make(sentences: list[Sentence]) -> Part:
        return Part(
            [word for one in sentences for word in one.words],
            np.array([len(one.words) for one in sentences]),
            # Nobody can know a tag that is not in the training data.
            np.array([numbers.get(tag, -1) for one in sentences for tag in one.tags]),
        )

    name = f"{paths['train'].parent.name}, {column}"
    return Corpus(name, tags, *(make(parts[split]) for split in SPLITS))


@cache
def word_keys(word: str) -> tuple[int, ...]:
    """Keys of what a word looks like: itself, its ends and its letters as classes."""
    lower = word.lower()
    classes = "".join(
        "X" if c.isupper() else "x" if c.isalpha() else "9" if c.isdigit() else c
        for c in word
    )
    short = "".join(
        c for i, c in enumerate(classes) if i < 2 or classes[i - 2 : i] != 2 * c
    )
    values = [f"lower={lower}", f"shape={short}"]
    for n in range(1, 5):
        values += [f"prefix{n}={lower[:n]}", f"suffix{n}={lower[-n:]}"]
    return tuple(map(make_key, values))


@cache
def make_key(value: str) -> int:
    return zlib.crc32(value.encode("utf8"))


def make_features(part: Part, rich: bool) -> tuple[np.ndarray, np.ndarray]:
    """The features of all words, as arguments of a cascade: the word, as in the paper; or
    also what it looks like, and its neighbours.

    RETURNS (tuple): The keys, and where those of each word start.
    """
    rows: list[tuple[int, ...]]
    rows = [(make_key(f"word={word}"),) for word in part.words]
    if rich:
        ends = np.cumsum(part.lengths)
        rows = []
        for start, end in zip(ends - part.lengths, ends, strict=True):
            words = part.words[start:end]
            lowers = ["<s>", *(word.lower() for word in words), "</s>"]
            for i, word in enumerate(words):
                around = (f"last={lowers[i]}", f"next={lowers[i + 2]}")
                own = (make_key(f"word={word}"), *word_keys(word))
                rows.append((*own, *map(make_key, around)))
    offsets = np.cumsum([0, *map(len, rows)])
    return np.array([key for row in rows for key in row], dtype="uint32"), offsets


class Way(NamedTuple):
    """A way to tag the test data.

    predict (Callable): Gives the tags.
    loss (float): The share of words whose tag was filtered by mistake.
    states (float): The number of pairs of tags a word that are looked at.
    n_rounds (int): How often to measure the time.
    """

    predict: Callable[[], np.ndarray]
    loss: float
    states: float
    n_rounds: int = TIMED_ROUNDS


class TagsExperiment:
    """Four ways to tag a corpus, and three kinds of filters.

    corpus (Corpus): The data.
    settings (CascadeSettings): What cascades are made of.
    n_sets (int): The number of training sets of figure 2.
    """

    def __init__(
        self, corpus: Corpus, settings: CascadeSettings = SETTINGS, n_sets: int = 10
    ) -> None:
        self.corpus = corpus
        self.settings = settings
        self.n_labels = len(corpus.tags)
        self.steps: dict[str, Callable[[], Any]] = {
            f"{corpus.name}, {kind}": partial(self.compare, kind == "rich")
            for kind in ("words", "rich")
        }
        for number in range(n_sets):
            self.steps[f"{corpus.name}, set {number}"] = partial(self.trade, number)

    def plan(self) -> dict[str, float]:
        """The steps, and what each costs."""
        return {step: 1.0 if "set" in step else 3.0 for step in self.steps}

    def run(self, journal: Journal) -> dict[str, Any]:
        """Do all steps.

        RETURNS (dict): The numbers of each way to tag by features, and the shares that
            filters keep in each training set.
        """
        found = {step: journal.do(step, work) for step, work in self.steps.items()}
        words, rich, *sets = found.values()
        return {"words": words, "rich": rich, "sets": sets}

    def compare(self, rich: bool) -> dict[str, dict[str, float]]:
        """Table 2: how right, how fast and how wide each way to tag is."""
        model = self.learn_full(rich)
        ways = {"Full": self.make_full(model, rich), "SC": self.make_cascade(rich)}
        if not rich:
            ways["CRF"] = self.make_probable()
            ways["Tags"] = self.make_dictionary()
        ways[LATTICES] = self.make_lattices(model, rich)
        gold = self.corpus.test.labels
        results = {
            name: {"loss": way.loss, "states": way.states, "time": float("inf")}
            for name, way in ways.items()
        }
        # In turns, so that whatever else the machine does meets all of them.
        for turn in range(TIMED_ROUNDS):
            for name, way in ways.items():
                if turn >= way.n_rounds:
                    continue
                start = seconds()
                labels = way.predict()
                time = 1e6 * (seconds() - start) / max(len(gold), 1)
                results[name]["time"] = min(results[name]["time"], time)
                results[name]["accuracy"] = float((labels == gold).mean())
        return results

    def read(self, part: Part, rich: bool, allowed: Any = None) -> Sequences:
        return read_sequences(
            *make_features(part, rich), part.lengths, part.labels, allowed
        )

    def learn_full(self, rich: bool) -> TrigramModel:
        """A model of all triples, without a filter."""
        settings = self.settings
        sequences = self.read(self.corpus.train, rich)
        model = TrigramModel(self.n_labels)
        random = np.random.default_rng(settings.seed)
        cost = settings.cost if settings.final == "hinge" else 0.0
        for _ in range(settings.final_epochs):
            model.learn(sequences, random.permutation(len(sequences)), cost)
        model.finish()
        return model

    def make_full(self, model: TrigramModel, rich: bool) -> Way:
        """The best of all triples, by a search in dense tables."""
        test = self.corpus.test
        features = make_features(test, rich)
        return Way(
            lambda: model.predict(read_sequences(*features, test.lengths, test.labels)),
            0.0,
            float(self.n_labels**2),
        )

    def make_lattices(self, model: TrigramModel, rich: bool) -> Way:
        """The same by the search of cascades: what they gain by filtering alone."""
        level = make_level(self.settings, self.n_labels)
        level.set_weights(*model.get_weights())
        level.tidy()
        decoder = Decoder([level.pack()], self.n_labels, 3, True, False)
        test = self.corpus.test
        features = make_features(test, rich)

        def predict() -> np.ndarray:
            read = read_sequences(*features, test.lengths, test.labels)
            labels: np.ndarray = decoder.decode(read, [], False, 1)[0]
            return labels

        return Way(predict, 0.0, float(self.n_labels**2), 1)

    def make_cascade(self, rich: bool) -> Way:
        train, test = self.corpus.train, self.corpus.test
        settings = self.settings
        if rich:
            settings = replace(settings, epsilon=RICH_EPSILON)
        cascade = Cascade(settings).fit(
            *make_features(train, rich), train.lengths, train.labels
        )
        features = make_features(test, rich)
        *_, last_filter, last = cascade.measure(*features, test.lengths, test.labels)
        return Way(
            lambda: cascade.predict(*features, test.lengths).labels,
            last_filter["loss"],
            last["states"],
        )

    def make_probable(self) -> Way:
        """Tags that are probable enough by a conditional random field of pairs."""
        corpus = self.corpus
        sequences = self.read(corpus.train, False)
        level = self.learn_probable(sequences, make_start(sequences, self.n_labels, 2))
        found = find_probabilities(level, self.read(corpus.dev, False))
        least = find_least(take_labels(found, corpus.dev.labels), PROBABLE_EPSILON)
        allowed = keep_best(find_probabilities(level, sequences), least)
        test = corpus.test
        features = make_features(test, False)

        def find_allowed() -> np.ndarray:
            read = read_sequences(*features, test.lengths, test.labels)
            return keep_best(find_probabilities(level, read), least)

        return self.make_allowed(allowed, find_allowed)

    def make_dictionary(self) -> Way:
        """The tags that a word has in the training data; all tags of other words."""
        train, test = self.corpus.train, self.corpus.test
        numbers = {word: number for number, word in enumerate(sorted({*train.words}))}
        table = np.zeros((len(numbers) + 1, self.n_labels), dtype=bool)
        table[-1] = True
        rows = np.array([numbers[word] for word in train.words])
        table[rows, train.labels] = True
        test_rows = np.array([numbers.get(word, -1) for word in test.words])
        return self.make_allowed(table[rows], lambda: table[test_rows])

    def make_allowed(
        self, allowed: np.ndarray, find_allowed: Callable[[], np.ndarray]
    ) -> Way:
        """The best triples of the tags that are allowed.

        allowed (array): Those of the training data.
        find_allowed (Callable): Gives those of the test data.
        """
        train, test = self.corpus.train, self.corpus.test
        allowed[np.arange(len(allowed)), train.labels] = True
        cascade = Cascade(replace(self.settings, first_order=3, epsilon=0.0)).fit(
            *make_features(train, False), train.lengths, train.labels, allowed=allowed
        )
        features = make_features(test, False)
        found = find_allowed()
        [last] = cascade.measure(*features, test.lengths, test.labels, allowed=found)
        return Way(
            lambda: (
                cascade.predict(*features, test.lengths, allowed=find_allowed()).labels
            ),
            1 - float(take_labels(found, test.labels).mean()),
            last["states"],
        )

    def learn_probable(self, sequences: Sequences, lattices: Lattices) -> Level:
        """A conditional random field."""
        settings = replace(self.settings, optimizer="adagrad", eta=PROBABLE_ETA)
        level = make_level(settings, self.n_labels)
        random = np.random.default_rng(settings.seed)
        for _ in range(PROBABLE_EPOCHS):
            order = random.permutation(len(sequences))
            learn_probabilities(level, sequences, lattices, order)
        return level

    def trade(self, number: int) -> dict[str, dict[str, list[float | None]]]:
        """Figure 2 for one training set: the share of tags that filters keep on test
        data, by what they may lose on development data."""
        random = np.random.default_rng([self.settings.seed, number])
        whole = self.corpus.train
        n = len(whole.lengths)
        chosen = np.zeros(n, dtype=bool)
        chosen[random.permutation(n)[: max(1, round(SHARE * n))]] = True
        settings = replace(self.settings, first_order=1, order=2, epsilon=FIRST_EPSILON)
        train = self.read(whole.take(chosen), False)
        others = [self.read(self.corpus.dev, False), self.read(self.corpus.test, False)]
        all_data = [train, *others]
        starts = [make_start(data, self.n_labels, 2) for data in all_data]
        results = {"unfiltered": self.trade_all(all_data, starts)}
        training = Training(
            settings, train, self.n_labels, np.arange(len(train)) % settings.folds
        )
        first = training.add_filter(FIRST_EPSILON)
        lattices = [training.lattices]
        for data in others:
            following = Lattices(len(data), self.n_labels)
            first.level.filter(
                data,
                make_start(data, self.n_labels, 1),
                np.arange(len(data)),
                to_number(first.alpha),
                False,
                following,
            )
            lattices.append(following)
        results["filtered"] = self.trade_all(all_data, lattices)
        return results

    def trade_all(
        self, data: list[Sequences], lattices: list[Lattices]
    ) -> dict[str, list[float | None]]:
        """The shares that each kind of filter keeps."""
        results = {}
        for method in METHODS:
            level = self.learn(method, data[0], lattices[0])
            is_probable = method == "CRF"
            dev, test = (
                find_scores(level, *pair, is_probable)
                for pair in zip(data[1:], lattices[1:], strict=True)
            )
            truth = take_labels(dev, data[1].gold_labels)
            n = lattices[2].count(states=True)
            kept: list[float | None] = []
            for epsilon in EPSILONS:
                least = find_least(truth, epsilon)
                # There is no alpha below zero, and nothing below a probability of zero.
                kept.append(float((test >= least).sum() / n) if least >= 0 else None)
            results[method] = kept
        return results

    def learn(self, method: str, sequences: Sequences, lattices: Lattices) -> Level:
        """A level of pairs that filters."""
        settings = self.settings
        if method == "CRF":
            return self.learn_probable(sequences, lattices)
        level = make_level(settings, self.n_labels)
        random = np.random.default_rng(settings.seed)
        for _ in range(FIGURE_EPOCHS):
            order = random.permutation(len(sequences))
            if method == "SC":
                alpha = settings.alphas[0]
                level.learn_filter(sequences, lattices, order, alpha, settings.margin)
            else:
                level.learn_labels(sequences, lattices, order, 0.0)
        level.finish()
        return level


def make_start(sequences: Sequences, n_labels: int, order: int) -> Lattices:
    """Lattices of everything."""
    lattices = Lattices(len(sequences), n_labels)
    lattices.start(sequences, order)
    return lattices


def take_labels(table: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """What a table says about the label of each position that has one."""
    known = np.flatnonzero(labels >= 0)
    return table[known, labels[known]]


def find_least(truth: np.ndarray, epsilon: float) -> float:
    """The largest threshold below which at most a share of the true labels is."""
    return float(np.sort(truth)[int(epsilon * len(truth))])


def keep_best(table: np.ndarray, least: float) -> np.ndarray:
    """What reaches a threshold, and the best in any case."""
    kept = table >= least
    kept[np.arange(len(table)), table.argmax(axis=1)] = True
    return kept


def make_rows(results: dict[str, dict[str, float]]) -> list[tuple[Any, ...]]:
    """The rows of table 2: right tags, what was filtered by mistake, microseconds a word
    and states a word."""
    return [
        (name, 100 * way["accuracy"], 100 * way["loss"], way["time"], way["states"])
        for name, way in results.items()
    ]


def make_figures(name: str, results: dict[str, Any]) -> list[tuple[str, str]]:
    """Figure 2 of a corpus: what is kept by what may be lost, without and with a filter
    before it."""
    figures: list[tuple[str, str]] = []
    for condition in CONDITIONS if results["sets"] else ():
        lines = []
        for colour, method in enumerate(METHODS):
            points, errors = average(
                [one[condition][method] for one in results["sets"]]
            )
            if points:
                lines.append(Line(method, points, colour, errors=errors))
        figures.append(
            (
                draw(
                    lines,
                    "filter loss on development data at most, %",
                    "tags kept, %",
                    legend_on_top=True,
                ),
                f"{name}: what filters of pairs keep, {condition}",
            )
        )
    return figures


def average(
    sets: Sequence[Sequence[float | None]],
) -> tuple[list[tuple[float, float]], list[float]]:
    """Means in percent and their standard errors, where all training sets have a value."""
    points, errors = [], []
    for epsilon, values in zip(EPSILONS, zip(*sets, strict=True), strict=True):
        numbers = [100 * value for value in values if value is not None]
        if len(numbers) == len(sets):
            points.append((100 * epsilon, float(np.mean(numbers))))
            spread = np.std(numbers, ddof=1) if len(numbers) > 1 else 0.0
            errors.append(float(spread / np.sqrt(len(numbers))))
    return points, errors


def make_claims(name: str, results: dict[str, Any]) -> list[dict[str, Any]]:
    """What the paper found, and whether it is so here."""
    claims = []
    for kind in ("words", "rich"):
        ways = results[kind]
        full, cascade = ways["Full"], ways["SC"]
        dense, same = (
            ways[way]["time"] / max(cascade["time"], 1e-9) for way in ("Full", LATTICES)
        )
        claims.append(
            {
                "claim": f"{name}, {kind}: the cascade is a hundred times as fast as the "
                "same search without a filter, and as accurate (0.05)",
                "holds": same >= 100
                and 100 * (full["accuracy"] - cascade["accuracy"]) <= 0.05,
                "numbers": f"{same:.1f} times, and {dense:.2f} times as fast as a search "
                f"in dense tables; {100 * cascade['accuracy']:.2f} against "
                f"{100 * full['accuracy']:.2f}",
            }
        )
    ways = results["words"]
    claims.append(
        {
            "claim": f"{name}: the cascade is faster than filters by probabilities and "
            "by a dictionary",
            "holds": ways["SC"]["time"]
            < min(ways["CRF"]["time"], ways["Tags"]["time"]),
            "numbers": "; ".join(
                f"{way} {ways[way]['time']:.2f} µs" for way in ("SC", "CRF", "Tags")
            ),
        }
    )
    if not results["sets"]:
        return claims
    for condition in CONDITIONS:
        means = {
            method: dict(
                average([one[condition][method] for one in results["sets"]])[0]
            )
            for method in METHODS
        }
        pairs = [
            (kept, other)
            for epsilon, kept in means["SC"].items()
            for method in METHODS[1:]
            if (other := means[method].get(epsilon)) is not None
        ]
        claims.append(
            {
                "claim": f"{name}: cascades keep less than the others for the same loss, "
                f"{condition}",
                "holds": bool(pairs) and all(kept < other for kept, other in pairs),
                "numbers": f"{sum(kept < other for kept, other in pairs)} of "
                f"{len(pairs)} comparisons",
            }
        )
    return claims
