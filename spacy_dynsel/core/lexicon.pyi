from .forms.word_scorer import WordScorer

class Lexicon:
    n_columns: int
    max_records: int

    def __init__(
        self, n_columns: int, scorers: list[WordScorer], max_records: int
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
