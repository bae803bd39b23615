from collections.abc import Sequence
from typing import Any

import numpy as np

from ..label_parts import LabelParts
from ..program import Program
from .cached import CachedScorer
from .word_scorer import WordScorer

N_CANDIDATES: int

class FactoredScorer(WordScorer):
    parts: LabelParts
    context: CachedScorer

    def __init__(
        self,
        program: Program,
        parts: LabelParts,
        index: np.ndarray,
        slots: np.ndarray,
        has_wholes: Sequence[bool],
        seen: Any,
        scale: float,
        cardinalities: dict[str, int],
        pairs: np.ndarray | None = None,
    ) -> None: ...
    def find_seen(self, orth: int) -> np.ndarray | None: ...
