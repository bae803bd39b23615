"""Components in any order of calls."""

import os
import subprocess
import sys

import pytest
import spacy

from helpers.contract import FACTORIES
from helpers.paths import PYTHONPATH, TESTS
from machine import run, world


@pytest.mark.slow
def test_steps_in_random_order():
    """A bounded run; tests/machine/run.py makes longer ones."""
    command = [sys.executable, str(TESTS / "machine" / "run.py"), "--sequences", "30"]
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("seed", [3, 11])
def test_a_few_steps(seed):
    world.play(world.draw_steps(seed, 8))


def test_errors_that_change_something_are_findings(tmp_path, monkeypatch):
    def change(one, rng):
        one.pick(rng)[1].cfg["overwrite"] = "changed"
        raise ValueError("[DS999]")

    monkeypatch.setitem(world.ACTIONS, "update", change)
    here = world.World(tmp_path)
    here.nlp.add_pipe("dynsel_tagger")
    with pytest.raises(world.FindingError, match="changed by an error"):
        world.take_step(here, ("update", 0))


def test_errors_without_a_code_are_findings(tmp_path, monkeypatch):
    def fail(one, rng):
        raise ValueError("something")

    monkeypatch.setitem(world.ACTIONS, "update", fail)
    with pytest.raises(world.FindingError, match="without a code"):
        world.take_step(world.World(tmp_path), ("update", 0))


def test_findings_are_made_short(monkeypatch):
    def fails(steps):
        names = [name for name, _ in steps]
        return "found" if "b" in names and "d" in names[names.index("b") :] else ""

    monkeypatch.setattr(run, "fails", fails)
    steps = [[name, 0] for name in "aabacabdaa"]
    assert run.shrink(steps) == [["b", 0], ["d", 0]]


@pytest.mark.filterwarnings("ignore:.*DW231")
@pytest.mark.parametrize("factory", FACTORIES)
def test_sourced_components_learn_new_labels(factory):
    """Their labels reach the vocabulary of the pipeline that they are in now."""
    first = spacy.blank("en")
    first.add_pipe(factory, "pipe")
    nlp = spacy.blank("en")
    nlp.add_pipe("pipe", source=first)
    rng = world.random.Random(0)
    examples = [world.make_example(nlp, rng, "good") for _ in range(6)]
    nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples)
    found = [world.annotation_of(nlp(text)) for text in world.TEXTS]
    assert any(any(token[:5]) or token[6] for doc in found for token in doc)
