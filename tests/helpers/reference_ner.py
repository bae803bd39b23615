"""A slow and obvious entity recognizer that the compiled one is compared with.

It shares only the model file's contents and the plain hashing of reference.py: entities
are found by going through the doc word by word, looking up everything anew. White space
is filled in at the end.
"""

from collections import Counter, defaultdict

import numpy as np
from spacy.tokens import Doc, Token

from helpers.reference import (
    CASELESS,
    LOWER,
    TITLE,
    UPPER,
    case_of,
    finish,
    fold,
    hash_bytes,
    lexical_atom,
    mix,
)
from spacy_dynsel.base.templates import Templates, parse_templates
from spacy_dynsel.core.forms.packing import unpack_weights
from spacy_dynsel.core.model_file import load_model

KEEP = 0xFFFF
BEFORE_START, AFTER_END = 1, 2
REACH = 2
MEMORY = 1000


def mirror(action: int) -> int:
    if action <= 0:
        return action
    return action + {0: 2, 1: 0, 2: -2, 3: 0}[(action - 1) % 4]


def find_start(token: Token) -> int:
    """Where the entity of a token starts."""
    doc, i = token.doc, token.i
    while doc[i].ent_iob == 1:
        i -= 1
    return i


def find_end(token: Token) -> int:
    """Where the entity of a token ends."""
    doc, i = token.doc, token.i + 1
    while i < len(doc) and doc[i].ent_iob == 1:
        i += 1
    return i


class Reading:
    """A doc in reading order: words by step, and what was decided so far."""

    def __init__(self, doc: Doc, *, backwards: bool) -> None:
        self.backwards = backwards
        self.tokens: list[Token] = []
        self.sentences: list[int] = []
        sentence: list[Token] = []
        for token in doc:
            if token.sent_start == 1 and sentence:
                self._add(sentence)
                sentence = []
            if not token.is_space:
                sentence.append(token)
        if sentence:
            self._add(sentence)
        self.actions: list[int] = []
        self.lowers = [token.vocab[token.orth].lower for token in self.tokens]
        self.cases = [case_of(token) for token in self.tokens]

    def _add(self, sentence: list[Token]) -> None:
        number = self.sentences[-1] + 1 if self.sentences else 0
        self.tokens += reversed(sentence) if self.backwards else sentence
        self.sentences += [number] * len(sentence)

    def inside(self, step: int, sentence: int) -> bool:
        return 0 <= step < len(self.tokens) and self.sentences[step] == sentence

    def starts_text(self, step: int) -> bool:
        beside = step + 1 if self.backwards else step - 1
        return not self.inside(beside, self.sentences[step])

    def others(self, step: int) -> list[int]:
        return [
            i
            for i in range(len(self.tokens))
            if i != step and self.lowers[i] == self.lowers[step]
        ]

    def place(self, step: int, name: str) -> tuple[str, int]:
        """What is at a place: ("step", s), ("edge", value) or ("absent", 0)."""
        if name in ("before-1", "before+1", "after-1", "after+1"):
            before = [i for i in self.others(step) if i < step]
            after = [i for i in self.others(step) if i > step]
            forms = [self.cases[i] for i in [step, *self.others(step)]]
            if not any(LOWER < form < CASELESS for form in forms):
                return "absent", 0
            if name.startswith("before"):
                if not before:
                    return "absent", 0
                anchor = max(before)
            else:
                if not after:
                    return "absent", 0
                anchor = min(after)
            offset = -1 if name.endswith("-1") else 1
        else:
            anchor, offset = step, int(name)
        target = anchor + offset
        if self.inside(target, self.sentences[anchor]):
            return "step", target
        edges = (BEFORE_START, AFTER_END)
        if self.backwards:
            edges = (AFTER_END, BEFORE_START)
        return "edge", edges[offset > 0]

    def history(self, target: int, step: int) -> list[int]:
        """The actions of a word before, latest first, as known one step ahead."""
        first_of_sentence = not self.inside(target - 1, self.sentences[target])
        known = target if first_of_sentence else target - 1
        return [
            self.actions[i]
            for i in reversed(self.others(target))
            if i < known and target - i <= MEMORY
        ]

    def ever_an_entity(self, target: int) -> bool:
        first_of_sentence = not self.inside(target - 1, self.sentences[target])
        known = target if first_of_sentence else target - 1
        return any(self.actions[i] > 0 for i in self.others(target) if i < known)

    def dynamic(self, column: str, target: int, step: int) -> int:
        if column == "action":
            return self.actions[target] + 1
        if column == "tag":
            tag = self.tokens[target].tag
            return fold(tag) if tag else 0
        if column == "lists":
            return 0
        if column == "cases":
            others = self.others(target)
            value = 0
            if others:
                value = 1
                value |= 2 * any(self.cases[i] == LOWER for i in others)
                value |= 4 * any(self.cases[i] == UPPER for i in others)
                value |= 8 * any(
                    self.cases[i] == TITLE and not self.starts_text(i) for i in others
                )
            return value + 1
        history = self.history(target, step)
        if not history:
            return 0
        if column == "seen_last":
            return history[0] + 1
        if not self.ever_an_entity(target):
            return 1
        counts = Counter((action + 3) // 4 for action in history)
        if column == "seen":
            return min(counts, key=lambda label: (-counts[label], label)) + 1
        state = 0
        for label in sorted(counts):
            quarter = -(-4 * counts[label] // len(history))
            state = mix(state, label * 4 + quarter)
        return fold(state)


class ReferenceNER:
    def __init__(self, data: bytes, bias: float = 0.0) -> None:
        meta, arrays = load_model(data)
        self.labels: list[str] = meta["labels"]
        self.backwards = meta["direction"] == "rtl"
        self.templates: Templates = parse_templates(
            meta["parts"]["templates"]["templates"]
        )
        self.scale: float = meta["parts"]["templates"]["scale"]
        self.bias = int(np.rint(bias * self.scale))
        self.weights: dict[int, dict[int, int]] = defaultdict(dict)
        for key, label, weight in zip(
            *unpack_weights(arrays["templates_index"], arrays["templates_slots"]),
            strict=True,
        ):
            self.weights[int(key)][int(label)] = int(weight)
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

    def atom(self, reading: Reading, step: int, column: str, place: str) -> int:
        dynamic = column in (
            *("action", "tag", "cases", "lists", "seen", "seen_last", "seen_shares"),
        )
        kind, value = reading.place(step, place)
        if dynamic:
            return reading.dynamic(column, value, step) if kind == "step" else 0
        if kind != "step":
            return value
        return lexical_atom(reading.tokens[value], column, self.tables)

    def key(self, reading: Reading, step: int, template) -> int:
        state = hash_bytes(str(template).encode("utf8"))
        for atom in template.atoms:
            state = mix(state, self.atom(reading, step, atom.column, atom.place))
        return finish(state)

    def preset(self, token: Token) -> int:
        """The action, as read, that stands for an entity which is set."""
        if token.ent_type_ not in self.labels:
            return 0
        entity = list(token.doc[find_start(token) : find_end(token)])
        words = [t.i for t in entity if not t.is_space]
        kinds = (0, 3) if token.i == words[0] else (1, 2)
        kind = kinds[0] if token.i != words[-1] else kinds[1]
        action = 1 + 4 * self.labels.index(token.ent_type_) + kind
        return mirror(action) if self.backwards else action

    def can_go_on(self, reading: Reading, step: int, keep: bool) -> bool:
        """Whether an entity may reach beyond a step."""
        if not reading.inside(step + 1, reading.sentences[step]):
            return False
        here, there = sorted(token.i for token in reading.tokens[step : step + 2])
        between = [
            *reading.tokens[step].doc[here + 1 : there],
            reading.tokens[step + 1],
        ]
        return not (keep and any(token.ent_iob in (1, 3) for token in between))

    def valid(
        self, reading: Reading, step: int, open_type: int, keep: bool
    ) -> list[int]:
        goes_on = self.can_go_on(reading, step, keep)
        if open_type >= 0:
            return [2 + 4 * open_type] * goes_on + [3 + 4 * open_type]
        actions = [0]
        for label in range(len(self.labels)):
            actions += [1 + 4 * label] * goes_on + [4 + 4 * label]
        return actions

    def decide(
        self,
        reading: Reading,
        step: int,
        valid: list[int],
        margin: float,
        supported: tuple[int, int] = (0, 0),
    ) -> tuple[int, int, int]:
        """RETURNS (tuple): The action, the number of templates, and the lead, 0 if no
        other action was valid.

        supported (tuple): An action, as read, and what is added to its score.
        """
        scores = np.zeros(1 + 4 * len(self.labels), dtype=int)
        scores[0] = self.bias
        # Types that nothing was learned about are never begun.
        learned = {(a + 3) // 4 for row in self.weights.values() for a in row}
        for action in range(1, len(scores)):
            if (action + 3) // 4 not in learned:
                scores[action] = -32767
        scores[supported[0]] += supported[1]
        for rank, template in enumerate(self.templates.templates, start=1):
            key = self.key(reading, step, template)
            for label, weight in self.weights.get(key, {}).items():
                scores[label] += weight
            if rank in self.templates.checkpoints:
                best, *others = sorted((scores[a] for a in valid), reverse=True)
                lead = best - others[0] if others else float("inf")
                if lead >= np.ceil(margin * float(np.float32(self.scale))):
                    break
        action = max(valid, key=lambda action: (scores[action], -action))
        return action, rank, int(best - others[0]) if others else 0

    def predict(
        self,
        doc: Doc,
        margin: float,
        *,
        keep: bool = True,
        first: list[tuple[int, int]] | None = None,
    ) -> tuple[list[int], list[int], list[int]]:
        """RETURNS (tuple): The actions in the order of the text, the numbers of
        templates of the decisions, and the leads in the order of the text.

        first (list): For each token the action of a first pass and its support.
        """
        reading = Reading(doc, backwards=self.backwards)
        result = [0] * len(doc)
        leads = [0] * len(doc)
        ranks = []
        open_type = -1
        for step, token in enumerate(reading.tokens):
            if keep and token.ent_iob in (1, 3):
                reading.actions.append(self.preset(token))
                result[token.i] = KEEP
                open_type = -1
                continue
            valid = self.valid(reading, step, open_type, keep)
            supported = (0, 0) if first is None else first[token.i]
            if self.backwards:
                supported = (mirror(supported[0]), supported[1])
            action, rank, lead = self.decide(reading, step, valid, margin, supported)
            leads[token.i] = lead
            reading.actions.append(action)
            ranks.append(rank)
            open_type = -1
            if action and (action - 1) % 4 < 2:
                open_type = (action - 1) // 4
            result[token.i] = mirror(action) if self.backwards else action
        for token in doc:
            if token.is_space:
                if keep and token.ent_iob in (1, 3):
                    result[token.i] = KEEP
                elif token.i and result[token.i - 1] not in (0, KEEP):
                    # After B or I the entity goes on, after L and U it does not.
                    before = result[token.i - 1]
                    result[token.i] = {1: before + 1, 2: before}.get(before % 4, 0)
        return result, ranks, leads
