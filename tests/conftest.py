import os
from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

SENTENCES = [
    ("I like green eggs", "PRP VBP JJ NNS"),
    ("Eat blue ham", "VB JJ NN"),
    ("The hits were two big hits", "DT NNS VBD CD JJ NNS"),
    ("She hits her ball hard .", "PRP VBZ PRP$ NN RB ."),
    ("They saw her", "PRP VBD PRP"),
]


def make_example(nlp: Language, words: str, tags: str) -> Example:
    reference = Doc(nlp.vocab, words=words.split(), tags=tags.split())
    return Example(nlp.make_doc(reference.text), reference)


@pytest.fixture
def examples(nlp: Language) -> list[Example]:
    return [make_example(nlp, words, tags) for words, tags in SENTENCES]


@pytest.fixture
def nlp() -> Language:
    return spacy.blank("en")


def train_tagger(nlp: Language, examples: list[Example], n_updates: int = 20, **config):
    tagger = nlp.add_pipe("dynsel_tagger", config=config)
    nlp.initialize(lambda: examples)
    for _ in range(n_updates):
        nlp.update(examples)
    return tagger


@pytest.fixture
def tagger(nlp: Language, examples: list[Example]):
    """A tagger that knows the sentences above by heart, within its pipeline `nlp`."""
    return train_tagger(nlp, examples)


@pytest.fixture(scope="session")
def corpora() -> Path:
    folder = os.environ.get("DYNSEL_DATA")
    if not folder:
        pytest.skip("DYNSEL_DATA is not set: real corpora are needed")
    return Path(folder)
