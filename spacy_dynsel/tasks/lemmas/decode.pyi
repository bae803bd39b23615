from collections.abc import Iterator
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ...core.forms.cached import CachedScorer
from ...spacy_io.lexemes import LexemeReader
from .cache import LemmaCache
from .known import KnownLemmas
from .script_set import ScriptSet
from .tables import Tables

class LemmaBatch:
    labels: np.ndarray
    lemmas: np.ndarray
    ends: np.ndarray
    stage_counts: np.ndarray
    leads: Any
    stages: Any
    made_by: Any

    def __init__(
        self,
        labels: np.ndarray,
        lemmas: np.ndarray,
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
    cache: LemmaCache,
    reader: LexemeReader,
    scorer: CachedScorer,
    scripts: ScriptSet,
    tables: Tables | None,
    known: KnownLemmas,
    known_lead: int,
    reads_pos: bool,
    n_threads: int,
    with_leads: bool = False,
) -> LemmaBatch: ...
