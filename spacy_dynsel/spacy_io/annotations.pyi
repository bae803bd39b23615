import numpy as np
from spacy.tokens import Doc

SPACE_TAG: int
COLUMNS: frozenset[int]

def write_tags(
    docs: list[Doc],
    labels: np.ndarray,
    tags: np.ndarray,
    overwrite: bool,
    space_tag: int,
) -> None: ...
def write_parses(
    docs: list[Doc],
    heads: np.ndarray,
    labels: np.ndarray,
    starts: np.ndarray,
    deps: np.ndarray,
) -> None: ...
def read_parse(doc: Doc) -> tuple[np.ndarray, np.ndarray]: ...
def read_pos(doc: Doc) -> np.ndarray: ...
def read_tags(doc: Doc) -> np.ndarray: ...
def read_entities(doc: Doc) -> tuple[np.ndarray, np.ndarray]: ...
def write_morphs(
    docs: list[Doc],
    labels: np.ndarray,
    morphs: np.ndarray,
    pos: np.ndarray,
    overwrite: bool,
) -> None: ...
def set_morphs(docs: list[Doc], morphs: np.ndarray) -> None: ...
def read_morphs(doc: Doc) -> np.ndarray: ...
def read_columns(docs: list[Doc], attributes: list[int]) -> np.ndarray: ...
