from spacy.tokens import Doc

from ...core.forms.cached import CachedScorer
from ...core.lexicon import Lexicon
from ...spacy_io.lexemes import LexemeReader
from ..labelling.batch import LabelBatch

def predict(
    docs: list[Doc],
    lexicon: Lexicon,
    reader: LexemeReader,
    scorer: CachedScorer,
    margins: list[int],
    n_threads: int,
    with_leads: bool = False,
    with_guesses: bool = False,
) -> LabelBatch: ...
