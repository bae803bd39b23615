"""Tags by cascades: the table and the figure of Weiss and Taskar (2010)."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from spacy_dynsel.cli import experiment as command
from spacy_dynsel.cli.experiment import experiment
from spacy_dynsel.report import tags
from spacy_dynsel.report.tags import (
    EPSILONS,
    LATTICES,
    METHODS,
    SETTINGS,
    TagsExperiment,
    average,
    find_least,
    keep_best,
    make_features,
    read_corpus,
)

FAST = replace(SETTINGS, epochs=1, final_epochs=1, epsilon=0.05)
WORDS = {"the": "D", "a": "D", "dog": "N", "cat": "N", "runs": "V", "saw": "VN"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ud_xx_toy")
    random = np.random.default_rng(0)
    for split, n in (("train", 60), ("dev", 20), ("test", 20)):
        lines = []
        for _ in range(n):
            words = random.choice(list(WORDS), size=random.integers(1, 7))
            for i, word in enumerate([*words, "new" if split == "test" else "the"]):
                tag = random.choice(list(WORDS.get(word, "N")))
                lines.append("\t".join([str(i + 1), word, "_", "X", tag, *"_____"]))
            lines.append("")
        (folder / f"{split}.conllu").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.filterwarnings("ignore:.*DW240")
def test_report(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "TAG_SETTINGS", FAST)
    given = f"{folder}:xpos"
    output = tmp_path / "report"

    def fail(self, number):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TagsExperiment, "trade", fail)
        with pytest.raises(KeyboardInterrupt):
            experiment(output, {}, tags=[given], sets=2)
    # What is done is not done again.
    with monkeypatch.context() as patch:
        patch.setattr(TagsExperiment, "compare", fail)
        again = experiment(output, {}, tags=[given], sets=2)
    whole = experiment(tmp_path / "other", {}, tags=[given], sets=2)
    [[name, found]] = again["tags"].items()
    assert found["sets"] == whole["tags"][name]["sets"]
    assert not list(output.glob("*.journal"))
    numbers = json.loads((output / "results.json").read_text())
    assert numbers["tags"] == again["tags"]
    assert list(found["words"]) == ["Full", "SC", "CRF", "Tags", LATTICES]
    assert list(found["rich"]) == ["Full", "SC", LATTICES]
    for kind in ("words", "rich"):
        # It finds the same.
        full, lattices = found[kind]["Full"], found[kind][LATTICES]
        assert lattices["accuracy"] == full["accuracy"]
    for way in found["words"].values():
        assert 0.5 < way["accuracy"] <= 1
        assert 0 <= way["loss"] < 0.5
        assert 0 < way["states"] <= 9
    assert found["words"]["Full"]["loss"] == 0
    for one in found["sets"]:
        for methods in one.values():
            for method in METHODS:
                kept = [value for value in methods[method] if value is not None]
                assert len(methods[method]) == len(EPSILONS)
                # What may lose more keeps less.
                assert kept == sorted(kept, reverse=True)
    html = (output / "report.html").read_text(encoding="utf8")
    assert "1935.70" in html and "unfiltered" in html
    figures = list(output.glob("*.svg"))
    assert len(figures) == 2
    for svg in figures:
        ElementTree.fromstring(svg.read_text(encoding="utf8"))
    with pytest.raises(ValueError, match="DS139"):
        experiment(output, {})


def test_corpus_is_read(folder):
    corpus = read_corpus(f"{folder}:xpos", limit=3)
    assert len(corpus.train.lengths) == len(corpus.test.lengths) == 3
    part = read_corpus(f"{folder}:xpos").test
    assert sum(part.lengths) == len(part.words) == len(part.labels)
    chosen = np.arange(len(part.lengths)) == 1
    taken = part.take(chosen)
    first = part.lengths[0]
    assert taken.words == part.words[first : first + part.lengths[1]]
    for rich, n in ((False, 1), (True, 13)):
        keys, offsets = make_features(part, rich)
        assert len(keys) == n * len(part.words)
        assert offsets.tolist() == list(range(0, len(keys) + 1, n))
    for wrong in (str(folder), f"{folder}:tags", f"{folder}/none:xpos", ":xpos"):
        with pytest.raises(ValueError, match="DS249"):
            read_corpus(wrong)


def test_thresholds():
    truth = np.array([0.5, 0.1, 0.9, 0.3])
    assert find_least(truth, 0.0) == 0.1
    assert find_least(truth, 0.25) == 0.3
    table = np.array([[0.1, 0.2], [0.8, 0.9]])
    assert keep_best(table, 0.5).tolist() == [[False, True], [True, True]]
    points, errors = average([[0.5, None] + [0.1] * 8, [0.7, 0.5] + [0.1] * 8])
    assert points[0] == (pytest.approx(0.02), pytest.approx(60))
    assert errors[0] == pytest.approx(10) and len(points) == 9


def test_claims_can_fail():
    def make(ratio, accuracy, kept):
        ways = {
            "Full": {"time": 1.0, "accuracy": 0.9},
            LATTICES: {"time": ratio, "accuracy": 0.9},
            "SC": {"time": 1.0, "accuracy": accuracy},
            "CRF": {"time": ratio / 9, "accuracy": 0.9},
            "Tags": {"time": 3.0, "accuracy": 0.9},
        }
        values = {"SC": [kept] * 10, "CRF": [0.5] * 10, "SP": [None] * 9 + [0.6]}
        sets = [{"unfiltered": values, "filtered": values}] * 2
        return {"words": ways, "rich": ways, "sets": sets}

    good = tags.make_claims("x", make(120.0, 0.8996, 0.1))
    bad = tags.make_claims("x", make(5.0, 0.8, 0.55))
    assert [one["holds"] for one in good] == [True] * 5
    assert [one["holds"] for one in bad] == [False] * 5
