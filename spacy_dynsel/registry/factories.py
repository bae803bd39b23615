"""Factories and their metadata. A .py file, since configs need real annotations."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from spacy.language import Language
from thinc.api import Model

from ..base.settings import TASK_SETTINGS, LearnerSettings
from ..pipeline.label_map import LabelMap
from ..pipeline.lemmatizer import DynselLemmatizer
from ..pipeline.morphologizer import DynselMorphologizer
from ..pipeline.ner import DynselNER
from ..pipeline.parser import DynselParser
from ..pipeline.tagger import DynselTagger
from ..tasks.arc_eager import engine as transitions
from ..tasks.bilou import engine as bilou
from ..tasks.labelling import engine as labelling


def _templates(name: str) -> dict[str, Any]:
    """A block for a list that ships with the package."""
    return {"default": name, "path": None, "lines": None, "checkpoints": None}


def _learner(**settings: Any) -> dict[str, Any]:
    """A block for a learner, without what its task makes no use of."""
    found = {**asdict(LearnerSettings()), **settings}
    return {
        name: value
        for name, value in found.items()
        if value is not None or name not in TASK_SETTINGS
    }


DEFAULT_TAGGER_MODEL = {
    "@architectures": "spacy_dynsel.DynamicTagger.v1",
    "class_min_count": 10,
    "class_min_share": 0.4,
    "folds": None,
    "resources": None,
    "templates": _templates("tagger"),
    "learner": _learner(**labelling.DEFAULTS),
}


@Language.factory(  # type: ignore[untyped-decorator]
    "dynsel_tagger",
    assigns=["token.tag"],
    default_config={
        "model": DEFAULT_TAGGER_MODEL,
        **DynselTagger.defaults,
        "scorer": {"@scorers": "spacy.tagger_scorer.v1"},
    },
    default_score_weights={
        "tag_acc": 1.0,
        "pos_acc": 0.0,
        "tag_micro_p": None,
        "tag_micro_r": None,
        "tag_micro_f": None,
    },
)
def make_tagger(
    nlp: Language,
    name: str,
    model: Model,
    margin: float | list[float],
    alpha: float | list[float | None] | None,
    n_threads: int,
    training_threads: int | None,
    cache_size: int,
    confidence: bool,
    keep_training_state: bool,
    overwrite: bool,
    neg_prefix: str,
    scorer: Callable[..., dict[str, Any]] | None,
) -> DynselTagger:
    return DynselTagger(
        nlp.vocab,
        model,
        name,
        margin=margin,
        alpha=alpha,
        n_threads=n_threads,
        training_threads=training_threads,
        cache_size=cache_size,
        confidence=confidence,
        keep_training_state=keep_training_state,
        overwrite=overwrite,
        neg_prefix=neg_prefix,
        scorer=scorer,
    )


DEFAULT_MORPHOLOGIZER_MODEL = {
    "@architectures": "spacy_dynsel.DynamicMorphologizer.v1",
    "seeds": 1,
    "class_min_count": 6,
    "class_min_share": 0.2,
    "folds": None,
    "resources": None,
    "templates": _templates("morphologizer"),
    "learner": _learner(margin=15.0, prune=1.8, **labelling.DEFAULTS),
}


@Language.factory(  # type: ignore[untyped-decorator]
    "dynsel_morphologizer",
    assigns=["token.morph", "token.pos"],
    default_config={
        "model": DEFAULT_MORPHOLOGIZER_MODEL,
        **DynselMorphologizer.defaults,
        "scorer": {"@scorers": "spacy.morphologizer_scorer.v1"},
    },
    default_score_weights={
        "pos_acc": 0.5,
        "morph_acc": 0.5,
        "morph_per_feat": None,
        "morph_micro_p": None,
        "morph_micro_r": None,
        "morph_micro_f": None,
    },
)
def make_morphologizer(
    nlp: Language,
    name: str,
    model: Model,
    margin: float | list[float],
    alpha: float | list[float | None] | None,
    n_threads: int,
    training_threads: int | None,
    cache_size: int,
    confidence: bool,
    keep_training_state: bool,
    overwrite: bool,
    extend: bool,
    scorer: Callable[..., dict[str, Any]] | None,
) -> DynselMorphologizer:
    return DynselMorphologizer(
        nlp.vocab,
        model,
        name,
        margin=margin,
        alpha=alpha,
        n_threads=n_threads,
        training_threads=training_threads,
        cache_size=cache_size,
        confidence=confidence,
        keep_training_state=keep_training_state,
        overwrite=overwrite,
        extend=extend,
        scorer=scorer,
    )


DEFAULT_NER_MODEL = {
    "@architectures": "spacy_dynsel.DynamicNER.v1",
    "direction": "rtl",
    "seeds": 5,
    "gazetteers": None,
    "two_passes": True,
    "resources": None,
    "templates": _templates("ner"),
    "learner": _learner(margin=8.0, delta=0.01, prune=0.5, **bilou.DEFAULTS),
}


@Language.factory(  # type: ignore[untyped-decorator]
    "dynsel_ner",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config={
        "model": DEFAULT_NER_MODEL,
        **DynselNER.defaults,
        "scorer": {"@scorers": "spacy.ner_scorer.v1"},
    },
    default_score_weights={
        "ents_f": 1.0,
        "ents_p": 0.0,
        "ents_r": 0.0,
        "ents_per_type": None,
    },
)
def make_ner(
    nlp: Language,
    name: str,
    model: Model,
    margin: float | list[float],
    o_bias: float,
    n_threads: int,
    training_threads: int | None,
    cache_size: int,
    confidence: bool,
    keep_training_state: bool,
    incorrect_spans_key: str | None,
    scorer: Callable[..., dict[str, Any]] | None,
) -> DynselNER:
    return DynselNER(
        nlp.vocab,
        model,
        name,
        margin=margin,
        o_bias=o_bias,
        n_threads=n_threads,
        training_threads=training_threads,
        cache_size=cache_size,
        confidence=confidence,
        keep_training_state=keep_training_state,
        incorrect_spans_key=incorrect_spans_key,
        scorer=scorer,
    )


DEFAULT_PARSER_MODEL = {
    "@architectures": "spacy_dynsel.DynamicParser.v1",
    "seeds": 1,
    "folds": 4,
    "resources": None,
    "actions": _templates("parser_actions"),
    "labels": _templates("parser_labels"),
    "boundaries": _templates("parser_boundaries"),
    "branches": _templates("parser_branches"),
    "trees": _templates("parser_trees"),
    "learner": _learner(margin=8.0, prune=2.0, **transitions.DEFAULTS),
    "label_learner": _learner(margin=6.0, prune=2.0),
}


@Language.factory(  # type: ignore[untyped-decorator]
    "dynsel_parser",
    requires=["token.tag"],
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    default_config={
        "model": DEFAULT_PARSER_MODEL,
        **DynselParser.defaults,
        "scorer": {"@scorers": "spacy.parser_scorer.v1"},
    },
    default_score_weights={
        "dep_uas": 0.5,
        "dep_las": 0.5,
        "dep_las_per_type": None,
        "sents_p": None,
        "sents_r": None,
        "sents_f": 0.0,
    },
)
def make_parser(
    nlp: Language,
    name: str,
    model: Model,
    margin: float | list[float],
    label_margin: float | list[float],
    branches: int,
    branch_lead: float,
    n_threads: int,
    training_threads: int | None,
    cache_size: int,
    confidence: bool,
    keep_training_state: bool,
    min_label_freq: int,
    scorer: Callable[..., dict[str, Any]] | None,
    split_blank_lines: bool | None,
) -> DynselParser:
    return DynselParser(
        nlp.vocab,
        model,
        name,
        margin=margin,
        label_margin=label_margin,
        branches=branches,
        branch_lead=branch_lead,
        n_threads=n_threads,
        training_threads=training_threads,
        cache_size=cache_size,
        confidence=confidence,
        keep_training_state=keep_training_state,
        min_label_freq=min_label_freq,
        scorer=scorer,
        split_blank_lines=split_blank_lines,
    )


DEFAULT_LEMMATIZER_MODEL = {
    "@architectures": "spacy_dynsel.DynamicLemmatizer.v1",
    "templates": _templates("lemmatizer"),
    "learner": _learner(margin=4.0),
}


@Language.factory(  # type: ignore[untyped-decorator]
    "dynsel_lemmatizer",
    requires=["token.pos"],
    assigns=["token.lemma"],
    default_config={
        "model": DEFAULT_LEMMATIZER_MODEL,
        **DynselLemmatizer.defaults,
        "scorer": {"@scorers": "spacy.lemmatizer_scorer.v1"},
    },
    default_score_weights={"lemma_acc": 1.0},
)
def make_lemmatizer(
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
) -> DynselLemmatizer:
    return DynselLemmatizer(
        nlp.vocab,
        model,
        name,
        margin=margin,
        n_threads=n_threads,
        training_threads=training_threads,
        cache_size=cache_size,
        confidence=confidence,
        keep_training_state=keep_training_state,
        overwrite=overwrite,
        backoff=backoff,
        min_tree_freq=min_tree_freq,
        scorer=scorer,
    )


@Language.factory(  # type: ignore[untyped-decorator]
    "dynsel_label_map",
    assigns=["token.dep", "doc.ents", "token.ent_type"],
    default_config={"deps": None, "ents": None},
)
def make_label_map(
    nlp: Language,
    name: str,
    deps: dict[str, str] | None,
    ents: dict[str, str] | None,
) -> LabelMap:
    return LabelMap(nlp.vocab, name, deps=deps, ents=ents)
