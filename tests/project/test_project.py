"""The steps of the project fit together."""

import hashlib
import re
from pathlib import Path

import pytest
import srsly
from weasel.util.config import load_project_config

from helpers.paths import ROOT

PROJECT = srsly.read_yaml(ROOT / "project.yml")


def load(tmp_path, **variables):
    """The commands with variables filled in, without making folders here."""
    path = tmp_path / "project.yml"
    path.write_text((ROOT / "project.yml").read_text("utf8"), encoding="utf8")
    overrides = {f"vars.{name}": value for name, value in variables.items()}
    config = load_project_config(tmp_path, overrides=overrides)
    return {command["name"]: command for command in config["commands"]}, config


def covers(path, other):
    return path == other or other.startswith(f"{path}/") or path.startswith(f"{other}/")


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"name": "ewt", "config": "parser"},
        {"name": "pt", "lang": "pt", "tags": "upos"},
    ],
)
def test_what_a_step_needs_is_made_before(tmp_path, variables):
    commands, config = load(tmp_path, **variables)
    made = []
    for name in config["workflows"]["all"]:
        command = commands[name]
        for dep in command["deps"]:
            is_made = any(covers(dep, path) for path in made)
            assert is_made or (ROOT / dep).exists(), (name, dep)
        # Only what has outputs is skipped when nothing has changed.
        assert command["outputs"], name
        made += command["outputs"]


def test_scripts_name_what_they_read_and_write(tmp_path):
    """A file of the project that a script mentions is among the dependencies or the
    outputs, so that a change of it is noticed."""
    commands, config = load(tmp_path)
    for name in config["workflows"]["all"]:
        command = commands[name]
        known = command["deps"] + command["outputs"]
        for script in command["script"]:
            for path in re.findall(
                r"(?:configs|corpus|training|metrics|assets)/[^\s']+", script
            ):
                assert any(covers(path, other) for other in known), (name, path)


def test_a_changed_list_of_templates_is_noticed(tmp_path):
    commands, _ = load(tmp_path)
    lists = {path.name for path in (ROOT / "spacy_dynsel" / "defaults").iterdir()}
    for name in ("order", "train", "experiment"):
        deps = [dep for dep in commands[name]["deps"] if "defaults" in dep]
        assert deps, name
        assert all(Path(dep).name in lists | {"defaults"} for dep in deps)


def test_corpora_from_elsewhere(tmp_path):
    """One variable replaces what is downloaded."""
    commands, config = load(tmp_path, corpora="/my data")
    destinations = {Path(asset["dest"]).parent.name for asset in config["assets"]}
    for workflow in ("ewt", "pt"):
        [name] = config["workflows"][workflow]
        found = re.findall(r"'/my data/(\w+)'", " ".join(commands[name]["script"]))
        assert found
        assert set(found) <= destinations


@pytest.mark.parametrize("asset", PROJECT["assets"], ids=lambda asset: asset["dest"])
def test_assets_do_not_change(asset):
    """Each is of one commit, and a file of the split that it is called after."""
    path = Path(asset["dest"])
    commit, name = asset["url"].rsplit("/", 2)[1:]
    assert re.fullmatch("[0-9a-f]{40}", commit)
    assert name.endswith(f"-ud-{path.name}")
    language = path.parent.name.partition("_")[2]
    assert name.startswith(f"{language}-")


@pytest.mark.corpus
@pytest.mark.parametrize("asset", PROJECT["assets"], ids=lambda asset: asset["dest"])
def test_assets_are_what_figures_come_from(asset, corpora):
    path = corpora / Path(asset["dest"]).relative_to("assets")
    if "checksum" not in asset or not path.exists():
        pytest.skip("there is nothing to compare")
    assert hashlib.md5(path.read_bytes()).hexdigest() == asset["checksum"]
