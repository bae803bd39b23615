"""Structured boosting (Wang, Lin and Schuurmans 2007): links are learned by themselves, trees
are made of them, and links that these get wrong have more weight when they are learned
again."""

from typing import Any, NamedTuple

import numpy as np

from ...core.link_learner import LinkLearner
from ..arc_eager.gold import GoldParse, gold_starts
from ..folds import get_number
from .settings import LinkSettings

UNKNOWN = -2
# A round of AdaBoost that is wrong more often than this would count for nothing.
LARGEST_ERROR = 0.49
SMALLEST_ERROR = 1e-4
ROUND_STEP = 7919


class Raised(NamedTuple):
    """Links of a doc that have a weight of their own.

    links (array): The indices of a word and of its head, -1 for the root, in order.
    weights (array): Their weights.
    """

    links: np.ndarray
    weights: np.ndarray


NOTHING = Raised(np.zeros((0, 2), "int64"), np.zeros(0, "float64"))


class Boosting:
    """The data of boosting, and how far it is.

    settings (LinkSettings): How to learn.
    seed (int): Of the order in which sentences are seen.
    """

    def __init__(self, settings: LinkSettings, seed: int) -> None:
        self.settings = settings
        self.seed = seed
        self.lessons: dict[int, GoldParse] = {}
        self.raised: dict[int, Raised] = {}
        # The weight of all other links.
        self.base = 1.0
        self.n_rounds = 0
        # What all rounds have learned, and how much each counts, if all of them do.
        self.members: list[tuple[float, LinkLearner]] = []
        # Whether there is nothing more to learn.
        self.is_current = True
        # How many words have wrong heads in the trees of the last round.
        self.n_wrong = 0

    def copy(self) -> "Boosting":
        other = Boosting(self.settings, self.seed)
        other.__dict__.update(self.__dict__)
        other.lessons, other.raised = dict(self.lessons), dict(self.raised)
        return other

    def gather(self, batch: list[GoldParse]) -> None:
        """Keep what there is to learn from. A doc takes the place of an earlier one of the
        same text."""
        for gold in batch:
            self.lessons[get_number(gold.doc)] = gold
        self.is_current = self.n_rounds > self.settings.rounds

    def learn_round(
        self, make_examples: Any, model: Any, filter_learner: LinkLearner
    ) -> LinkLearner:
        """Learn the next round.

        make_examples (Callable): Makes PairExamples of golds and the starts of sentences.
        RETURNS (LinkLearner): The weights that count from now on.
        """
        golds = list(self.lessons.values())
        examples = make_examples(golds, gold_starts(golds))
        settings = self.settings
        learner = LinkLearner(settings.eta, settings.delta, settings.l1)
        examples.fit_pairs(
            model,
            filter_learner,
            learner,
            settings.passes,
            *self._join(golds),
            self.base,
            (self.seed + ROUND_STEP * self.n_rounds + 1) % 2**32,
        )
        vote = self._raise(*examples.find_heads(model, filter_learner, learner))
        self.n_rounds += 1
        self.is_current = True
        if settings.booster == "additive":
            return learner
        self.members = [*self.members, (vote, learner)]
        return add_weights(self.members)

    def _raise(self, found: np.ndarray, gold: np.ndarray, n_links: int) -> float:
        """Give more weight to the links that trees have and should not have, or should have
        and have not.

        found (array), gold (array), n_links (int): See PairExamples.find_heads.
        RETURNS (float): How much the trees count, by AdaBoost.M1.
        """
        golds = list(self.lessons.values())
        offsets = np.cumsum([0, *(len(one.doc) for one in golds)])
        is_wrong = (gold != UNKNOWN) & (found != gold)
        self.n_wrong = int(is_wrong.sum())
        words = np.flatnonzero(is_wrong)
        error = min(
            LARGEST_ERROR, max(SMALLEST_ERROR, 2 * len(words) / max(1, n_links))
        )
        factor = (1 - error) / error
        for place, number in enumerate(self.lessons):
            start, end = offsets[place : place + 2]
            own = words[slice(*np.searchsorted(words, (start, end)))]
            if not len(own):
                continue
            pairs = np.concatenate(
                [
                    np.stack(
                        [own - start, one[own] - np.where(one[own] < 0, 0, start)], 1
                    )
                    for one in (found, gold)
                ]
            )
            before = {
                tuple(link): weight
                for link, weight in zip(
                    *(part.tolist() for part in self.raised.get(number, NOTHING)),
                    strict=True,
                )
            }
            for link in map(tuple, pairs.tolist()):
                old = before.get(link, self.base)
                if self.settings.booster == "additive":
                    before[link] = old + self.settings.raise_by
                else:
                    before[link] = old * factor
            ordered = sorted(before.items())
            self.raised[number] = Raised(
                np.array([link for link, _ in ordered], dtype="int64"),
                np.array([weight for _, weight in ordered]),
            )
        if self.settings.booster == "adaboost":
            # The mean of all weights stays 1.
            total = sum(float(one.weights.sum()) for one in self.raised.values())
            n_raised = sum(len(one.weights) for one in self.raised.values())
            scale = n_links / (total + self.base * max(0, n_links - n_raised))
            self.base *= scale
            self.raised = {
                number: Raised(one.links, one.weights * scale)
                for number, one in self.raised.items()
            }
        return float(np.log(factor))

    def _join(self, golds: list[GoldParse]) -> tuple[np.ndarray, np.ndarray]:
        """All links that have a weight of their own, see PairExamples.fit_pairs."""
        links, weights = [np.zeros(0, "uint64")], [np.zeros(0, "float32")]
        start = 0
        for number, gold in zip(self.lessons, golds, strict=True):
            own = self.raised.get(number)
            if own is not None:
                children = (own.links[:, 0] + start).astype("uint64")
                heads = np.where(own.links[:, 1] < 0, 0, own.links[:, 1] + start + 1)
                links.append(children << np.uint64(32) | heads.astype("uint64"))
                weights.append(own.weights.astype("float32"))
            start += len(gold.doc)
        keys, values = np.concatenate(links), np.concatenate(weights)
        order = np.argsort(keys, kind="stable")
        return keys[order], values[order]


def add_weights(learners: list[tuple[float, LinkLearner]]) -> LinkLearner:
    """The weights of several rounds as those of one: each has its share in the votes."""
    total = sum(vote for vote, _ in learners)
    keys = [learner.get_weights()[0] for _, learner in learners]
    values = [vote / total * learner.get_weights()[1] for vote, learner in learners]
    unique, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    sums = np.bincount(inverse, np.concatenate(values), minlength=len(unique))
    joint = LinkLearner(1.0, 1.0)
    joint.correct_from(unique.astype("uint32"), sums.astype("float32"))
    return joint
