"""Where probabilities are found: extension attributes of tokens and spans."""

from collections.abc import Sequence

import numpy as np
from spacy.tokens import Doc, Span, Token

# The probability that a tag is right, that an arc is (head and label), and the smaller
# of those that are there.
TAG = "dynsel_tag_confidence"
ARC = "dynsel_arc_confidence"
ANY = "dynsel_confidence"


def get_token_confidence(token: Token) -> float | None:
    """The probability that what a token was given is right: that of the less certain
    part where there are several."""
    found = [token._.get(TAG), token._.get(ARC)]
    return min((value for value in found if value is not None), default=None)


def register() -> None:
    """Make sure that the attributes exist. Other people's are left alone."""
    for name in (TAG, ARC):
        if not Token.has_extension(name):
            Token.set_extension(name, default=None)
    if not Token.has_extension(ANY):
        Token.set_extension(ANY, getter=get_token_confidence)
    if not Span.has_extension(ANY):
        Span.set_extension(ANY, default=None)


def write_tokens(
    docs: Sequence[Doc], name: str, values: np.ndarray, chosen: np.ndarray
) -> None:
    """Set an attribute of tokens.

    values (array): The values of all tokens of all docs.
    chosen (array): Which tokens to set; the others lose what they have.
    """
    rounded = values.tolist()
    is_chosen = chosen.tolist()
    i = 0
    for doc in docs:
        data = doc.user_data
        # As token._ does it, many times faster.
        for token in doc:
            key = ("._.", name, token.idx, None)
            if is_chosen[i]:
                data[key] = rounded[i]
            else:
                data.pop(key, None)
            i += 1


# On import, and not by each component: one that was pickled is not made anew.
register()
