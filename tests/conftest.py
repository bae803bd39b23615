import os
from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.training import Example

from helpers.parser import make_examples, train_parser
from helpers.tagger import SENTENCES, make_example, train_tagger
from spacy_dynsel.pipeline.parser import DynselParser


@pytest.fixture
def examples(nlp: Language) -> list[Example]:
    return [make_example(nlp, words, tags) for words, tags in SENTENCES]


@pytest.fixture
def nlp() -> Language:
    return spacy.blank("en")


@pytest.fixture
def tagger(nlp: Language, examples: list[Example]):
    """A tagger that knows a few sentences by heart, within its pipeline `nlp`."""
    return train_tagger(nlp, examples)


@pytest.fixture(scope="session")
def corpora() -> Path:
    folder = os.environ.get("DYNSEL_DATA")
    if not folder:
        pytest.skip("DYNSEL_DATA is not set: real corpora are needed")
    return Path(folder)


@pytest.fixture(scope="module")
def parser_pipeline() -> Language:
    """A pipeline of a parser that knows a few trees by heart."""
    nlp = spacy.blank("en")
    train_parser(nlp, make_examples(nlp))
    return nlp


@pytest.fixture
def parser(nlp: Language, parser_pipeline: Language) -> DynselParser:
    """The same parser, loaded into the pipeline `nlp`."""
    data = parser_pipeline.get_pipe("dynsel_parser").to_bytes()
    return nlp.add_pipe("dynsel_parser").from_bytes(data)


@pytest.fixture
def fresh_parser(nlp: Language) -> DynselParser:
    """A parser that has just learned a few trees by heart, within its pipeline `nlp`."""
    return train_parser(nlp, make_examples(nlp))
