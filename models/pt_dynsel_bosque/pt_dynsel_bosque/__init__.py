"""A pretrained pipeline for spaCy with the components of spacy-dynsel."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.util import get_model_meta, load_model_from_init_py

__version__ = get_model_meta(Path(__file__).parent)["version"]


def load(*, exclude: str | Iterable[str] = (), **overrides: Any) -> Language:
    # The tokenizer has the rules of its language, which the config names: to read them
    # from the file as well would take longer than all the rest.
    names = [exclude] if isinstance(exclude, str) else list(exclude)
    return load_model_from_init_py(__file__, exclude=[*names, "tokenizer"], **overrides)
