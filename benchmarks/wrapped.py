"""How much line breaks matter: predictions on text as it is and on wrapped text.

    python benchmarks/wrapped.py
    python benchmarks/wrapped.py --parser PIPELINE --ner PIPELINE --columns 60 45 30

Trains a tagger and a parser on UD English EWT and an entity recognizer on the Broad
Twitter Corpus, or takes pipelines that are trained. The test texts are wrapped: a token
"\\n" stands wherever a line would be longer than a number of columns. Said are the share
of words whose tag or head is another one, heads compared as words, and how many of the
entities of two words that a line break divides are still found.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg

from corpora import make_docs, read_split, write_docbins
from training import CACHE, CONFIGS, train

TREEBANK = "ud_en_ewt"
NAMES = "ner_en_btc"


class Change(NamedTuple):
    """What wrapping has changed.

    words (int): The number of words.
    tags (int), heads (int): How many of them have another tag, and another head.
    entities (int): The number of entities of two words with a line break between them.
    kept (int): How many of them are found all the same.
    """

    words: int
    tags: int
    heads: int
    entities: int
    kept: int


def wrap(doc: Doc, columns: int) -> Doc:
    """The words of a doc, with a line break before each that would be beyond a number
    of columns."""
    words: list[str] = []
    spaces: list[bool] = []
    width = 0
    for token in doc:
        # A line can only end where there was a blank.
        is_free = token.i > 0 and bool(doc[token.i - 1].whitespace_)
        if is_free and width + len(token.text) > columns:
            spaces[-1] = False
            words.append("\n")
            spaces.append(False)
            width = 0
        words.append(token.text)
        spaces.append(bool(token.whitespace_))
        width += len(token.text_with_ws)
    return Doc(doc.vocab, words=words, spaces=spaces)


def strip(doc: Doc) -> Doc:
    return Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
    )


def number_words(doc: Doc) -> dict[int, int]:
    """For each token that is a word its number among them."""
    words = (token.i for token in doc if not token.is_space)
    return {token: number for number, token in enumerate(words)}


def read_tokens(doc: Doc) -> list[tuple[str, int]]:
    """The tag of each word, and the number of its head, or -1 for white space."""
    numbers = number_words(doc)
    return [(doc[i].tag_, numbers.get(doc[i].head.i, -1)) for i in numbers]


def read_entities(doc: Doc) -> Iterator[tuple[int, int, str]]:
    """The entities: the numbers of the first and the last word, and the label."""
    numbers = number_words(doc)
    for ent in doc.ents:
        words = [numbers[token.i] for token in ent if not token.is_space]
        if words:
            yield words[0], words[-1], ent.label_


def compare(nlp: Language, docs: list[Doc], columns: int) -> Change:
    """Annotate docs as they are and wrapped."""
    n_words = n_tags = n_heads = n_entities = n_kept = 0
    plain = nlp.pipe([strip(doc) for doc in docs])
    wrapped = nlp.pipe([wrap(doc, columns) for doc in docs])
    for one, other in zip(plain, wrapped, strict=True):
        pairs = list(zip(read_tokens(one), read_tokens(other), strict=True))
        n_words += len(pairs)
        n_tags += sum(before[0] != after[0] for before, after in pairs)
        n_heads += sum(before[1] != after[1] for before, after in pairs)
        tokens = list(number_words(other))
        found = set(read_entities(other))
        for first, last, label in read_entities(one):
            if last == first + 1 and tokens[last] > tokens[first] + 1:
                n_entities += 1
                n_kept += (first, last, label) in found
    return Change(n_words, n_tags, n_heads, n_entities, n_kept)


def get_pipeline(folder: Path | None, name: str, corpus: str) -> Language:
    """A trained pipeline, or one that is trained now."""
    if folder is None:
        column = "entities" if name == "ner" else "xpos"
        paths = write_docbins(corpus, column, CACHE, trees=name == "parser")
        folder, _ = train(f"dynsel-wrapped-{name}", CONFIGS / f"{name}.cfg", paths, {})
    return spacy.load(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--parser", type=Path, help="a pipeline with tagger and parser")
    parser.add_argument("--ner", type=Path, help="a pipeline with entity recognizer")
    parser.add_argument("--columns", type=int, nargs="+", default=[60])
    args = parser.parse_args()
    rows = []
    for folder, name, corpus in (
        (args.parser, "parser", TREEBANK),
        (args.ner, "ner", NAMES),
    ):
        nlp = get_pipeline(folder, name, corpus)
        column = "entities" if name == "ner" else "xpos"
        sentences = read_split(corpus, "test", column)
        docs = make_docs(nlp.vocab, sentences, whole_documents=name == "parser")
        for columns in args.columns:
            change = compare(nlp, docs, columns)
            if name == "parser":
                texts = [
                    f"{100 * n / max(1, change.words):.2f}%"
                    for n in (change.tags, change.heads)
                ]
                rows.append((corpus, columns, change.words, *texts, "", ""))
            else:
                counts = (change.entities, change.kept)
                rows.append((corpus, columns, change.words, "", "", *counts))
    header = ("Corpus", "Columns", "Words", "Tags", "Heads", "Broken", "Kept")
    msg.table(rows, header=header, aligns=("l", *"rrrrrr"))


if __name__ == "__main__":
    main()
