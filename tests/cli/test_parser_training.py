"""Training of parsers and whole pipelines by the command line, as users do it."""

import pytest
import spacy
import srsly
from spacy.cli.debug_config import debug_config
from spacy.cli.evaluate import evaluate
from spacy.cli.train import train
from spacy.tokens import DocBin
from spacy.util import load_config

from helpers.cli import train_on_stream
from helpers.parser import TRAIN_DATA, make_doc
from helpers.paths import CONFIGS
from spacy_dynsel.base.templates import default_templates

PIPELINES = {
    "parser": ["tagger", "parser"],
    "pipeline": ["tagger", "morphologizer", "parser", "lemmatizer", "ner"],
}
QUICK = {
    "training.max_epochs": 4,
    "training.batcher.n_batches": 10,
    "components.parser.model.seeds": 1,
    "training.eval_frequency": 39,
    "components.parser.min_label_freq": 1,
}


@pytest.fixture
def paths(tmp_path):
    nlp = spacy.blank("en")
    docs = []
    for words, heads, deps in TRAIN_DATA:
        tags = [f"T{dep[0]}" for dep in deps.split()]
        ents = ["B-GPE" if w in ("London", "Berlin") else "O" for w in words.split()]
        pos = ["PUNCT" if word == "." else "NOUN" for word in words.split()]
        annotation = {"tags": tags, "pos": pos, "lemmas": words.lower().split()}
        docs.append(make_doc(nlp, words, heads, deps, ents=ents, **annotation))
    DocBin(docs=docs * 10).to_disk(tmp_path / "train.spacy")
    DocBin(docs=docs).to_disk(tmp_path / "dev.spacy")
    return {
        "paths.train": str(tmp_path / "train.spacy"),
        "paths.dev": str(tmp_path / "dev.spacy"),
    }


@pytest.mark.parametrize("name", PIPELINES)
def test_configs_are_complete(paths, name, capsys):
    path = CONFIGS / f"{name}.cfg"
    debug_config(path, overrides=paths)
    config = load_config(path, overrides=paths)
    nlp = spacy.util.load_model_from_config(config, auto_fill=False, validate=True)
    assert nlp.pipe_names == PIPELINES[name]
    written = load_config(path, interpolate=True)["components"]
    for pipe in PIPELINES[name]:
        default = spacy.blank("en")
        # What costs training time only is less by default.
        model = written[pipe]["model"]
        more = {name: model[name] for name in ("folds", "seeds") if name in model}
        default.add_pipe(f"dynsel_{pipe}", pipe, config={"model": more})
        assert written[pipe] == default.config["components"][pipe]


def test_clusters_are_all_that_the_other_config_adds():
    configs = [
        load_config(CONFIGS / f"{name}.cfg") for name in ("parser", "parser_clusters")
    ]
    for component, part, name in (
        ("tagger", "templates", "tagger"),
        ("parser", "actions", "parser_actions"),
        ("parser", "labels", "parser_labels"),
    ):
        templates = configs[1]["components"][component]["model"][part]
        assert templates["default"] == f"{name}_clusters"
        default, more = (
            {str(spec) for spec in default_templates(each).templates}
            for each in (name, templates["default"])
        )
        assert default < more
        assert all("cluster" in line for line in more - default)
        templates["default"] = name
    assert configs[0] == configs[1]


@pytest.mark.parametrize("name", PIPELINES)
def test_shipped_configs_train(paths, name, tmp_path):
    train(CONFIGS / f"{name}.cfg", tmp_path / "out", overrides={**paths, **QUICK})
    best = tmp_path / "out" / "model-best"
    trained = srsly.read_json(best / "meta.json")["performance"]
    evaluated = evaluate(best, tmp_path / "dev.spacy", silent=True)
    for key in ("tag_acc", "dep_uas", "dep_las", "sents_f"):
        assert evaluated[key] == pytest.approx(trained[key])
        assert evaluated[key] > 0.9
    if name == "pipeline":
        for key in ("pos_acc", "lemma_acc", "ents_f"):
            assert evaluated[key] == 1.0


def test_two_trainings_write_the_same_model(paths, tmp_path):
    for name in ("one", "two"):
        train(CONFIGS / "parser.cfg", tmp_path / name, overrides={**paths, **QUICK})
    files = [
        (tmp_path / name / "model-last" / "parser" / "model").read_bytes()
        for name in ("one", "two")
    ]
    assert files[0] == files[1]


def test_frozen_sourced_and_annotating(paths, tmp_path):
    train(CONFIGS / "parser.cfg", tmp_path / "out", overrides={**paths, **QUICK})
    config = load_config(CONFIGS / "parser.cfg", overrides={**paths, **QUICK})
    config["nlp"]["pipeline"] = ["tagger", "first", "parser"]
    config["components"]["first"] = {
        "source": str(tmp_path / "out" / "model-last"),
        "component": "parser",
    }
    config["training"]["frozen_components"] = ["first"]
    config["training"]["annotating_components"] = [*("tagger", "first", "parser")]
    config.to_disk(tmp_path / "config.cfg")
    train(tmp_path / "config.cfg", tmp_path / "both")
    original = tmp_path / "out" / "model-last" / "parser" / "model"
    frozen = tmp_path / "both" / "model-last" / "first" / "model"
    assert frozen.read_bytes() == original.read_bytes()
    nlp = spacy.load(tmp_path / "both" / "model-last")
    assert [token.dep_ for token in nlp("Nobody knows .")] == ["nsubj", "ROOT", "punct"]


def test_a_stream_that_is_read_once(paths, tmp_path):
    overrides = {**paths, **QUICK, "training.max_epochs": -1, "training.max_steps": 40}
    config = load_config(CONFIGS / "parser.cfg", overrides=overrides)
    nlp = train_on_stream(config, tmp_path)
    assert [token.head.i for token in nlp("Nobody knows .")] == [1, 1, 1]
