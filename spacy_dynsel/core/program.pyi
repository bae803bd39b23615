from ..templates import Templates

class Program:
    templates: Templates
    lexical: list[str]
    dynamic: list[str]
    places: list[str]

    def __init__(
        self,
        templates: Templates,
        lexical: list[str],
        dynamic: list[str],
        places: list[str],
    ) -> None: ...
