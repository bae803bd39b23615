"""What the paper found, on a part of a real corpus."""

import math

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from helpers.corpora import read_sentences
from spacy_dynsel.base.templates import default_templates
from spacy_dynsel.ordering.fitting import count_right, fit
from spacy_dynsel.ordering.journal import Journal
from spacy_dynsel.ordering.methods import make_gomp, make_lasso, make_wrapper
from spacy_dynsel.report.experiment import TASKS, Experiment

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


@pytest.fixture(scope="module")
def experiment(corpora, tmp_path_factory):
    folder = corpora / "ud_en_ewt"
    if not folder.is_dir():
        pytest.skip("ud_en_ewt is not in DYNSEL_DATA")
    nlp = spacy.blank("en")
    train, dev = (
        [
            Doc(nlp.vocab, words=words, tags=tags)
            for words, tags in read_sentences(folder / name, 4, n)
        ]
        for name, n in (("train.conllu", 800), ("dev.conllu", 400))
    )
    lines = [str(one) for one in default_templates("tagger_each").templates]
    models = tmp_path_factory.mktemp("models")
    return Experiment(
        TASKS["tagging"], nlp, train, dev, lines, models, epochs=3, seed=0
    )


def test_early_exit(experiment):
    dynamic = experiment._try("dynamic")
    curve = sorted((one["templates"], one["tag_acc"]) for one in dynamic["margins"])
    full = experiment._try("full")["all"]["tag_acc"]
    fixed = experiment._try("fixed 10")["all"]["tag_acc"]
    at_ten = float(np.interp(10, *zip(*curve, strict=True)))
    # Dynamic beats fixed at the same mean number of templates, by far.
    assert at_ten > fixed + 0.3
    # Ten of 46 templates on average cost next to nothing.
    assert at_ten > full - 0.3
    # Cut at a prefix, it is not much worse than a model of its own; that it is no
    # worse at all, as the paper says, does not hold here.
    assert dynamic["cut"][-1]["tag_acc"] > fixed - 1.0
    assert math.isclose(dynamic["cut"][-1]["templates"], 10)


def test_wrapper_is_the_best_order(experiment):
    experiment._try("full")
    choose, test = (experiment.record("full", on_test=on_test) for on_test in (0, 1))
    accuracies = {}
    for name, method in (
        ("wrapper", make_wrapper(fast=True)),
        ("lasso", make_lasso(n_strengths=20)),
        ("gomp", make_gomp()),
    ):
        columns = [one.template for one in method(choose, 10, Journal(None, ""))]
        values = fit(
            test.train.ids,
            test.train.costs,
            columns,
            test.sizes,
            epochs=3,
            eta=0.1,
            delta=0.3,
            margin=test.margin * 10 / 46,
        )
        accuracies[name] = count_right(
            test.held_out.ids, test.held_out.costs, columns, values
        ) / len(test.held_out)
    assert accuracies["wrapper"] > accuracies["lasso"]
    assert accuracies["wrapper"] > accuracies["gomp"]
