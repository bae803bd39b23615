"""Tests stand where the package has what they test, and share code by helpers only."""

import re

import pytest

from helpers.paths import ROOT, TESTS

MODULES = sorted(TESTS.rglob("test_*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_place(path):
    folder = path.parent.relative_to(TESTS)
    assert folder.parts, "Move it into the folder of what it tests"
    assert folder.name == "project" or (ROOT / "spacy_dynsel" / folder).is_dir()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_imports(path):
    text = path.read_text("utf8")
    assert not re.findall(r"^\s*(?:from|import) (?:test_\w+|conftest)\b", text, re.M)
