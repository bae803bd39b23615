"""Factories and their metadata. A .py file, since configs need real annotations."""

from collections.abc import Callable
from typing import Any

from spacy.language import Language
from thinc.api import Config, Model

from .pipeline.tagger import DynselTagger

DEFAULT_TAGGER_MODEL = Config().from_str(
    """
    [model]
    @architectures = "spacy_dynsel.DynamicTagger.v1"
    class_min_count = 10
    class_min_share = 0.4

    [model.templates]
    @misc = "spacy_dynsel.templates.v1"
    default = "tagger"

    [model.learner]
    @misc = "spacy_dynsel.learner.v1"
    """
)["model"]


@Language.factory(  # type: ignore[untyped-decorator]
    "dynsel_tagger",
    assigns=["token.tag"],
    default_config={
        "model": DEFAULT_TAGGER_MODEL,
        "margin": 4.0,
        "n_threads": 1,
        "cache_size": 50_000,
        "overwrite": False,
        "neg_prefix": "!",
        "scorer": {"@scorers": "spacy.tagger_scorer.v1"},
    },
    default_score_weights={
        "tag_acc": 1.0,
        "pos_acc": 0.0,
        "tag_micro_p": None,
        "tag_micro_r": None,
        "tag_micro_f": None,
        "dynsel_templates": None,
    },
)
def make_tagger(
    nlp: Language,
    name: str,
    model: Model,
    margin: float | list[float],
    n_threads: int,
    cache_size: int,
    overwrite: bool,
    neg_prefix: str,
    scorer: Callable[..., dict[str, Any]] | None,
) -> DynselTagger:
    return DynselTagger(
        nlp.vocab,
        model,
        name,
        margin=margin,
        n_threads=n_threads,
        cache_size=cache_size,
        overwrite=overwrite,
        neg_prefix=neg_prefix,
        scorer=scorer,
    )
