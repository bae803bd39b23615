"""Where the templates of a parser may look: names of columns and places."""
from ...spacy_io.lexemes import LEXICAL_COLUMNS

TOKEN_COLUMNS = [
    "tag", "pos", "label", "left_count", "right_count", "left_labels", "right_labels",
]
STATE_COLUMNS = [
    "distance", "distance1", "between", "previous", "position", "side", "lead", "pair",
]
# The place of a column that belongs to no token.
STATE_PLACE = "0"


cdef list name_places(dict names):
    """The names of places, by their number."""
    return [names[place] for place in range(len(names))]


ACTIONS = ["SHIFT", "REDUCE", "LEFT", "RIGHT"]
ACTION_PLACES = name_places(
    {
        STATE: STATE_PLACE,
        S0: "S0",
        S1: "S1",
        S2: "S2",
        N0: "N0",
        N1: "N1",
        N2: "N2",
        S0_BEFORE: "S0-1",
        S0_AFTER: "S0+1",
        N0_BEFORE: "N0-1",
        S0_HEAD: "S0h",
        S1_HEAD: "S1h",
        S0_LEFT: "S0l",
        S0_LEFT2: "S0l2",
        S0_LEFT_LEFT: "S0ll",
        S0_RIGHT: "S0r",
        S0_RIGHT2: "S0r2",
        S0_RIGHT_RIGHT: "S0rr",
        S1_LEFT: "S1l",
        S1_LEFT2: "S1l2",
        S1_RIGHT: "S1r",
        S1_RIGHT2: "S1r2",
        N0_LEFT: "N0l",
        N0_LEFT2: "N0l2",
    }
)
LABEL_PLACES = name_places(
    {
        STATE: STATE_PLACE,
        D: "D",
        H: "H",
        D_BEFORE: "D-1",
        D_AFTER: "D+1",
        H_BEFORE: "H-1",
        H_AFTER: "H+1",
        H_HEAD: "Hh",
        D_LEFT: "Dl",
        D_LEFT2: "Dl2",
        D_LEFT_LEFT: "Dll",
        D_RIGHT: "Dr",
        D_RIGHT2: "Dr2",
        D_RIGHT_RIGHT: "Drr",
        H_LEFT: "Hl",
        H_LEFT2: "Hl2",
        H_RIGHT: "Hr",
        H_RIGHT2: "Hr2",
    }
)
BOUNDARY_PLACES = [
    STATE_PLACE,
    *(f"B{i:+}" if i else "B" for i in range(-BOUNDARY_REACH, BOUNDARY_REACH + 1)),
]
TREE_PLACES = name_places(
    {
        STATE: STATE_PLACE,
        T: "T",
        T_HEAD: "H",
        T_GRANDPARENT: "G",
        T_SIBLING: "P",
        T_BEFORE: "T-1",
        T_AFTER: "T+1",
        T_HEAD_BEFORE: "H-1",
        T_HEAD_AFTER: "H+1",
        T_LEFT: "Tl",
        T_RIGHT: "Tr",
        T_HEAD_LEFT: "Hl",
        T_HEAD_RIGHT: "Hr",
        T_GREAT_GRANDPARENT: "Hh",
    }
)


def _list_places(list places) -> dict:
    """Where each column may be read, for the places of a kind of decision."""
    return {
        **{column: places[1:] for column in (*LEXICAL_COLUMNS, *TOKEN_COLUMNS)},
        **{column: [STATE_PLACE] for column in STATE_COLUMNS},
    }


# For each template list of a parser, the places of each column.
PLACES = {
    "actions": _list_places(ACTION_PLACES),
    "labels": _list_places(LABEL_PLACES),
    "boundaries": _list_places(BOUNDARY_PLACES),
    "branches": _list_places(ACTION_PLACES),
    "trees": _list_places(TREE_PLACES),
}
