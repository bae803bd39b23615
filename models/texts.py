"""The corpora that the packages learn from and are measured on, as DocBins.

Test data are read for the scores alone. Entities come from other texts than trees:
docs of one corpus lack what only the other has, and components learn from what is there.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from spacy.tokens import Doc, DocBin
from spacy.util import get_lang_class, load_language_data, registry
from spacy.vocab import Vocab

from spacy_dynsel.corpus.conll import (
    Columns,
    Level,
    Sentence,
    make_docs,
    read_columns,
    read_conllu,
)
from spacy_dynsel.corpus.subtokens import divides_by, join_subtokens
from spacy_dynsel.tasks.word_classes import CLUSTERS, WordClasses

# What WNUT-17 and Wikigold call their entities. Those of other types are none here.
TYPES = {
    "PER": "PER",
    "ORG": "ORG",
    "LOC": "LOC",
    "person": "PER",
    "location": "LOC",
    "corporation": "ORG",
    "group": "ORG",
}
# Some words of the Twitter corpus are empty.
NAMES = Columns(empty_word="\ufffd")
# Universal NER.
IOB2 = Columns(word=2, entity=3)
# Of each so many documents of Universal NER's development data one is not learned from:
# they tune the bias of the English entity recognizer.
HELD_OUT = 5

# How many words keep their Brown clusters: of the words of EWT's development data 92.0%
# have one, and 92.9% with all 190,129 words, which take 2.3 MB in each component.
N_CLUSTERED = 60_000

Splits = dict[str, list[Doc]]


def make_english(data: Path, vocab: Vocab) -> tuple[Splits, Splits, Splits]:
    """The docs that `en_dynsel_web` learns from, those that settings are chosen on, and
    those that it is measured on, by the names of their files."""
    trees = data / "ud_en_ewt"
    named = read_documents(data / "uner_en_ewt" / "dev.iob2", vocab)
    train = {
        "trees": _read_trees(trees / "train.conllu", vocab, "xpos"),
        "btc": read_names(data / "ner_en_btc" / "train.conll", vocab),
        "btc_dev": read_names(data / "ner_en_btc" / "dev.conll", vocab),
        "wikigold": read_names(data / "ner_en_wikigold" / "wikigold.conll", vocab),
        "wnut": read_names(data / "ner_en_wnut17" / "train.conll", vocab),
        "wnut_dev": read_names(data / "ner_en_wnut17" / "dev.conll", vocab),
        "uner": [doc for i, doc in enumerate(named) if i % HELD_OUT],
    }
    dev = {
        "trees": _read_trees(trees / "dev.conllu", vocab, "xpos"),
        "uner": named[::HELD_OUT],
    }
    uner = data / "uner_en_ewt" / "test.iob2"
    test = {
        "trees": _read_trees(trees / "test.conllu", vocab, "xpos", uner),
        "uner": read_documents(uner, vocab),
        "btc": read_names(data / "ner_en_btc" / "test.conll", vocab),
        "wnut": read_names(data / "ner_en_wnut17" / "test.conll", vocab),
    }
    return train, dev, test


def make_portuguese(data: Path, vocab: Vocab) -> tuple[Splits, Splits, Splits]:
    """The same for `pt_dynsel_bosque`. Bosque has no tags but parts of speech, and divides
    contractions, which are one token in texts."""
    divides = divides_by(get_lang_class("pt")().tokenizer)
    found = []
    for split in ("train", "dev", "test"):
        trees = data / "ud_pt_bosque" / f"{split}.conllu"
        names = data / "uner_pt_bosque" / f"{split}.iob2"
        sentences = join_subtokens(_read_named(trees, "upos", names), divides)
        found.append({"trees": list(make_docs(vocab, sentences, "document"))})
    train, dev, test = found
    for split in (dev, test):
        split["uner"] = split["trees"]
    return train, dev, test


def read_names(path: Path, vocab: Vocab, level: Level = "document") -> list[Doc]:
    """Docs with entities: a document each where the corpus marks documents, else a
    sentence each."""
    sentences = read_columns(path, NAMES)
    if not any(sentence.starts_document for sentence in sentences):
        level = "sentence"
    return list(make_docs(vocab, map(_keep_names, sentences), level))


def read_documents(path: Path, vocab: Vocab) -> list[Doc]:
    """Documents of Universal NER."""
    sentences = map(_keep_names, read_columns(path, IOB2))
    return list(make_docs(vocab, sentences, "document"))


def _keep_names(sentence: Sentence) -> Sentence:
    """A sentence with the three types of entities, and without anything else."""

    def rename(tag: str) -> str:
        kind, _, label = tag.partition("-")
        return f"{kind}-{TYPES[label]}" if label in TYPES else "O" if label else tag

    return replace(sentence, ents=[rename(tag) for tag in sentence.ents])


def _read_trees(
    path: Path, vocab: Vocab, tags: str, names: Path | None = None
) -> list[Doc]:
    """Documents of a treebank. Entities come from another file, where it has the same
    words."""
    return list(make_docs(vocab, _read_named(path, tags, names), "document"))


def _read_named(path: Path, tags: str, names: Path | None) -> list[Sentence]:
    sentences = [
        replace(sentence, ents=[]) for sentence in read_conllu(path, tag_column=tags)
    ]
    if names is not None:
        sentences = join_names(sentences, read_columns(names, IOB2))
    return sentences


def join_names(
    sentences: Iterable[Sentence], named: Iterable[Sentence]
) -> list[Sentence]:
    """Sentences with the entities of others that have the same words. Where there are
    none of the same words, the entities are unknown."""
    known = {tuple(one.words): _keep_names(one).ents for one in named}
    return [
        replace(one, ents=known.get(tuple(one.words), [""] * len(one.words)))
        for one in sentences
    ]


def write_clusters(lang: str, path: Path) -> None:
    """Write the Brown clusters of spacy-lookups-data for the most frequent words."""
    files = registry.lookups.get(lang)
    chances = load_language_data(files["lexeme_prob"])
    # 0 stands for words that have none.
    clusters = {
        word: cluster
        for word, cluster in load_language_data(files["lexeme_cluster"]).items()
        if cluster and not any(map(str.isspace, word))
    }
    words = sorted(clusters, key=lambda word: (-chances.get(word, -100.0), word))
    chosen = sorted(words[:N_CLUSTERED])
    numbers = np.array([clusters[word] + 1 for word in chosen], dtype="uint32")
    WordClasses(CLUSTERS, lang, chosen, {"cluster": numbers}).to_disk(path)


def write(splits: Splits, folder: Path, limit: int = 0) -> None:
    """Write a DocBin for each part.

    limit (int): How many docs to take of each, 0 for all: to try things out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, docs in splits.items():
        binary = DocBin(docs=docs[: limit or None], store_user_data=False)
        binary.to_disk(folder / f"{name}.spacy")


MAKERS: dict[str, Any] = {"en": make_english, "pt": make_portuguese}
