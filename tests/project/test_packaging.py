"""What a package of a pipeline says about itself."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.cli.package import package
from spacy.cli.train import train

from helpers.cli import QUICK, SMALL, write_corpus
from helpers.paths import CONFIGS, PYTHONPATH
from spacy_dynsel.about import __version__
from spacy_dynsel.cli.calibrate import calibrate


# spaCy leaves it to the garbage collector to close what it writes.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
def test_package(tmp_path):
    paths = {
        "paths.train": str(write_corpus(tmp_path / "train.spacy", n=30)),
        "paths.dev": str(write_corpus(tmp_path / "dev.spacy", n=100)),
    }
    train(
        CONFIGS / "pipeline.cfg",
        tmp_path / "out",
        overrides={**paths, **QUICK, **SMALL},
    )
    best = tmp_path / "out" / "model-best"
    before = srsly.read_json(best / "meta.json")["dynsel"]
    nlp = spacy.load(best)
    assert list(before) == nlp.pipe_names
    for name, described in before.items():
        component = nlp.get_pipe(name)
        assert described["margin"] == component.margin
        assert len(described["checkpoints"]) == component.engine.n_stages
        assert described["templates"] == described["checkpoints"][-1]
        assert 1 <= described["mean_templates"] <= described["templates"]
    assert before["parser"]["label_margin"] == 6.0

    calibrate(best, paths["paths.dev"], max_loss=10.0, name="tagger")
    output = tmp_path / "packages"
    output.mkdir()
    package(best, output, name="small", version="1.2.3", create_sdist=False)
    meta = srsly.read_json(output / "en_small-1.2.3" / "meta.json")
    after = meta["dynsel"]
    tagger = spacy.load(best).get_pipe("tagger")
    assert after["tagger"]["margin"] == tagger.margin
    assert after["tagger"]["margin"] != before["tagger"]["margin"]
    promise = {
        "max_loss": 10.0,
        "confidence": 0.95,
        "unit": "sentence",
        "every_stage": False,
    }
    assert after["tagger"]["promise"] == pytest.approx(promise)
    assert after["ner"] == before["ner"]
    assert meta["performance"]["tag_acc"] > 0.5
    major, minor, _ = __version__.split(".")
    allowed = f"spacy-dynsel>={__version__},<{major}.{int(minor) + 1}.0"
    assert meta["requirements"] == [allowed]

    # It loads and runs where nothing has imported spacy_dynsel, and the data that it
    # learned from are gone. Its setup.py does the same with the meta.
    for path in paths.values():
        Path(path).unlink()
    shutil.copy(
        output / "en_small-1.2.3" / "meta.json", output / "en_small-1.2.3/en_small"
    )
    code = "print([token.tag_ for token in __import__('en_small').load()('ax by cz')])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(output / "en_small-1.2.3"), PYTHONPATH]),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['X', 'Y', 'Z']"
