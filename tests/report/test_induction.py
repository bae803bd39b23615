"""Taggers with and without induced pairs: the tables of Choi (2016)."""

import json

import numpy as np
import pytest

from spacy_dynsel.cli.experiment import experiment
from spacy_dynsel.report import induction
from spacy_dynsel.report.induction import InductionExperiment


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ud_xx_toy")
    random = np.random.default_rng(0)
    for split, n in (("train", 30), ("dev", 10), ("test", 10)):
        lines = []
        for _ in range(n):
            words = random.choice(["a", "b", "new" if split == "test" else "a"], 6)
            for i, word in enumerate(words):
                tag = "X" if i and word == words[i - 1] else "Y"
                lines.append("\t".join([str(i + 1), word, "_", "X", tag, *"_____"]))
            lines.append("")
        (folder / f"{split}.conllu").write_text("\n".join(lines) + "\n")
    return folder


def test_report_that_is_interrupted(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(induction, "PATH", (1e-4,))
    given, output = f"{folder}:xpos", tmp_path / "report"
    measure = InductionExperiment.measure

    def fail(self, model):
        if model.l1:
            raise KeyboardInterrupt
        return measure(self, model)

    with monkeypatch.context() as patch:
        patch.setattr(InductionExperiment, "measure", fail)
        with pytest.raises(KeyboardInterrupt):
            experiment(output, {}, induction=[given], epochs=2)
    # What is done is not done again.
    with monkeypatch.context() as patch:
        patch.setattr(
            InductionExperiment,
            "measure",
            lambda self, model: measure(self, model) if model.l1 else fail(self, None),
        )
        results = experiment(output, {}, induction=[given], epochs=2)
    found = results["induction"][f"{folder.name}, xpos"]
    assert list(found) == ["M0", "M0 + dynamic", "hand-made", "M0 + dynamic, l1 0.0001"]
    assert found["M0"]["pairs"] == 0 < found["M0 + dynamic"]["pairs"]
    assert found["M0 + dynamic"]["features"] > 0
    assert all(0 <= value <= 100 for value in found["M0"]["test, early exit"])
    saved = json.loads((output / "results.json").read_text())
    assert saved["induction"] == results["induction"]
    assert len(saved["claims"]) == 2
    page = (output / "report.html").read_text()
    assert "Induction" in page
    assert "365,400" in page or "365400" in page
