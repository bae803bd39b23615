"""Training by the command line, as users do it."""

from types import SimpleNamespace

import pytest
import spacy
import srsly
from spacy.cli.debug_config import debug_config
from spacy.cli.evaluate import evaluate
from spacy.cli.init_pipeline import init_labels_cli
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus
from spacy.util import load_config

from helpers.cli import QUICK, train_on_stream
from helpers.paths import CONFIGS
from helpers.tagger import SENTENCES

CONFIG = CONFIGS / "tagger.cfg"


@pytest.fixture
def paths(tmp_path):
    nlp = spacy.blank("en")
    docs = [
        Doc(nlp.vocab, words=words.split(), tags=tags.split())
        for words, tags in SENTENCES
    ]
    DocBin(docs=docs * 5).to_disk(tmp_path / "train.spacy")
    DocBin(docs=docs).to_disk(tmp_path / "dev.spacy")
    return {
        "paths.train": str(tmp_path / "train.spacy"),
        "paths.dev": str(tmp_path / "dev.spacy"),
    }


def test_config_is_complete(paths, capsys):
    debug_config(CONFIG, overrides=paths)
    config = load_config(CONFIG, overrides=paths)
    nlp = spacy.util.load_model_from_config(config, auto_fill=False, validate=True)
    assert nlp.pipe_names == ["tagger"]


def test_config_has_the_defaults_of_the_factory():
    """What `add_pipe` gives and what the config says are the same model."""
    nlp = spacy.blank("en")
    nlp.add_pipe("dynsel_tagger")
    default = nlp.config["components"]["dynsel_tagger"]
    written = load_config(CONFIG, interpolate=True)["components"]["tagger"]
    assert default == written


def test_scores_are_those_of_evaluate(paths, tmp_path):
    train(CONFIG, tmp_path / "out", overrides={**paths, **QUICK})
    best = tmp_path / "out" / "model-best"
    trained = srsly.read_json(best / "meta.json")["performance"]
    evaluated = evaluate(best, tmp_path / "dev.spacy", silent=True)
    assert evaluated["tag_acc"] == pytest.approx(trained["tag_acc"])
    assert evaluated["tag_acc"] > 0.9
    # What is no share is not among the scores, which others print as percentages.
    described = spacy.load(best).meta["dynsel"]["tagger"]
    assert 1 <= described["mean_templates"] <= described["templates"]


def test_two_trainings_write_the_same_model(paths, tmp_path):
    for name in ("one", "two"):
        train(CONFIG, tmp_path / name, overrides={**paths, **QUICK})
    files = [
        (tmp_path / name / "model-last" / "tagger" / "model").read_bytes()
        for name in ("one", "two")
    ]
    assert files[0] == files[1]


def test_other_languages(paths, tmp_path):
    overrides = {**paths, **QUICK, "nlp.lang": "pt"}
    train(CONFIG, tmp_path / "out", overrides=overrides)
    assert spacy.load(tmp_path / "out" / "model-last").lang == "pt"


def test_labels_from_a_file(paths, tmp_path):
    init_labels_cli(
        _context(paths), CONFIG, tmp_path / "labels", None, False, use_gpu=-1
    )
    labels = srsly.read_json(tmp_path / "labels" / "tagger.json")
    nlp = spacy.blank("en")
    tagger = nlp.add_pipe("dynsel_tagger")
    corpus = Corpus(paths["paths.train"])
    tagger.initialize(lambda: corpus(nlp), labels=labels)
    assert list(tagger.labels) == labels


def _context(overrides):
    """The command reads its overrides from the rest of the command line."""
    args = [part for key, value in overrides.items() for part in (f"--{key}", value)]
    return SimpleNamespace(args=args)


def test_frozen_sourced_and_annotating(paths, tmp_path):
    train(CONFIG, tmp_path / "out", overrides={**paths, **QUICK})
    config = load_config(CONFIG, overrides={**paths, **QUICK})
    config["nlp"]["pipeline"] = ["first", "tagger"]
    config["components"]["first"] = {
        "source": str(tmp_path / "out" / "model-last"),
        "component": "tagger",
    }
    config["training"]["frozen_components"] = ["first"]
    config["training"]["annotating_components"] = ["first", "tagger"]
    config.to_disk(tmp_path / "config.cfg")
    train(tmp_path / "config.cfg", tmp_path / "both")
    nlp = spacy.load(tmp_path / "both" / "model-last")
    assert nlp.pipe_names == ["first", "tagger"]
    original = tmp_path / "out" / "model-last" / "tagger" / "model"
    frozen = tmp_path / "both" / "model-last" / "first" / "model"
    assert frozen.read_bytes() == original.read_bytes()


def test_a_stream_that_is_read_once(paths, tmp_path):
    overrides = {**paths, "training.max_epochs": -1, "training.max_steps": 20}
    overrides |= {"training.eval_frequency": 10}
    config = load_config(CONFIG, overrides=overrides)
    nlp = train_on_stream(config, tmp_path)
    assert [token.tag_ for token in nlp("Eat blue ham")] == ["VB", "JJ", "NN"]
