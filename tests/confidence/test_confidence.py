"""Probabilities that say how often annotations are right."""

import json
import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin

from helpers.embedded import learn, make_examples, read_docs, strip
from spacy_dynsel.cli.reliability import reliability
from spacy_dynsel.confidence.maps import (
    METHODS,
    ConfidenceMap,
    calibration_error,
    choose,
    fit,
    hand_on,
    make_bins,
)
from spacy_dynsel.confidence.reliability import measure_confidence
from spacy_dynsel.tasks.evidence import Evidence

NAMES = ("dynsel_tagger", "dynsel_morphologizer", "dynsel_parser", "dynsel_ner")
KINDS = ("tag", "morph", "arc")


def simulate(probability, n, seed, n_groups=2):
    """Units whose true probabilities are known."""
    rng = np.random.default_rng(seed)
    leads = rng.exponential(3.0, (n, 1))
    groups = rng.integers(0, n_groups, n)
    true = probability(leads[:, 0], groups)
    return Evidence(leads, groups), rng.random(n) < true, true


def curved(leads, groups):
    return 0.5 + 0.45 * (leads > 2) + 0.04 * (leads > 4)


WORLDS = {
    "temperature": lambda leads, groups: 1 / (1 + np.exp(-leads / 1.7)),
    "platt": lambda leads, groups: 1 / (1 + np.exp(1 - leads * (0.2 + groups))),
    "isotonic": curved,
}


@pytest.mark.parametrize("method", METHODS)
def test_true_probabilities_are_found(method):
    evidence, right, _ = simulate(WORLDS[method], 20_000, seed=0)
    folds = np.arange(len(right)) % 2
    choice = choose(evidence, right, folds, 2)
    # What is simpler may be chosen where it is as good.
    assert choice.losses[method] <= min(choice.losses.values()) + 1e-3
    other, _, true = simulate(WORLDS[method], 5_000, seed=1)
    assert np.abs(choice.chosen(other) - true).mean() < 0.02
    assert choice.losses["temperature"] > choice.losses[method] + 0.005 or (
        method == "temperature"
    )


def test_units_without_rival_and_empty_groups():
    evidence, right, _ = simulate(WORLDS["platt"], 1000, seed=0)
    evidence.leads[:100] = math.inf
    for method in METHODS:
        found = fit(evidence, right, method, 7)(
            Evidence(np.array([[math.inf], [0.0], [-2.0]]), np.array([6, 3, 99]))
        )
        assert ((found >= 0) & (found <= 1)).all()
        assert found[0] > found[1]


def test_confidence_map_error():
    probabilities = np.array([0.9] * 10 + [0.5] * 10)
    right = np.array([True] * 7 + [False] * 3 + [True, False] * 5)
    assert calibration_error(probabilities, right) == pytest.approx(0.1)
    assert [one.n for one in make_bins(probabilities, right)] == [10, 10]
    assert calibration_error(np.ones(4), np.ones(4, dtype=bool)) == 0
    half = hand_on(probabilities, right, [0.0, 0.5, 1.0])
    assert [one.accuracy for one in half] == pytest.approx([0.6, 0.7, 1.0])
    assert [one.caught for one in half] == pytest.approx([0.0, 5 / 8, 1.0])


def test_malformed_confidence_maps_are_refused():
    evidence, right, _ = simulate(curved, 500, seed=0)
    data = fit(evidence, right, "isotonic", 2).to_dict()
    again = ConfidenceMap.from_dict(srsly.json_loads(srsly.json_dumps(data)))
    assert (again(evidence) == fit(evidence, right, "isotonic", 2)(evidence)).all()
    for change in (
        {"method": "magic"},
        {"temperature": 0.0},
        {"temperature": "warm"},
        {"weights": [[1.0]]},
        {"weights": []},
        {"values": [2.0] * len(data["values"])},
        {"scores": data["scores"][:-1]},
        {"largest": [float("nan")]},
        {"more": 1},
    ):
        with pytest.raises(ValueError, match="DS191"):
            ConfidenceMap.from_dict({**data, **change})
    with pytest.raises(ValueError, match="DS191"):
        ConfidenceMap.from_dict(3)


def test_too_little_data():
    evidence, right, _ = simulate(curved, 50, seed=0)
    with pytest.raises(ValueError, match="DS192"):
        choose(evidence, right, np.arange(50) % 2, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A pipeline with all components, and data to fit and to measure."""
    path = tmp_path_factory.mktemp("confidence")
    nlp = spacy.blank("en")
    nlp.add_pipe("dynsel_tagger")
    nlp.add_pipe("dynsel_morphologizer")
    model = {"folds": 2}
    nlp.add_pipe("dynsel_parser", config={"model": model, "min_label_freq": 1})
    nlp.add_pipe("dynsel_ner")
    examples = make_examples(nlp, read_docs(nlp.vocab, "train", 250))
    nlp.initialize(lambda: examples)
    learn(nlp, examples, 4)
    nlp.to_disk(path / "pipeline")
    held_out = read_docs(nlp.vocab, "train")[250:] + read_docs(nlp.vocab, "dev")
    DocBin(docs=held_out).to_disk(path / "dev.spacy")
    DocBin(docs=read_docs(nlp.vocab, "test")).to_disk(path / "test.spacy")
    fitted = path / "fitted"
    nlp.to_disk(fitted)
    results = reliability(
        fitted,
        path / "test.spacy",
        fit_path=path / "dev.spacy",
        output_path=path / "page.html",
    )
    srsly.write_json(path / "results.json", results)
    return path


@pytest.fixture
def fitted(folder):
    return spacy.load(folder / "fitted")


def test_command_reports_what_it_fitted(folder):
    results = srsly.read_json(folder / "results.json")
    assert set(results) == set(NAMES)
    for result in results.values():
        assert result["method"] in METHODS
        assert result["units"] == sum(one["n"] for one in result["bins"])
        # Little data: a rough fit.
        assert result["calibration_error"] < 0.2
    accuracies = [row["accuracy"] for row in results["dynsel_tagger"]["handed_on"]]
    assert accuracies[-1] > accuracies[0] + 0.02
    page = (folder / "page.html").read_text("utf8")
    assert page.count("<svg") == len(NAMES)
    # What was written is what is measured without fitting.
    again = reliability(folder / "fitted", folder / "test.spacy", name="dynsel_ner")
    error = again["dynsel_ner"]["calibration_error"]
    assert error == pytest.approx(results["dynsel_ner"]["calibration_error"])


def test_off_by_default_and_an_error_without_fit(folder):
    nlp = spacy.load(folder / "pipeline")
    doc = nlp("She saw the new trailer in London .")
    assert not doc.user_data
    assert doc[0]._.dynsel_confidence is None
    for name in NAMES:
        with pytest.raises(ValueError, match="DS190"):
            nlp.get_pipe(name).confidence = True
    nlp.get_pipe("dynsel_tagger").cfg["confidence"] = True
    with pytest.raises(ValueError, match="DS190"):
        nlp("She saw it .")


def test_tokens_have_a_confidence_of_each_kind(fitted, folder):
    doc = fitted("Did she see the new trailer in London ?  Yes .")
    for token in doc:
        kinds = [token._.get(f"dynsel_{kind}_confidence") for kind in KINDS]
        if token.is_space:
            assert kinds == [None] * len(KINDS)
            assert token._.dynsel_confidence is None
        else:
            assert all(0 < kind < 1 for kind in kinds)
            assert token._.dynsel_confidence == min(kinds)
    for name in ("dynsel_tagger", "dynsel_morphologizer"):
        fitted.get_pipe(name).confidence = False
    doc = fitted("She saw it .")
    assert doc[0]._.dynsel_tag_confidence is None
    assert doc[0]._.dynsel_morph_confidence is None
    assert doc[0]._.dynsel_confidence == doc[0]._.dynsel_arc_confidence


def test_entities_have_confidence(fitted, folder):
    docs = read_docs(fitted.vocab, "test")
    found = list(fitted.pipe([strip(doc) for doc in docs]))
    values = [ent._.dynsel_confidence for doc in found for ent in doc.ents]
    assert len(values) > 20
    assert all(0 < value < 1 for value in values)
    assert len(set(values)) > 10
    # What is not an entity has none.
    assert found[0][0:1]._.dynsel_confidence is None or found[0].ents


def annotate(docs):
    return [
        (
            [token._.dynsel_confidence for token in doc],
            [ent._.dynsel_confidence for ent in doc.ents],
        )
        for doc in docs
    ]


def test_same_for_pipe_call_threads_zones_and_bytes(fitted, folder):
    texts = [doc.text for doc in read_docs(fitted.vocab, "test", 60)] * 4
    expected = annotate([fitted(text) for text in texts])
    assert annotate(fitted.pipe(texts, batch_size=100)) == expected
    with fitted.memory_zone():
        assert annotate(fitted.pipe(texts)) == expected
    for name in NAMES:
        fitted.get_pipe(name).n_threads = 3
    assert annotate(fitted.pipe(texts, batch_size=240)) == expected
    data = fitted.to_bytes()
    other = spacy.blank("en", config={})
    for name in NAMES:
        model = {"folds": 2} if name == "dynsel_parser" else {}
        other.add_pipe(name, config={"model": model})
    other.from_bytes(data)
    assert annotate(other.pipe(texts[:60])) == expected[:60]
    docs = DocBin(store_user_data=True, docs=[fitted(text) for text in texts[:5]])
    kept = DocBin().from_bytes(docs.to_bytes()).get_docs(fitted.vocab)
    assert [x[0] for x in annotate(kept)] == [x[0] for x in expected[:5]]


def test_docs_keep_it_wherever_they_go(fitted):
    texts = [doc.text for doc in read_docs(fitted.vocab, "test", 40)]
    docs = list(fitted.pipe(texts))
    expected = annotate(docs)
    assert any(entities for _, entities in expected)
    names = [f"dynsel_{part}confidence" for part in ("", "tag_", "arc_")]
    jsons = [doc.to_json(underscore=names) for doc in docs]
    for data, (tokens, entities) in zip(jsons, expected, strict=True):
        values = [one["value"] for one in data["underscore_token"]["dynsel_confidence"]]
        assert values == [value for value in tokens if value is not None]
        spans = data.get("underscore_span", {}).get("dynsel_confidence", [])
        assert [one["value"] for one in spans] == entities
        assert data["_"]["dynsel_confidence"] == min(values + entities)
    vocab = fitted.vocab
    docbin = DocBin(store_user_data=True, docs=docs).to_bytes()
    ways = {
        "json": [Doc(vocab).from_json(json.loads(json.dumps(data))) for data in jsons],
        "bytes": [Doc(vocab).from_bytes(doc.to_bytes()) for doc in docs],
        "docbin": DocBin().from_bytes(docbin).get_docs(vocab),
        "pickle": pickle.loads(pickle.dumps(docs)),
        "copy": [doc.copy() for doc in docs],
    }
    for way, some in ways.items():
        kept = list(some)
        assert annotate(kept) == expected, way
        found = [doc._.dynsel_confidence for doc in kept]
        assert found == [doc._.dynsel_confidence for doc in docs], way


def test_json_of_docs_without_values(fitted):
    doc = fitted.make_doc("She saw it .")
    doc.user_data["a key of another kind"] = 1
    assert doc.to_json(underscore=["dynsel_confidence"])["_"] == {
        "dynsel_confidence": None
    }
    # Off: nothing is stored.
    for name in NAMES:
        fitted.get_pipe(name).confidence = False
    assert fitted("She saw it in London .").user_data == {}


ANNOTATE_PICKLED = """
import json, pickle, sys
nlp, texts = pickle.loads(open(sys.argv[1], "rb").read())
for doc in nlp.pipe(texts):
    tokens = [token._.dynsel_confidence for token in doc]
    print(json.dumps([tokens, [ent._.dynsel_confidence for ent in doc.ents]]))
"""


def test_pickled_pipelines_know_the_attributes(fitted, tmp_path):
    """Also in a process that has made no component."""
    texts = [doc.text for doc in read_docs(fitted.vocab, "test", 60)]
    expected = annotate(fitted.pipe(texts))
    assert any(entities for _, entities in expected)
    path = tmp_path / "pickled"
    path.write_bytes(pickle.dumps((fitted, texts)))
    command = [sys.executable, "-c", ANNOTATE_PICKLED, str(path)]
    lines = subprocess.check_output(command, text=True).splitlines()
    assert [tuple(json.loads(line)) for line in lines] == expected


def test_annotations_do_not_depend_on_confidence(fitted, folder):
    plain = spacy.load(folder / "pipeline")
    for doc in read_docs(fitted.vocab, "test"):
        one, other = fitted(strip(doc)), plain(strip(doc, plain.vocab))
        for token, same in zip(one, other, strict=True):
            assert (token.tag_, token.dep_, token.head.i, token.ent_iob_) == (
                (same.tag_, same.dep_, same.head.i, same.ent_iob_)
            )


def test_leads_are_those_of_explain(fitted):
    tagger, ner = (fitted.get_pipe(name) for name in ("dynsel_tagger", "dynsel_ner"))
    for gold in read_docs(fitted.vocab, "test", 40):
        doc = strip(gold)
        evidence = tagger.engine.get_evidence(tagger.predict(doc))
        for why, lead, stage in zip(tagger.explain(doc), *evidence, strict=True):
            assert why.lead == pytest.approx(lead[0])
            assert why.stage == stage + 1
        tagger(doc)
        batch = ner.predict([doc])
        leads = ner.engine.get_evidence(batch).leads[:, 0]
        entities = ner.explain(doc).entities
        assert [e.weakest_lead for e in entities] == pytest.approx(leads.tolist())


def test_preset_tags_and_entities_have_none(fitted):
    gold = read_docs(fitted.vocab, "test", 1)[0]
    doc = strip(gold)
    doc[0].tag_ = "NN"
    doc.set_ents([doc[1:2].char_span(0, len(doc[1]), label="PER")], default="missing")
    doc = fitted(doc)
    assert doc[0]._.dynsel_tag_confidence is None
    assert doc[1]._.dynsel_tag_confidence is not None
    assert doc[1:2]._.dynsel_confidence is None


def test_other_settings_are_warned_of_once(fitted):
    tagger = fitted.get_pipe("dynsel_tagger")
    tagger.margin = 2.0
    with pytest.warns(UserWarning, match="DW193"):
        fitted("She saw it .")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted("She saw it .")


def test_models_without_the_settings_load(folder, tmp_path):
    nlp = spacy.load(folder / "fitted")
    nlp.to_disk(tmp_path)
    for name in NAMES:
        path = tmp_path / name / "cfg"
        cfg = srsly.read_json(path)
        for key in ("confidence_map", "confidence", "keep_training_state"):
            del cfg[key]
        srsly.write_json(path, cfg)
    nlp = spacy.load(tmp_path)
    assert not nlp("She saw it .").user_data


def test_new_weights_forget_the_confidence_map(fitted):
    examples = make_examples(fitted, read_docs(fitted.vocab, "dev", 20))
    fitted.initialize(lambda: examples)
    for name in NAMES:
        with pytest.raises(ValueError, match="DS190"):
            fitted.get_pipe(name).confidence = True


def test_units_without_gold_do_not_count(fitted):
    docs = read_docs(fitted.vocab, "test", 30)
    for doc in docs:
        for token in doc:
            if token.i:
                token.tag_ = ""
    tagger = fitted.get_pipe("dynsel_tagger")
    _, right = measure_confidence(tagger, make_examples(fitted, docs))
    assert len(right) == 30
