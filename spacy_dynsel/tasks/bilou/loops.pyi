from collections.abc import Iterator
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ...core.forms.cached import CachedScorer
from ...core.learner import Learner
from ...core.lexicon import Lexicon
from ...spacy_io.bridge import LexemeReader
from .gazetteer import Gazetteer

REACH: int
MISSING: int
NO_DECISION: int
N_CASE_SETS: int
COLUMNS: list[str]
NAMED_PLACES: list[str]

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

class Task:
    def __init__(
        self,
        types: np.ndarray,
        backwards: bool,
        lexical: list[str],
        remembers: bool,
        n_dynamic: int,
        keeps: bool,
        gazetteer: Gazetteer | None,
    ) -> None: ...

class Readings:
    n_tokens: int

    def __init__(
        self,
        docs: list[Doc],
        starts: np.ndarray | None,
        task: Task,
        lexicon: Lexicon,
        reader: LexemeReader,
    ) -> None: ...

class TrainingBatch(Readings):
    def __init__(
        self,
        docs: list[Doc],
        starts: np.ndarray | None,
        task: Task,
        lexicon: Lexicon,
        reader: LexemeReader,
        gold: np.ndarray,
        negatives: np.ndarray,
    ) -> None: ...
    def count(self, learner: Learner) -> None: ...
    def update(
        self, learner: Learner, drop: float, predicted_history: float
    ) -> float: ...

class Guessing(Readings):
    def guess(self, learner: Learner) -> np.ndarray: ...

class Explaining(Readings):
    def explain(
        self,
        scorer: CachedScorer,
        actions: np.ndarray,
        first: EntityBatch | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]: ...

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
