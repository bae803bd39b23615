"""What all components have in common."""

import pytest

from helpers.contract import FACTORIES


@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize("get_examples", [None, [], lambda: None, lambda: []])
def test_bad_examples_for_initialize(nlp, factory, get_examples):
    pipe = nlp.add_pipe(factory)
    with pytest.raises((TypeError, ValueError)):
        pipe.initialize(get_examples)
