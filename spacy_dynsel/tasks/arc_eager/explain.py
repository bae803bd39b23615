"""How trees were found: the transitions, and what a reranker changed."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .batch import ParseBatch
from .decode import ROOT, SPACE
from .places import ACTIONS


class Transition(NamedTuple):
    """A decision of the parser.

    action (str): What it did with N0 and S0, see arc_eager.pxd.
    label (str): The label of the arc that it made, if any.
    top (int): S0, the token on top of the stack.
    lead (float): The lead over the runner-up when the decision was made.
    runner_up (str): The second-best action that was possible.
    stage (int): The stage in which the decision was made, from 1.
    n_templates (int): The number of templates that were read for it.
    n_label_templates (int): The number that were read for the label.
    """

    action: str
    label: str
    top: int
    lead: float
    runner_up: str
    stage: int
    n_templates: int
    n_label_templates: int


class ParseExplanation(NamedTuple):
    """How a token got its place.

    head (int): Its head, itself for a root.
    label (str): Its label.
    transitions (list[Transition]): What the parser did while the token was N0, the
        first in the buffer. Nothing has to be decided at the first one of a sentence.
    weakest_lead (float): The smallest lead among them; infinite if there are none.
    reranked (bool): Whether another tree was chosen, in which its arc differs from
        what the transitions say.
    """

    head: int
    label: str
    transitions: list[Transition]
    weakest_lead: float
    reranked: bool


def explain_trees(
    batch: ParseBatch,
    trace: Iterable[Any],
    labels: Sequence[str],
    scale: float,
    action_ends: Sequence[int],
    label_ends: Sequence[int],
) -> list[ParseExplanation]:
    """Say for each token of a doc how it was parsed.

    trace (Iterable): The decisions of each sentence, and the tokens whose arcs the
        reranker changed, see parse.
    labels (Sequence[str]): The names of the labels.
    scale (float): That of the leads of transitions.
    action_ends (Sequence[int]), label_ends (Sequence[int]): After how many templates
        there are checkpoints.
    """
    transitions: list[list[Transition]] = [[] for _ in batch.heads]
    reranked: set[int] = set()
    for decisions, changed in trace:
        reranked.update(changed)
        for decision in decisions:
            has_label = decision["label_stage"] >= 0
            transitions[decision["front"]].append(
                Transition(
                    action=ACTIONS[decision["action"]],
                    label=labels[decision["label"]] if has_label else "",
                    top=decision["top"],
                    lead=decision["lead"] / scale,
                    runner_up=ACTIONS[decision["second"]],
                    stage=decision["stage"] + 1,
                    n_templates=action_ends[decision["stage"]],
                    n_label_templates=(
                        label_ends[decision["label_stage"]] if has_label else 0
                    ),
                )
            )
    names = {ROOT: "ROOT", SPACE: "dep", **dict(enumerate(labels))}
    return [
        ParseExplanation(
            head=int(batch.heads[i]),
            label=names[int(batch.labels[i])],
            transitions=own,
            weakest_lead=min((one.lead for one in own), default=float("inf")),
            reranked=i in reranked,
        )
        for i, own in enumerate(transitions)
    ]
