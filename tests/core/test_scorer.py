"""Every compiled form gives the scores of the slow and obvious reference."""

from collections.abc import Sequence

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from spacy.tokens import Doc

from helpers.models import make_file, templates_strategy
from helpers.reference import SPACE_TAG, ReferenceTagger, split_sentences, template_key
from spacy_dynsel.base.settings import LearnerSettings
from spacy_dynsel.base.templates import Templates, default_templates, parse_templates
from spacy_dynsel.core.forms.cached import kernel_names, run_kernels
from spacy_dynsel.core.forms.packing import (
    MAX_WEIGHT,
    check_weights,
    compile_weights,
    find_labels,
    pack_weights,
    quantize,
    unpack_weights,
)
from spacy_dynsel.tasks.tagging.engine import PLACES, TaggingEngine

NLP = spacy.blank("en")
WORDS = [
    "The",
    "the",
    "cat",
    "Cat",
    "sat",
    "on",
    "12",
    "1990",
    "e-mail",
    "U.S.",
    "n't",
    "don't",
    "über",
    "ÜBER",
    "日本語",
    "x",
    "a.b@c.de",
    "http://x.org",
    "$",
    "(",
    '"',
    "...",
    "NOUN",
    "\u200b",
    "مرحبا",
    "\n",
    "supercalifragilisticexpialidocious",
]
N_CLASSES = 2


def words_strategy() -> st.SearchStrategy[list[str]]:
    word = st.sampled_from(WORDS) | st.text(
        st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8
    )
    return st.lists(word, min_size=0, max_size=12)


@st.composite
def docs_strategy(draw: st.DrawFn) -> list[Doc]:
    docs = []
    for words in draw(st.lists(words_strategy(), min_size=1, max_size=4)):
        starts = draw(
            st.none()
            | st.lists(st.booleans(), min_size=len(words), max_size=len(words))
        )
        docs.append(Doc(NLP.vocab, words=words, sent_starts=starts))
    return docs


def without_future(places: dict[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    return {**places, "tag": [place for place in places["tag"] if int(place) < 0]}


@st.composite
def tagging_templates(draw: st.DrawFn) -> Templates:
    """Any templates, and in half of the cases some that look at the tags of words to
    come, which the first stage has to guess."""
    if draw(st.booleans()):
        return draw(templates_strategy(without_future(PLACES), 4, 12))
    lexical = {column: PLACES[column] for column in PLACES if column != "tag"}
    early = draw(templates_strategy(lexical, 4, 6)).to_lines()
    late = draw(templates_strategy({**lexical, "tag": PLACES["tag"]}, 4, 8)).to_lines()
    late = [line for line in late if line == "---" or line not in early]
    if not late or late[-1] == "---":
        late.append("tag[+1] tag[+2]")
    if late[0] != "---":
        late = ["---", *late]
    return parse_templates(
        [line for line in early if line != "---"]
        + [line for i, line in enumerate(late) if line != "---" or late[i - 1] != "---"]
    )


def random_model(
    templates: Templates, docs: list[Doc], n_labels: int, seed: int
) -> bytes:
    """A model file with random weights for features that occur in the docs."""
    rng = np.random.default_rng(seed)
    lowers = sorted({token.lower for doc in docs for token in doc})
    table = {
        lower: int(rng.integers(3, 3 + N_CLASSES))
        for lower in lowers
        if rng.random() < 0.7
    }
    keys = set()
    for doc in docs:
        for tokens in split_sentences(doc):
            for i in range(len(tokens)):
                history = rng.integers(0, n_labels, len(tokens)).tolist()
                for template in templates.templates:
                    if rng.random() < 0.7:
                        keys.add(
                            template_key(
                                template,
                                tokens,
                                i,
                                history,
                                {"class": table, "cluster": table},
                            )
                        )
    meta = {
        "task": "tagging",
        "labels": [f"L{i}" for i in range(n_labels)],
        "n_classes": N_CLASSES,
    }
    return make_file(
        meta,
        templates,
        n_labels,
        keys=keys,
        classes=table,
        clusters=table,
        rng=rng,
    )


def load(templates: Templates, data: bytes, cache_size: int) -> TaggingEngine:
    model = TaggingEngine(
        templates, LearnerSettings(), class_min_count=1, class_min_share=0.0
    )
    model.max_lexemes = cache_size
    model.from_bytes(data)
    return model


def check(templates, docs, n_labels, seed, margin, cache_size):
    data = random_model(templates, docs, n_labels, seed)
    model = load(templates, data, cache_size)
    reference = ReferenceTagger(data)
    expected = [reference.predict(doc, margin) for doc in docs]
    batch = model.predict(docs, margin=margin, n_threads=2)
    assert [labels.tolist() for labels in batch] == [labels for labels, _ in expected]
    ranks = [rank for _, ranks in expected for rank in ranks]
    counts = [ranks.count(end) for end in templates.checkpoints]
    assert batch.stage_counts.tolist() == counts
    for doc, (labels, doc_ranks) in zip(docs, expected, strict=True):
        explained = model.explain(doc, margin=margin)
        names = {SPACE_TAG: "_SP", **dict(enumerate(reference.labels))}
        assert [e.label for e in explained] == [names[label] for label in labels]
        of_words = [
            e for e, token in zip(explained, doc, strict=True) if not token.is_space
        ]
        assert [e.n_templates for e in of_words] == doc_ranks


@settings(max_examples=150, deadline=None)
@given(
    tagging_templates(),
    docs_strategy(),
    st.integers(1, 70) | st.sampled_from([255, 256, 257, 500]),
    st.integers(0, 1000),
    st.sampled_from([0.0, 0.5, 2.0, 8.0, float("inf")]),
    st.sampled_from([1, 3, 1000]),
)
def test_equals_reference(templates, docs, n_labels, seed, margin, cache_size):
    check(templates, docs, n_labels, seed, margin, cache_size)


@pytest.mark.parametrize("n_labels", [2, 49, 500, 5000])
@pytest.mark.parametrize("margin", [0.0, 4.0, float("inf")])
def test_any_number_of_labels(n_labels: int, margin: float) -> None:
    templates = parse_templates(
        [
            *("word", "lower[-1]", "suffix3", "class", "shape[+1] flags[+1]"),
            *("tag[-1]", "tag[-1] tag[-2]", "tag[-1] class", "---"),
            *("word lower[+1]", "word[-3] tag[-3]"),
        ]
    )
    docs = [Doc(NLP.vocab, words=WORDS * 2), Doc(NLP.vocab, words=WORDS[:5])]
    check(templates, docs, n_labels, seed=1, margin=margin, cache_size=1000)


def test_looks_ahead_in_long_sentences() -> None:
    templates = parse_templates(
        [
            *("word", "suffix2[+2]", "shape[-3]", "lower[+3]", "---"),
            *("tag[+1] word", "tag[-1] tag[+3]", "tag[+2] tag[+1]", "tag[-2]"),
        ]
    )
    rng = np.random.default_rng(0)
    docs = [
        Doc(NLP.vocab, words=rng.choice(WORDS, n).tolist())
        for n in (1, 2, 31, 32, 33, 1020, 1024, 1025, 2100)
    ]
    for margin in (2.0, float("inf")):
        check(templates, docs, 12, seed=3, margin=margin, cache_size=1000)


def test_default_templates_equal_reference() -> None:
    docs = [Doc(NLP.vocab, words=WORDS * 3)]
    for name in ("tagger", "tagger_clusters", "tagger_each"):
        templates = parse_templates(default_templates(name).to_lines())
        check(templates, docs, 49, seed=2, margin=4.0, cache_size=100)


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 299)),
        st.integers(-127, 127),
        max_size=50,
    ),
    st.booleans(),
)
def test_packed_weights_are_whole(
    weights: dict[tuple[int, int], int], narrow: bool
) -> None:
    n_labels = 256 if narrow else 300
    pairs = sorted(pair for pair in weights if pair[1] < n_labels)
    array = np.array(pairs, dtype="uint32").reshape(-1, 2)
    values = np.array([weights[pair] for pair in pairs], dtype="int8")
    index, slots = pack_weights(array[:, 0], array[:, 1], values, n_labels)
    keys, labels, found = unpack_weights(index, slots)
    expected = [(*pair, weights[pair]) for pair in pairs if weights[pair]]
    assert list(zip(keys, labels, found, strict=True)) == expected


def pack_two_groups() -> tuple[np.ndarray, np.ndarray]:
    """Groups of three and of two weights, in one bucket."""
    keys = np.array([5, 5, 5, 9, 9], dtype="uint32")
    labels = np.array([0, 7, 299, 2, 299], dtype="uint32")
    weights = np.array([1, -127, 127, -1, 3], dtype="int8")
    return pack_weights(keys, labels, weights, 300)


def test_weights_of_many_labels_stand_in_groups() -> None:
    index, slots = pack_two_groups()
    assert slots.tolist() == [5, 3, 0, 7, 299, 0x8101, 0x7F, 9, 2, 2, 299, 0x03FF]
    check_weights(index, slots, 300)
    assert find_labels(slots, 300) == [0, 2, 7, 299]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, 9),  # two groups of one key
        (0, 10),  # keys out of order
        (1, 0),  # an empty group
        (1, 2),  # groups that do not fill the bucket
        (1, 60000),  # a group that ends elsewhere
        (3, 0),  # a label twice
        (4, 300),  # an unknown label
        (5, 0x8100),  # a weight of zero
        (6, 0x17F),  # a weight too many
        (8, 9),
    ],
)
def test_malformed_groups_are_refused(place: int, value: int) -> None:
    index, slots = pack_two_groups()
    slots[place] = value
    with pytest.raises(ValueError, match="DS035"):
        check_weights(index, slots, 300)


@given(st.binary(max_size=60))
def test_any_groups_are_read_without_harm(data: bytes) -> None:
    slots = np.frombuffer(data[: len(data) // 2 * 2], dtype="uint16")
    index = np.full((1 << 16) + 1, len(slots), dtype="uint32")
    index[0] = 0
    find_labels(slots, 300)
    try:
        check_weights(index, slots, 300)
    except ValueError:
        return
    keys, labels, weights = unpack_weights(index, slots)
    again = pack_weights(keys, labels, weights, 300)
    assert again[1].tolist() == slots.tolist()


def test_quantize_saturates() -> None:
    assert quantize(np.array([-9.0, -0.51, 0.49, 9.0]), 100.0).tolist() == [
        *(-127, -51, 49, 127)
    ]


def make_weights(pairs: dict[tuple[int, int], float]) -> tuple[np.ndarray, ...]:
    """Sorted weights by key and label, as a learner gives them."""
    ids = np.array(sorted(pairs), dtype="uint32").reshape(-1, 2)
    values = np.array([pairs[pair] for pair in sorted(pairs)], dtype="float32")
    return ids[:, 0].copy(), ids[:, 1].copy(), values


def test_compiled_weights_are_scaled_pruned_and_known() -> None:
    weights = make_weights(
        {
            (7, 0): -2.0,
            (7, 1): 0.25,
            (7, 2): 1.0,
            (8, 0): 0.251,
            (8, 3): 1.5,
            (9, 1): 0.5,
        }
    )
    keys, labels, compiled, scale = compile_weights(*weights, 3, 0.25)
    assert scale == MAX_WEIGHT / 2
    assert keys.tolist() == [7, 7, 8, 9]
    assert labels.tolist() == [0, 2, 0, 1]
    assert compiled.tolist() == [-127, 64, 16, 32]
    assert (keys.dtype, labels.dtype, compiled.dtype) == ("uint32", "uint32", "int8")


def test_weights_that_round_to_zero_are_dropped() -> None:
    keys, _, compiled, _ = compile_weights(
        *make_weights({(1, 0): 100.0, (2, 0): 0.3, (3, 0): -0.5}), 1, 0.0
    )
    assert keys.tolist() == [1, 3]
    assert compiled.tolist() == [127, -1]


def test_no_weights_compile_to_none() -> None:
    keys, labels, compiled, scale = compile_weights(*make_weights({}), 4, 0.1)
    assert len(keys) == len(labels) == len(compiled) == 0
    assert np.isfinite(scale)
    index, slots = pack_weights(keys, labels, compiled, 4)
    assert index[-1] == len(slots) == 0


SCORES = st.integers(-8000, 8000) | st.integers(-2, 2)


@given(
    st.integers(1, 9).flatmap(
        lambda blocks: st.tuples(
            npst.arrays("int16", (3, 16 * blocks), elements=SCORES),
            npst.arrays("bool", 16 * blocks),
        )
    ),
    st.integers(1, 1 << 17) | st.integers(1, 3),
)
def test_kernels_agree(
    rows_and_valid: tuple[np.ndarray, np.ndarray], margin: int
) -> None:
    rows, valid = rows_and_valid
    limits = np.where(valid, 32767, -32768).astype("int16")
    sums = rows.sum(axis=0)
    scores = np.minimum(sums, limits)
    close = np.flatnonzero(scores > max(scores.max() - margin, -32768))
    expected = (sums.tolist(), close[0] if len(close) else 0, min(len(close), 2))
    for kind in range(len(kernel_names())):
        assert run_kernels(kind, rows, limits, margin) == expected
