"""The thresholds of a cascade that a promise is made about, from the command line."""

import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from helpers.cascade_tagger import train_cascade
from helpers.tagger import SENTENCES, make_example
from spacy_dynsel.cli.calibrate import calibrate


@pytest.fixture
def paths(tmp_path):
    nlp = spacy.blank("en")
    examples = [make_example(nlp, *sentence) for sentence in SENTENCES]
    train_cascade(nlp, examples)
    nlp.to_disk(tmp_path / "model")
    DocBin(docs=[example.reference for example in examples]).to_disk(
        tmp_path / "data.spacy"
    )
    return tmp_path / "model", tmp_path / "data.spacy"


def test_thresholds_are_written(paths):
    result = calibrate(*paths, max_loss=50, confidence=0.9)
    tagger = spacy.load(paths[0]).get_pipe("dynsel_tagger")
    assert tagger.alpha == pytest.approx(result["alpha"], abs=1e-12)
    assert len(result["alpha"]) == 2
    assert 0 <= result["loss"] <= result["bound"] <= 50
    assert result["units"] == len(SENTENCES)
    meta = srsly.read_json(paths[0] / "meta.json")["dynsel"]["dynsel_tagger"]
    assert meta["alpha"] == pytest.approx(result["alpha"], abs=1e-12)
    assert meta["promise"] == {"max_loss": 50, "confidence": 0.9}


def test_a_dry_run_writes_nothing(paths):
    before = (paths[0] / "dynsel_tagger" / "cfg").read_bytes()
    calibrate(*paths, max_loss=50, confidence=0.9, dry_run=True)
    assert (paths[0] / "dynsel_tagger" / "cfg").read_bytes() == before


def test_too_few_sentences_for_a_promise(paths):
    before = (paths[0] / "dynsel_tagger" / "cfg").read_bytes()
    with pytest.raises(ValueError, match="DS246"):
        calibrate(*paths, max_loss=1.0)
    assert (paths[0] / "dynsel_tagger" / "cfg").read_bytes() == before
