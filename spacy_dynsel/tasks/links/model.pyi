from ..arc_eager.features import Features

SCALE: int
MOST_TEMPLATES: int
KEEP_ALL: float

class LinkModel:
    pairs: Features
    siblings: Features | None
    max_heads: int
    epsilon: float
    alpha: float
    def choose_alpha(self) -> float: ...
    def get_places(self) -> list[int]: ...
    def set_places(self, places: list[int]) -> None: ...
    def __init__(
        self,
        pairs: Features,
        siblings: Features | None,
        max_heads: int,
        epsilon: float,
    ) -> None: ...
