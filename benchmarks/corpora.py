"""Corpora for the benchmarks: CoNLL-U and IOB files under the folder DYNSEL_DATA."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spacy.tokens import Doc, DocBin
from spacy.training import biluo_to_iob, iob_to_biluo
from spacy.vocab import Vocab

SPLITS = ("train", "dev", "test")


@dataclass
class Sentence:
    """The words of a sentence and what is known about each: whether a space follows,
    its tag, its part of speech, its head and the label of the arc to it, its IOB tag.
    What a corpus does not tell is empty."""

    words: list[str] = field(default_factory=list)
    spaces: list[bool] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    pos: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)  # roots are their own heads
    deps: list[str] = field(default_factory=list)
    ents: list[str] = field(default_factory=list)
    starts_document: bool = False


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
    number_of_column = {"upos": 3, "xpos": 4}[column]
    sentence = Sentence()
    covered_until = 0  # by a multiword range, whose SpaceAfter stands on the range
    space_after_range = True
    for line in path.read_text(encoding="utf8").split("\n"):
        if line.startswith("# newdoc"):
            sentence.starts_document = True
        elif not line:
            if sentence.words:
                yield sentence
            sentence = Sentence()
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
                sentence.tags.append(fields[number_of_column])
                sentence.pos.append(fields[3])
                sentence.heads.append((int(fields[6]) or number) - 1)
                sentence.deps.append("ROOT" if fields[7] == "root" else fields[7])
    if sentence.words:
        yield sentence


def read_iob(path: Path) -> Iterator[Sentence]:
    """Read the sentences of a file with a word and an IOB tag in each line: the first
    and the last field, or, in .iob2 files, the second and the third.

    path (Path): The file.
    """
    numbered = path.suffix == ".iob2"
    sentence = Sentence()
    starts_document = False
    # Not splitlines(): words may hold other separators that Unicode knows.
    for line in [*path.read_text(encoding="utf8").split("\n"), ""]:
        if (numbered and line.startswith("# newdoc")) or line.startswith("-DOCSTART-"):
            starts_document = True
        elif not line.strip(" "):
            if sentence.words:
                # Some files begin entities with I where none is open.
                sentence.ents = biluo_to_iob(iob_to_biluo(sentence.ents))
                yield sentence
            sentence = Sentence()
        elif not (numbered and line.startswith("#")):
            fields = line.split("\t" if "\t" in line else " ")
            word, tag = (fields[1], fields[2]) if numbered else (fields[0], fields[-1])
            if not sentence.words:
                sentence.starts_document, starts_document = starts_document, False
            # Some words of the Twitter corpus are empty.
            sentence.words.append(word or "\ufffd")
            sentence.ents.append(tag)


def make_docs(
    vocab: Vocab,
    sentences: list[Sentence],
    *,
    whole_documents: bool = False,
    trees: bool = False,
) -> list[Doc]:
    """Docs with sentence starts, tags and entities, one for each sentence or for each
    document.

    trees (bool): Whether to set parts of speech, heads and labels of arcs too.
    """
    groups: list[list[Sentence]] = []
    for sentence in sentences:
        if not whole_documents or sentence.starts_document or not groups:
            groups.append([])
        groups[-1].append(sentence)
    names = ["words", "spaces", "tags", "ents"]
    if trees:
        names += ["pos", "deps"]

    def join(group: list[Sentence], name: str) -> list[Any] | None:
        return [item for sentence in group for item in getattr(sentence, name)] or None

    def make_doc(group: list[Sentence]) -> Doc:
        values = {name: join(group, name) for name in names}
        if trees:
            # A Doc takes its sentence starts from the heads.
            heads: list[int] = []
            for sentence in group:
                start = len(heads)
                heads += [start + head for head in sentence.heads]
            return Doc(vocab, **values, heads=heads)
        starts = [i == 0 for sentence in group for i in range(len(sentence.words))]
        return Doc(vocab, **values, sent_starts=starts)

    return [make_doc(group) for group in groups]


def write_docbins(
    corpus: str,
    column: str,
    folder: Path,
    *,
    whole_documents: bool = False,
    trees: bool = False,
    limit: int | None = None,
    entities: str | None = None,
) -> dict[str, Path]:
    """Convert the splits of a corpus to DocBin files, once.

    column (str): What to learn: "upos", "xpos" or "entities".
    trees (bool): Whether to learn dependency trees too.
    limit (int): How many sentences of each split to take, if not all.
    entities (str): Another corpus, with entities, whose sentences are added.
    """
    level = "documents" if whole_documents else "sentences"
    kind = f"{column}-trees" if trees else column
    name = f"{corpus}-{kind}-{level}"
    for part in (limit, entities):
        name += f"-{part}" if part else ""
    paths = {}
    for split in SPLITS:
        path = folder / f"{name}-{split}.spacy"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            sentences = read_split(corpus, split, column)[:limit]
            vocab = Vocab()
            docs = make_docs(
                vocab, sentences, whole_documents=whole_documents, trees=trees
            )
            if entities:
                others = read_split(entities, split, "entities")[:limit]
                docs += make_docs(vocab, others)
            DocBin(docs=docs, store_user_data=False).to_disk(path)
        paths[split] = path
    return paths


def read_split(corpus: str, split: str, column: str) -> list[Sentence]:
    """Read the sentences of a split with the column that is to be learned."""
    if column == "entities":
        suffix = "iob2" if corpus.startswith("uner") else "conll"
        return list(read_iob(data_folder() / corpus / f"{split}.{suffix}"))
    path = data_folder() / corpus / f"{split}.conllu"
    return list(read_conllu(path, column=column))
