from collections.abc import Callable

import numpy as np
from spacy.tokens import Doc

SPACE_LEMMA: int
NO_LEMMA: int
TABLE_LEMMA: int

def write_lemmas(
    docs: list[Doc],
    labels: np.ndarray,
    lemmas: np.ndarray,
    overwrite: bool,
    backoff: str | None,
    make_lemma: Callable[[int, str, int], str],
) -> None: ...
def read_pos_and_morphs(doc: Doc) -> tuple[np.ndarray, np.ndarray]: ...
