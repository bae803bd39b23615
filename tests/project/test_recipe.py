"""The recipe of docs/pipelines.md for a config of spaCy's own."""

import re

import pytest
import spacy
from spacy.cli._util import app
from spacy.cli.init_config import fill_config, init_config
from spacy.cli.train import train
from spacy.tokens import DocBin
from spacy.util import load_config
from typer.testing import CliRunner

from helpers.embedded import read_docs
from helpers.paths import CONFIGS, ROOT

PAGE = (ROOT / "docs" / "pipelines.md").read_text("utf8")
OURS = ["tagger", "parser", "ner"]


def find(pattern):
    [found] = re.findall(pattern, PAGE, flags=re.DOTALL)
    return found


def test_recipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = find(r"`python -m spacy (init config base.cfg [^`]*)`")
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0, done.output
    # As a user has it, and not as the page makes it.
    script = find(r"```python\n(from spacy.cli.init_config import.*?)```")
    made = re.search(r"^config = init_config.*$", script, flags=re.MULTILINE)[0]
    loaded = re.search(r"config = spacy.util.load_config\(.*\)", script)[0]
    exec(script.replace(made, loaded), {"spacy": spacy})
    fill_config(tmp_path / "config.cfg", tmp_path / "base.cfg", silent=True)
    config = load_config("config.cfg")
    assert config["nlp"]["pipeline"] == OURS
    shipped = load_config(CONFIGS / "pipeline.cfg")
    for name in OURS:
        templates = {
            key: block
            for key, block in shipped["components"][name]["model"].items()
            if isinstance(block, dict) and "default" in block
        }
        filled = config["components"][name]["model"]
        assert {key: filled[key] for key in templates} == templates
    vocab = spacy.blank("en").vocab
    DocBin(docs=read_docs(vocab, "train", 100)).to_disk("train.spacy")
    DocBin(docs=read_docs(vocab, "dev", 30)).to_disk("dev.spacy")
    overrides = {"paths.train": "train.spacy", "paths.dev": "dev.spacy"}
    overrides |= {"training.max_epochs": 3, "training.eval_frequency": 191}
    train("config.cfg", "out", overrides=overrides)
    nlp = spacy.load("out/model-last")
    assert nlp.pipe_names == OURS
    assert nlp.meta["performance"]["tag_acc"] > 0.6
    assert nlp.meta["performance"]["dep_uas"] > 0.4


def test_each_deletion_is_needed_and_named(tmp_path):
    """What the page says to delete is what is refused, and nothing else is."""
    table = find(r"(\| where \| what \|.*?)\n\n")
    config = load_config_of_spacy()
    for name in OURS:
        block = dict(config["components"][name])
        del block["factory"], block["model"]
        refused = set()
        for setting, value in block.items():
            nlp = spacy.blank("en")
            try:
                nlp.add_pipe(f"dynsel_{name}", config={setting: value})
            except ValueError:
                refused.add(setting)
        assert all(f"`{setting}`" in table for setting in refused), refused
        assert refused <= {
            *("label_smoothing", "moves", "update_with_oracle_cut_size"),
            *("learn_tokens", "min_action_freq"),
        }


def load_config_of_spacy():
    return init_config(lang="en", pipeline=OURS)


@pytest.mark.parametrize("name", OURS)
def test_swapping_the_factory_alone_is_refused(name):
    block = dict(load_config_of_spacy()["components"][name])
    del block["factory"]
    with pytest.raises(ValueError):
        spacy.blank("en").add_pipe(f"dynsel_{name}", config=block)
