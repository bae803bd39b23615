"""What all shipped configs have in common, and the command that writes them."""

import re
import shlex
from pathlib import Path

import pytest
import spacy
from spacy.cli._util import parse_config_overrides
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_config, load_model_from_config
from thinc.api import Config
from typer.testing import CliRunner

from helpers.paths import CONFIGS
from spacy_dynsel.base.templates import DEFAULTS
from spacy_dynsel.cli import dynsel_cli
from spacy_dynsel.cli.init_config import PIPELINES, make_config
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
    known = {"tagger", "morphologizer", "parser", "lemmatizer", "ner"}
    assert set(config["nlp"]["pipeline"]) <= known
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
    # A cascade is learned from the beginning for each of these.
    least = 1 if path.stem == "cascade" else 5
    assert least <= (n_steps - 1) // frequency <= 12


def test_only_shares_are_scored(path):
    assert "dynsel_templates" not in load_config(path)["training"]["score_weights"]


@pytest.mark.parametrize(("own", "expected"), [(None, 7), (3, 3), (0, 0)])
def test_learners_have_the_seed_of_the_training(own, expected):
    nlp = spacy.blank("en", config={"training": {"seed": 7}})
    config = {"model": {"learner": {"seed": own}}}
    tagger = nlp.add_pipe("dynsel_tagger", config=config)
    doc = Doc(nlp.vocab, words=["a"], tags=["X"])
    nlp.initialize(lambda: [Example(doc.copy(), doc)])
    assert tagger.engine.main.used_settings.seed == expected


def run(command):
    result = CliRunner().invoke(dynsel_cli, shlex.split(command))
    assert result.exit_code == 0, result.output
    return result.output


def read_comments(path):
    return re.findall(r"^#.*", path.read_text("utf8"), flags=re.MULTILINE)


def test_the_command_in_the_header_writes_the_config(path, tmp_path, monkeypatch):
    """Other versions of confection may lay out the same settings differently."""
    monkeypatch.chdir(tmp_path)
    Path("configs").mkdir()
    [command] = re.findall(r"spacy dynsel (init-config .*)", path.read_text("utf8"))
    run(command)
    written = tmp_path / "configs" / path.name
    assert load_config(written) == load_config(path)
    assert read_comments(written) == read_comments(path)


@pytest.mark.parametrize("kind", PIPELINES)
@pytest.mark.parametrize(("clusters", "gazetteers"), [(True, False), (False, True)])
def test_written_configs_are_complete(kind, clusters, gazetteers):
    """Each list of templates has clusters where there is a list with clusters, and
    spaCy has nothing to add."""
    text = make_config(kind, clusters=clusters, gazetteers=gazetteers)
    config = Config().from_str(text, interpolate=False)
    assert config["nlp"]["pipeline"] == list(config["components"]) == PIPELINES[kind]
    for block in config["components"].values():
        for value in block["model"].values():
            if isinstance(value, dict) and "default" in value:
                name = value["default"].removesuffix("_clusters")
                has_clusters = (DEFAULTS / f"{name}_clusters.txt").exists()
                assert value["default"].endswith("_clusters") == (
                    clusters and has_clusters
                )
    if "ner" in PIPELINES[kind]:
        lists = config["components"]["ner"]["model"]["gazetteers"]
        assert bool(lists) == gazetteers
    assert load_model_from_config(config, auto_fill=False).config == config


@pytest.mark.parametrize(
    ("lang", "tokenizer"),
    [("pt", "spacy.Tokenizer.v1"), ("zh", "spacy.zh.ChineseTokenizer")],
)
def test_written_configs_have_the_tokenizer_of_the_language(lang, tokenizer, tmp_path):
    path = tmp_path / "ours.cfg"
    run(f"init-config parser '{path}' --lang {lang}")
    config = load_config(path)
    assert config["nlp"]["lang"] == lang
    assert config["nlp"]["tokenizer"]["@tokenizers"] == tokenizer
    assert f"--lang {lang}" in path.read_text("utf8")


def test_an_existing_config_is_kept_unless_forced(tmp_path):
    path = tmp_path / "ours.cfg"
    path.write_text("mine")
    command = f"init-config tagger '{path}'"
    result = CliRunner().invoke(dynsel_cli, shlex.split(command))
    assert result.exit_code == 2
    assert "--force" in result.output
    assert path.read_text() == "mine"
    run(f"{command} --force")
    assert load_config(path)["nlp"]["pipeline"] == ["tagger"]


def test_a_path_with_a_blank_is_quoted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = run("init-config ner 'my config.cfg'")
    assert "train 'my config.cfg' --paths.train" in output
    run(re.findall(r"dynsel (init.*)", Path("my config.cfg").read_text())[0] + " -F")
