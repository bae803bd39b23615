"""Blocks of a config that are plain settings. To spaCy a block that names a registered
function takes a millisecond, and a pipeline would have more than ten of them."""

from collections.abc import Callable
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from .errors import Errors

T = TypeVar("T")


def read_block(
    name: str, block: dict[str, Any] | T | None, make: Callable[..., T]
) -> T | None:
    """What a block stands for.

    name (str): The name of the block, for errors.
    block: The settings, or what a registered function has made of them.
    make (Callable): Takes the settings by their names, and has annotations.
    """
    if not isinstance(block, dict):
        return block
    hints = get_type_hints(make)
    del hints["return"]
    for key, value in block.items():
        if key not in hints or not _fits(value, hints[key]):
            raise ValueError(
                Errors.DS024.format(
                    name=name, key=key, value=value, known=", ".join(hints)
                )
            )
    return make(**block)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that a setting has in a signature."""
    if get_origin(hint) is list:
        (item,) = get_args(hint)
        return isinstance(value, list) and all(_fits(one, item) for one in value)
    if choices := get_args(hint):
        return any(_fits(value, choice) for choice in choices)
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, int | float if hint is float else hint)
