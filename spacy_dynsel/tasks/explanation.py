"""Why a decision was made: what each template has said."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.templates import Templates
from ..core.leads import NEVER


class Explanation(NamedTuple):
    """Why a token got its label.

    label (str): The label.
    lead (float): Its lead over the runner-up when the decision was made.
    runner_up (str): The second-best label, empty if there is only one label.
    stage (int): The stage in which the decision was made, from 1.
    n_templates (int): The number of templates that were read.
    contributions (dict): For each of them what it added to the label and to the
        runner-up; under "one & other" what an induced pair of features added; under
        "bias", what was added to labels whatever the token; under "first pass", what
        another model found that has read the token before; under "known lemma", what a
        script got in the end because training data have the lemma that it makes.
    n_labels (int): The number of labels that were left for the last stage.
    """

    label: str
    lead: float
    runner_up: str
    stage: int
    n_templates: int
    contributions: dict[str, tuple[float, float]]
    n_labels: int = 0


class Explainer:
    """Explains the decisions of a classifier.

    templates (Templates): The templates of the classifier.
    scorer (CachedScorer): Its compiled weights.
    margins (list[int]): The margin of each stage but the last.
    outputs (Sequence[str]): The names of the labels.
    n_candidates (int): With how many labels at most a decision leaves the first stage;
        0 if no stage rules any out.
    """

    def __init__(
        self,
        templates: Templates,
        scorer: Any,
        margins: list[int],
        outputs: Sequence[str],
        n_candidates: int = 0,
    ) -> None:
        self.n_candidates = n_candidates
        self.names = [str(template) for template in templates.templates]
        self.checkpoints = templates.checkpoints
        self.scorer = scorer
        self.margins = [*margins, 0]
        self.outputs = outputs

    def __call__(
        self,
        parts: np.ndarray,
        label: int,
        valid: np.ndarray | None = None,
        given: dict[str, np.ndarray] | None = None,
        pairs: Sequence[tuple[int, int, np.ndarray]] = (),
        preference: tuple[str, int] = ("", 0),
    ) -> Explanation:
        """Say how one decision was made.

        parts (array): What each template adds to each output, as integers.
        label (int): The decision.
        valid (array): Which outputs were possible; all, if not given.
        given (dict): What else was added to each output before the first stage.
        pairs (Sequence): The ranks of the templates of induced pairs, and what each pair
            adds to each output.
        preference (tuple): What was added to the label in the end, if others were ahead
            until then, and how much.
        """
        scorer, outputs = self.scorer, self.outputs
        given = dict(given or {})
        if scorer.bias is not None:
            given["bias"] = scorer.bias
        choices = np.arange(len(outputs)) if valid is None else np.flatnonzero(valid)
        all_parts = parts.astype("int32")
        for _, later, row in pairs:
            all_parts[later] += row[: len(outputs)]
        sums = all_parts.cumsum(axis=0)
        for row in given.values():
            sums += row[: len(outputs)]
        for stage, end in enumerate(self.checkpoints):
            scores = sums[end - 1]
            ranked = choices[np.argsort(-scores[choices], kind="stable")]
            second = int(ranked[1]) if len(ranked) > 1 else -1
            lead = int(scores[ranked[0]] - scores[second]) if second >= 0 else 0
            n_labels = len(choices)
            if second < 0 or NEVER > self.margins[stage] <= lead:
                break
            if self.n_candidates:
                choices = self._keep(ranked, scores, stage)
        late = {}
        name, added = preference
        if added and label != ranked[0]:
            late[name] = np.where(np.arange(len(outputs)) == label, added, 0)
            second = int(ranked[0])
            lead = int(scores[label] + added - scores[second])
        contributions = {self.names[t]: parts[t] for t in range(end)}
        for earlier, later, row in pairs:
            if later < end:
                contributions[f"{self.names[earlier]} & {self.names[later]}"] = row
        contributions.update(given)
        contributions.update(late)
        return Explanation(
            label=outputs[label],
            lead=lead / scorer.scale,
            runner_up=outputs[second] if second >= 0 else "",
            stage=stage + 1,
            n_templates=end,
            contributions={
                name: (
                    float(row[label] / scorer.scale),
                    float(row[second] / scorer.scale) if second >= 0 else 0.0,
                )
                for name, row in contributions.items()
            },
            n_labels=n_labels,
        )

    def _keep(self, ranked: np.ndarray, scores: np.ndarray, stage: int) -> np.ndarray:
        """The labels that go on after a stage, in their order.

        ranked (array): Those that it scored, the best first.
        """
        margin = self.margins[stage]
        if margin >= NEVER:
            return np.sort(ranked)
        close = ranked[scores[ranked] > scores[ranked[0]] - margin]
        if stage == 0:
            close = close[: self.n_candidates]
        return np.sort(close)
