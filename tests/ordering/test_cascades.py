"""Promises about what cascades lose."""

import numpy as np
import pytest

from helpers.cascades import make_data
from spacy_dynsel.cascade.model import Cascade
from spacy_dynsel.cascade.settings import CascadeSettings
from spacy_dynsel.ordering.bounds import upper_rate
from spacy_dynsel.ordering.cascades import calibrate_cascade, follow_alphas, make_path

pytestmark = pytest.mark.filterwarnings("ignore:.*DW240")


@pytest.fixture(scope="module")
def cascade():
    settings = CascadeSettings(order=3, folds=3, epochs=3, final_epochs=3, epsilon=0.05)
    return Cascade(settings).fit(*make_data(150, 0))


def test_the_promise_is_kept_as_often_as_it_says():
    """Sequences whose limits are drawn at random: the true loss of an alpha is known."""
    random = np.random.default_rng(0)
    path = make_path([0.4])
    max_loss, confidence = 0.05, 0.9
    n_broken = 0
    n_runs = 200
    for _ in range(n_runs):
        limits = random.beta(6, 2, 300)
        verdict = follow_alphas(
            path, lambda alphas, limits=limits: limits < alphas[0], max_loss, confidence
        )
        if verdict is not None:
            true_loss = float((random.beta(6, 2, 20_000) < verdict.alphas[0]).mean())
            n_broken += true_loss > max_loss
    # Up to a tenth of the runs, and chance.
    assert 0 < n_broken <= n_runs * (1 - confidence) + 3 * np.sqrt(n_runs * 0.09)


def test_thresholds_rise_from_the_safest():
    path = np.array(make_path([0.4, None, 0.0]))
    assert (path[0] == 0).all()
    assert (np.diff(path[:, 0]) > 0).all()
    assert (np.diff(path, axis=0) >= 0).all()
    assert path.max() < 1
    assert 0.4 in path[:, 0]


def test_calibration_sets_what_it_found(cascade):
    held_out = make_data(600, 5)
    trained = cascade.alpha
    verdict = calibrate_cascade(cascade, *held_out, max_loss=0.2, confidence=0.9)
    assert cascade.alpha == list(verdict.alphas)
    lost = cascade.find_lost(*held_out)
    assert verdict.loss == lost.mean()
    assert verdict.n == 600
    assert verdict.bound == upper_rate(int(lost.sum()), 600, 0.1) <= 0.2
    # Empty sequences say nothing.
    cascade.alpha = trained
    features, offsets, lengths, labels = held_out
    lengths = np.concatenate([[0] * 100, lengths])
    again = calibrate_cascade(
        cascade, features, offsets, lengths, labels, max_loss=0.2, confidence=0.9
    )
    assert again == verdict
    cascade.alpha = trained


def test_what_can_not_be_promised(cascade):
    before = cascade.alpha
    with pytest.raises(ValueError, match="DS246"):
        calibrate_cascade(cascade, *make_data(20, 5), max_loss=0.01)
    with pytest.raises(ValueError, match="DS246"):
        calibrate_cascade(cascade, [], [0], [], [], max_loss=0.5)
    for wrong in (0.0, 1.0, float("nan"), "0.1"):
        with pytest.raises(ValueError, match="DS022"):
            calibrate_cascade(cascade, *make_data(20, 5), max_loss=wrong)
        with pytest.raises(ValueError, match="DS022"):
            calibrate_cascade(
                cascade, *make_data(20, 5), max_loss=0.1, confidence=wrong
            )
    assert cascade.alpha == before
