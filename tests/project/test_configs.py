"""What all shipped configs have in common."""

import re

import pytest
import spacy
from spacy.cli._util import parse_config_overrides
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_config, load_model_from_config

from helpers.paths import CONFIGS
from spacy_dynsel.tokenizer.cached import CachedTokenizer

CONFIGS = sorted((CONFIGS).glob("*.cfg"))
CACHED = "spacy_dynsel.CachedTokenizer.v1"


@pytest.fixture(params=CONFIGS, ids=lambda path: path.stem)
def path(request):
    return request.param


def test_everything_can_be_overridden(path):
    """A setting that is written as a dict in one line has no settings of its own."""
    assert not re.findall(r"^\w+ = \{.*", path.read_text("utf8"), flags=re.MULTILINE)
    options = ["--nlp.tokenizer.@tokenizers", CACHED, "--training.logger.@loggers", "x"]
    config = load_config(path, parse_config_overrides(options))
    assert config["nlp"]["tokenizer"]["@tokenizers"] == CACHED
    assert config["training"]["logger"]["@loggers"] == "x"


def test_cached_tokenizer():
    tagger = next(path for path in CONFIGS if path.stem == "tagger")
    config = load_config(tagger, {"nlp.tokenizer.@tokenizers": CACHED})
    assert type(load_model_from_config(config).tokenizer) is CachedTokenizer


def test_names_are_short(path):
    """The columns of the training table are called by the names of components, of which
    it shows the first characters."""
    config = load_config(path)
    assert set(config["nlp"]["pipeline"]) <= {"tagger", "parser", "ner"}
    for name, block in config["components"].items():
        assert block["factory"] == f"dynsel_{name}"


def test_one_seed_for_all(path):
    """Learners without a seed have that of the training."""
    config = load_config(path, {"system.seed": 7}, interpolate=True)
    assert config["training"]["seed"] == 7
    for block in config["components"].values():
        for name in ("learner", "label_learner"):
            if name in block["model"]:
                assert block["model"][name]["seed"] is None


def test_progress_is_shown_and_the_last_step_is_evaluated(path):
    training = load_config(path)["training"]
    assert training["logger"]["progress_bar"]
    n_steps = training["max_epochs"] * training["batcher"]["n_batches"]
    frequency = training["eval_frequency"]
    assert (n_steps - 1) % frequency == 0
    assert 5 <= (n_steps - 1) // frequency <= 12


def test_only_shares_are_scored(path):
    assert "dynsel_templates" not in load_config(path)["training"]["score_weights"]


@pytest.mark.parametrize(("own", "expected"), [(None, 7), (3, 3), (0, 0)])
def test_learners_have_the_seed_of_the_training(own, expected):
    nlp = spacy.blank("en", config={"training": {"seed": 7}})
    config = {"model": {"learner": {"seed": own}}}
    tagger = nlp.add_pipe("dynsel_tagger", config=config)
    doc = Doc(nlp.vocab, words=["a"], tags=["X"])
    nlp.initialize(lambda: [Example(doc.copy(), doc)])
    assert tagger.engine._used_settings.seed == expected
