"""A slow and obvious morphologizer that the compiled one is compared with.

It shares with the package what reference.py shares: the contents of a model file.
"""

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc, Token

from helpers.reference import (
    AFTER_END,
    BEFORE_START,
    SPACE_TAG,
    finish,
    hash_bytes,
    lexical_atom,
    mix,
    split_sentences,
)
from spacy_dynsel.base.templates import Template, Templates, parse_templates
from spacy_dynsel.core.forms.packing import unpack_weights
from spacy_dynsel.core.model_file import load_model

LABEL_COLUMNS = ("morph", "pos", "noun")
MOST_CANDIDATES = 32


class Decision(NamedTuple):
    """A label, the number of stages that were scored, the lead as an integer, and how
    many labels each of these stages scored and had to choose from."""

    label: int
    n_stages: int
    lead: float
    scored: list[int]
    n_choices: int


class Found(NamedTuple):
    """What is said about a doc: for each token a label; for each word the rest."""

    labels: list[int]
    decisions: list[Decision]


def parts_of(label: str) -> list[str]:
    return [] if label == "_" else label.split("|")


def reads_labels(template: Template) -> bool:
    return any(atom.column in LABEL_COLUMNS for atom in template.atoms)


def has_wholes(template: Template) -> bool:
    """Whether a template has weights for whole labels: if it reads the word itself, or
    whole labels."""
    return any(
        atom.column == "morph" or (atom.place == "0" and atom.column != "pos")
        for atom in template.atoms
    )


class ReferenceMorphologizer:
    def __init__(self, data: bytes) -> None:
        meta, arrays = load_model(data)
        self.labels: list[str] = meta["labels"]
        self.templates: Templates = parse_templates(
            meta["parts"]["templates"]["templates"]
        )
        self.scale = float(np.float32(meta["parts"]["templates"]["scale"]))
        names = sorted({part for label in self.labels for part in parts_of(label)})
        numbers = {name: i for i, name in enumerate(names)}
        self.n_parts = len(names)
        self.parts = [[numbers[part] for part in parts_of(one)] for one in self.labels]
        self.weights = self.read_weights(arrays, "index", "slots")
        starts = arrays["seen_starts"].tolist()
        self.seen = {
            orth: arrays["seen_labels"].tolist()[starts[i] : starts[i + 1]]
            for i, orth in enumerate(arrays["seen_keys"].tolist())
        }
        self.tables = {
            name: dict(
                zip(
                    arrays[f"{name}_keys"].tolist(),
                    arrays[f"{name}_values"].tolist(),
                    strict=True,
                )
            )
            for name in ("class", "cluster")
        }
        self.known_scores: dict[tuple[int, bool], np.ndarray] = {}
        self.lexical: dict[str, dict[int, int]] = {}
        self.said = [self.describe(label) for label in self.labels]
        self.values = {
            column: {
                value: number
                for number, value in enumerate(
                    dict.fromkeys(said[column] for said in self.said if said[column]), 1
                )
            }
            for column in LABEL_COLUMNS
        }

    @staticmethod
    def read_weights(arrays, *sections: str) -> dict[int, dict[int, int]]:
        weights: dict[int, dict[int, int]] = defaultdict(dict)
        packed = [arrays[f"templates_{section}"] for section in sections]
        for key, output, weight in zip(*unpack_weights(*packed), strict=True):
            weights[int(key)][int(output)] = int(weight)
        return weights

    @staticmethod
    def describe(label: str) -> dict[str, str]:
        """What templates read of a label, as strings; an empty one says nothing."""
        parts = dict(part.split("=") for part in parts_of(label))
        pos = parts.get("POS", "")
        noun = [f"{k}={parts[k]}" for k in ("Gender", "Number", "Case") if k in parts]
        is_nominal = pos in ("NOUN", "PROPN", "PRON", "DET")
        # A label without a part of speech says just that.
        return {
            "morph": f"is {label}",
            "pos": f"is {pos}",
            "noun": " ".join(noun) if is_nominal else "",
        }

    def read(self, column: str, place: int, history: list[int]) -> int:
        if not 0 <= place < len(history):
            return 0
        if column == "noun":
            # That of the last word that says something.
            while place > 0 and not self.said[history[place]]["noun"]:
                place -= 1
            noun = self.said[history[place]]["noun"]
            return self.values["noun"][noun] if noun else 0
        return self.values[column][self.said[history[place]][column]]

    def find_key(
        self, template: Template, tokens: list[Token], position: int, history: list[int]
    ) -> int:
        """history: For each token its label, or what is thought of as its label."""
        state = hash_bytes(str(template).encode("utf8"))
        for atom in template.atoms:
            place = position + int(atom.place)
            if atom.column in LABEL_COLUMNS:
                value = self.read(atom.column, place, history)
            elif place < 0:
                value = BEFORE_START
            elif place >= len(tokens):
                value = AFTER_END
            else:
                value = self.read_lexeme(tokens[place], atom.column)
            state = mix(state, value)
        return finish(state)

    def score(self, key: int, with_wholes: bool) -> np.ndarray:
        """What a feature adds to each label."""
        if (key, with_wholes) not in self.known_scores:
            self.known_scores[key, with_wholes] = self.add_up(key, with_wholes)
        return self.known_scores[key, with_wholes]

    def add_up(self, key: int, with_wholes: bool) -> np.ndarray:
        scores = np.zeros(len(self.labels), dtype=int)
        weights = self.weights.get(key, {})
        for label, parts in enumerate(self.parts):
            scores[label] = sum(weights.get(part, 0) for part in parts)
            if with_wholes:
                scores[label] += weights.get(self.n_parts + label, 0)
        return scores

    def read_lexeme(self, token: Token, column: str) -> int:
        known = self.lexical.setdefault(column, {})
        if token.orth not in known:
            known[token.orth] = lexical_atom(token, column, self.tables)
        return known[token.orth]

    def scale_margin(self, margin: float) -> float:
        scaled = margin * self.scale
        return float("inf") if scaled > 1 << 16 else float(np.ceil(scaled))

    def decide(
        self,
        tokens: list[Token],
        position: int,
        history: list[int],
        margins: list[float],
        n_stages: int,
    ) -> Decision:
        """Look at some stages at most."""
        choices = list(range(len(self.labels)))
        rules_out = margins[0] < float("inf") or len(self.templates.checkpoints) == 1
        if rules_out:
            choices = self.seen.get(tokens[position].orth, choices)
        scores = np.zeros(len(self.labels), dtype=int)
        scored = [len(self.labels)]
        start = 0
        for stage, end in enumerate(self.templates.checkpoints[:n_stages]):
            if stage:
                scored.append(len(choices))
            for template in self.templates.templates[start:end]:
                key = self.find_key(template, tokens, position, history)
                scores += self.score(key, has_wholes(template))
            start = end
            ranked = sorted(choices, key=lambda label: (-scores[label], label))
            best = scores[ranked[0]]
            lead = best - scores[ranked[1]] if len(ranked) > 1 else float("inf")
            n_choices = len(choices)
            if lead >= margins[stage]:
                break
            choices = [
                label for label in ranked if scores[label] > best - margins[stage]
            ]
            if stage == 0 and rules_out:
                choices = choices[:MOST_CANDIDATES]
        return Decision(ranked[0], stage + 1, float(lead), scored, n_choices)

    def predict(self, doc: Doc, margin: float | list[float]) -> Found:
        n_stages = len(self.templates.checkpoints)
        given = margin
        if not isinstance(margin, list):
            # For the word alone it counts twice, and less before the last stage.
            shares = [2.5, *([1.0] * (n_stages - 3)), 0.75][: n_stages - 1]
            given = [share * margin for share in shares]
        margins = [*map(self.scale_margin, given), 0.0]
        n_early = 1
        while n_early < n_stages and not any(
            map(
                reads_labels,
                self.templates.templates[: self.templates.checkpoints[n_early]],
            )
        ):
            n_early += 1
        labels, decisions = [SPACE_TAG] * len(doc), []
        for tokens in split_sentences(doc):
            history = [
                self.decide(tokens, i, [], margins, n_early).label
                for i in range(len(tokens))
            ]
            for position, token in enumerate(tokens):
                found = self.decide(tokens, position, history, margins, n_stages)
                history[position] = labels[token.i] = found.label
                decisions.append(found)
        return Found(labels, decisions)
