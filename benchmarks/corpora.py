"""Corpora for the benchmarks: CoNLL-U and IOB files under the folder DYNSEL_DATA."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_dynsel.corpus import conll
from spacy_dynsel.corpus.conll import (
    Columns,
    Level,
    Sentence,
    read_columns,
    read_conllu,
)

SPLITS = ("train", "dev", "test")


def data_folder() -> Path:
    """Where the corpora are."""
    folder = os.environ.get("DYNSEL_DATA")
    if not folder or not Path(folder).is_dir():
        raise SystemExit("Set DYNSEL_DATA to the folder that holds the corpora.")
    return Path(folder)


def read_iob(path: Path) -> list[Sentence]:
    """Read a file with a word and an IOB tag in each line: the first and the last field,
    or, in .iob2 files, the second and the third."""
    # Some words of the Twitter corpus are empty.
    columns = Columns(empty_word="\ufffd")
    if path.suffix == ".iob2":
        columns.word, columns.entity = 2, 3
    return read_columns(path, columns)


def make_docs(
    vocab: Vocab,
    sentences: list[Sentence],
    *,
    whole_documents: bool = False,
    trees: bool = False,
    morphology: bool = False,
) -> list[Doc]:
    """Docs with sentence starts, tags and entities, one for each sentence or for each
    document.

    trees (bool): Whether to set parts of speech, heads and labels of arcs too.
    morphology (bool): Whether to set parts of speech, features and lemmas too.
    """
    left_out: list[str] = []
    if not trees:
        left_out += ["heads", "deps"]
    if not morphology:
        left_out += ["morphs", "lemmas"]
    if not (trees or morphology):
        left_out.append("pos")
    nothing: dict[str, Any] = {name: [] for name in left_out}
    stripped = [replace(sentence, **nothing) for sentence in sentences]
    level: Level = "document" if whole_documents else "sentence"
    return list(conll.make_docs(vocab, stripped, level))


def write_docbins(
    corpus: str,
    column: str,
    folder: Path,
    *,
    whole_documents: bool = False,
    trees: bool = False,
    morphology: bool = False,
    limit: int | None = None,
    entities: str | None = None,
) -> dict[str, Path]:
    """Convert the splits of a corpus to DocBin files, once.

    column (str): What to learn: "upos", "xpos" or "entities".
    trees (bool): Whether to learn dependency trees too.
    morphology (bool): Whether to learn parts of speech, features and lemmas too.
    limit (int): How many sentences of each split to take, if not all.
    entities (str): Another corpus, with entities, whose sentences are added.
    """
    level = "documents" if whole_documents else "sentences"
    kind = column + "-trees" * trees + "-morphology" * morphology
    name = f"{corpus}-{kind}-{level}"
    for part in (limit, entities):
        name += f"-{part}" if part else ""

    def make(vocab: Vocab, split: str) -> list[Doc]:
        docs = make_docs(
            vocab,
            read_split(corpus, split, column)[:limit],
            whole_documents=whole_documents,
            trees=trees,
            morphology=morphology,
        )
        if entities:
            others = read_split(entities, split, "entities")[:limit]
            docs += make_docs(vocab, others)
        return docs

    return write_splits(name, folder, make)


def write_splits(
    name: str, folder: Path, make: Callable[[Vocab, str], list[Doc]]
) -> dict[str, Path]:
    """Write a DocBin file for each split, once.

    make (Callable): Makes the docs of a split.
    """
    paths = {split: folder / f"{name}-{split}.spacy" for split in SPLITS}
    for split, path in paths.items():
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            docs = make(Vocab(), split)
            DocBin(docs=docs, store_user_data=False).to_disk(path)
    return paths


def read_split(corpus: str, split: str, column: str) -> list[Sentence]:
    """Read the sentences of a split with the column that is to be learned."""
    if column == "entities":
        suffix = "iob2" if corpus.startswith("uner") else "conll"
        return read_iob(data_folder() / corpus / f"{split}.{suffix}")
    path = data_folder() / corpus / f"{split}.conllu"
    return read_conllu(path, tag_column=column)
