"""Whether a spaCy with other structs than those of the build is refused."""

import pytest
from spacy.strings import StringStore
from spacy.vocab import Vocab

from spacy_dynsel.spacy_io import layout
from spacy_dynsel.tokenizer import cached as cached_tokenizer


class ShiftedStrings(StringStore):
    def __getitem__(self, key):
        return super().__getitem__(key) + 1


class ShiftedVocab(Vocab):
    """Says of its words what is not where the extensions read."""

    @property
    def strings(self):
        return ShiftedStrings(["layout", "VERB", "W", "Y", "Z"])


def test_this_spacy_is_read_correctly():
    layout._check_layout()
    cached_tokenizer._check_layout()


def test_another_layout_is_refused(monkeypatch):
    monkeypatch.setattr(layout, "Vocab", ShiftedVocab)
    with pytest.raises(ImportError, match=r"DS061.*LexemeC\.orth"):
        layout._check_layout()
