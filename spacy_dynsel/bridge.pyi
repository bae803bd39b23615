import numpy as np
from spacy.tokens import Doc

AFFIXES: range
CLUSTER_BITS: tuple[int, ...]
LEXICAL_COLUMNS: dict[str, tuple[int, int]]
KEEP: int
SPACE_TAG: int
N_CASES: int

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
    docs: list[Doc],
    labels: np.ndarray,
    tags: np.ndarray,
    overwrite: bool,
    space_tag: int,
) -> None: ...
def write_entities(docs: list[Doc], actions: np.ndarray, types: np.ndarray) -> bool: ...
def write_parses(
    docs: list[Doc],
    heads: np.ndarray,
    labels: np.ndarray,
    starts: np.ndarray,
    deps: np.ndarray,
) -> None: ...
def restore_arcs(
    doc: Doc, lifted: list[int], labels: dict[int, tuple[int, int]]
) -> None: ...
def read_parse(doc: Doc) -> tuple[np.ndarray, np.ndarray]: ...
def read_pos(doc: Doc) -> np.ndarray: ...
def have_same_words(one: Doc, other: Doc) -> bool: ...
def find_words(doc: Doc) -> np.ndarray: ...
def hand_on_starts(starts: np.ndarray, words: np.ndarray) -> np.ndarray: ...
def find_blank_lines(doc: Doc) -> np.ndarray: ...
def is_blank_line(text: str) -> bool: ...
def read_tags(doc: Doc) -> np.ndarray: ...
def read_entities(doc: Doc) -> tuple[np.ndarray, np.ndarray]: ...
def read_lowers(doc: Doc) -> np.ndarray: ...
def read_sent_starts(doc: Doc) -> np.ndarray: ...
