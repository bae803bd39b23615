from spacy.tokens import Doc

from ...core.forms.factored import FactoredScorer
from ...core.lexicon import Lexicon
from ...spacy_io.lexemes import LexemeReader
from ..labelling.batch import LabelBatch
from ..labelling.history import History

def predict(
    docs: list[Doc],
    lexicon: Lexicon,
    reader: LexemeReader,
    scorer: FactoredScorer,
    margins: list[int],
    n_threads: int,
    with_leads: bool = False,
    with_guesses: bool = False,
    *,
    history: History,
) -> LabelBatch: ...
