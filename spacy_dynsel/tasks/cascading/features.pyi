import numpy as np
from spacy.tokens import Doc

from ...core.lexicon import Lexicon
from ...core.program import Program
from ...spacy_io.lexemes import LexemeReader

class WordFeatures:
    def __init__(
        self, docs: list[Doc], lexicon: Lexicon, reader: LexemeReader
    ) -> None: ...
    def find_keys(self, program: Program, ranges: np.ndarray) -> np.ndarray: ...
