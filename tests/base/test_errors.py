"""The catalogue of errors and warnings."""

import ast
import re

import pytest

from helpers.paths import ROOT
from spacy_dynsel.base import errors, service_errors, warnings

PACKAGE = ROOT / "spacy_dynsel"
CATALOGUES = {
    "Errors": PACKAGE / "base" / "errors.py",
    "ServiceErrors": PACKAGE / "base" / "service_errors.py",
    "Warnings": PACKAGE / "base" / "warnings.py",
}
PREFIXES = {"Errors": "DS", "ServiceErrors": "DS", "Warnings": "DW"}


def read_codes(name: str) -> list[str]:
    """The codes of a class as they stand in the file, where one could stand twice."""
    body = ast.parse(CATALOGUES[name].read_text("utf8")).body
    [found] = [
        part for part in body if isinstance(part, ast.ClassDef) and part.name == name
    ]
    return [
        target.id
        for part in found.body
        if isinstance(part, ast.Assign)
        for target in part.targets
    ]


@pytest.mark.parametrize("name", PREFIXES)
def test_codes_stand_in_order(name):
    codes = read_codes(name)
    assert codes
    assert codes == sorted(set(codes))
    assert all(re.fullmatch(rf"{PREFIXES[name]}\d{{3}}", code) for code in codes)


def test_each_code_is_used():
    sources = "\n".join(
        path.read_text("utf8")
        for suffix in ("py", "pyx", "pxd")
        for path in PACKAGE.rglob(f"*.{suffix}")
        if path not in CATALOGUES.values()
    )
    used = {
        name: set(re.findall(rf"\b{name}\.({prefix}\d+)", sources))
        for name, prefix in PREFIXES.items()
    }
    assert used == {name: set(read_codes(name)) for name in PREFIXES}


@pytest.mark.parametrize("name", PREFIXES)
def test_messages_are_sentences_with_their_code(name):
    catalogue = {
        "Errors": errors.Errors,
        "ServiceErrors": service_errors.ServiceErrors,
        "Warnings": warnings.Warnings,
    }[name]
    for code in read_codes(name):
        message = getattr(catalogue, code)
        assert message.startswith(f"[{code}] ")
        assert message.endswith(".")
