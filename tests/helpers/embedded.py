"""The embedded corpus, for tests that need more than a few sentences."""

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from helpers.paths import ASSETS
from spacy_dynsel.corpus.conll import make_docs, read_conllu


def read_docs(vocab: Vocab, split: str, limit: int | None = None) -> list[Doc]:
    """Docs of one sentence each, with tags, trees and entities."""
    sentences = read_conllu(ASSETS / f"{split}.conllu", tag_column="xpos")[:limit]
    return list(make_docs(vocab, sentences, "sentence"))


def strip(doc: Doc, vocab: Vocab | None = None) -> Doc:
    """The words of a doc."""
    return Doc(
        vocab or doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
    )


def make_examples(nlp: Language, docs: list[Doc]) -> list[Example]:
    return [Example(strip(doc, nlp.vocab), doc) for doc in docs]


def learn(
    nlp: Language, examples: list[Example], n_epochs: int, drop: float = 0.0
) -> None:
    for _ in range(n_epochs):
        for i in range(0, len(examples), 32):
            nlp.update(examples[i : i + 32], drop=drop)
