"""What sets parts of speech, features and lemmas in spaCy's English pipelines: a map
from tags, and rules."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

RULER, LEMMATIZER = "attribute_ruler", "lemmatizer"


def make_tag_map(docs: Iterable[Doc]) -> dict[str, dict[str, str]]:
    """The part of speech and the features that are most frequent with each tag.

    docs (Iterable[Doc]): Docs with all three.
    """
    counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for doc in docs:
        for token in doc:
            if token.tag and token.pos:
                counts[token.tag_][token.pos_, str(token.morph)] += 1
    tag_map = {}
    for tag, found in counts.items():
        [((pos, morph), _)] = found.most_common(1)
        tag_map[tag] = {"POS": pos, "MORPH": morph}
    return tag_map


def add_rule_lemmatizer(nlp: Language) -> Any:
    """Add spaCy's rule lemmatizer. RETURNS (Lemmatizer): None if its tables, of the
    package spacy-lookups-data, are not there or have no rules for the language."""
    lemmatizer: Any = nlp.add_pipe(LEMMATIZER, config={"mode": "rule"})
    try:
        lemmatizer.initialize()
    except ValueError:
        nlp.remove_pipe(LEMMATIZER)
        return None
    return lemmatizer


def add_rules(nlp: Language, tag_map: dict[str, dict[str, str]]) -> bool:
    """Let a tagger's tags be mapped and lemmas be found by rules. RETURNS (bool): Whether
    there are rules."""
    if add_rule_lemmatizer(nlp) is None:
        return False
    ruler: Any = nlp.add_pipe(RULER, after="tagger")
    for tag, attributes in tag_map.items():
        ruler.add([[{"TAG": tag}]], attributes)
    return True
