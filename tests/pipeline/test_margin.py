"""The knob between speed and accuracy, and what can be seen of its work."""

import numpy as np
import pytest
import spacy

from helpers.tagger import SENTENCES
from spacy_dynsel.base.settings import LearnerSettings
from spacy_dynsel.base.templates import parse_templates
from spacy_dynsel.core.forms.packing import unpack_weights
from spacy_dynsel.core.model_file import dump_model, load_model
from spacy_dynsel.tasks.tagging.engine import TaggingEngine

INFINITY = float("inf")
TEXTS = [words for words, _ in SENTENCES] + ["A saw hits two green Balls , hard !"]


def test_infinity_equals_the_full_model(nlp, tagger):
    """Without checkpoints the same weights give the same sums, bit for bit. Only the
    first checkpoint stays: it says what is guessed about words to come."""
    engine = tagger.engine
    meta, arrays = load_model(engine.to_bytes())
    part = meta["parts"]["templates"]
    first = part["templates"].index("---") + 1
    lines = part["templates"][:first]
    lines += [line for line in part["templates"][first:] if line != "---"]
    full = TaggingEngine(
        parse_templates(lines), LearnerSettings(), class_min_count=1, class_min_share=0
    )
    full.from_bytes(
        dump_model(
            {**meta, "parts": {"templates": {**part, "templates": lines}}}, arrays
        )
    )
    docs = [nlp.make_doc(text) for text in TEXTS]
    ours = engine.predict(docs, margin=INFINITY)
    assert ours.labels.tolist() == full.predict(docs, margin=INFINITY).labels.tolist()
    assert ours.stage_counts.tolist() == [0, 0, sum(map(len, docs))]
    for doc in docs:
        for one, other in zip(
            engine.explain(doc, margin=INFINITY),
            full.explain(doc, margin=INFINITY),
            strict=True,
        ):
            assert (one.label, one.lead) == (other.label, other.lead)
            assert one.contributions == other.contributions


def test_margin_is_monotone(nlp, tagger):
    docs = [nlp.make_doc(text) for text in TEXTS]
    used = []
    for margin in (0.0, 1.0, 2.0, 4.0, 8.0, INFINITY):
        tagger.margin = margin
        assert tagger.margin == margin
        used.append(tagger.statistics(docs)["templates"])
    assert used == sorted(used)
    first, _, last = tagger.engine.templates.checkpoints
    assert (used[0], used[-1]) == (first, last)


def test_a_margin_for_each_stage(nlp, tagger):
    tagger.margin = [0.0, 0.0]
    assert tagger.margin == [0.0, 0.0]
    assert tagger.statistics([nlp("Eat ham")])["stages"] == [1.0, 0.0, 0.0]
    tagger.margin = [INFINITY, 0.0]
    assert tagger.statistics([nlp("Eat ham")])["stages"] == [0.0, 1.0, 0.0]
    tagger.margin = [INFINITY, INFINITY]
    assert tagger.margin == [INFINITY, INFINITY]
    assert tagger.statistics([nlp("Eat ham")])["stages"] == [0.0, 0.0, 1.0]
    other = spacy.blank("en").add_pipe("dynsel_tagger")
    other.from_bytes(tagger.to_bytes())
    assert other.margin == [INFINITY, INFINITY]


@pytest.mark.parametrize(
    "margin",
    [-1.0, float("nan"), [], [1.0], [-1.0, 1.0], "wide", None, True, [None, 1.0]],
)
def test_bad_margins(tagger, margin):
    before = tagger.margin
    with pytest.raises(ValueError, match="DS020"):
        tagger.margin = margin
    assert tagger.margin == before


def test_number_of_margins_is_told(tagger):
    assert tagger.engine.n_stages == 3
    with pytest.raises(ValueError, match=r"list of 2 .*each stage but the last; got"):
        tagger.margin = [1.0]
    learner = {"margin": [1.0, 2.0]}
    with pytest.raises(ValueError, match=r"finite.*list of 3 .*each stage; got"):
        spacy.blank("en").add_pipe(
            "dynsel_tagger", config={"model": {"learner": learner}}
        )


def test_bad_margin_in_a_config():
    for margin in (-1.0, [1.0, 1.0, 1.0]):
        with pytest.raises(ValueError, match="DS020"):
            spacy.blank("en").add_pipe("dynsel_tagger", config={"margin": margin})


def test_infinity_in_a_config(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("dynsel_tagger", config={"margin": "inf"})
    nlp.to_disk(tmp_path)
    assert spacy.load(tmp_path).get_pipe("dynsel_tagger").margin == INFINITY


@pytest.mark.parametrize("margin", [0.0, 1.0, INFINITY])
def test_explanations_add_up(nlp, tagger, margin):
    tagger.margin = margin
    templates = [str(template) for template in tagger.engine.templates.templates]
    for text in TEXTS:
        doc = nlp(text)
        for token, why in zip(doc, tagger.explain(doc), strict=True):
            assert why.label == token.tag_
            assert why.runner_up in tagger.labels
            assert why.runner_up != why.label
            assert list(why.contributions) == templates[: why.n_templates]
            label, runner_up = np.sum(list(why.contributions.values()), axis=0)
            assert label - runner_up == pytest.approx(why.lead)
            last = why.stage == tagger.engine.n_stages
            assert last or why.lead >= margin
            assert why.n_templates == tagger.engine.templates.checkpoints[why.stage - 1]


def test_explain_reads_weights_from_the_model(nlp, tagger):
    """The contributions are the quantised weights of the file."""
    meta, arrays = load_model(tagger.engine.to_bytes())
    _, _, weights = unpack_weights(arrays["templates_index"], arrays["templates_slots"])
    known = {0, *weights.tolist()}
    for why in tagger.explain(nlp("The hits saw her")):
        for pair in why.contributions.values():
            for value in pair:
                assert round(value * meta["parts"]["templates"]["scale"]) in known


def test_statistics(nlp, tagger):
    docs = [nlp.make_doc(text) for text in TEXTS]
    statistics = tagger.statistics(docs)
    assert statistics["tokens"] == sum(map(len, docs))
    assert sum(statistics["stages"]) == pytest.approx(1.0)
    needed = [why.n_templates for doc in docs for why in tagger.explain(doc)]
    assert statistics["templates"] == pytest.approx(np.mean(needed))
    assert tagger.statistics([])["tokens"] == 0
