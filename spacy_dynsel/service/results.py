"""What is said of a text: plain values, which outlive the memory zone of their Doc."""

from time import perf_counter
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..report.drawing import draw_entities, draw_tree
from ..report.explained import Explained, show
from ..report.walk import find_share, walk
from .knobs import Knobs, turned

# What two annotations of a token are compared by.
COMPARED = ("tag_", "pos_", "lemma_", "dep_", "ent_type_")
# A drawing of more words than this is of no use.
MOST_DRAWN = 80

Result = dict[str, Any]


def annotate(nlp: Language, text: str, knobs: Knobs) -> Result:
    """Annotate a text."""
    with turned(nlp, knobs):
        doc, seconds = _time(nlp, text)
    return {**describe(doc), "microseconds": round(1e6 * seconds)}


def describe(doc: Doc) -> Result:
    """The annotation of a Doc."""
    return {
        "text": doc.text,
        "tokens": [
            {
                "text": token.text,
                "start": token.idx,
                "end": token.idx + len(token.text),
                "tag": token.tag_,
                "pos": token.pos_,
                "morph": str(token.morph),
                "lemma": token.lemma_,
                "head": token.head.i,
                "dep": token.dep_,
                "ent": token.ent_type_,
            }
            for token in doc
        ],
        "sents": [[sent.start, sent.end] for sent in doc.sents]
        if doc.has_annotation("SENT_START")
        else [],
        "ents": [
            {
                "start": ent.start,
                "end": ent.end,
                "start_char": ent.start_char,
                "end_char": ent.end_char,
                "label": ent.label_,
                "text": ent.text,
            }
            for ent in doc.ents
        ],
    }


def view(nlp: Language, text: str, knobs: Knobs) -> Result:
    """Annotate a text for the page: with drawings, with the templates that each word
    took, and with what all templates would have changed."""
    counts: dict[str, list[list[int]]] = {}
    shares: list[list[float]] = []

    def look(name: str, component: Any, doc: Doc, explained: Explained) -> None:
        shown = [one.counts for one in show(doc, explained)]
        counts[name] = shown
        shares.append([find_share(component, one) for one in shown])

    with turned(nlp, knobs):
        # What is new is analysed once: the second time says what a server takes.
        nlp(text)
        doc, seconds = _time(nlp, text)
        if len(doc):
            walk(nlp, text, look)
    with turned(nlp, Knobs(float("inf"), knobs.branches)):
        full, full_seconds = _time(nlp, text)
    decisions = [n for words in counts.values() for word in words for n in word]
    return {
        **describe(doc),
        "microseconds": round(1e6 * seconds),
        "full_microseconds": round(1e6 * full_seconds),
        "shares": [sum(word) / len(word) for word in zip(*shares, strict=True)],
        "templates": round(sum(decisions) / max(1, len(doc)), 1),
        "changed": _compare(doc, full),
        "entities_html": draw_entities(doc) if doc.ents else "",
        "trees_html": [draw_tree(sent) for sent in doc.sents if len(sent) <= MOST_DRAWN]
        if doc.has_annotation("DEP")
        else [],
    }


def explain(nlp: Language, text: str, knobs: Knobs, number: int) -> list[Result]:
    """What decided about one token, by each component.

    number (int): The number of the token.
    """
    found: list[Result] = []

    def look(name: str, component: Any, doc: Doc, explained: Explained) -> None:
        one = show(doc, explained)[number]
        found.append(
            {
                "component": name,
                "summary": one.summary,
                "header": list(one.header),
                "reasons": [list(row) for row in one.reasons],
            }
        )

    with turned(nlp, knobs):
        walk(nlp, text, look)
    return found


def _time(nlp: Language, text: str) -> tuple[Doc, float]:
    start = perf_counter()
    doc = nlp(text)
    return doc, perf_counter() - start


def _compare(doc: Doc, full: Doc) -> list[Result]:
    """Where two annotations of the same words differ."""
    changed = []
    for one, other in zip(doc, full, strict=True):
        for name in COMPARED:
            here, there = getattr(one, name), getattr(other, name)
            if here != there:
                changed.append(
                    {"token": one.i, "what": name.strip("_"), "all": there or "none"}
                )
        if one.head.i != other.head.i:
            changed.append({"token": one.i, "what": "head", "all": other.head.text})
    return changed
