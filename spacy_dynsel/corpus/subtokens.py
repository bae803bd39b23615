"""Words that a treebank divides and a tokenizer does not: Portuguese "da" is "de" and "a"
in Universal Dependencies, and one token in texts. Joined, their parts are one word."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from spacy.tokenizer import Tokenizer

from .conll import Range, Sentence, to_iob2

# Whether a tokenizer gives these parts of a form.
Divides: TypeAlias = Callable[[str, list[str]], bool]


def divides_by(tokenizer: Tokenizer) -> Divides:
    """How to ask a tokenizer."""
    return lambda form, parts: [token.text for token in tokenizer(form)] == parts


def find_undivided(sentence: Sentence, divides: Divides) -> list[Range]:
    """The words whose parts a tokenizer does not give."""
    return [
        one
        for one in sentence.ranges
        if not divides(one.form, sentence.words[one.start : one.end])
    ]


def join_subtokens(
    sentences: Iterable[Sentence], divides: Divides
) -> Iterator[Sentence]:
    """Sentences in which each word is one token, unless the tokenizer divides it as the
    treebank does. A word has the tags of all its parts ("ADP_DET"), their lemmas ("de o")
    and their features. Its part of speech, head and label are those of the part that
    stands highest in the tree."""
    for sentence in sentences:
        ranges = find_undivided(sentence, divides)
        yield _join(sentence, ranges) if ranges else sentence


def _join(sentence: Sentence, ranges: list[Range]) -> Sentence:
    forms = {one.start: one for one in ranges}
    groups: list[range] = []
    while (start := groups[-1].stop if groups else 0) < len(sentence.words):
        end = forms[start].end if start in forms else start + 1
        groups.append(range(start, end))
    place = {old: new for new, group in enumerate(groups) for old in group}
    # The highest of its parts has its head outside, and no cycle can come about.
    depths = _find_depths(sentence.heads)
    tops = [min(group, key=depths.__getitem__) for group in groups]
    heads: list[int | None] = []
    for top in tops if sentence.heads else ():
        head = sentence.heads[top]
        heads.append(None if head is None else place[head])
    words = [
        forms[group.start].form if group.start in forms else sentence.words[group.start]
        for group in groups
    ]
    left = [one for one in sentence.ranges if one.start not in forms]
    return replace(
        sentence,
        words=words,
        spaces=[sentence.spaces[group[-1]] for group in groups],
        tags=_join_values(sentence.tags, groups, "_"),
        pos=[sentence.pos[top] for top in tops] if sentence.pos else [],
        morphs=_join_features(sentence.morphs, groups),
        lemmas=_join_values(sentence.lemmas, groups, " "),
        heads=heads,
        deps=[sentence.deps[top] for top in tops] if sentence.deps else [],
        ents=to_iob2(_find_entity(sentence.ents, group) for group in groups)
        if sentence.ents
        else [],
        ranges=[
            Range(place[one.start], place[one.end - 1] + 1, one.form) for one in left
        ],
    )


def _find_depths(heads: list[int | None]) -> dict[int, int]:
    """How far each word is from the root, or from a word without a head."""
    depths: dict[int, int] = {}
    for start in range(len(heads)):
        path = []
        i: int | None = start
        while i is not None and i not in depths:
            path.append(i)
            head = heads[i]
            i = None if head == i else head
        depth = -1 if i is None else depths[i]
        for one in reversed(path):
            depth += 1
            depths[one] = depth
    return depths


def _join_values(values: list[str], groups: list[range], between: str) -> list[str]:
    """What is unknown of one part is unknown of the word."""
    if not values:
        return []
    found = [[values[i] for i in group] for group in groups]
    return [between.join(parts) if all(parts) else "" for parts in found]


def _join_features(morphs: list[str], groups: list[range]) -> list[str]:
    joined = []
    for group in groups if morphs else ():
        values: dict[str, set[str]] = {}
        for feature in "|".join(morphs[i] for i in group if morphs[i]).split("|"):
            name, _, value = feature.partition("=")
            if name:
                values.setdefault(name, set()).update(value.split(","))
        features = (
            f"{name}={','.join(sorted(values[name]))}" for name in sorted(values)
        )
        joined.append("|".join(features))
    return joined


def _find_entity(ents: list[str], group: range) -> str:
    """That of the first part that belongs to an entity."""
    tags = [ents[i] for i in group]
    return next((tag for tag in tags if tag not in ("", "O")), min(tags))
