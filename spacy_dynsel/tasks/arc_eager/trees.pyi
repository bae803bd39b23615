from collections.abc import Callable
from typing import Literal

import numpy as np
from spacy.tokens import Doc

def classify_tree(
    heads: np.ndarray,
) -> Literal["projective", "crossing", "cyclic"]: ...
def restore_arcs(
    doc: Doc, lifted: list[int], labels: dict[int, tuple[int, int]]
) -> None: ...
def follow(heads: np.ndarray, choose: Callable[[dict[int, int]], int]) -> list[int]: ...
