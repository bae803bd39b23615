"""What is known about words apart from their form: ambiguity classes and clusters."""

from collections import Counter

import numpy as np
from spacy.lookups import load_lookups
from spacy.vocab import Vocab

from ..core.model_file import require
from ..spacy_io.lexemes import LexemeReader
from .word_classes import WordClasses

# Values of a small column that are not its own: unknown, before start, after end.
N_RESERVED = 3
SECTIONS = ("class_keys", "class_values", "cluster_keys", "cluster_values")
NO_TABLE = (np.zeros(0, dtype="uint64"), np.zeros(0, dtype="uint32"))


def load_clusters(
    columns: list[str],
    vocab: Vocab,
    lang: str,
    resources: dict[str, WordClasses] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Clusters from a resource, from the vocabulary or, failing both, from the package
    spacy-lookups-data; none where none of them has any or no column asks for them."""
    table = {}
    if any(column.startswith("cluster") for column in columns):
        if resources and "cluster" in resources:
            paths = resources["cluster"].get_clusters()
            return lookup_arrays(
                {word: path + N_RESERVED for word, path in paths.items()}
            )
        name = "lexeme_cluster"
        lookups = vocab.lookups
        if not lookups.has_table(name):
            lookups = load_lookups(lang, [name], strict=False)
        if lookups.has_table(name):
            table = lookups.get_table(name)
    return lookup_arrays(
        {
            vocab.strings.as_int(word): cluster + N_RESERVED
            for word, cluster in table.items()
            if cluster  # 0 stands for words that have none
        }
    )


def make_classes(
    words: dict[int, Counter[int]],
    min_count: int,
    min_share: float,
    others: dict[int, tuple[int, ...]] | None = None,
) -> dict[int, int]:
    """Give each frequent word the set of tags that it often has as its class.

    words (dict): How often each word has which tag.
    min_count (int): How often a word has to occur to have a class.
    min_share (float): The share of its occurrences that a tag needs.
    others (dict): The tags of words that are known from elsewhere, for those that are
        not frequent here.
    """
    classes: dict[tuple[int, ...], int] = {}
    by_word = {}
    for word, counts in sorted(words.items()):
        total = counts.total()
        if total >= min_count:
            often = (tag for tag, count in counts.items() if count >= min_share * total)
            key = tuple(sorted(often))
            by_word[word] = classes.setdefault(key, len(classes) + N_RESERVED)
    for word, key in sorted((others or {}).items()):
        if word not in by_word:
            by_word[word] = classes.setdefault(key, len(classes) + N_RESERVED)
    return by_word


def lookup_arrays(table: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """A table as arrays for binary search."""
    keys = np.array(sorted(table), dtype="uint64")
    values = np.array([table[int(key)] for key in keys], dtype="uint32")
    return keys, values


def get_tables(reader: LexemeReader) -> dict[str, np.ndarray]:
    """The sections of a file that a reader is made from."""
    return {name: getattr(reader, name) for name in SECTIONS}


def read_tables(
    columns: list[str], arrays: dict[str, np.ndarray], *, copy: bool
) -> LexemeReader:
    """Make a reader from the sections of a file, if they can be used without harm.

    copy (bool): Whether the data that the sections come from are to go.
    """
    require(set(SECTIONS) <= set(arrays), "it lacks a section")
    for kind in ("class", "cluster"):
        keys, values = arrays[f"{kind}_keys"], arrays[f"{kind}_values"]
        require(
            is_lookup(keys, values, "uint32")
            and int(values.min(initial=N_RESERVED)) >= N_RESERVED,
            f"its {kind} table is malformed",
        )
    found = (arrays[name] for name in SECTIONS)
    return LexemeReader(columns, *(one.copy() if copy else one for one in found))


def is_lookup(keys: np.ndarray, values: np.ndarray, dtype: str) -> bool:
    """Whether arrays from a file are a table for binary search.

    dtype (str): The type of the values.
    """
    return (
        keys.dtype == "uint64"
        and values.dtype == dtype
        and len(keys) == len(values)
        and bool((keys[1:] > keys[:-1]).all())
    )
