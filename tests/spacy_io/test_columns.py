"""Columns of many Docs against those that each Doc gives of itself."""

import numpy as np
import pytest
from spacy.attrs import IDX, LIKE_NUM, ORTH, TAG
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_dynsel.spacy_io.annotations import COLUMNS, read_columns


def test_columns_are_those_of_docs():
    vocab = Vocab()
    words = ["She", "hits", ",", " ", "New", "York"]
    annotated = Doc(
        vocab,
        words=words,
        spaces=[True, False, True, False, True, False],
        tags=["PRP", "VBZ", "", "_SP", "NNP", "NNP"],
        pos=["PRON", "VERB", "X", "SPACE", "PROPN", "PROPN"],
        morphs=["Case=Nom", "", "", "", "Number=Sing", ""],
        lemmas=["she", "hit", "", " ", "New", "York"],
        heads=[1, 1, 1, 2, 5, 5],
        deps=["nsubj", "ROOT", "dep", "dep", "compound", "ROOT"],
        ents=["O", "", "O", "O", "B-GPE", "I-GPE"],
    )
    docs = [Doc(vocab), annotated, Doc(vocab, words=["a"]), Doc(vocab), annotated]
    attributes = sorted(COLUMNS)
    found = read_columns(docs, attributes)
    assert found.dtype == "uint64"
    expected = np.concatenate([doc.to_array(attributes) for doc in docs])
    assert np.array_equal(found, expected.T)
    assert len(np.unique(found, axis=0)) > 9
    assert read_columns(docs, [TAG]).shape == (1, 13)
    assert read_columns([], [TAG, IDX]).shape == (2, 0)
    assert read_columns(docs, []).shape == (0, 13)


@pytest.mark.parametrize("attribute", [ORTH, LIKE_NUM, -1])
def test_others_are_refused(attribute):
    with pytest.raises(ValueError, match="DS216"):
        read_columns([], [attribute])
