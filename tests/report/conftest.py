import pytest

from helpers.little_pipeline import make_pipeline


@pytest.fixture(scope="module")
def pipeline():
    """A tagger, a parser and an entity recognizer that know two sentences."""
    return make_pipeline()
