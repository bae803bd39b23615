"""What training data say about lemmas."""

from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc

from ...spacy_io.lemmas import read_pos_and_morphs
from ...spacy_io.tokens import find_words


class GoldLemmas(NamedTuple):
    """The words of a doc, with what is known about their lemmas. White space is none.

    doc (Doc): The doc.
    words (array): Which tokens are words.
    lemmas (list[str]): For each word its lemma, None where it is not known.
    pos (array): For each word its token.pos.
    morphs (array): For each word the string ID of its token.morph, 0 for no features.
    """

    doc: Doc
    words: np.ndarray
    lemmas: list[str | None]
    pos: np.ndarray
    morphs: np.ndarray

    @property
    def is_known(self) -> bool:
        """Whether there is anything to learn."""
        return any(lemma is not None for lemma in self.lemmas)


def without_lemmas(doc: Doc) -> GoldLemmas:
    """A doc that is to be lemmatized."""
    words = find_words(doc)
    pos, morphs = read_pos_and_morphs(doc)
    return GoldLemmas(doc, words, [None] * len(words), pos[words], morphs[words])
