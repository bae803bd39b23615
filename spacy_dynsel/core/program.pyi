from ..base.templates import Atom, Templates

class Program:
    templates: Templates
    lexical: list[str]
    dynamic: list[str]
    places: list[str]
    slots: list[Atom] | None

    def __init__(
        self,
        templates: Templates,
        lexical: list[str],
        dynamic: list[str],
        places: list[str],
        slots: list[Atom] | None = None,
    ) -> None: ...
