"""The catalogue of errors and warnings."""

import ast
import re

import pytest

from helpers.paths import ROOT
from spacy_dynsel.base.catalogues import CATALOGUES

PACKAGE = ROOT / "spacy_dynsel"
FILES = {
    one.__name__: ROOT.joinpath(*one.__module__.split(".")).with_suffix(".py")
    for one in CATALOGUES
}


def get_prefix(name: str) -> str:
    return "DW" if name == "Warnings" else "DS"


def read_codes(name: str) -> list[str]:
    """The codes of a class as they stand in the file, where one could stand twice."""
    body = ast.parse(FILES[name].read_text("utf8")).body
    [found] = [
        part for part in body if isinstance(part, ast.ClassDef) and part.name == name
    ]
    return [
        target.id
        for part in found.body
        if isinstance(part, ast.Assign)
        for target in part.targets
    ]


def test_no_code_stands_twice():
    codes = [code for name in FILES for code in read_codes(name)]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("name", FILES)
def test_codes_stand_in_order(name):
    codes = read_codes(name)
    assert codes
    assert codes == sorted(codes)
    assert all(re.fullmatch(rf"{get_prefix(name)}\d{{3}}", code) for code in codes)


def test_each_code_is_used():
    sources = "\n".join(
        path.read_text("utf8")
        for suffix in ("py", "pyx", "pxd")
        for path in PACKAGE.rglob(f"*.{suffix}")
        if path not in FILES.values()
    )
    used = {
        name: set(re.findall(rf"\b{name}\.({get_prefix(name)}\d+)", sources))
        for name in FILES
    }
    assert used == {name: set(read_codes(name)) for name in FILES}


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=lambda one: one.__name__)
def test_messages_are_sentences_with_their_code(catalogue):
    for code in read_codes(catalogue.__name__):
        message = getattr(catalogue, code)
        assert message.startswith(f"[{code}] ")
        assert message.endswith(".")
