"""A bounded run of what tests/fuzz/run.py does at length: the seeds, and a fixed number
of inputs that are made from them at random."""

import random

import pytest

from fuzz.inputs import load_seeds
from fuzz.models import MAKERS, TEXTS, compact, load_compact, train
from fuzz.mutators import mutate_model
from fuzz.targets import TARGETS, refusal_allowed

RUNS = {"model": 100}
DEFAULT_RUNS = 400


def mutate(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    result = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(result))
        end = min(len(result), start + rng.choice((1, 1, 2, 8, 40)))
        other = rng.choice(others)
        place = rng.randint(0, len(other))
        result[start:end] = rng.choice(
            (
                b"",
                rng.randbytes(max(1, end - start)),
                result[start:end] * 2,
                other[place : place + rng.choice((1, 4, 16, 64))],
                rng.choice(
                    (b"\0", b"\n", b"\t", b"9" * 5000, b"\xff" * 8, b"[" * 2000)
                ),
            )
        )
    return bytes(result)


@pytest.mark.filterwarnings("ignore:.DW121")
@pytest.mark.parametrize("target", TARGETS)
def test_any_bytes_are_read_or_refused(target):
    run = TARGETS[target]
    seeds = load_seeds(target)
    for data in (*seeds, b""):
        run(data)
    rng = random.Random(target)
    for number in range(RUNS.get(target, DEFAULT_RUNS)):
        data = rng.choice(seeds)
        if target == "model" and number % 4:
            data = data[:1] + mutate_model(
                data[1:], rng, lambda part: mutate(part, seeds, rng)
            )
        else:
            data = mutate(data, seeds, rng)
        try:
            run(data)
        except Exception as error:
            raise AssertionError(f"broken by {data!r}") from error


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS)
def test_models_with_changed_contents_are_read_to_their_end(make):
    """Many of them are refused, and for many reasons, but not all of them."""
    nlp = train(make())
    engine = nlp.get_pipe(nlp.pipe_names[0]).engine
    model = compact(engine.to_bytes())
    rng = random.Random(make.__name__)
    other = make().get_pipe(nlp.pipe_names[0])
    outcomes = set()
    for _ in range(60):
        changed = mutate_model(model, rng, lambda part: mutate(part, [model], rng))
        try:
            load_compact(other, changed)
            outcomes.add("read")
        except ValueError as error:
            outcomes.add(str(error))
    assert "read" in outcomes
    assert len(outcomes) > 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.DW121")
@pytest.mark.parametrize("make", MAKERS)
def test_a_changed_byte_changes_nothing_or_is_found(make):
    def annotate(nlp):
        return [doc.to_json() for doc in nlp.pipe(TEXTS)]

    nlp = train(make())
    model = nlp.get_pipe(nlp.pipe_names[0]).engine.to_bytes()
    expected = annotate(nlp)
    other = make()
    rng = random.Random(make.__name__)
    positions = [*range(64), *rng.sample(range(64, len(model)), 60)]
    for position in positions:
        damaged = bytearray(model)
        damaged[position] ^= rng.randint(1, 255)
        with refusal_allowed():
            other.get_pipe(other.pipe_names[0]).model.shims[0].from_bytes(
                bytes(damaged)
            )
            assert annotate(other) == expected
