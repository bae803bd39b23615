"""The compiled entity recognizer decides as the slow and obvious reference does."""

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, Span

from helpers.models import make_file, templates_strategy
from helpers.reference_ner import KEEP, Reading, ReferenceNER
from spacy_dynsel.base.settings import LearnerSettings
from spacy_dynsel.base.templates import Templates, default_templates, parse_templates
from spacy_dynsel.core.model_file import dump_model, load_model
from spacy_dynsel.tasks.bilou.engine import (
    MAX_TRUSTED_LEAD,
    PLACES,
    EntityEngine,
)

NLP = spacy.blank("en")
WORDS = [
    "The",
    "the",
    "THE",
    "Paris",
    "paris",
    "PARIS",
    "McCartney",
    "iPhone",
    "J.",
    "J",
    "U.S.",
    "12",
    "1990",
    "e-mail",
    "über",
    "ÜBER",
    "Évora",
    "éVORA",
    "日本語",
    "$",
    '"',
    "...",
    "\u200b",
    " ",
    "\n",
    "\n\n",
]
LABELS = ["A", "B", "C"]


@st.composite
def docs_strategy(draw: st.DrawFn) -> Doc:
    word = st.sampled_from(WORDS) | st.text(
        st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5
    )
    words = draw(st.lists(word, max_size=14))
    n = len(words)
    starts = draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n))
    tags = draw(st.none() | st.lists(st.sampled_from("XY"), min_size=n, max_size=n))
    doc = Doc(NLP.vocab, words=words, sent_starts=starts, tags=tags)
    ents, blocked, outside = [], [], []
    i = 0
    while i < n:
        length = min(draw(st.integers(1, 3)), n - i)
        kind = draw(
            st.sampled_from(["free", "free", "free", "ent", "blocked", "outside"])
        )
        span = doc[i : i + length]
        if kind == "ent":
            label = draw(st.sampled_from([*LABELS, "OTHER"]))
            ents.append(Span(doc, i, i + length, label=label))
        elif kind == "blocked":
            blocked.append(span)
        elif kind == "outside":
            outside.append(span)
        i += length
    doc.set_ents(ents, blocked=blocked, outside=outside, default="missing")
    return doc


def random_model(
    templates: Templates, docs: list[Doc], direction: str, n_labels: int, seed: int
) -> bytes:
    """A model file with random weights for features that occur in the docs."""
    rng = np.random.default_rng(seed)
    labels = (LABELS + [f"L{i}" for i in range(n_labels)])[:n_labels]
    n_actions = 1 + 4 * n_labels
    words = sorted({token.orth for doc in docs for token in doc})
    clusters = {word: int(rng.integers(3, 900)) for word in words if rng.random() < 0.7}
    classes = {
        NLP.vocab[word].lower: int(rng.integers(3, 6))
        for word in words
        if rng.random() < 0.7
    }
    tables = {"classes": classes, "clusters": clusters, "rng": rng}
    meta = {"task": "entities", "labels": labels, "direction": direction}
    empty = make_file(meta, templates, n_actions, **tables)
    reference = ReferenceNER(empty)
    keys = set()
    for doc in docs:
        reading = Reading(doc, backwards=direction == "rtl")
        reading.actions = rng.integers(0, n_actions, len(reading.tokens)).tolist()
        for step in range(len(reading.tokens)):
            for template in templates.templates:
                if rng.random() < 0.7:
                    keys.add(reference.key(reading, step, template))
    return make_file(meta, templates, n_actions, keys=keys, **tables)


def load(templates: Templates, data: bytes, direction: str, cache_size: int = 1000):
    model = EntityEngine(templates, LearnerSettings(), direction=direction, seeds=1)
    model.max_lexemes = cache_size
    model.from_bytes(data)
    return model


def check(
    templates: Templates,
    docs: list[Doc],
    direction: str,
    *,
    n_labels: int = 3,
    seed: int = 0,
    margin: float = 2.0,
    cache_size: int = 1000,
    bias: float = 0.0,
) -> None:
    data = random_model(templates, docs, direction, n_labels, seed)
    model = load(templates, data, direction, cache_size)
    model.bias = bias
    reference = ReferenceNER(data, bias)
    for keep in (True, False):
        expected = [reference.predict(doc, margin, keep=keep) for doc in docs]
        batch = model.predict(docs, margin=margin, n_threads=2, keep_entities=keep)
        assert [actions.tolist() for actions in batch] == [e[0] for e in expected]
        ranks = [rank for _, ranks, _ in expected for rank in ranks]
        counts = [ranks.count(end) for end in templates.checkpoints]
        assert batch.stage_counts.tolist() == counts
    names = ["O", *(f"{kind}-{label}" for label in model.labels for kind in "BILU")]
    for doc in docs:
        actions, _, _ = reference.predict(doc, margin)
        explained = model.explain(doc, margin=margin, keep_entities=True)
        for action, why in zip(actions, explained, strict=True):
            if action == KEEP:
                assert why.lead == float("inf")
            else:
                assert why.label == names[action]


# Templates, docs, a direction and a seed.
CASES = (
    templates_strategy(PLACES, 3, 10),
    st.lists(docs_strategy(), min_size=1, max_size=3),
    st.sampled_from(["ltr", "rtl"]),
    st.integers(0, 1000),
)


@settings(max_examples=150, deadline=None)
@given(
    *CASES,
    st.sampled_from([0.0, 2.0, 8.0, float("inf")]),
    st.sampled_from([1, 3, 1000]),
    st.sampled_from([0.0, -1.5, 3.0]),
)
def test_equals_reference(templates, docs, direction, seed, margin, cache_size, bias):
    check(
        templates,
        docs,
        direction,
        seed=seed,
        margin=margin,
        cache_size=cache_size,
        bias=bias,
    )


@settings(max_examples=60, deadline=None)
@given(
    *CASES,
    st.sampled_from([0.0, 2.0, float("inf")]),
    st.booleans(),
)
def test_two_passes_equal_reference(templates, docs, direction, seed, margin, keep):
    """The second pass adds to what the first one has chosen."""
    directions = [direction, "ltr" if direction == "rtl" else "rtl"]
    files = [
        random_model(templates, docs, directions[i], 3, seed + i) for i in range(2)
    ]
    (meta, arrays), (second_meta, second_arrays) = map(load_model, files)
    meta["parts"]["second"] = second_meta["parts"]["templates"]
    # Both passes look words up in the same tables.
    for kind in ("class", "cluster"):
        for part in ("keys", "values"):
            second_arrays[f"{kind}_{part}"] = arrays[f"{kind}_{part}"]
    files[1] = dump_model(second_meta, second_arrays)
    for part in ("index", "slots"):
        arrays[f"second_{part}"] = second_arrays[f"templates_{part}"]
    model = EntityEngine(
        templates, LearnerSettings(), direction=direction, seeds=1, two_passes=True
    )
    model.max_lexemes = 1000
    model.from_contents(meta, arrays)
    scorers = model.get_snapshot().scorers
    references = [ReferenceNER(data) for data in files]
    trust = scorers["second"].scale
    batch = model.predict(docs, margin=margin, n_threads=2, keep_entities=keep)
    for doc, found in zip(docs, batch, strict=True):
        actions, _, leads = references[0].predict(doc, margin, keep=keep)
        support = [
            int(
                min(
                    lead * (trust / scorers["templates"].scale),
                    trust * MAX_TRUSTED_LEAD,
                )
            )
            for lead in leads
        ]
        first = list(zip(actions, support, strict=True))
        expected = references[1].predict(doc, margin, keep=keep, first=first)[0]
        assert found.tolist() == expected
        explained = model.explain(doc, margin=margin, keep_entities=keep)
        names = ["O", *(f"{kind}-{label}" for label in LABELS for kind in "BILU")]
        for action, why in zip(expected, explained, strict=True):
            assert action == KEEP or why.label == names[action]


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
@pytest.mark.parametrize("n_labels", [0, 1, 63, 64, 300])
def test_any_number_of_labels(direction, n_labels):
    templates = parse_templates(
        [
            *("word", "lower[-1]", "case case[+1]", "action[-1]", "seen", "seen_last"),
            *("action[-1] action[-2]", "cases", "---", "word lower[+1]", "seen_shares"),
        ]
    )
    docs = [Doc(NLP.vocab, words=WORDS * 2), Doc(NLP.vocab, words=WORDS[:5])]
    check(templates, docs, direction, n_labels=n_labels)


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_default_templates_equal_reference(direction):
    starts = [i % 7 == 0 for i in range(len(WORDS) * 3)]
    docs = [Doc(NLP.vocab, words=WORDS * 3, sent_starts=starts)]
    templates = parse_templates(default_templates("ner").to_lines())
    check(templates, docs, direction, seed=2, margin=4.0)


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_memory_reaches_a_thousand_tokens(direction):
    """How a word was labelled is forgotten after a thousand tokens."""
    rng = np.random.default_rng(0)
    words = [f"W{i}" for i in rng.integers(0, 250, 1400)]
    templates = parse_templates(["seen", "seen_shares", "seen_last", "word", "shape"])
    check(templates, [Doc(NLP.vocab, words=words)], direction, seed=1)
