from typing import Any

from spacy.tokens import Doc

from ...core.forms.line_table import ShortLineTable
from ...core.forms.slots import NarrowScorer, WideScorer
from ...core.lexicon import Lexicon
from ...spacy_io.lexemes import LexemeReader
from ..arc_eager.features import TagMap
from ..arc_eager.rules import Rules
from .model import LinkModel

def parse_by_links(
    docs: list[Doc],
    lexicon: Lexicon,
    reader: LexemeReader,
    tags: TagMap,
    model: LinkModel,
    filter_lines: ShortLineTable,
    lines: ShortLineTable,
    alpha: float,
    features: tuple[Any, ...],
    labels: WideScorer,
    boundaries: NarrowScorer,
    margins: tuple[Any, ...],
    n_threads: int,
    with_leads: bool = False,
    split_blank_lines: bool = False,
    rules: Rules | None = None,
    k: int = 0,
) -> Any: ...
