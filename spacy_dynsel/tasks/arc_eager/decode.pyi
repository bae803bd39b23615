from typing import Any

from spacy.tokens import Doc

from ...core.forms.line_table import ShortLineTable
from ...core.forms.slots import NarrowScorer, WideScorer
from ...core.lexicon import Lexicon
from ...spacy_io.lexemes import LexemeReader
from .batch import ParseBatch
from .features import Features, RankFeatures, TagMap
from .rules import Rules

ROOT: int
SPACE: int

def parse(
    docs: list[Doc],
    lexicon: Lexicon,
    reader: LexemeReader,
    tags: TagMap,
    features: tuple[Features, Features, Features],
    actions: NarrowScorer,
    labels: WideScorer,
    boundaries: NarrowScorer | None,
    margins: tuple[list[int], list[int], list[int]],
    n_threads: int,
    n_branches: int = 0,
    branch_lead: float = 0.0,
    rank_features: RankFeatures | None = None,
    ranks: ShortLineTable | None = None,
    trace: list[Any] | None = None,
    with_leads: bool = False,
    split_blank_lines: bool = False,
    rules: Rules | None = None,
) -> ParseBatch: ...
