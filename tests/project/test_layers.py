"""Whether each part of the package uses only what stands below it."""

import re
from pathlib import Path

import pytest

import spacy_dynsel

PACKAGE = Path(spacy_dynsel.__file__).parent
# From the lowest to the highest. A folder may import those to the left of it.
LAYERS = [
    *("about", "base", "core", "cascade", "spacy_io", "tokenizer", "corpus", "tasks"),
    *("confidence", "ordering", "pipeline", "registry", "annotating", "report"),
    *("service", "cli"),
]
# What these share stands beside them.
TASKS = ["arc_eager", "bilou", "cascading", "lemmas", "morphology", "tagging"]
IMPORT = re.compile(r"^\s*from\s+(\.+)([\w.]*)\s+c?import\s", re.MULTILINE)
SOURCES = [
    path
    for suffix in (".py", ".pyx", ".pxd", ".pyi")
    for path in sorted(PACKAGE.rglob(f"*{suffix}"))
]


def find_imports(path: Path) -> set[tuple[str, ...]]:
    """The modules of the package that a file imports, as the parts of their names."""
    own = path.relative_to(PACKAGE).with_suffix("").parts
    return {
        (*own[: len(own) - len(dots)], *(part for part in name.split(".") if part))
        for dots, name in IMPORT.findall(path.read_text("utf8"))
    }


def test_the_layers_are_all_there_is():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert folders - {"__pycache__", "defaults", "configs"} == set(LAYERS) - {"about"}


@pytest.mark.parametrize(
    "path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_imports_point_downwards(path):
    own = path.relative_to(PACKAGE).with_suffix("").parts
    for target in find_imports(path):
        if own[0] in LAYERS and target and target[0] in LAYERS:
            assert LAYERS.index(target[0]) <= LAYERS.index(own[0]), target
        if own[0] == "tasks" == target[0] and own[1] in TASKS:
            assert target[1] not in {*TASKS} - {own[1]}, target


def test_the_core_knows_no_spacy():
    for path in SOURCES:
        if path.relative_to(PACKAGE).parts[0] in ("base", "core"):
            assert not re.search(
                r"^\s*(from|import|cimport)\s+(spacy|thinc)\b",
                path.read_text("utf8"),
                re.MULTILINE,
            ), path
