"""Changes to model files that leave their tables of contents in order: of those that are
changed anywhere, hardly any gets as far as a prediction."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any

import numpy as np

from spacy_dynsel.core.model_file import dump_model, load_model

from .models import make_genuine

Mutate = Callable[[bytes], bytes]
ODD_VALUES = (None, True, 0, -1, 2, 255, 1 << 16, 1 << 40, 0.5, "", "O", "_", [], {})


def mutate_model(data: bytes, rng: Random, mutate: Mutate) -> bytes:
    """Change the description or one section of a model.

    mutate (Callable): How to change the bytes of a section, and all of them where they
        are no model.
    """
    try:
        meta, arrays = load_model(make_genuine(data))
    except ValueError:
        return mutate(data)
    name = rng.choice([None, *arrays])
    if name is None:
        change_description(meta, rng, mutate)
    else:
        old = arrays[name].tobytes()
        new = mutate(old)
        if rng.randrange(4):
            # Arrays of other lengths are refused.
            new = new[: len(old)] + old[len(new) :]
        itemsize = arrays[name].dtype.itemsize
        new = new[: len(new) // itemsize * itemsize]
        arrays[name] = np.frombuffer(new, dtype=arrays[name].dtype)
    return dump_model(meta, arrays)


def change_description(meta: dict[str, Any], rng: Random, mutate: Mutate) -> None:
    """Replace, copy or leave out one value, at any depth."""
    places = list(find_places(meta))
    if not places:
        return
    parent, key = rng.choice(places)
    value = parent[key]
    other_parent, other_key = rng.choice(places)
    choice = rng.randrange(5)
    if choice == 0:
        del parent[key]
    elif choice == 1 and isinstance(parent, list):
        parent.insert(key, value)
    elif choice == 2:
        parent[key] = deepcopy(other_parent[other_key])
    elif choice == 3 and isinstance(value, str):
        parent[key] = mutate(value.encode()).decode("utf8", "ignore")
    elif choice == 3 and isinstance(value, int):
        parent[key] = value + rng.choice((-1, 1))
    else:
        parent[key] = rng.choice(ODD_VALUES)


def find_places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where a list or a dict, or one within, holds something."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from find_places(value[key])
