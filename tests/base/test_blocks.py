"""Blocks of a config that are plain settings."""

import pytest
import spacy

from spacy_dynsel.registry.factories import DEFAULT_NER_MODEL, DEFAULT_TAGGER_MODEL

LINES = ["word", "---", "lower[-1]"]


def make_engine(factory, **model):
    return spacy.blank("en").add_pipe(factory, config={"model": model}).engine


@pytest.mark.parametrize(
    ("factory", "defaults"),
    [("dynsel_tagger", DEFAULT_TAGGER_MODEL), ("dynsel_ner", DEFAULT_NER_MODEL)],
)
def test_registered_functions_do_the_same(factory, defaults):
    templates = {"lines": LINES}
    learner = {**defaults["learner"], "margin": 3, "eta": 0.5}
    plain = make_engine(factory, templates=templates, learner=learner)
    named = make_engine(
        factory,
        templates={"@misc": "spacy_dynsel.templates.v1", **templates},
        learner={"@misc": "spacy_dynsel.learner.v1", **learner},
    )
    assert plain.templates.to_lines() == named.templates.to_lines() == LINES
    assert plain.settings == named.settings
    assert plain.settings.margin == 3


def test_what_is_not_said_is_the_default():
    engine = make_engine("dynsel_ner", learner={"eta": 0.5})
    assert engine.settings.eta == 0.5
    assert engine.settings.delta == DEFAULT_NER_MODEL["learner"]["delta"]


@pytest.mark.parametrize(
    ("block", "setting"),
    [
        ("learner", {"etta": 0.1}),
        ("learner", {"eta": "much"}),
        ("learner", {"eta": True}),
        ("learner", {"cutoff": 1.5}),
        ("learner", {"margin": [1.0, "2"]}),
        ("learner", {"objective": None}),
        ("templates", {"lines": "word"}),
        ("templates", {"lines": [1]}),
        ("templates", {"checkpoints": [1.5]}),
        ("templates", {"path": 3}),
        ("templates", {"file": "templates.txt"}),
    ],
)
def test_bad_settings(block, setting):
    (key,) = setting
    with pytest.raises(ValueError, match=rf"DS024.*'{block}'.*{key} ="):
        make_engine("dynsel_tagger", **{block: setting})
