"""How trees were found among all that links make."""

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arc_eager.batch import ParseBatch
from ..arc_eager.constraints import FREE
from ..arc_eager.decode import ROOT, SPACE


class LinkExplanation(NamedTuple):
    """How a token got its place.

    head (int): Its head, itself for a root.
    label (str): Its label.
    probability (float): That of its link, among all trees.
    label_lead (float): The lead of its label over the runner-up.
    """

    head: int
    label: str
    probability: float
    label_lead: float


def explain_links(batch: ParseBatch, labels: Sequence[str]) -> list[LinkExplanation]:
    """Say for each token of a doc how sure its link is.

    batch (ParseBatch): The tree, with leads.
    labels (Sequence[str]): The names of the labels.
    """
    names = {ROOT: "ROOT", SPACE: "dep", **dict(enumerate(labels))}
    chances = 1 / (1 + np.exp(-np.clip(batch.leads[:, 0].astype("float64"), -50, 50)))
    return [
        LinkExplanation(
            head=int(batch.heads[i]),
            label=names[int(batch.labels[i])],
            probability=float(chances[i]),
            label_lead=float(batch.leads[i, 1]),
        )
        for i in range(len(batch.heads))
    ]


def combine_trees(trees: Sequence[Any], n_tokens: int, k: int) -> list[np.ndarray]:
    """The best combinations of the trees of some sentences, from the best on.

    trees (Sequence): For each sentence the tokens that are its words, the heads of its best
        trees, -1 for roots, and their scores.
    n_tokens (int): The number of tokens of the doc.
    RETURNS (list[array]): For each combination the heads of all tokens; -1 for white space.
    """
    # The scores of combinations of the sentences so far, and which tree each has.
    best: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    for _, _, scores in trees:
        ways = (
            (before - int(score), (*chosen, number))
            for before, chosen in best
            for number, score in enumerate(scores[:k].tolist())
        )
        best = heapq.nsmallest(k, ways)
    found = []
    for _, chosen in best:
        heads = np.full(n_tokens, FREE, dtype="int32")
        for (words, options, _), number in zip(trees, chosen, strict=True):
            own = options[number]
            heads[words] = np.where(own == -1, words, words[own])
        found.append(heads)
    return found
