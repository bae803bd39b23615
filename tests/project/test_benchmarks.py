"""The comparisons with peers, on a few sentences: what they say is complete, whatever
the times are."""

import json
import sys
from dataclasses import replace

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from helpers.paths import ROOT
from spacy_dynsel.corpus.conll import make_docs, read_conllu

COMPONENTS = ("tagger", "parser", "ner")
PARSER = {"model": {"folds": 2, "seeds": 1}}


@pytest.fixture(scope="module")
def benchmarks():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield pytest.importorskip
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def compare(benchmarks):
    return benchmarks("compare")


@pytest.fixture(scope="module")
def morphology(benchmarks):
    return benchmarks("morphology")


@pytest.fixture(scope="module")
def analyses(benchmarks):
    return benchmarks("analyses")


@pytest.fixture(scope="module")
def links(benchmarks):
    return benchmarks("links")


@pytest.fixture(scope="module")
def gold():
    sentences = read_conllu(ROOT / "assets" / "test.conllu", tag_column="upos")[:30]
    return list(make_docs(spacy.blank("en").vocab, sentences, "sentence"))


@pytest.fixture(scope="module")
def field(compare, gold):
    nlp = spacy.blank("en")
    for name in COMPONENTS:
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
    assert set(field.measure_threads(gold[:2], 1)) == set(COMPONENTS)
    field.ours.to_disk(tmp_path)
    models = compare.measure_models({compare.OURS: tmp_path}, {}, "en", 1)
    assert models[compare.OURS]["load_ms"] > 0
    speeds = {name: row["tokens_per_second"] for name, row in pipelines.items()}
    assert compare.draw_bars({"all": speeds}, "tokens a second").count("<rect") == len(
        speeds
    )


def test_whole_pipelines_are_compared_with_and_without_morphology(
    benchmarks, compare, field, gold
):
    rules, rule_pipeline = spacy.blank("en"), benchmarks("field").RULE_PIPELINE
    cnn = spacy.blank("en")
    seen = []
    for name in ("morphologizer", "trainable_lemmatizer"):
        Language.component(
            f"test_{name}", func=lambda doc, name=name: seen.append(name) or doc
        )
        cnn.add_pipe(f"test_{name}", name)
    everybody = compare.Field(field.ours, cnn, {}, None, rules)
    assert not everybody.sets_everything
    texts = [doc.text for doc in gold]
    assert rule_pipeline not in everybody.compare_pipelines(texts, 1)
    assert seen == []
    table = everybody.compare_pipelines(texts, 1, morphology=True)
    assert set(seen) == set(cnn.pipe_names)
    assert table[rule_pipeline]["times_faster_than_rules"] == 1
    assert all(row["times_faster"] > 0 for row in table.values())


def test_scaling_is_drawn(compare):
    rows = {"16": dict.fromkeys(COMPONENTS, 3.0)}
    rows["64"] = dict.fromkeys(COMPONENTS, 4.0)
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


# Parts of speech, features and lemmas

CNN = {
    "model": {
        "@architectures": "spacy.Tagger.v2",
        "tok2vec": {"@architectures": "spacy.Tok2VecListener.v1", "width": 96},
    }
}


def analyse(sentence):
    """A sentence with features and lemmas, one of which the corpus does not tell."""
    morphs = ["Number=Sing" if tag == "NN" else "" for tag in sentence.tags]
    lemmas = [word.lower() for word in sentence.words]
    return replace(sentence, morphs=morphs, lemmas=["", *lemmas[1:]])


@pytest.fixture(scope="module")
def sentences():
    found = read_conllu(ROOT / "assets" / "test.conllu")[:30]
    return [analyse(sentence) for sentence in found]


@pytest.fixture(scope="module")
def analysed(sentences):
    return list(make_docs(spacy.blank("en").vocab, sentences, "sentence"))


@pytest.fixture(scope="module")
def cnn(analysed):
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    nlp.add_pipe("morphologizer", config=CNN)
    nlp.add_pipe("trainable_lemmatizer", config={**CNN, "min_tree_freq": 1})
    examples = to_examples(nlp, analysed)
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.update(examples, sgd=optimizer)
    return nlp


def to_examples(nlp, gold):
    words = [[token.text for token in doc] for doc in gold]
    return [
        Example(Doc(nlp.vocab, words=row), doc)
        for row, doc in zip(words, gold, strict=True)
    ]


def test_scores_are_those_of_spacy(morphology, cnn, analysed):
    scores = morphology.measure_scores({"spacy": cnn}, None, analysed)["spacy"]
    theirs = cnn.evaluate(to_examples(cnn, analysed))
    assert 0 < scores["All"] <= min(scores["UPOS"], scores["UFeats"]) < 100
    for name, key in (("UPOS", "pos"), ("UFeats", "morph"), ("lemma", "lemma")):
        assert scores[name] == pytest.approx(100 * theirs[f"{key}_acc"])


def test_only_words_that_the_treebank_knows_count(analyses):
    gold = [
        analyses.Analysis("NOUN", "Case=Nom", "a"),
        analyses.Analysis("NOUN", "", ""),
        analyses.Analysis("", "", "c"),
    ]
    found = [
        analyses.Analysis("NOUN", "Case=Acc", "a"),
        analyses.Analysis("NOUN", "", "b"),
        analyses.Analysis("VERB", "", "x"),
    ]
    assert analyses.score(found, gold) == pytest.approx(
        {"UPOS": 100, "UFeats": 200 / 3, "All": 50, "lemma": 50}
    )


def test_morphologizers_and_lemmatizers_take_turns(morphology, cnn, analysed):
    pytest.importorskip("spacy_lookups_data")
    names = list(cnn.pipe_names)
    entries = morphology.make_entries("tiny", {"spacy": cnn}, None, analysed)
    assert cnn.pipe_names == names
    table = morphology.measure_speed(entries, "", 1)
    assert len(table) == 3
    for name, row in table.items():
        assert row["ns"] > 0
        assert (row["times_faster"] == 1) == ("tok2vec" in name)
    for name, entry in entries.items():
        entry.run()
        attribute = "LEMMA" if "lemmatizer" in name else "POS"
        assert all(doc.has_annotation(attribute) for doc in entry.docs)


def test_annotations_are_forgotten(analyses, cnn, analysed):
    docs = [cnn(doc.copy()) for doc in analysed[:2]]
    analyses.clear(docs, analyses.WRITTEN)
    for doc in docs:
        assert not any(map(doc.has_annotation, ("TAG", "POS", "MORPH", "LEMMA")))


def test_words_are_seen_for_the_first_time(
    morphology, analyses, cnn, analysed, tmp_path
):
    pytest.importorskip("spacy_lookups_data")

    def key(token):
        return token.text, token.pos_, str(token.morph)

    docs = analyses.distinct_words(analysed, Vocab())
    words = [key(token) for doc in docs for token in doc]
    assert len(words) == len(set(words))
    assert set(words) == {key(token) for doc in analysed for token in doc}
    cnn.to_disk(tmp_path)
    table = morphology.measure_first_sight({"spacy": tmp_path}, "en", analysed, 1)
    for kind in ("each word once", "running text"):
        assert table[f"spaCy rule lemmatizer, {kind}"]["of_rules"] == 1
    assert len(table) == 4


def test_labels_are_divided_by_the_word(analyses, sentences):
    n_labels = analyses.count_labels(sentences)
    parts = analyses.find_parts(sentences, 3 * n_labels)
    split = analyses.split_features(sentences, parts)
    assert analyses.count_labels(split) >= 3 * n_labels
    assert analyses.count_labels(analyses.split_features(sentences, parts - 1)) < (
        3 * n_labels
    )
    of_words: dict[str, set[str]] = {}
    for before, after in zip(sentences, split, strict=True):
        assert (before.words, before.pos) == (after.words, after.pos)
        for word, old, new in zip(
            before.words, before.morphs, after.morphs, strict=True
        ):
            assert new.startswith(old)
            of_words.setdefault(word.lower(), set()).add(new.rpartition("|")[2])
    assert {len(features) for features in of_words.values()} == {1}
    # There are not more parts than words.
    assert analyses.find_parts(sentences, 10**6) == len(of_words)


def test_tags_are_mapped_and_lemmas_found_by_rules(benchmarks, analysed):
    pytest.importorskip("spacy_lookups_data")
    rules = benchmarks("rules")
    tag_map = rules.make_tag_map(analysed)
    assert tag_map["NN"] == {"POS": "NOUN", "MORPH": "Number=Sing"}
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger")
    assert rules.add_rules(nlp, tag_map)
    assert nlp.pipe_names == ["tagger", "attribute_ruler", "lemmatizer"]
    doc = Doc(nlp.vocab, words=["bands"], tags=["NNS"])
    for name in ("attribute_ruler", "lemmatizer"):
        doc = nlp.get_pipe(name)(doc)
    assert (doc[0].pos_, doc[0].lemma_) == ("NOUN", "band")
    without = spacy.blank("xx")
    assert not rules.add_rules(without, tag_map)
    assert without.pipe_names == []


def test_the_peers_of_morphology_are_trained_and_measured(
    morphology, sentences, tmp_path, monkeypatch
):
    pytest.importorskip("ufal.udpipe")
    for split in ("train", "dev", "test"):
        folder = tmp_path / "tiny"
        folder.mkdir(exist_ok=True)
        text = "\n".join(map(to_conllu, sentences))
        (folder / f"{split}.conllu").write_text(text, encoding="utf8")
    monkeypatch.setenv("DYNSEL_DATA", str(tmp_path))
    for module in (morphology, sys.modules["training"]):
        monkeypatch.setattr(module, "CACHE", tmp_path)
    monkeypatch.setattr(sys.modules["saving"], "HERE", tmp_path)
    settings = "--treebanks tiny:xpos:en --skip dynsel --rounds 1 --limit 20"
    settings += " --spacy-steps 2 --udpipe-iterations 1"
    monkeypatch.setattr(sys, "argv", ["morphology.py", *settings.split()])
    morphology.main()
    results = json.loads((tmp_path / "results" / "morphology-20.json").read_text())
    for title in ("tiny, accuracy on test", "tiny, models"):
        assert set(results[title]) == {"spacy", "udpipe"}
    assert results["tiny, accuracy on test"]["udpipe"]["All"] > 50
    assert results["tiny, models"]["udpipe"]["model_mb"] > 0
    assert any(name.startswith("UDPipe") for name in results["speed"])


def to_conllu(sentence):
    rows = zip(
        sentence.words,
        sentence.lemmas,
        sentence.pos,
        sentence.tags,
        sentence.morphs,
        strict=True,
    )
    lines = []
    for i, row in enumerate(rows):
        fields = [value or "_" for value in row]
        lines.append("\t".join([str(i + 1), *fields, "_", "_", "_", "_"]))
    return "\n".join(lines) + "\n"


def test_links_that_are_known_are_measured(links, field, gold):
    nlp = field.ours
    rows = dict(links.measure_known(nlp, gold))
    shares = [float(rows[f"UAS of the best of {k} trees"]) for k in links.TREES]
    assert shares == sorted(shares)
    assert shares[0] == float(rows["UAS"])
    assert len(links.measure_search(gold)) == 6
