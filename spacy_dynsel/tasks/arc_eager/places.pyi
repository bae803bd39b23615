from collections.abc import Sequence

TOKEN_COLUMNS: list[str]
STATE_COLUMNS: list[str]
STATE_PLACE: str
ACTIONS: list[str]
ACTION_PLACES: list[str]
LABEL_PLACES: list[str]
BOUNDARY_PLACES: list[str]
TREE_PLACES: list[str]
PLACES: dict[str, dict[str, Sequence[str]]]
