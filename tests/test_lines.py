"""The hash tables that hold a parser's weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_dynsel.core.lines import ShortLines
from spacy_dynsel.core.program import Program
from spacy_dynsel.core.rows import RowScorer
from spacy_dynsel.core.scorer import check_weights, pack_weights, unpack_weights
from spacy_dynsel.core.small import SmallScorer
from spacy_dynsel.templates import parse_templates

# Some that are spread, and many that fall into one line.
KEYS = st.one_of(
    st.integers(0, 2**32 - 1),
    st.integers(0, 60),
    st.integers(2**32 - 60, 2**32 - 1),
    st.integers(7 << 20, (7 << 20) + 60),
)
VALUES = st.integers(-32767, 32767).filter(bool)
WEIGHTS = st.integers(-127, 127).filter(bool)


@given(st.dictionaries(KEYS, VALUES, max_size=200), st.lists(KEYS, max_size=30))
def test_short_lines_are_a_dictionary(table, others):
    keys = np.array(sorted(table), dtype="uint32")
    values = np.array([table[int(key)] for key in keys], dtype="int16")
    lines = ShortLines(keys, values)
    found_keys, found_values = lines.to_arrays()
    assert found_keys.tolist() == keys.tolist()
    assert found_values.tolist() == values.tolist()
    for key in [*table, *others]:
        assert lines.sum([key], [1]) == table.get(key, 0)
    signs = [1 if key % 3 else -1 for key in others]
    assert lines.sum(others, signs) == sum(
        sign * table.get(key, 0) for key, sign in zip(others, signs, strict=True)
    )


def test_sums_do_not_overflow():
    lines = ShortLines(np.array([5], dtype="uint32"), np.array([32767], dtype="int16"))
    assert lines.sum([5] * 200_000, [1] * 200_000) == 200_000 * 32767
    assert lines.sum([5] * 200_000, [-1] * 200_000) == -200_000 * 32767


@pytest.mark.parametrize(
    ("make", "n_labels"), [(SmallScorer, 4), (RowScorer, 20), (RowScorer, 300)]
)
@given(data=st.data())
def test_compiled_weights_are_given_back(make, n_labels, data):
    pairs = st.tuples(KEYS, st.integers(0, n_labels - 1))
    table = data.draw(st.dictionaries(pairs, WEIGHTS, max_size=200))
    ordered = sorted(table)
    weights = (
        np.array([key for key, _ in ordered], dtype="uint32"),
        np.array([label for _, label in ordered], dtype="uint32"),
        np.array([table[pair] for pair in ordered], dtype="int8"),
    )
    index, slots = pack_weights(*weights, n_labels)
    check_weights(index, slots, n_labels)
    templates = parse_templates(["word"])
    program = Program(templates, [], [], [], list(templates.templates[0].atoms))
    for found in (
        unpack_weights(index, slots),
        make(program, n_labels, index, slots, 1.0).unpack(),
    ):
        for one, other in zip(found, weights, strict=True):
            assert one.tolist() == other.tolist()
            assert one.dtype == other.dtype


def test_weights_out_of_order_are_refused():
    keys = np.array([1, 2], dtype="uint32")
    labels = np.zeros(2, dtype="uint32")
    index, slots = pack_weights(keys, labels, np.ones(2, dtype="int8"), 4)
    check_weights(index, slots, 4)
    for bad in (slots[::-1].copy(), slots[[0, 0]]):
        with pytest.raises(ValueError, match="order"):
            check_weights(index, bad, 4)
