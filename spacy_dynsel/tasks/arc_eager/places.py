"""Where the templates of a parser may look."""

from collections.abc import Sequence

from ...spacy_io.lexemes import LEXICAL_COLUMNS
from .features import (
    ACTION_PLACES,
    BOUNDARY_PLACES,
    LABEL_PLACES,
    STATE_COLUMNS,
    STATE_PLACE,
    TOKEN_COLUMNS,
)
from .ranking import TREE_PLACES


def _places(places: list[str]) -> dict[str, Sequence[str]]:
    """Where each column may be read, for the places of a kind of decision."""
    return {
        **{column: places[1:] for column in (*LEXICAL_COLUMNS, *TOKEN_COLUMNS)},
        **{column: [STATE_PLACE] for column in STATE_COLUMNS},
    }


# For each template list of a parser, the places of each column.
PLACES = {
    "actions": _places(ACTION_PLACES),
    "labels": _places(LABEL_PLACES),
    "boundaries": _places(BOUNDARY_PLACES),
    "branches": _places(ACTION_PLACES),
    "trees": _places(TREE_PLACES),
}
