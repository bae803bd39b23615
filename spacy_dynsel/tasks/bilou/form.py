"""The compiled weights of an entity recognizer."""

import warnings
from typing import Any

import numpy as np

from ...base.warnings import Warnings
from ...core.forms.packing import MAX_WEIGHT, find_labels
from ...core.forms.word_scorer import WordScorer
from ...core.program import Program
from ..classifier import CachedForm

MAX_SCORE = (1 << 15) - 1
# The score of beginning an entity of a type that nothing was learned about.
NEVER = -32767


class BiasedForm(CachedForm):
    """Scores with a bias on O, and types that can't win before they were learned."""

    @staticmethod
    def make(
        program: Program,
        n_labels: int,
        packed: dict[str, np.ndarray],
        scale: float,
        **options: Any,
    ) -> WordScorer:
        o_bias = options.pop("o_bias")
        n_templates = len(program.templates.templates)
        room = get_room(n_templates)
        scaled = int(np.clip(np.rint(o_bias * scale), -room, room))
        # With fewer templates, what there is room for outweighs all of them.
        if abs(o_bias * scale) > room and room < MAX_WEIGHT * n_templates:
            warnings.warn(
                Warnings.DW102.format(
                    bias=o_bias, used=scaled / scale, n_templates=n_templates
                ),
                stacklevel=2,
            )
        bias = {0: scaled}
        # A type without weights must not win where all others have lost.
        learned = {(i - 1) // 4 for i in find_labels(packed["slots"], n_labels)}
        for number in set(range(n_labels // 4)) - learned:
            bias.update({1 + 4 * number + kind: NEVER for kind in range(4)})
        return CachedForm.make(program, n_labels, packed, scale, bias=bias, **options)


def get_room(n_templates: int) -> int:
    """What the bias, or a first pass, may add to a score. Weights that are small, or
    none, are scaled up by far: no sum may overflow."""
    return (MAX_SCORE - MAX_WEIGHT * n_templates) // 2
