"""Tagging: what a tagger learns, uses and stores."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.settings import LearnerSettings
from ...base.templates import Templates
from ...spacy_io.lexemes import LEXICAL_COLUMNS
from ..classifier import CachedForm, Classifier, Inputs, find_columns
from ..labelling.engine import (
    DEFAULTS,
    LABEL_OFFSETS,
    LEXICAL_PLACES,
    OFFSETS,
    LabellingEngine,
)
from ..labelling.history import History
from ..word_tables import N_RESERVED
from .decode import predict

# What spaCy calls the tag of white space.
SPACE_TAG_NAME = "_SP"
# Where each column of a tagging template may be read.
PLACES: dict[str, Sequence[str]] = {**LEXICAL_PLACES, "tag": LABEL_OFFSETS}


class TaggingEngine(LabellingEngine):
    """A tagger's templates, weights, ambiguity classes and clusters.

    templates (Templates): The templates, with checkpoints.
    settings (LearnerSettings): How to learn.
    class_min_count (int), class_min_share (float), folds (int), resources
        (WordResources): See LabellingEngine.
    """

    task = "tagging"
    columns = ("tag",)
    class_column = "tag"
    n_early = 1
    space_name = SPACE_TAG_NAME
    decode = staticmethod(predict)

    def __init__(
        self, templates: Templates, settings: LearnerSettings, **others: Any
    ) -> None:
        lexical = sorted(find_columns(templates) & set(LEXICAL_COLUMNS))
        tags = Classifier(
            "templates",
            templates,
            settings.for_task("tagging", **DEFAULTS),
            CachedForm,
            places=PLACES,
            inputs=Inputs(lexical, [*self.columns], OFFSETS),
        )
        super().__init__(tags, lexical, **others)

    def _make_history(self) -> History:
        values = np.arange(len(self.labels) + 1, dtype="uint32")
        return History([*self.columns], values.reshape(-1, 1))

    def _form_options(self, part: str) -> dict[str, Any]:
        return {
            "cardinalities": {
                "tag": len(self.labels) + 1,
                "class": self._n_classes + N_RESERVED,
            }
        }
