"""The hash tables that hold a parser's weights."""

import numpy as np
import pytest

from spacy_dynsel.core.lines import ShortLines
from spacy_dynsel.core.program import Program
from spacy_dynsel.core.rows import RowScorer
from spacy_dynsel.core.scorer import (
    check_weights,
    kernel_names,
    pack_weights,
    unpack_weights,
)
from spacy_dynsel.core.small import SmallScorer
from spacy_dynsel.templates import parse_templates

SEEDS = range(8)


def draw_keys(rng: np.random.Generator) -> np.ndarray:
    """Some that are spread, and many that fall into one line, up to the last one."""
    spread = rng.integers(0, 2**32, rng.integers(0, 300))
    starts = rng.integers(0, 2**32 - 60, 2).tolist()
    crowds = [
        rng.integers(start, start + 60, rng.integers(0, 60))
        for start in (0, 2**32 - 60, *starts)
    ]
    return np.unique(np.concatenate([spread, *crowds])).astype("uint32")


@pytest.mark.parametrize("seed", SEEDS)
def test_short_lines_are_a_dictionary(seed):
    rng = np.random.default_rng(seed)
    keys = draw_keys(rng)
    values = rng.integers(1, 32768, len(keys)) * rng.choice([-1, 1], len(keys))
    values = values.astype("int16")
    lines = ShortLines(keys, values)
    found_keys, found_values = lines.to_arrays()
    assert found_keys.tolist() == keys.tolist()
    assert found_values.tolist() == values.tolist()
    table = dict(zip(keys.tolist(), values.tolist(), strict=True))
    asked = [*table, *draw_keys(rng).tolist()]
    for key in asked:
        assert lines.sum([key], [1]) == table.get(key, 0)
    signs = rng.choice([-1, 1], len(asked)).tolist()
    assert lines.sum(asked, signs) == sum(
        sign * table.get(key, 0) for key, sign in zip(asked, signs, strict=True)
    )


def test_sums_do_not_overflow():
    lines = ShortLines(np.array([5], dtype="uint32"), np.array([32767], dtype="int16"))
    assert lines.sum([5] * 200_000, [1] * 200_000) == 200_000 * 32767
    assert lines.sum([5] * 200_000, [-1] * 200_000) == -200_000 * 32767


@pytest.mark.parametrize(
    ("make", "n_labels"), [(SmallScorer, 4), (RowScorer, 20), (RowScorer, 300)]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_compiled_weights_are_given_back(make, n_labels, seed):
    rng = np.random.default_rng(seed)
    keys = draw_keys(rng)
    table = rng.integers(1, 128, (len(keys), n_labels))
    table *= rng.choice([-1, 1], table.shape)
    # From one label of a feature to all of them.
    table[rng.random(table.shape) > rng.random((len(keys), 1))] = 0
    features, labels = np.nonzero(table)
    weights = (
        keys[features],
        labels.astype("uint32"),
        table[features, labels].astype("int8"),
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


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_of_weights_agree(seed):
    rng = np.random.default_rng(seed)
    keys = draw_keys(rng)
    # All bytes, and all of them in one feature.
    table = rng.integers(-128, 128, (len(keys), 4))
    table[rng.random(len(keys)) < 0.1] = -128
    features, labels = np.nonzero(table)
    index, slots = pack_weights(
        keys[features],
        labels.astype("uint32"),
        table[features, labels].astype("int8"),
        4,
    )
    templates = parse_templates(["word"])
    program = Program(templates, [], [], [], list(templates.templates[0].atoms))
    scorer = SmallScorer(program, 4, index, slots, 1.0)
    rows = dict(zip(keys.tolist(), table.tolist(), strict=True))
    asked = [*rows, *draw_keys(rng).tolist()]
    for some in (*([key] for key in asked), asked[:100]):
        expected = np.sum([rows.get(key, [0] * 4) for key in some], axis=0).tolist()
        for kind in range(len(kernel_names())):
            assert scorer.sum(some, kind) == expected


def test_weights_out_of_order_are_refused():
    keys = np.array([1, 2], dtype="uint32")
    labels = np.zeros(2, dtype="uint32")
    index, slots = pack_weights(keys, labels, np.ones(2, dtype="int8"), 4)
    check_weights(index, slots, 4)
    for bad in (slots[::-1].copy(), slots[[0, 0]]):
        with pytest.raises(ValueError, match="order"):
            check_weights(index, bad, 4)
