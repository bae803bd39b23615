"""Corpora for the benchmarks: CoNLL-U files under the folder DYNSEL_DATA."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

SPLITS = ("train", "dev", "test")


@dataclass
class Sentence:
    """The syntactic words of a sentence, whether a space follows each, and its tags."""

    words: list[str]
    spaces: list[bool]
    tags: list[str]
    starts_document: bool


def data_folder() -> Path:
    """Where the corpora are."""
    folder = os.environ.get("DYNSEL_DATA")
    if not folder or not Path(folder).is_dir():
        raise SystemExit("Set DYNSEL_DATA to the folder that holds the corpora.")
    return Path(folder)


def read_conllu(path: Path, *, column: str) -> Iterator[Sentence]:
    """Read the sentences of a CoNLL-U file.

    path (Path): The file.
    column (str): Which tags to read: "upos" or "xpos".
    """
    field = {"upos": 3, "xpos": 4}[column]
    sentence = Sentence([], [], [], False)
    covered_until = 0  # by a multiword range, whose SpaceAfter stands on the range
    space_after_range = True
    for line in path.read_text(encoding="utf8").splitlines():
        if line.startswith("# newdoc"):
            sentence.starts_document = True
        elif not line:
            if sentence.words:
                yield sentence
            sentence = Sentence([], [], [], False)
            covered_until = 0
        elif not line.startswith("#"):
            fields = line.split("\t")
            space = "SpaceAfter=No" not in fields[9].split("|")
            if "-" in fields[0]:
                covered_until = int(fields[0].split("-")[1])
                space_after_range = space
            elif "." not in fields[0]:
                number = int(fields[0])
                if number < covered_until:
                    space = False
                elif number == covered_until:
                    space = space_after_range
                sentence.words.append(fields[1])
                sentence.spaces.append(space)
                sentence.tags.append(fields[field])
    if sentence.words:
        yield sentence


def make_docs(
    vocab: Vocab, sentences: list[Sentence], *, whole_documents: bool = False
) -> list[Doc]:
    """Docs with tags, one for each sentence or for each document."""
    groups: list[list[Sentence]] = []
    for sentence in sentences:
        if not whole_documents or sentence.starts_document or not groups:
            groups.append([])
        groups[-1].append(sentence)
    return [
        Doc(
            vocab,
            words=[word for sentence in group for word in sentence.words],
            spaces=[space for sentence in group for space in sentence.spaces],
            tags=[tag for sentence in group for tag in sentence.tags],
            sent_starts=[
                i == 0 for sentence in group for i in range(len(sentence.words))
            ],
        )
        for group in groups
    ]


def write_docbins(
    corpus: str, column: str, folder: Path, *, whole_documents: bool = False
) -> dict[str, Path]:
    """Convert the splits of a corpus to DocBin files, once."""
    level = "documents" if whole_documents else "sentences"
    paths = {}
    for split in SPLITS:
        path = folder / f"{corpus}-{column}-{level}-{split}.spacy"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            sentences = list(
                read_conllu(data_folder() / corpus / f"{split}.conllu", column=column)
            )
            docs = make_docs(Vocab(), sentences, whole_documents=whole_documents)
            DocBin(docs=docs, store_user_data=False).to_disk(path)
        paths[split] = path
    return paths
