"""Parts of speech, features and lemmas: what is found and how much of it is right."""

import zlib
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from spacy.attrs import LEMMA, MORPH, POS, TAG
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_dynsel.corpus.conll import Sentence

WRITTEN = (TAG, POS, MORPH, LEMMA)
# A feature that no treebank has.
PSEUDO_FEATURE = "Zzz"


class Analysis(NamedTuple):
    """What is found out about a word. Features stand in spaCy's order."""

    pos: str
    morph: str
    lemma: str


def read_doc(doc: Doc) -> list[Analysis]:
    return [Analysis(token.pos_, str(token.morph), token.lemma_) for token in doc]


def score(found: Iterable[Analysis], gold: Iterable[Analysis]) -> dict[str, float]:
    """Compare word by word, in percent. All features of a word count as one, and "All"
    is for words whose part of speech and features are both right. Words count where the
    treebank gives a part of speech or a lemma, as in spaCy's scores."""
    names = ("UPOS", "UFeats", "All", "lemma")
    right, total = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for word, true in zip(found, gold, strict=True):
        pos, morph = word.pos == true.pos, word.morph == true.morph
        verdicts = {"UFeats": morph}
        if true.pos:
            verdicts |= {"UPOS": pos, "All": pos and morph}
        if true.lemma:
            verdicts["lemma"] = word.lemma == true.lemma
        for name, verdict in verdicts.items():
            right[name] += verdict
            total[name] += 1
    return {name: 100 * right[name] / max(1, total[name]) for name in names}


def clear(docs: Iterable[Doc], attributes: tuple[int, ...]) -> None:
    """Forget annotations: components might keep them, in less time."""
    for doc in docs:
        nothing = np.zeros((len(doc), len(attributes)), dtype="uint64")
        doc.from_array(list(attributes), nothing)


def make_doc(vocab: Vocab, words: list[tuple[str, str, str]]) -> Doc:
    """A Doc of words with their parts of speech and their features."""
    texts, pos, morphs = map(list, zip(*words, strict=True))
    return Doc(vocab, words=texts, pos=pos, morphs=morphs)


def running_words(gold: Iterable[Doc], vocab: Vocab) -> list[Doc]:
    """Docs with the words of gold ones, their parts of speech and their features."""
    return [
        make_doc(vocab, [(token.text, token.pos_, str(token.morph)) for token in doc])
        for doc in gold
    ]


def distinct_words(gold: Iterable[Doc], vocab: Vocab, length: int = 20) -> list[Doc]:
    """Docs in which each word, with its part of speech and its features, occurs once."""
    words = list(
        dict.fromkeys(
            (token.text, token.pos_, str(token.morph)) for doc in gold for token in doc
        )
    )
    starts = range(0, len(words), length)
    return [make_doc(vocab, words[start : start + length]) for start in starts]


def split_features(sentences: Iterable[Sentence], parts: int) -> list[Sentence]:
    """Divide each label into several, by the word: a feature says to which of the parts
    a word belongs."""
    result = []
    for sentence in sentences:
        morphs = []
        for word, morph in zip(sentence.words, sentence.morphs, strict=True):
            part = zlib.crc32(word.lower().encode("utf8")) % parts
            feature = f"{PSEUDO_FEATURE}={part}"
            morphs.append(f"{morph}|{feature}" if morph else feature)
        result.append(replace(sentence, morphs=morphs))
    return result


def count_labels(sentences: Iterable[Sentence]) -> int:
    return len(
        {
            label
            for sentence in sentences
            for label in zip(sentence.pos, sentence.morphs, strict=True)
        }
    )


def find_parts(sentences: list[Sentence], n_labels: int) -> int:
    """Into how many parts labels have to be divided to be as many as wanted, or nearly
    so: there are not more of them than words."""
    n_words = len({word.lower() for sentence in sentences for word in sentence.words})
    parts = 1
    while parts < n_words and count_labels(split_features(sentences, parts)) < n_labels:
        parts += 1
    return parts
