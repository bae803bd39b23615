import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_dynsel.registry.batchers import make_share_batcher


@given(st.integers(1, 200), st.integers(1, 60))
def test_each_epoch_has_as_many_batches(n_items, n_batches):
    batches = list(make_share_batcher(n_batches)(range(n_items)))
    assert len(batches) == n_batches
    assert {item for batch in batches for item in batch} == set(range(n_items))
    if n_items >= n_batches:
        assert [item for batch in batches for item in batch] == list(range(n_items))
        sizes = [len(batch) for batch in batches]
        assert max(sizes) - min(sizes) <= 1


def test_no_items():
    assert list(make_share_batcher(5)([])) == []


def test_bad_number():
    with pytest.raises(ValueError, match="DS022"):
        make_share_batcher(0)
