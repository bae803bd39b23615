"""The compiled modules of the package."""

from helpers.paths import ROOT

COMPILED = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "spacy_dynsel").rglob("*.pyx")
)
