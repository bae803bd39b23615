"""The hash tables that hold a parser's weights."""

import numpy as np
import pytest

from spacy_dynsel.base.templates import parse_templates
from spacy_dynsel.core.forms.cached import kernel_names
from spacy_dynsel.core.forms.line_table import ShortLineTable, check_table
from spacy_dynsel.core.forms.packing import (
    check_weights,
    pack_weights,
    unpack_weights,
)
from spacy_dynsel.core.forms.slots import NarrowScorer, WideScorer
from spacy_dynsel.core.program import Program

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
    lines = ShortLineTable(keys, values)
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
    lines = ShortLineTable(
        np.array([5], dtype="uint32"), np.array([32767], dtype="int16")
    )
    assert lines.sum([5] * 200_000, [1] * 200_000) == 200_000 * 32767
    assert lines.sum([5] * 200_000, [-1] * 200_000) == -200_000 * 32767


def list_weights(
    keys: np.ndarray, table: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The weights that are not 0: their keys, labels and values."""
    features, labels = np.nonzero(table)
    values = table[features, labels].astype("int8")
    return keys[features], labels.astype("uint32"), values


def make_program() -> Program:
    templates = parse_templates(["word"])
    return Program(templates, [], [], [], list(templates.templates[0].atoms))


@pytest.mark.parametrize(
    ("form", "n_labels"),
    [(NarrowScorer, 2), (NarrowScorer, 4), (WideScorer, 20), (WideScorer, 300)],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_compiled_weights_are_given_back(form, n_labels, seed):
    rng = np.random.default_rng(seed)
    keys = draw_keys(rng)
    table = rng.integers(1, 128, (len(keys), n_labels))
    table *= rng.choice([-1, 1], table.shape)
    # From one label of a feature to all of them.
    table[rng.random(table.shape) > rng.random((len(keys), 1))] = 0
    weights = list_weights(keys, table)
    packed = form.pack(*weights, n_labels)
    form.check(packed, n_labels)
    scorer = form(make_program(), n_labels, packed, 1.0)
    again = scorer.arrays()
    assert list(again) == list(packed) == list(form.parts)
    for name, array in packed.items():
        assert array.tolist() == again[name].tolist()
        assert array.dtype == again[name].dtype
    for found in (
        scorer.unpack(),
        unpack_weights(*pack_weights(*weights, n_labels)),
    ):
        for one, other in zip(found, weights, strict=True):
            assert one.tolist() == other.tolist()
            assert one.dtype == other.dtype


@pytest.mark.parametrize(
    ("form", "n_labels"),
    [(NarrowScorer, 4), (WideScorer, 1), (WideScorer, 20), (WideScorer, 300)],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_sums_of_weights_agree(form, n_labels, seed):
    rng = np.random.default_rng(seed)
    keys = draw_keys(rng)
    # All bytes, all of them in one feature, and few of them in most.
    table = rng.integers(-128, 128, (len(keys), n_labels))
    table[rng.random(len(keys)) < 0.1] = -128
    order = rng.random(table.shape).argsort(axis=1)
    table[order >= rng.choice([1, 2, 3, 4, 5, n_labels], (len(keys), 1))] = 0
    packed = form.pack(*list_weights(keys, table), n_labels)
    scorer = form(make_program(), n_labels, packed, 1.0)
    rows = dict(zip(keys.tolist(), table.tolist(), strict=True))
    asked = [*rows, *draw_keys(rng).tolist()]
    for some in (*([key] for key in asked), asked[:100]):
        found = [rows.get(key, [0] * n_labels) for key in some]
        expected = np.sum(found, axis=0).tolist()
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


def test_tables_that_would_do_harm_are_refused():
    keys = np.array([1, 2], dtype="uint32")
    values = np.array([3, 4], dtype="uint32")
    check_table(keys, values, "uint32")
    for bad_keys, bad_values, what in [
        (keys[::-1].copy(), values, "order"),
        (keys[[0, 0]], values, "order"),
        (keys, values[:1], "one key for each"),
        (keys, np.array([3, 0], dtype="uint32"), "zero"),
        (keys.astype("uint64"), values, "type"),
        (keys, values.astype("uint16"), "type"),
    ]:
        with pytest.raises(ValueError, match=what):
            check_table(bad_keys, bad_values, "uint32")


def pack_rows(n_labels: int) -> dict[str, np.ndarray]:
    """A feature with a pair of weights, one with a list and one with a row."""
    labels = np.array([0, 5, 1, 2, 3, *range(6)], dtype="uint32")
    keys = np.array([7] * 2 + [8] * 3 + [9] * 6, dtype="uint32")
    return WideScorer.pack(keys, labels, np.ones(len(keys), dtype="int8"), n_labels)


@pytest.mark.parametrize(
    ("part", "values"),
    [
        # A label, the second one, a list, a row and a kind that there is not.
        ("codes", [6 << 8 | 1, 1 << 31, 3 << 30]),
        ("codes", [6 << 23 | 1, 1 << 31, 3 << 30]),
        ("codes", [1, 1 << 31 | 1, 3 << 30]),
        ("codes", [1, 1 << 31, 3 << 30 | 1]),
        ("codes", [1 << 30 | 1, 1 << 31, 3 << 30]),
        ("lists", [6 << 8 | 1, 0, 0, 0]),
        ("lists", [1, 0, 0]),
        ("rows", [1, 1, 1, 1, 1]),
    ],
)
def test_rows_that_would_do_harm_are_refused(part, values):
    packed = pack_rows(6)
    WideScorer.check(packed, 6)
    packed[part] = np.array(values, dtype=packed[part].dtype)
    with pytest.raises(ValueError, match="DS035"):
        WideScorer.check(packed, 6)


def test_small_codes_with_unknown_labels_are_refused():
    arrays = {
        "keys": np.array([1], dtype="uint32"),
        "codes": np.array([1 << 16], dtype="uint32"),
    }
    NarrowScorer.check(arrays, 3)
    with pytest.raises(ValueError, match="DS035"):
        NarrowScorer.check(arrays, 2)
