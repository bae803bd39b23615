from .features import Features

TREE_PLACES: list[str]

class RankFeatures:
    branches: Features
    trees: Features

    def __init__(self, branches: Features, trees: Features) -> None: ...
