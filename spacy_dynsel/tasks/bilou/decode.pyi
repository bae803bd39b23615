from spacy.tokens import Doc

from ...core.forms.cached import CachedScorer
from ...core.lexicon import Lexicon
from ...spacy_io.lexemes import LexemeReader
from .batch import EntityBatch
from .task import Task

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
