"""Random models that the compiled ones and the references are compared with."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from spacy_dynsel.base.templates import Templates, parse_templates
from spacy_dynsel.core.forms.packing import pack_weights
from spacy_dynsel.core.model_file import dump_model


@st.composite
def templates_strategy(
    draw: st.DrawFn, places: Mapping[str, Sequence[str]], max_atoms: int, max_size: int
) -> Templates:
    """Any templates over the places of a task, with any checkpoints."""
    atom = st.sampled_from(sorted(places)).flatmap(
        lambda column: st.sampled_from(sorted(places[column])).map(
            lambda place: f"{column}[{place}]"
        )
    )
    lines = draw(
        st.lists(
            st.lists(atom, min_size=1, max_size=max_atoms, unique=True).map(
                lambda atoms: " ".join(sorted(atoms))
            ),
            min_size=1,
            max_size=max_size,
            unique=True,
        )
    )
    checkpoints = draw(st.sets(st.integers(1, len(lines))))
    return parse_templates(lines, checkpoints=sorted(checkpoints))


def make_file(
    meta: dict[str, Any],
    templates: Templates,
    n_outputs: int,
    *,
    keys: Iterable[int] = (),
    classes: dict[int, int] | None = None,
    clusters: dict[int, int] | None = None,
    others: Mapping[str, np.ndarray] | None = None,
    rng: np.random.Generator,
) -> bytes:
    """A model file with random weights.

    meta (dict): What the task adds to the header.
    n_outputs (int): The number of outcomes of a decision.
    keys (Iterable[int]): The features that have weights; some others have, too, but
        none have if there are none of these.
    classes (dict), clusters (dict): The tables of the lexeme reader.
    others (dict): What the task adds to the arrays.
    """
    chosen = set(keys)
    if chosen:
        chosen |= {int(key) for key in rng.integers(0, 1 << 32, 20)}
    pairs = sorted(
        {
            (key, int(label))
            for key in sorted(chosen)
            for label in rng.integers(0, n_outputs, rng.integers(1, 6))
        }
    )
    array = np.array(pairs, dtype="uint32").reshape(-1, 2)
    weights = rng.integers(-127, 128, len(pairs)).astype("int8")
    index, slots = pack_weights(array[:, 0], array[:, 1], weights, n_outputs)
    arrays = {"templates_index": index, "templates_slots": slots}
    for name, table in (("class", classes or {}), ("cluster", clusters or {})):
        arrays[f"{name}_keys"] = np.array(sorted(table), dtype="uint64")
        arrays[f"{name}_values"] = np.array(
            [table[key] for key in sorted(table)], dtype="uint32"
        )
    part = {"templates": templates.to_lines(), "scale": 16.0}
    return dump_model(
        {**meta, "parts": {"templates": part}}, {**arrays, **(others or {})}
    )
