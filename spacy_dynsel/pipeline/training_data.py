"""What a component is told when it is initialized: the data, and the training's
settings."""

from collections.abc import Callable, Iterable
from typing import Any

from spacy.training import Example, validate_get_examples


def is_complete(nlp: Any) -> bool:
    """Whether initialization sees all training data, and not only the first examples
    of a stream that is read once."""
    return get_training_settings(nlp).get("max_epochs") != -1


def is_learned_from(nlp: Any, component: Any, attribute: str) -> bool:
    """Whether others that come after a component, and are trained with it, learn from the
    attribute that it predicts. Those of others do if they require it."""
    is_later = False
    for name, other in nlp.pipeline if nlp is not None and attribute else ():
        required = nlp.get_pipe_meta(name).requires
        if is_later and attribute in getattr(other, "learns_from", required):
            return True
        is_later = is_later or other is component
    return False


def read_examples(
    get_examples: Callable[[], Iterable[Example]], method: str
) -> list[Example]:
    """The training data, read once: that takes time, and a stream may give something
    else the next time, or nothing.

    method (str): Who asks for them, for errors.
    """
    examples: Any = None
    if callable(get_examples):
        found = get_examples()
        examples = list(found) if isinstance(found, Iterable) else found
    validate_get_examples(
        get_examples if examples is None else lambda: examples, method
    )
    return examples


def get_seed(nlp: Any) -> int:
    """The seed of the training, for learners that have none of their own."""
    seed = get_training_settings(nlp).get("seed")
    return seed if isinstance(seed, int) and 0 <= seed < 2**32 else 0


def get_training_settings(nlp: Any) -> dict[str, Any]:
    """What the config of a pipeline says about training."""
    if nlp is None:
        return {}
    config = nlp.config
    try:
        return config.interpolate().get("training", {})
    except ValueError:
        # A config that is not complete says nothing that could be relied on.
        return config.get("training", {})
