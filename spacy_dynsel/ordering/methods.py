"""Ways to find an order of templates. Registered functions, with real annotations.

A method is called with recorded decisions, the number of templates to order and a
journal, and returns the order with what it found out about each place.
"""

import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from ..base.errors import Errors
from ..base.timing import seconds
from .decisions import Decisions
from .fitting import (
    add_scores,
    correlation,
    count_right,
    find_residuals,
    fit_groups,
    log_loss_with,
    padded,
)
from .journal import Journal

T = TypeVar("T")


class Placed(NamedTuple):
    """A template that got its place in an order.

    template (int): Its index.
    score (float): What spoke for it; see the method.
    note (str): The same for readers.
    """

    template: int
    score: float
    note: str


OrderingMethod = Callable[[Decisions, int, Journal], list[Placed]]


def make_wrapper(
    epochs: int = 3,
    fast: bool = False,
    by_cost: bool = False,
    n_threads: int = 0,
) -> OrderingMethod:
    """Greedy forward selection by held-out accuracy (Strubell et al. 2015, 4.5.2).

    At each step, each remaining template is added to those that were chosen, the
    weights of all of them are learned from nothing by the hinge loss of their sum, and
    the template with the highest held-out accuracy is chosen; of several, the first.
    The margin of the learner is meant for the sum of all templates: a part of them has
    to lead by its share of it.

    epochs (int): How often a candidate sees the training data.
    fast (bool): Try a template again only while what it gained when it was last tried
        is more than what the best of this step gains. Where gains shrink as templates
        are added, the result is the same; it takes a fraction of the time.
    by_cost (bool): Choose by gained accuracy for each nanosecond that a template takes.
    n_threads (int): How many candidates to train at the same time; 0 means one for
        each core. The result does not depend on it.
    """
    check_positive(epochs=epochs, n_threads=n_threads or 1)

    def order(decisions: Decisions, n_places: int, journal: Journal) -> list[Placed]:
        n_templates = len(decisions.templates)
        threads = n_threads or os.cpu_count() or 1

        def count_tries(place: int) -> int:
            remaining = n_templates - place
            # What the first templates gain says little about the next ones.
            return min(3, remaining) if fast and place > 2 else remaining

        journal.plan(
            {f"place {k}": (k + 1.5) * count_tries(k) for k in range(n_places)}
        )
        costs = np.ones(n_templates)
        if by_cost:
            costs = np.array(
                journal.do("times", lambda: measure_times(decisions).tolist())
            )

        def accuracy(columns: list[int]) -> float:
            values = decisions.fit(
                columns,
                epochs=epochs,
                margin=decisions.margin * len(columns) / n_templates,
            )
            held_out = decisions.held_out
            n_right = count_right(held_out.ids, held_out.costs, columns, values)
            return n_right / len(held_out)

        def worth(gain: float, template: int) -> float:
            # A loss is not smaller for taking more time.
            return gain / costs[template] if gain > 0 else gain * costs[template]

        placed: list[Placed] = []
        before = 0.0
        gains = [math.inf] * n_templates
        for k in range(n_places):
            chosen = [one.template for one in placed]
            remaining = [t for t in range(n_templates) if t not in chosen]

            def try_all(
                chosen: list[int] = chosen, remaining: list[int] = remaining
            ) -> list[tuple[int, float]]:
                return list(
                    zip(
                        remaining,
                        run(threads, accuracy, [[*chosen, t] for t in remaining]),
                        strict=True,
                    )
                )

            def try_promising(
                chosen: list[int] = chosen,
                remaining: list[int] = remaining,
                before: float = before,
            ) -> list[tuple[int, float]]:
                by_hope = sorted(remaining, key=lambda t: (-worth(gains[t], t), t))
                tried: list[tuple[int, float]] = []
                best = -math.inf
                while by_hope and worth(gains[by_hope[0]], by_hope[0]) > best:
                    # Always the same group, so that threads do not matter.
                    group, by_hope = by_hope[:GROUP], by_hope[GROUP:]
                    found = run(threads, accuracy, [[*chosen, t] for t in group])
                    tried += zip(group, found, strict=True)
                    best = max(worth(a - before, t) for t, a in tried)
                return sorted(tried)

            tried = journal.do(f"place {k}", try_promising if fast else try_all)
            for t, found in tried:
                gains[t] = found - before
            best, after = max(
                tried, key=lambda one: (worth(one[1] - before, one[0]), -one[0])
            )
            placed.append(Placed(best, after, f"accuracy {100 * after:.2f}"))
            before = after
        return placed

    return order


# How many templates the fast form of the wrapper tries at once.
GROUP = 2


def make_contribution(
    epochs: int = 3, dropout: float = 0.5, seed: int = 0, n_threads: int = 0
) -> OrderingMethod:
    """Train all templates once, then choose at each step the one whose contribution
    lowers the held-out log loss the most. The sum of a part of the templates is scaled
    up to the size of all: else those with large weights would come first, which are
    not those that are right.

    epochs (int): How often the training data are seen.
    dropout (float): How often each template is left out in training, so that none
        relies on all the others.
    seed (int): Which ones are.
    n_threads (int): See spacy_dynsel.order_wrapper.v1.
    """
    check_positive(epochs=epochs, n_threads=n_threads or 1)
    check_share(dropout=dropout)

    def order(decisions: Decisions, n_places: int, journal: Journal) -> list[Placed]:
        n_templates = len(decisions.templates)
        threads = n_threads or os.cpu_count() or 1
        # Training is a part of the first step: a template costs about as much there as
        # a candidate later.
        ratio = len(decisions.train) / len(decisions.held_out)
        training = 0.5 * epochs * n_templates * ratio
        journal.plan(
            {
                f"place {k}": n_templates - k + (0 if k else training)
                for k in range(n_places)
            }
        )
        held_out = decisions.held_out
        columns = list(range(n_templates))
        values: list[np.ndarray] = []
        sums = np.zeros((len(held_out), padded(decisions.n_labels)), dtype="float32")

        def train() -> None:
            if not values:
                values[:] = decisions.fit(
                    columns,
                    epochs=epochs,
                    log_loss=True,
                    drop=dropout,
                    seed=seed,
                )

        placed: list[Placed] = []
        n_added = 0
        for k in range(n_places):
            chosen = [one.template for one in placed]
            remaining = [t for t in columns if t not in chosen]

            def try_all(
                chosen: list[int] = chosen, remaining: list[int] = remaining
            ) -> list[tuple[int, float]]:
                nonlocal n_added
                train()
                for t in chosen[n_added:]:
                    add_scores(held_out.ids, t, values[t], sums)
                n_added = len(chosen)
                scale = n_templates / (n_added + 1)

                def loss(t: int) -> float:
                    return log_loss_with(
                        held_out.ids, held_out.costs, t, values[t], sums, scale
                    )

                return list(zip(remaining, run(threads, loss, remaining), strict=True))

            tried = journal.do(f"place {k}", try_all)
            best, after = min(tried, key=lambda one: (one[1], one[0]))
            placed.append(Placed(best, after, f"log loss {after:.4f}"))
        return placed

    return order


def make_gomp(
    epochs: int = 2,
    alpha: float | dict[str, float] = 0.375,
    regularized: bool = True,
    n_threads: int = 0,
) -> OrderingMethod:
    """Group orthogonal matching pursuit (Strubell et al. 2015, Appendix B).

    At each step, the template is chosen that explains most of the gradient of the
    training loss, and all chosen templates are trained anew.

    epochs (int): How often the training data are seen at each step.
    alpha (float or dict): The penalty of a template is the number of its features to
        this power (equation 4); a dict has one for some templates, by their text, and
        the rest have the one under "default", or 0.375.
    regularized (bool): False means no penalty (equation 3).
    n_threads (int): See spacy_dynsel.order_wrapper.v1.
    """
    check_positive(epochs=epochs, n_threads=n_threads or 1)

    def order(decisions: Decisions, n_places: int, journal: Journal) -> list[Placed]:
        n_templates = len(decisions.templates)
        threads = n_threads or os.cpu_count() or 1
        journal.plan(
            {
                f"place {k}": 3.0 * epochs * k + n_templates - k + 2
                for k in range(n_places)
            }
        )
        if isinstance(alpha, dict):
            known = {**alpha}
            default = known.pop("default", 0.375)
            for text in known:
                if text not in decisions.templates:
                    raise ValueError(Errors.DS131.format(template=text))
            alphas = [known.get(text, default) for text in decisions.templates]
        else:
            alphas = [alpha] * n_templates
        train = decisions.train
        placed: list[Placed] = []
        for k in range(n_places):
            chosen = [one.template for one in placed]
            remaining = [t for t in range(n_templates) if t not in chosen]

            def try_all(
                chosen: list[int] = chosen, remaining: list[int] = remaining
            ) -> list[tuple[int, float]]:
                scores = np.zeros((len(train), padded(decisions.n_labels)), "float32")
                if chosen:
                    values = decisions.fit(
                        chosen,
                        epochs=epochs,
                        log_loss=True,
                    )
                    for t, weights in zip(chosen, values, strict=True):
                        add_scores(train.ids, t, weights, scores)
                residuals = find_residuals(scores, train.costs)

                def explained(t: int) -> float:
                    size = decisions.sizes[t]
                    penalty = float(max(1, size)) ** alphas[t] if regularized else 0.0
                    return correlation(train.ids, t, size, residuals, penalty)

                return list(
                    zip(remaining, run(threads, explained, remaining), strict=True)
                )

            tried = journal.do(f"place {k}", try_all)
            best, score = max(tried, key=lambda one: (one[1], -one[0]))
            placed.append(Placed(best, score, f"explains {score:.1f}"))
        return placed

    return order


def make_lasso(
    weights: Literal["one", "log", "sqrt"] | dict[str, float] = "log",
    n_strengths: int = 40,
    ratio: float = 1e-4,
    gamma: float = 1.0,
    epochs: int = 2,
    n_threads: int = 0,
) -> OrderingMethod:
    """Group lasso along its regularization path (Strubell et al. 2015, 4.5.1; Martins
    et al. 2011): templates in the order in which they come in when the penalty on the
    norms of their weights is lowered.

    weights (str or dict): The weight of each template in the penalty: 1 ("one"), the
        logarithm to base 2 of the number of its features ("log", as in Martins et al.)
        or its square root ("sqrt"); or a dict with the weights of some templates, by
        their text, and 1 for the others.
    n_strengths (int): The number of penalties on the path.
    ratio (float): The smallest penalty, as a part of the smallest one that keeps all
        templates out.
    gamma (float): See fit_groups.
    epochs (int): How often the training data are seen for each penalty.
    n_threads (int): See spacy_dynsel.order_wrapper.v1.
    """
    check_positive(epochs=epochs, n_threads=n_threads or 1)
    check_positive(n_strengths=n_strengths, gamma=gamma, ratio=ratio)
    check_share(ratio=ratio)
    if isinstance(weights, dict):
        check_positive(**weights)

    def order(decisions: Decisions, n_places: int, journal: Journal) -> list[Placed]:
        n_templates = len(decisions.templates)
        threads = n_threads or os.cpu_count() or 1
        factors = _lasso_weights(decisions, weights)
        train = decisions.train
        journal.plan({f"strength {i}": 1.0 for i in range(n_strengths)})
        zeros = np.zeros((len(train), padded(decisions.n_labels)), dtype="float32")
        residuals = find_residuals(zeros, train.costs)
        start = max(
            _gradient_norm(decisions, t, residuals) / factors[t]
            for t in range(n_templates)
        )
        strengths = start * np.geomspace(1.0, ratio, n_strengths)

        def follow(strength: float) -> dict[str, list[float]]:
            norms, gradients = fit_groups(
                train.ids,
                train.costs,
                decisions.sizes,
                strength * factors,
                gamma=gamma,
                epochs=epochs,
            )
            return {"norms": norms.tolist(), "gradients": gradients.tolist()}

        entered: dict[int, tuple[int, float]] = {}
        last: dict[str, list[float]] = {}
        pairs = [
            list(range(i, min(i + threads, n_strengths)))
            for i in range(0, n_strengths, threads)
        ]
        for group in pairs:
            computed: dict[int, Any] = {}

            def result_of(
                i: int, group: list[int] = group, computed: dict[int, Any] = computed
            ) -> Any:
                if not computed:
                    missing = [j for j in group if j >= i]
                    found = run(threads, follow, [float(strengths[j]) for j in missing])
                    computed.update(zip(missing, found, strict=True))
                return computed[i]

            for i in group:
                last = journal.do(f"strength {i}", partial(result_of, i))
                for t, norm in enumerate(last["norms"]):
                    if norm > 0 and t not in entered:
                        entered[t] = (i, norm)
        in_order = sorted(
            entered, key=lambda t: (entered[t][0], -entered[t][1] / factors[t], t)
        )
        # What never came in is ordered by how close it was.
        outside = [t for t in range(n_templates) if t not in entered]
        outside.sort(key=lambda t: (-last["gradients"][t] / factors[t], t))
        placed = [
            Placed(
                t,
                float(strengths[entered[t][0]]),
                f"penalty {strengths[entered[t][0]]:.3g}",
            )
            for t in in_order
        ]
        placed += [Placed(t, 0.0, "never") for t in outside]
        return placed[:n_places]

    return order


def _lasso_weights(decisions: Decisions, weights: str | dict[str, float]) -> np.ndarray:
    sizes = np.maximum(2, np.array(decisions.sizes, dtype="float64"))
    if isinstance(weights, dict):
        for text in weights:
            if text not in decisions.templates:
                raise ValueError(Errors.DS131.format(template=text))
        return np.array([weights.get(text, 1.0) for text in decisions.templates])
    if weights == "log":
        return np.log2(sizes)
    return np.sqrt(sizes) if weights == "sqrt" else np.ones(len(sizes))


def _gradient_norm(decisions: Decisions, t: int, residuals: np.ndarray) -> float:
    """The norm of the mean gradient of a template's weights."""
    # A huge penalty leaves only the numerator of what the template explains.
    huge = 1e18
    train = decisions.train
    explained = correlation(train.ids, t, decisions.sizes[t], residuals, huge)
    return math.sqrt(explained * huge) / len(train)


def measure_times(decisions: Decisions) -> np.ndarray:
    """The nanoseconds that each template takes for a decision: to find the key of its
    feature, and to read and add up a row of weights."""
    rng = np.random.default_rng(0)
    held_out = decisions.held_out
    ids = held_out.ids[rng.permutation(len(held_out))]
    scores = np.zeros((len(ids), padded(decisions.n_labels)), dtype="float32")
    times = []
    for t, size in enumerate(decisions.sizes):
        values = np.ones((max(1, size), scores.shape[1]), dtype="float32")
        best = math.inf
        for _ in range(3):
            start = seconds()
            add_scores(ids, t, values, scores)
            best = min(best, seconds() - start)
        times.append(1e9 * best / len(ids))
    return decisions.nanoseconds + np.array(times)


def run(n_threads: int, work: Callable[[Any], T], items: Iterable[Any]) -> list[T]:
    """Do something with each of some items, several at a time."""
    with ThreadPoolExecutor(max_workers=n_threads) as pool:
        return list(pool.map(work, items))


def check_positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0 or math.isinf(value):
            raise ValueError(
                Errors.DS022.format(name=name, value=value, range="larger than 0")
            )


def check_share(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(
                Errors.DS022.format(
                    name=name, value=value, range="at least 0 and less than 1"
                )
            )
