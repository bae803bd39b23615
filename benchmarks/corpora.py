"""Corpora for the benchmarks: CoNLL-U and IOB files under the folder DYNSEL_DATA."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.training import biluo_to_iob, iob_to_biluo
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
    for line in path.read_text(encoding="utf8").split("\n"):
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


@dataclass
class EntitySentence:
    """The words of a sentence and their IOB tags."""

    words: list[str]
    tags: list[str]
    starts_document: bool


def read_iob(
    path: Path, *, without: frozenset[str] = frozenset()
) -> Iterator[EntitySentence]:
    """Read the sentences of a file with a word and an IOB tag in each line: the first
    and the last field, or, in .iob2 files, the second and the third.

    path (Path): The file.
    without (frozenset[str]): Entity types to leave out.
    """
    numbered = path.suffix == ".iob2"
    sentence = EntitySentence([], [], False)
    starts_document = False
    # Not splitlines(): words may hold other separators that Unicode knows.
    for line in [*path.read_text(encoding="utf8").split("\n"), ""]:
        if (numbered and line.startswith("# newdoc")) or line.startswith("-DOCSTART-"):
            starts_document = True
        elif not line.strip(" "):
            if sentence.words:
                tags = iob_to_biluo(sentence.tags)
                sentence.tags = [
                    "O" if t[2:] in without else t for t in biluo_to_iob(tags)
                ]
                yield sentence
            sentence = EntitySentence([], [], False)
        elif not (numbered and line.startswith("#")):
            fields = line.split("\t" if "\t" in line else " ")
            word, tag = (fields[1], fields[2]) if numbered else (fields[0], fields[-1])
            if not sentence.words:
                sentence.starts_document, starts_document = starts_document, False
            # Some words of the Twitter corpus are empty.
            sentence.words.append(word or "\ufffd")
            sentence.tags.append(tag)


def make_entity_docs(
    vocab: Vocab, sentences: list[EntitySentence], *, block: int | None
) -> list[Doc]:
    """Docs with entities and sentence starts.

    block (int): How many sentences make a doc; None for documents as they are marked.
    """
    groups: list[list[EntitySentence]] = []
    for sentence in sentences:
        if block is None:
            full = sentence.starts_document
        else:
            full = bool(groups) and len(groups[-1]) >= block
        if not groups or full:
            groups.append([])
        groups[-1].append(sentence)
    return [
        Doc(
            vocab,
            words=[word for sentence in group for word in sentence.words],
            ents=[tag for sentence in group for tag in sentence.tags],
            sent_starts=[
                i == 0 for sentence in group for i in range(len(sentence.words))
            ],
        )
        for group in groups
    ]


def write_entity_docbins(
    corpus: str, folder: Path, *, block: int | None
) -> dict[str, Path]:
    """Convert the splits of a corpus with entities to DocBin files, once."""
    level = "documents" if block is None else f"blocks{block}"
    paths = {}
    for split in SPLITS:
        path = folder / f"{corpus}-{level}-{split}.spacy"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            sentences = list(read_iob(entity_file(corpus, split)))
            docs = make_entity_docs(Vocab(), sentences, block=block)
            DocBin(docs=docs, store_user_data=False).to_disk(path)
        paths[split] = path
    return paths


def entity_file(corpus: str, split: str) -> Path:
    suffix = "iob2" if corpus.startswith("uner") else "conll"
    return data_folder() / corpus / f"{split}.{suffix}"
