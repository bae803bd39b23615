"""Morphology: what a morphologizer learns, uses and stores."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.errors import Errors
from ...base.settings import LearnerSettings
from ...base.templates import Template, Templates
from ...core.forms.factored import N_CANDIDATES
from ...core.forms.packing import MAX_LABELS
from ...core.label_parts import LabelParts
from ...core.leads import NEVER
from ...core.model_file import require
from ...spacy_io.lexemes import LEXICAL_COLUMNS
from ..classifier import Classifier, FactoredForm, Inputs, find_columns
from ..engine import Margin, Start
from ..labelling.engine import (
    DEFAULTS,
    LABEL_OFFSETS,
    LEXICAL_PLACES,
    OFFSETS,
    LabellingEngine,
)
from ..labelling.gold import GoldDoc, take_words
from ..labelling.history import History
from ..word_tables import N_RESERVED
from .decode import predict
from .labels import (
    COLUMNS,
    MORPH_COLUMN,
    NOUN_COLUMN,
    POS_COLUMN,
    find_fault,
    find_parts,
    list_parts,
    make_history,
)
from .seen import find_seen, read_seen

# Where each column of a template may be read.
PLACES: dict[str, Sequence[str]] = {
    **LEXICAL_PLACES,
    MORPH_COLUMN: LABEL_OFFSETS,
    POS_COLUMN: LABEL_OFFSETS,
    NOUN_COLUMN: ["-1"],
}
# How often a word has to occur to get only labels that it was seen with. A rarer word may
# well have another one.
MIN_SEEN = 100
# How many times a margin that is given for all stages counts after the first one, and
# after the last but one: what the word alone says is overruled more easily than what is
# said later.
FIRST_SHARE = 2.5
LAST_SHARE = 0.75


class MorphologyEngine(LabellingEngine):
    """A morphologizer's templates, weights, ambiguity classes and clusters.

    templates (Templates): The templates, with checkpoints. Those before the first
        checkpoint read the word alone.
    settings (LearnerSettings): How to learn.
    seeds (int): How many learners to average.
    class_min_count (int), class_min_share (float), folds (int), resources
        (WordResources): See LabellingEngine.
    """

    task = "morphology"
    columns = COLUMNS
    class_column = "morph"
    # All that read no labels.
    n_early = 1 << 16
    space_name = "POS=SPACE"
    n_candidates = N_CANDIDATES
    decode = staticmethod(predict)

    def __init__(
        self,
        templates: Templates,
        settings: LearnerSettings,
        *,
        seeds: int,
        **others: Any,
    ) -> None:
        _check_first_stage(templates)
        lexical = sorted(find_columns(templates) & set(LEXICAL_COLUMNS))
        morphs = Classifier(
            "templates",
            templates,
            settings.for_task("morphology", **DEFAULTS),
            FactoredForm,
            places=PLACES,
            inputs=Inputs(lexical, [*COLUMNS], OFFSETS),
            seeds=seeds,
        )
        morphs.has_wholes = [_has_wholes(one) for one in templates.templates]
        super().__init__(morphs, lexical, **others)

    def _reset(self) -> None:
        super()._reset()
        self._parts: LabelParts | None = None
        self._seen: Any = None

    @property
    def parts_of_labels(self) -> LabelParts:
        if self._parts is None:
            self._parts = find_parts(self.labels)
        return self._parts

    @property
    def needs_first_stage(self) -> bool:
        return True

    def _initialize(self, examples: list[GoldDoc], start: Start) -> None:
        n_labels, n_parts = len(self.labels), len(list_parts(self.labels))
        if n_labels + n_parts > MAX_LABELS:
            raise ValueError(
                Errors.DS073.format(n_labels=n_labels, n_parts=n_parts, most=MAX_LABELS)
            )
        self.main.label_parts = self.parts_of_labels
        golds = [take_words(gold) for gold in examples]
        self._seen = find_seen(golds, MIN_SEEN)
        super()._initialize(examples, start)

    def _learn(self, batch: list[GoldDoc], drop: float) -> float:
        self._seen = self._seen.with_words(map(take_words, batch))
        return super()._learn(batch, drop)

    def _make_history(self) -> History:
        return make_history(self.labels)

    def _scale(self, margin: Margin, scale: float) -> list[int]:
        if self.n_stages > 1 and not isinstance(margin, list | tuple):
            shares = [FIRST_SHARE] + [1.0] * (self.n_stages - 3) + [LAST_SHARE]
            margin = [share * margin for share in shares[: self.n_stages - 1]]
        return super()._scale(margin, scale)

    def _get_decoding_options(self) -> dict[str, Any]:
        return {"history": self.history}

    def _find_valid(
        self, scorer: Any, orth: int, margins: list[int]
    ) -> np.ndarray | None:
        seen = scorer.find_seen(orth)
        if seen is None or (margins and margins[0] >= NEVER):
            return None
        valid = np.zeros(scorer.n_labels, dtype=bool)
        valid[seen] = True
        return valid

    def _get_arguments(self) -> dict[str, Any]:
        return {**super()._get_arguments(), "seeds": self.main.seeds}

    def _get_extra(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        meta, arrays = super()._get_extra()
        return meta, {**arrays, **self._seen.to_arrays()}

    def _load_extra(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        super()._load_extra(meta, arrays)
        require(
            not any(map(find_fault, self.labels))
            and len(self.labels) + len(list_parts(self.labels)) <= MAX_LABELS,
            "its labels are malformed",
        )
        self._seen = read_seen(arrays)

    def _form_options(self, part: str) -> dict[str, Any]:
        counts = self.history.values.max(axis=0) + 1
        return {
            "parts": self.parts_of_labels,
            "has_wholes": self.main.has_wholes,
            "seen": self._seen,
            "cardinalities": {
                **dict(zip(COLUMNS, counts.tolist(), strict=True)),
                "class": self._n_classes + N_RESERVED,
            },
        }


def _has_wholes(template: Template) -> bool:
    """Whether a template has weights for whole labels. What says something about the word
    itself, or about whole labels beside it, has; what a neighbour or a part of speech
    says, it says about parts, and rows and tables of these are short."""
    return any(
        atom.column == MORPH_COLUMN
        or (atom.place == "0" and atom.column in LEXICAL_COLUMNS)
        for atom in template.atoms
    )


def _check_first_stage(templates: Templates) -> None:
    """What the first stage says about a word is kept with the word."""
    for template in templates.templates[: templates.checkpoints[0]]:
        if any(
            atom.place != "0" or atom.column not in LEXICAL_COLUMNS
            for atom in template.atoms
        ):
            raise ValueError(Errors.DS071.format(template=template))
