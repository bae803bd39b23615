from collections.abc import Iterator
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ...core.forms.cached import CachedScorer
from ...core.lexicon import Lexicon
from ...spacy_io.lexemes import LexemeReader

REACH: int

class TagBatch:
    labels: np.ndarray
    ends: np.ndarray
    stage_counts: np.ndarray
    leads: Any
    stages: Any
    made_by: Any

    def __init__(
        self,
        labels: np.ndarray,
        ends: np.ndarray,
        stage_counts: np.ndarray,
        leads: np.ndarray | None = None,
        stages: np.ndarray | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, i: int) -> np.ndarray: ...
    def __iter__(self) -> Iterator[np.ndarray]: ...

def predict(
    docs: list[Doc],
    lexicon: Lexicon,
    reader: LexemeReader,
    scorer: CachedScorer,
    margins: list[int],
    n_threads: int,
    with_leads: bool = False,
) -> TagBatch: ...
