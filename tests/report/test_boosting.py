"""The experiment on boosted links: the tables of Wang, Lin and Schuurmans (2007)."""

import json

import pytest

from helpers.paths import ASSETS
from spacy_dynsel.cli.experiment import experiment
from spacy_dynsel.report import boosting
from spacy_dynsel.report.boosting import KINDS, BoostingExperiment, make_rows


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(boosting, "SEEDS", (0, 1))
    monkeypatch.setattr(boosting, "ROUNDS", 1)
    monkeypatch.setattr(boosting, "EPOCHS", 1)


def test_report(tmp_path, monkeypatch):
    given = f"{ASSETS}:xpos"
    measure = BoostingExperiment.measure

    def stop(self, kind, seed):
        if kind == "structured":
            raise KeyboardInterrupt
        return measure(self, kind, seed)

    with monkeypatch.context() as patch:
        patch.setattr(BoostingExperiment, "measure", stop)
        with pytest.raises(KeyboardInterrupt):
            experiment(tmp_path, {}, boosting=[given], limit=40)

    def go_on(self, kind, seed):
        # What is done is not done again.
        assert kind.startswith("structured")
        return measure(self, kind, seed)

    monkeypatch.setattr(BoostingExperiment, "measure", go_on)
    results = experiment(tmp_path, {}, boosting=[given], limit=40)
    [found] = results["boosting"].values()
    assert set(found) == set(KINDS)
    assert [len(rounds) for rounds in found["dynamic"]] == [2, 2]
    assert [len(rounds) for rounds in found["structured"]] == [1, 1]
    for rounds in (*found["static"], *found["structured"]):
        for row in rounds:
            assert 0 <= row["CM"] <= row["RA"] <= 100
            assert 20 < row["DA"] <= 100
    page = (tmp_path / "report.html").read_text("utf8")
    assert all(title in page for title in KINDS.values())
    claims = json.loads((tmp_path / "results.json").read_text("utf8"))["claims"]
    assert len(claims) == 4


def test_rows_are_means_of_seeds():
    one = {"round": 0.0, "DA": 80.0, "RA": 90.0, "CM": 20.0, "seconds": 3.0}
    other = {**one, "DA": 81.0, "seconds": 2.0}
    assert make_rows([[one], [other]]) == [(0, 80.5, 90.0, 20.0, 1.0, 2.0)]
