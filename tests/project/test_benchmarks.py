"""The comparison with peers, on a few sentences and without any of them: what it says
is complete, whatever the times are."""

import sys

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from helpers.paths import ROOT
from spacy_dynsel.corpus.conll import make_docs, read_conllu

PARSER = {"model": {"folds": 2, "seeds": 1}}


@pytest.fixture(scope="module")
def compare():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield pytest.importorskip("compare")
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def gold():
    sentences = read_conllu(ROOT / "assets" / "test.conllu", tag_column="upos")[:30]
    return list(make_docs(spacy.blank("en").vocab, sentences, "sentence"))


@pytest.fixture(scope="module")
def field(compare, gold):
    nlp = spacy.blank("en")
    for name in compare.COMPONENTS:
        config = PARSER if name == "parser" else {}
        nlp.add_pipe(f"dynsel_{name}", name, config=config)
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in gold]
    nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples)
    return compare.Field(nlp, None, {}, None)


@pytest.mark.parametrize(
    "method", ["compare_taggers", "compare_parsers", "compare_recognizers"]
)
def test_three_margins_are_compared(field, gold, method):
    table = getattr(field, method)(gold, 1)
    assert len(table) == (6 if method == "compare_parsers" else 3)
    for row in table.values():
        assert 0 < row["accuracy"] <= 100
        assert row["tokens_per_second"] > 0
        assert row["spread"] >= 1
    assert len({row.split(", ")[-1] for row in table}) == 3


def test_settings_are_left_as_they_were(compare, field, gold):
    parser = field.ours.get_pipe("parser")
    setting = sys.modules["parser"].Setting
    before = setting.of(parser), field.ours.tokenizer
    field.compare_parsers(gold, 1)
    field.compare_pipelines([doc.text for doc in gold], 1)
    field.compare_with_tokenizer([doc.text for doc in gold], 1)
    assert (setting.of(parser), field.ours.tokenizer) == before


def test_texts_threads_and_sizes_are_measured(compare, field, gold, tmp_path):
    texts = [doc.text for doc in gold]
    pipelines = field.compare_pipelines(texts, 1)
    assert len(pipelines) == 5
    beside = field.compare_with_tokenizer(texts, 1)
    assert "share" in beside["components beside the tokenizer"]
    for row in field.measure_latency(texts, 1).values():
        assert 0 < row["p50_us"] <= row["p99_us"]
    assert set(field.measure_threads(gold[:2], 1)) == set(compare.COMPONENTS)
    field.ours.to_disk(tmp_path)
    models = compare.measure_models({compare.OURS: tmp_path}, {}, "en", 1)
    assert models[compare.OURS]["load_ms"] > 0
    speeds = {name: row["tokens_per_second"] for name, row in pipelines.items()}
    assert compare.draw_bars({"all": speeds}, "tokens a second").count("<rect") == len(
        speeds
    )


def test_scaling_is_drawn(compare):
    rows = {"16": dict.fromkeys(compare.COMPONENTS, 3.0)}
    rows["64"] = dict.fromkeys(compare.COMPONENTS, 4.0)
    charts = compare.draw_scaling({"tokens in a document": rows})
    assert charts["tokens-in-a-document"].count("<circle") == 6


def test_the_floor_and_cycles_are_measured(compare, field, gold, monkeypatch):
    floor = sys.modules["floor"]
    monkeypatch.setattr(floor, "SIZES", (1 << 14, 1 << 16))
    monkeypatch.setattr(floor, "N_STEPS", 1 << 12)
    table = floor.measure_floor(1)
    assert len(table) in (3, 6)
    assert all(row["ns"] > 0 for row in table.values())
    monkeypatch.setattr(floor.shutil, "which", lambda name: None)
    assert len(floor.measure_floor(1)) == 3
    for cycle in (0.5, None):
        rows = field.measure_predictions(gold, 1, cycle)
        assert len(rows) == 9
        assert all(("cycles" in row) == (cycle is not None) for row in rows.values())


def test_chains_go_through_all_of_their_memory(compare):
    memory = sys.modules["floor"].make_chain(1 << 12)
    addresses = set()
    place = 0
    while place not in addresses:
        addresses.add(place)
        place = int(memory[place] - memory.ctypes.data) // 8
    assert len(addresses) == (1 << 12) // 64


REPORT = """
9,451,437 (100.0%)  PROGRAM TOTALS
4,376,214 (46.30%)  ???:__pyx_f_12spacy_dynsel_4core_6scorer_fill_rows(short*) [scorer.so]
  764,289 ( 8.09%)  ???:dynsel::judge_avx2(short const*, int) [scorer.so]
"""


def test_functions_are_found_in_reports(compare):
    assert sys.modules["instructions"].read_report(REPORT) == {
        "PROGRAM TOTALS": 9_451_437,
        "core.scorer_fill_rows": 4_376_214,
        "dynsel::judge_avx2": 764_289,
    }


def test_peers_are_measured(compare, tmp_path):
    perceptron = pytest.importorskip("perceptron")
    path = tmp_path / "model"
    docs = [Doc(Vocab(), words=["a", "b"], tags=["A", "B"])]
    perceptron.train_tagger(docs, path)
    found = compare.measure_peer("perceptron", "PerceptronTagger", path)
    assert found["load_ms"] > 0
    assert found["directory_mb"] > 0
