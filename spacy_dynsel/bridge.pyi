import numpy as np
from spacy.tokens import Doc

AFFIXES: range
CLUSTER_BITS: tuple[int, ...]
LEXICAL_COLUMNS: dict[str, tuple[int, int]]

class LexemeReader:
    columns: list[str]
    class_keys: np.ndarray
    class_values: np.ndarray
    cluster_keys: np.ndarray
    cluster_values: np.ndarray

    def __init__(
        self,
        columns: list[str],
        class_keys: np.ndarray,
        class_values: np.ndarray,
        cluster_keys: np.ndarray,
        cluster_values: np.ndarray,
    ) -> None: ...

def write_tags(
    docs: list[Doc], labels: np.ndarray, tags: np.ndarray, overwrite: bool
) -> None: ...
def have_same_tokens(one: Doc, other: Doc) -> bool: ...
def read_tags(doc: Doc) -> np.ndarray: ...
def read_lowers(doc: Doc) -> np.ndarray: ...
def read_sent_starts(doc: Doc) -> np.ndarray: ...
