"""The command that turns induced pairs into templates."""

from itertools import pairwise

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin

from helpers.cli import overrides
from helpers.paths import CONFIGS
from spacy_dynsel.base.templates import read_templates
from spacy_dynsel.cli.induce import induce

LINES = ["word", "---", "lower[-1]"]


@pytest.fixture
def corpus(tmp_path):
    """The tag says whether a word is like the one before."""
    vocab, random = spacy.blank("en").vocab, np.random.default_rng(0)
    docs = DocBin()
    for _ in range(120):
        bits = random.integers(0, 2, 8).tolist()
        tags = [
            "START",
            *("DIFFERENT" if a != b else "SAME" for a, b in pairwise(bits)),
        ]
        docs.add(Doc(vocab, words=["xy"[bit] for bit in bits], tags=tags))
    docs.to_disk(tmp_path / "train.spacy")
    return tmp_path / "train.spacy"


def test_conjunctions_become_templates(corpus, tmp_path):
    output = tmp_path / "out.txt"
    settings = overrides(corpus, templates=LINES)
    found = induce(CONFIGS / "tagger.cfg", output, overrides=settings)
    assert str(found[0].template) == "lower[-1] word"
    assert found[0].gain > 10
    templates = read_templates(output)
    lines = [str(one) for one in templates.templates]
    assert lines == ["word", "lower[-1]", "lower[-1] word"]
    assert templates.checkpoints == (1, 3)
    first = output.read_bytes()
    induce(CONFIGS / "tagger.cfg", output, overrides=settings)
    assert output.read_bytes() == first
    # What the list has already is not found again.
    settings = overrides(corpus, templates=[*LINES, "lower[-1] word"])
    with pytest.raises(ValueError, match="DS282"):
        induce(CONFIGS / "tagger.cfg", tmp_path / "other.txt", overrides=settings)
    assert not (tmp_path / "other.txt").exists()


def test_parsers_can_not(corpus, tmp_path):
    with pytest.raises(ValueError, match="DS280"):
        induce(
            CONFIGS / "parser.cfg",
            tmp_path / "out.txt",
            name="parser",
            overrides={"paths.train": str(corpus)},
        )
