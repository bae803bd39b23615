"""Where probabilities are found: extension attributes of tokens and spans."""

from collections.abc import Sequence

import numpy as np
from spacy.tokens import Doc, Span, Token

# The probability that a tag is right, that an arc is (head and label), that a lemma is,
# and the smallest of those that are there.
TAG = "dynsel_tag_confidence"
ARC = "dynsel_arc_confidence"
LEMMA = "dynsel_lemma_confidence"
PARTS = (TAG, ARC, LEMMA)
ANY = "dynsel_confidence"


def get_doc_confidence(doc: Doc) -> float | None:
    """The probability that the least sure annotation of a doc is right. It also keeps
    doc.to_json from failing where a doc has no values."""
    found = (
        value
        for key, value in doc.user_data.items()
        # Keys of tokens and spans; others may be anything.
        if isinstance(key, tuple) and key[:2] == ("._.", ANY) and key[2] is not None
    )
    return min((value for value in found if value is not None), default=None)


def register() -> None:
    """Make sure that the attributes exist. Other people's are left alone."""
    # Values that are stored, and no getters: only these are found by doc.to_json.
    for name in (*PARTS, ANY):
        if not Token.has_extension(name):
            Token.set_extension(name, default=None)
    if not Span.has_extension(ANY):
        Span.set_extension(ANY, default=None)
    if not Doc.has_extension(ANY):
        Doc.set_extension(ANY, getter=get_doc_confidence)


def write_tokens(
    docs: Sequence[Doc], name: str, values: np.ndarray, chosen: np.ndarray
) -> None:
    """Set an attribute of tokens, and what they have as a whole: the smallest one of
    the parts that are known.

    name (str): One of PARTS.
    values (array): The values of all tokens of all docs.
    chosen (array): Which tokens to set; the others lose what they have.
    """
    others = [part for part in PARTS if part != name]
    rounded = values.tolist()
    is_chosen = chosen.tolist()
    i = 0
    for doc in docs:
        data = doc.user_data
        # As token._ does it, many times faster.
        for token in doc:
            place = token.idx
            known = [data.get(("._.", other, place, None)) for other in others]
            if is_chosen[i]:
                data["._.", name, place, None] = rounded[i]
                known.append(rounded[i])
            else:
                data.pop(("._.", name, place, None), None)
            known = [value for value in known if value is not None]
            if known:
                data["._.", ANY, place, None] = min(known)
            else:
                data.pop(("._.", ANY, place, None), None)
            i += 1


# On import, and not by each component: one that was pickled is not made anew.
register()
