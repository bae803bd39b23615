import numpy as np
from spacy.tokens import Doc

KEEP: int

def write_entities(docs: list[Doc], actions: np.ndarray, types: np.ndarray) -> bool: ...
