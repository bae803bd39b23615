"""A slow and obvious lemmatizer that the compiled one is compared with: it tries every
script on every word, and adds up templates one by one."""

import numpy as np
from spacy.tokens import Doc, Token

from helpers.reference import (
    ReferenceTagger,
    finish,
    fold,
    hash_bytes,
    lexical_atom,
    mix,
)
from spacy_dynsel.base.templates import Template
from spacy_dynsel.core.model_file import load_model
from spacy_dynsel.tasks.lemmas.known import KNOWN_LEAD, find_key
from spacy_dynsel.tasks.lemmas.scripts import read_script

SPACE, NONE = 0xFFFF, 0xFFFE


class ReferenceLemmatizer(ReferenceTagger):
    """Reads its weights as the tagger's reference does."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        meta, arrays = load_model(data)
        self.reads_pos: bool = meta["reads_pos"]
        self.known = set(arrays["known"].tolist())

    def find_key(self, template: Template, token: Token) -> int:
        morph = str(token.morph)
        given = {
            "pos": token.pos,
            "morph": fold(token.vocab.strings[morph]) if morph else 0,
        }
        state = hash_bytes(str(template).encode("utf8"))
        for atom in template.atoms:
            value = given.get(atom.column)
            if value is None:
                value = lexical_atom(token, atom.column, self.tables)
            state = mix(state, value)
        return finish(state)

    def lemmatize(self, token: Token, margin: float) -> tuple[int, str, int]:
        """RETURNS (tuple): The label, the lemma and the number of templates."""
        if token.is_space:
            return SPACE, token.text, 0
        lemmas = [read_script(label).apply(token.text) for label in self.labels]
        valid = [label for label, lemma in enumerate(lemmas) if lemma is not None]
        if not valid:
            return NONE, "", 0
        scores = np.zeros(len(self.labels), dtype=int)
        for rank, template in enumerate(self.templates.templates, start=1):
            key = self.find_key(template, token)
            for label, weight in self.weights.get(key, {}).items():
                scores[label] += weight
            if rank in self.templates.checkpoints:
                best, *others = sorted(scores[valid].tolist(), reverse=True)
                lead = best - others[0] if others else float("inf")
                if lead >= np.ceil(margin * float(np.float32(self.scale))):
                    break
        ranked = sorted(valid, key=lambda label: -scores[label])
        limit = scores[ranked[0]] - np.ceil(KNOWN_LEAD * self.scale)
        close = [label for label in ranked if scores[label] > limit]
        pos = token.pos if self.reads_pos else 0
        known = [label for label in close if find_key(lemmas[label], pos) in self.known]
        label = (known or ranked)[0]
        return label, lemmas[label], rank

    def lemmatize_all(self, doc: Doc, margin: float) -> list[tuple[int, str, int]]:
        return [self.lemmatize(token, margin) for token in doc]
