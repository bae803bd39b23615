from collections.abc import Iterator
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ...core.forms.cached import CachedScorer
from ...core.lexicon import Lexicon
from ...spacy_io.lexemes import LexemeReader
from .task import Task

NO_DECISION: int

class EntityBatch:
    actions: np.ndarray
    ends: np.ndarray
    stage_counts: np.ndarray
    has_kept: bool
    support: np.ndarray | None
    leads: Any
    stages: Any
    made_by: Any

    def __init__(
        self,
        actions: np.ndarray,
        ends: np.ndarray,
        stage_counts: np.ndarray,
        has_kept: bool,
        support: np.ndarray | None = None,
        leads: np.ndarray | None = None,
        stages: np.ndarray | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, i: int) -> np.ndarray: ...
    def __iter__(self) -> Iterator[np.ndarray]: ...

def predict(
    docs: list[Doc],
    task: Task,
    lexicon: Lexicon,
    reader: LexemeReader,
    scorer: CachedScorer,
    margins: list[int],
    n_threads: int,
    first: EntityBatch | None = None,
    support_for_lead: float = 0.0,
    max_support: int = 0,
    with_leads: bool = False,
) -> EntityBatch: ...
