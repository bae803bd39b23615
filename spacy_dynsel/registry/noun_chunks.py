"""Noun chunks of English with the relations of Universal Dependencies, which spaCy's own
rules don't know."""

from collections.abc import Callable, Iterator

from spacy.language import Language
from spacy.symbols import NOUN, PRON, PROPN
from spacy.tokens import Doc, Span

# What stands before a noun and belongs to its chunk. The names of spaCy's English
# pipelines are there too, for docs whose relations were renamed.
BEFORE = frozenset(
    [
        "det",
        "det:predet",
        "predet",
        "amod",
        "nummod",
        "quantmod",
        "compound",
        "nmod:poss",
        "poss",
        "nmod:desc",
        "nmod:unmarked",
        "goeswith",
        "flat",
    ]
)
# What stands after it and belongs to its chunk: the later words of names, which are
# "compound" when relations were renamed.
AFTER = frozenset(("flat", "goeswith", "compound"))
# Nouns that are parts of another chunk, or have none.
PARTS = BEFORE | frozenset(
    [
        "case",
        "fixed",
        "cc",
        "cc:preconj",
        "mark",
        "advmod",
        "discourse",
        "expl",
        "aux",
        "cop",
        "punct",
        "dep",
    ]
)
NOMINAL = frozenset((NOUN, PROPN, PRON))


def find_noun_chunks(doclike: Doc | Span) -> Iterator[tuple[int, int, int]]:
    """Find the noun chunks of a Doc or Span: a noun or pronoun with what stands before
    it, without prepositions, relative clauses and other phrases after it.

    YIELDS (tuple): The first token, the one after the last, and the label "NP".
    """
    label = doclike.doc.vocab.strings.add("NP")
    end = -1
    for word in doclike:
        if word.pos not in NOMINAL or word.dep_ in PARTS:
            continue
        before = [child.left_edge.i for child in word.lefts if child.dep_ in BEFORE]
        after = [child.right_edge.i for child in word.rights if child.dep_ in AFTER]
        start = min([word.i, *before])
        if start >= end:
            end = max([word.i, *after]) + 1
            yield start, end, label


def use_noun_chunks(nlp: Language) -> Language:
    """Let `doc.noun_chunks` of a pipeline follow these rules."""
    nlp.vocab.get_noun_chunks = find_noun_chunks
    return nlp


def make_noun_chunks() -> Callable[[Language], Language]:
    """A callback for nlp.after_creation, for English pipelines that were trained on
    Universal Dependencies."""
    return use_noun_chunks
