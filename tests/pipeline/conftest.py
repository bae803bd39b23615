import multiprocessing

import pytest


@pytest.fixture(params=["fork", "spawn"])
def start_method(request, monkeypatch) -> str:
    """A way to start processes, which spaCy uses."""
    if request.param not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {request.param} on this platform")
    monkeypatch.setattr("spacy.language.mp", multiprocessing.get_context(request.param))
    return request.param
