"""Where things are in the checkout."""

import os
from pathlib import Path

import spacy_dynsel

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
ASSETS = ROOT / "assets"
CONFIGS = ROOT / "configs"
# Other processes find the package under test there, wherever it is, and the helpers.
PYTHONPATH = os.pathsep.join([str(Path(spacy_dynsel.__file__).parents[1]), str(TESTS)])
