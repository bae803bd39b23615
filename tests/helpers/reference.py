"""A slow and obvious tagger that the compiled one is compared with.

Nothing here is shared with the package but the model file's contents: keys are made
from strings in plain Python, weights stand in a dictionary, and every decision adds
up templates one by one.
"""

from collections import defaultdict

import numpy as np
from spacy import attrs
from spacy.tokens import Doc, Token

from spacy_dynsel.base.templates import Template, Templates, parse_templates
from spacy_dynsel.core.forms.packing import unpack_weights
from spacy_dynsel.core.model_file import load_model

WORD64 = (1 << 64) - 1
BEFORE_START, AFTER_END = 1, 2
N_RESERVED = 3
SPACE_TAG = 0xFFFF
FLAGS = [
    "IS_ALPHA",
    "IS_BRACKET",
    "IS_CURRENCY",
    "IS_DIGIT",
    "IS_LOWER",
    "IS_PUNCT",
    "IS_QUOTE",
    "IS_SPACE",
    "IS_TITLE",
    "IS_UPPER",
    "LIKE_EMAIL",
    "LIKE_NUM",
    "LIKE_URL",
]

# The values of the column "case".
LOWER, TITLE, UPPER, INITIAL, MIXED_UP, MIXED_LOW = range(6)
CASELESS, NUMBER, SYMBOLS, SPACE = range(6, 10)


def mix(state: int, value: int) -> int:
    state = (state ^ value) * 0x9E3779B97F4A7C15 & WORD64
    return state ^ state >> 32


def finish(state: int) -> int:
    return (state * 0xD6E8FEB86659FD93 & WORD64) >> 32


def pair_key(one: int, other: int) -> int:
    """The key of an induced pair of features."""
    seed = 0x5061697273
    return finish(mix(seed, one) + mix(seed, other) & WORD64)


def fold(value: int) -> int:
    return (value * 0x9E3779B97F4A7C15 & WORD64) >> 32


def hash_bytes(data: bytes) -> int:
    state = 0xCBF29CE484222325
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 & WORD64
    return state


def hash_affix(text: str) -> int:
    data = text.encode("utf8")[:24]
    return fold(hash_bytes(bytes(48 if 48 <= byte <= 57 else byte for byte in data)))


def characters(text: str) -> int:
    found = 0
    for i, char in enumerate(text):
        if "A" <= char <= "Z":
            found |= 1 | (64 if i == 0 else 0)
        elif "0" <= char <= "9":
            found |= 2
        elif ord(char) >= 128:
            found |= 32
        else:
            found |= {"-": 4, ".": 8, "'": 16}.get(char, 0)
    return found


def case_of(token: Token) -> int:
    lexeme = token.vocab[token.orth]
    text, lower = lexeme.text, lexeme.lower_
    if lexeme.is_space:
        return SPACE
    if lexeme.is_lower:
        return LOWER
    if lexeme.is_upper:
        initial = len(text) == 1 or (len(text) == 2 and text[1] == ".")
        return INITIAL if initial else UPPER
    if lexeme.is_title:
        return TITLE
    if text != lower:
        return MIXED_UP if text[0] != lower[0] else MIXED_LOW
    if lexeme.is_alpha:
        return CASELESS
    if any(char in "0123456789" for char in text):
        return NUMBER
    return SYMBOLS


def lexical_atom(token: Token, column: str, tables: dict[str, dict[int, int]]) -> int:
    lexeme = token.vocab[token.orth]
    if column == "word":
        return fold(lexeme.orth)
    if column in ("lower", "norm", "shape"):
        return fold(getattr(lexeme, column))
    if column == "case":
        return N_RESERVED + case_of(token)
    if column == "class":
        return tables["class"].get(lexeme.lower, 0)
    if column.startswith("cluster"):
        value = tables["cluster"].get(lexeme.orth) or tables["cluster"].get(
            lexeme.lower, 0
        )
        bits = column.removeprefix("cluster")
        if value and bits:
            value = N_RESERVED + (value - N_RESERVED & (1 << int(bits)) - 1)
        return value
    if column == "flags":
        flags = sum(
            1 << attrs.IDS[name] for name in FLAGS if lexeme.check_flag(attrs.IDS[name])
        )
        return fold(mix(flags, characters(lexeme.text)))
    size = int(column[-1])
    if column.startswith("prefix"):
        return hash_affix(lexeme.lower_[:size])
    return hash_affix(lexeme.lower_[-size:])


def template_key(
    template: Template,
    tokens: list[Token],
    position: int,
    history: list[int],
    tables: dict[str, dict[int, int]],
) -> int:
    """history: For each token its label, or what is thought of as its label."""
    state = hash_bytes(str(template).encode("utf8"))
    for atom in template.atoms:
        place = position + int(atom.place)
        if atom.column == "tag":
            value = history[place] + 1 if 0 <= place < len(tokens) else 0
        elif place < 0:
            value = BEFORE_START
        elif place >= len(tokens):
            value = AFTER_END
        else:
            value = lexical_atom(tokens[place], atom.column, tables)
        state = mix(state, value)
    return finish(state)


def split_sentences(doc: Doc) -> list[list[Token]]:
    """The words of each sentence. One that starts with white space starts with the next
    word."""
    sentences: list[list[Token]] = []
    for token in doc:
        if token.i == 0 or token.sent_start == 1:
            sentences.append([])
        if not token.is_space:
            sentences[-1].append(token)
    return sentences


class ReferenceTagger:
    def __init__(self, data: bytes) -> None:
        meta, arrays = load_model(data)
        self.labels: list[str] = meta["labels"]
        self.templates: Templates = parse_templates(
            meta["parts"]["templates"]["templates"]
        )
        self.scale: float = meta["parts"]["templates"]["scale"]
        self.weights: dict[int, dict[int, int]] = defaultdict(dict)
        for key, label, weight in zip(
            *unpack_weights(arrays["templates_index"], arrays["templates_slots"]),
            strict=True,
        ):
            self.weights[int(key)][int(label)] = int(weight)
        members = arrays.get("templates_pairs", np.empty(0)).reshape(-1, 4)[:, :2]
        self.pairs = {frozenset(map(int, pair)) for pair in members}
        self.tables = {
            name: {
                int(key): int(value)
                for key, value in zip(
                    arrays[f"{name}_keys"], arrays[f"{name}_values"], strict=True
                )
            }
            for name in ("class", "cluster")
        }

    def decide(
        self,
        tokens: list[Token],
        position: int,
        history: list[int],
        margin: float,
        n_templates: int | None = None,
    ) -> tuple[int, int]:
        """RETURNS (tuple): The label and the number of templates."""
        scores = np.zeros(len(self.labels), dtype=int)
        templates = self.templates.templates[:n_templates]
        met: list[int] = []
        for rank, template in enumerate(templates, start=1):
            key = template_key(template, tokens, position, history, self.tables)
            joined = [one for one in met if frozenset((one, key)) in self.pairs]
            met.append(key)
            for one in (key, *(pair_key(other, key) for other in joined)):
                for label, weight in self.weights.get(one, {}).items():
                    scores[label] += weight
            if rank in self.templates.checkpoints:
                best, *others = sorted(scores.tolist(), reverse=True)
                lead = best - others[0] if others else float("inf")
                if lead >= np.ceil(margin * float(np.float32(self.scale))):
                    break
        return int(np.argmax(scores)), rank

    def look_ahead(self, tokens: list[Token]) -> list[int]:
        """What the first stage says, if it looks at no tags."""
        n_early = self.templates.checkpoints[0]
        early = self.templates.templates[:n_early]
        if any(atom.column == "tag" for spec in early for atom in spec.atoms):
            return [0] * len(tokens)
        return [
            self.decide(tokens, i, [], float("inf"), n_early)[0]
            for i in range(len(tokens))
        ]

    def predict(self, doc: Doc, margin: float) -> tuple[list[int], list[int]]:
        """RETURNS (tuple): The labels, and the numbers of templates for words."""
        labels, ranks = [SPACE_TAG] * len(doc), []
        for tokens in split_sentences(doc):
            history = self.look_ahead(tokens)
            for position in range(len(tokens)):
                label, rank = self.decide(tokens, position, history, margin)
                history[position] = label
                ranks.append(rank)
            for token, label in zip(tokens, history, strict=True):
                labels[token.i] = label
        return labels, ranks
