"""Methods that order templates, on decisions whose right order is known."""

import itertools
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.ordering_data import NOISE, RIGHT_ORDER, make_known
from helpers.paths import PYTHONPATH, TESTS
from spacy_dynsel.base.settings import LearnerSettings
from spacy_dynsel.ordering import decisions as decisions_module
from spacy_dynsel.ordering import methods as methods_module
from spacy_dynsel.ordering.decisions import make_decisions
from spacy_dynsel.ordering.fitting import correlation, find_leads, fit
from spacy_dynsel.ordering.journal import Journal
from spacy_dynsel.ordering.methods import (
    make_contribution,
    make_gomp,
    make_lasso,
    make_wrapper,
)

# Windows has no signals: there a process is ended with 1.
KILLED = -getattr(signal, "SIGKILL", -1)
METHODS = {
    "wrapper": make_wrapper(),
    "fast wrapper": make_wrapper(fast=True),
    "contribution": make_contribution(dropout=0.1),
    "gomp": make_gomp(),
    "gomp without penalty": make_gomp(regularized=False),
    "lasso": make_lasso(weights="one"),
}


def get_order(method, decisions, n_places=None, path=None):
    n_places = n_places or len(decisions.templates)
    placed = method(decisions, n_places, Journal(path, "test"))
    return [decisions.templates[one.template] for one in placed]


@pytest.mark.parametrize("name", METHODS)
def test_right_order(name):
    assert get_order(METHODS[name], make_known()) == RIGHT_ORDER


@pytest.mark.parametrize("name", ["wrapper", "fast wrapper", "gomp"])
def test_what_is_learned_by_heart_comes_last(name):
    order = get_order(METHODS[name], make_known(noise=True))
    assert order == [*RIGHT_ORDER, NOISE]


def test_without_penalty_gomp_overfits():
    """Equation 3 takes the template whose features are as many as the decisions."""
    decisions = make_known(noise=True)
    assert get_order(METHODS["gomp without penalty"], decisions, 1) == [NOISE]
    penalty = make_gomp(alpha={NOISE: 0.0, "default": 0.5})
    assert get_order(penalty, decisions, 1) == [NOISE]


def test_lasso_prefers_what_has_little_weight_in_the_penalty():
    decisions = make_known()
    method = make_lasso(weights={"most": 100.0})
    assert get_order(method, decisions) == ["many", "some", "least", "most"]


def test_cost_decides_between_equals():
    keys, costs = make_known_pair()
    for slow in (0, 1):
        decisions = make_decisions(
            ["one", "other"],
            (keys, costs),
            (keys, costs),
            LearnerSettings(margin=1.0),
            nanoseconds=np.array([1e6 if slow == i else 1.0 for i in range(2)]),
        )
        assert get_order(make_wrapper(by_cost=True), decisions, 1) == [
            decisions.templates[1 - slow]
        ]
        assert get_order(make_wrapper(), decisions, 1) == ["one"]


def make_known_pair():
    labels = np.random.default_rng(0).integers(0, 3, 300)
    costs = np.ones((300, 3), dtype="uint8")
    costs[np.arange(300), labels] = 0
    return np.column_stack([labels + 1, labels + 1]).astype("uint32"), costs


@pytest.mark.parametrize(
    "make", [make_wrapper, make_contribution, make_gomp, make_lasso]
)
def test_threads_do_not_matter(make):
    decisions = make_known(noise=True, n=500)
    one, two = (make(n_threads=n)(decisions, 5, Journal(None, "test")) for n in (1, 2))
    assert one == two


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_correlation_is_that_of_the_dense_formula(data):
    n, size, n_labels = 12, data.draw(st.integers(1, 5)), 3
    ids = np.array(
        data.draw(st.lists(st.integers(-1, size - 1), min_size=n, max_size=n)), "int32"
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    residuals = np.zeros((n, 8), dtype="float32")
    residuals[:, :n_labels] = rng.normal(size=(n, n_labels))
    penalty = data.draw(st.floats(0.1, 10))
    design = np.zeros((n, size))
    design[np.flatnonzero(ids >= 0), ids[ids >= 0]] = 1
    dense = np.trace(
        residuals.T
        @ design
        @ np.linalg.inv(design.T @ design + penalty * np.eye(size))
        @ design.T
        @ residuals
    )
    found = correlation(ids.reshape(-1, 1), 0, size, residuals, penalty)
    assert found == pytest.approx(dense, rel=1e-4, abs=1e-6)


def test_rare_features_have_no_number():
    keys = np.array([[5], [5], [7], [9]], dtype="uint32")
    costs = np.array([[0, 1]] * 4, dtype="uint8")
    decisions = make_decisions(
        ["one"], (keys, costs), (keys, costs), LearnerSettings(cutoff=2)
    )
    assert decisions.sizes == [1]
    assert sorted(decisions.train.ids[:, 0]) == [-1, -1, 0, 0]
    assert decisions.held_out.ids[:, 0].tolist() == [0, 0, -1, -1]


def test_every_prefix_is_a_classifier():
    decisions = make_known()
    train = decisions.train
    columns = [decisions.templates.index(name) for name in RIGHT_ORDER]
    values = fit(
        train.ids,
        train.costs,
        columns,
        decisions.sizes,
        epochs=3,
        eta=0.1,
        delta=0.3,
        margin=1.0,
        all_prefixes=True,
    )
    held_out = decisions.held_out
    leads, right = find_leads(held_out.ids, held_out.costs, columns, values)
    accuracies = right.mean(axis=0)
    assert (np.diff(accuracies) > 0).all()
    assert accuracies[-1] == 1
    assert (leads >= 0).all()


class TestJournal:
    def test_steps_are_done_once(self, tmp_path):
        path = tmp_path / "journal"
        Journal(path, "a").do("one", lambda: [1.5])
        assert Journal(path, "a").do("one", lambda: 1 / 0) == [1.5]

    def test_other_work(self, tmp_path):
        path = tmp_path / "journal"
        Journal(path, "a").do("one", lambda: 1)
        with pytest.raises(ValueError, match="DS130"):
            Journal(path, "b")

    @pytest.mark.parametrize("cut", [0, 1, 10, -1, -3])
    def test_half_written(self, tmp_path, cut):
        path = tmp_path / "journal"
        Journal(path, "a").do("one", lambda: list(range(20)))
        path.write_bytes(path.read_bytes()[:cut])
        with pytest.raises(ValueError, match="DS129"):
            Journal(path, "a")

    def test_changed(self, tmp_path):
        path = tmp_path / "journal"
        Journal(path, "a").do("one", lambda: [100])
        path.write_bytes(path.read_bytes().replace(b"100", b"101"))
        with pytest.raises(ValueError, match="DS129"):
            Journal(path, "a")

    @pytest.mark.parametrize("n_before", [0, 4])
    def test_time_left(self, tmp_path, monkeypatch, capsys, n_before):
        """Steps count by their costs; what was done before an interruption does not
        tell how fast this run is."""
        now = 0.0

        def work(seconds):
            nonlocal now
            now += seconds

        monkeypatch.setattr("tqdm.std.time", lambda: now)
        path = tmp_path / "journal"
        costs = {str(k): k + 1.0 for k in range(20)}
        names = list(costs)
        for name in names[:n_before]:
            Journal(path, "a").do(name, lambda: None)
        with Journal(path, "a", show=True) as journal:
            journal.plan(costs)
            for k in range(n_before, 10):
                journal.do(names[k], lambda k=k: work(7 * costs[names[k]]))
                left = 7 * sum(costs[name] for name in names[k + 1 :])
                shown = capsys.readouterr().err.rpartition(", ")[2]
                clock = shown.removesuffix(" left").split(":")
                seconds = sum(60**i * int(n) for i, n in enumerate(reversed(clock)))
                assert seconds == pytest.approx(left, abs=1.0)

    def test_progress_ends_at_its_end(self, monkeypatch, capsys):
        """However the shares are rounded: 1 to 11 would come to a bit too much."""
        times = itertools.count(1.0)
        monkeypatch.setattr("tqdm.std.time", lambda: next(times))
        costs = {str(k): k + 1.0 for k in range(11)}
        with Journal(None, "a", show=True) as journal:
            journal.plan(costs)
            for name in costs:
                journal.do(name, lambda: None)
        assert "100%" in capsys.readouterr().err


def make_many(n_templates, n=1000):
    """Templates of which each tells a bit less than the one before it."""
    rng = np.random.default_rng(0)

    def make_split():
        labels = rng.integers(0, 4, n)
        shares = 0.8 ** np.arange(n_templates)
        known = rng.random((n, n_templates)) < shares
        keys = np.where(known, labels[:, None], rng.integers(0, 4, known.shape)) + 1
        costs = np.ones((n, 4), dtype="uint8")
        costs[np.arange(n), labels] = 0
        return keys.astype("uint32"), costs

    names = [str(i) for i in range(n_templates)]
    settings = LearnerSettings(margin=1.0)
    return make_decisions(names, make_split(), make_split(), settings)


@pytest.mark.parametrize("name", METHODS)
def test_time_left_is_about_right(name, monkeypatch):
    """From a tenth of the way on, the plan of a method is right by a factor of two. The
    clock counts how often a feature of a template is looked at, in thousands."""
    now = 0.0

    def count(module, function, n_looks):
        original = getattr(module, function)

        def counted(ids, *args, **options):
            nonlocal now
            now += n_looks(len(ids), args, options) / 1000
            return original(ids, *args, **options)

        monkeypatch.setattr(module, function, counted)

    def all_epochs(n, args, options):
        # A feature that is learned from is looked at twice.
        return 2 * n * len(args[1]) * options["epochs"]

    count(decisions_module, "fit", all_epochs)
    count(methods_module, "fit_groups", all_epochs)
    for function in ("count_right", "add_scores", "correlation"):
        count(methods_module, function, lambda n, *_: n)
    # Exponentials take longer than looking.
    count(methods_module, "log_loss_with", lambda n, *_: 4 * n)

    class Watched(Journal):
        def plan(self, costs):
            self.done, self.total, self.seen = 0.0, sum(costs.values()), []
            super().plan(costs)

        def do(self, step, work):
            result = super().do(step, work)
            self.done += self._costs[step]
            self.seen.append((self.done / self.total, now))
            return result

    journal = Watched(None, "test")
    METHODS[name](make_many(30), 30, journal)
    assert journal.done == pytest.approx(journal.total)
    looked_at = [
        (share, then) for share, then in journal.seen if 0.1 < then / now < 0.95
    ]
    assert len(looked_at) > 3
    for share, then in looked_at:
        assert 0.5 < (then / share - then) / (now - then) < 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wrapper", "lasso"])
def test_killed_at_random_moments(name, tmp_path):
    """The result of a run that is killed again and again is that of one that is not."""
    script = TESTS / "helpers" / "killed_ordering.py"
    path = tmp_path / "journal"
    rng = np.random.default_rng(len(name))
    n_killed = 0
    while True:
        process = subprocess.Popen(
            [sys.executable, str(script), name, str(path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": PYTHONPATH},
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if n_killed < 3:
            time.sleep(rng.uniform(0, 0.3))
            process.kill()
        rest = process.communicate()[0]
        if process.returncode == 0:
            break
        assert process.returncode == KILLED
        n_killed += 1
    whole = METHODS[name](make_known(noise=True, n=20_000), 5, Journal(None, ""))
    assert rest.split() == [str(one.template) for one in whole]


def test_bad_settings():
    for make in (make_wrapper, make_contribution, make_gomp, make_lasso):
        with pytest.raises(ValueError, match="DS022"):
            make(epochs=0)
        with pytest.raises(ValueError, match="DS022"):
            make(n_threads=-1)
    with pytest.raises(ValueError, match="DS022"):
        make_contribution(dropout=1.0)
    for bad in ({"ratio": 0.0}, {"weights": {"most": 0.0}}):
        with pytest.raises(ValueError, match="DS022"):
            make_lasso(**bad)
    for method in (
        make_gomp(alpha={"nobody": 1.0}),
        make_lasso(weights={"nobody": 1.0}),
    ):
        with pytest.raises(ValueError, match="DS131"):
            get_order(method, make_known())
    nothing = (np.zeros((0, 1), "uint32"), np.zeros((0, 2), "uint8"))
    with pytest.raises(ValueError, match="DS127"):
        make_decisions(["one"], nothing, nothing, LearnerSettings())
