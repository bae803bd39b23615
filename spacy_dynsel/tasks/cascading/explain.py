"""Why a word got its label: how close others came at each level."""

from collections.abc import Sequence

import numpy as np

from ..explanation import Explanation


def explain_words(
    labels: np.ndarray, gaps: list[np.ndarray], names: Sequence[str], n_templates: int
) -> list[Explanation]:
    """Explain words.

    labels (array): Their labels.
    gaps (list[array]): See Cascade.find_gaps.
    RETURNS (list[Explanation]): The lead is that of the last level, infinite if no other
        label was left there; the runner-up is the label that came closest at the last
        level with another one, which is the stage. The contributions are, by level, the
        max-marginals of the two, counted from the best path.
    """
    return [
        explain_word(label, [table[t] for table in gaps], names, n_templates)
        for t, label in enumerate(labels.tolist())
    ]


def explain_word(
    label: int, rows: list[np.ndarray], names: Sequence[str], n_templates: int
) -> Explanation:
    """Explain a word.

    rows (list[array]): For each level the gap of each label.
    """
    others = [row.copy() for row in rows]
    for row in others:
        row[label] = np.inf
    contested = [level for level, row in enumerate(others) if np.isfinite(row).any()]
    last = contested[-1] if contested else 0
    second = int(np.argmin(others[last])) if contested else -1
    return Explanation(
        label=names[label],
        lead=float(others[-1].min()),
        runner_up=names[second] if contested else "",
        stage=last + 1,
        n_templates=n_templates,
        contributions={
            f"level {level + 1}": (-float(row[label]), -float(row[second]))
            for level, row in enumerate(rows[: last + 1])
            if contested
        },
        n_labels=int(np.isfinite(rows[-1]).sum()),
    )
