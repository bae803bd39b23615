"""The compiled morphologizer decides as the slow and obvious reference does."""

import itertools

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from helpers.models import templates_strategy
from helpers.reference import SPACE_TAG, split_sentences
from helpers.reference_morphology import ReferenceMorphologizer, has_wholes
from spacy_dynsel.base.settings import LearnerSettings
from spacy_dynsel.base.templates import (
    Templates,
    default_templates,
    parse_templates,
)
from spacy_dynsel.core.forms.packing import pack_weights
from spacy_dynsel.core.model_file import dump_model
from spacy_dynsel.spacy_io.lexemes import LEXICAL_COLUMNS
from spacy_dynsel.tasks.morphology.engine import PLACES, MorphologyEngine

NLP = spacy.blank("en")
WORDS = [
    *(
        "The",
        "the",
        "cat",
        "Cat",
        "sat",
        "on",
        "12",
        "e-mail",
        "U.S.",
        "über",
        "日本語",
    ),
    *("x", "$", "...", "\n", "  ", "\u200b", "NOUN", "lo" * 40),
]
N_CLASSES = 2
INF = float("inf")
# In all orders that names can have, and some that say nothing to words nearby.
VALUES = (
    ("", "Case=Acc", "Case=Nom"),
    ("", "Gender=Fem", "Gender=Masc"),
    ("", "Number=Plur", "Number=Sing"),
    ("", "POS=DET", "POS=NOUN", "POS=VERB", "POS=X"),
    ("", "Tense=Past", "Tense=Pres"),
)
LABELS = ["|".join(filter(None, parts)) or "_" for parts in itertools.product(*VALUES)]


@st.composite
def docs_strategy(draw: st.DrawFn) -> list[Doc]:
    docs = []
    word = st.sampled_from(WORDS) | st.text(
        st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5
    )
    for words in draw(st.lists(st.lists(word, max_size=9), min_size=1, max_size=3)):
        size = {"min_size": len(words), "max_size": len(words)}
        starts = draw(st.none() | st.lists(st.booleans(), **size))
        docs.append(Doc(NLP.vocab, words=words, sent_starts=starts))
    return docs


@st.composite
def morphology_templates(draw: st.DrawFn) -> Templates:
    """Templates whose first stage reads the word alone; the others read anything, and
    sometimes a stage between reads only words."""
    alone = {column: ["0"] for column in LEXICAL_COLUMNS}
    lexical = {column: PLACES[column] for column in LEXICAL_COLUMNS}
    lists = [draw(templates_strategy(alone, 3, 5)).to_lines()]
    if draw(st.booleans()):
        lists.append(draw(templates_strategy(lexical, 3, 4)).to_lines())
    if draw(st.booleans()):
        lists.append(draw(templates_strategy(PLACES, 3, 8)).to_lines())
    if draw(st.booleans()):
        lists.append(["noun[-1]", "morph[+1] pos[-1]", "pos[+2] word[-1]"])
    known: set[str] = set()
    lines: list[str] = []
    for one in lists:
        new = [line for line in one if line == "---" or line not in known]
        known.update(new)
        while new and new[-1] == "---":
            new.pop()
        for line in (["---"] if lines and new else []) + new:
            if line != "---" or (lines and lines[-1] != "---"):
                lines.append(line)
    return parse_templates(lines)


def pack(weights, n_outputs):
    pairs = sorted(weights)
    array = np.array(pairs, dtype="uint32").reshape(-1, 2)
    values = np.array([weights[pair] for pair in pairs], dtype="int8")
    return pack_weights(array[:, 0], array[:, 1], values, n_outputs)


def make_file(templates, labels, of_parts, of_wholes, seen=None, table=None):
    """A model file.

    of_parts (dict), of_wholes (dict): Weights by key and part or label.
    seen (dict): The labels of frequent words.
    table (dict): Classes and clusters of words.
    """
    seen, table = seen or {}, table or {}
    n_parts = len({part for label in labels for part in label.split("|")} - {"_"}) or 1
    lists = [seen[orth] for orth in sorted(seen)]
    wholes = {
        (key, n_parts + label): weight for (key, label), weight in of_wholes.items()
    }
    index, slots = pack({**of_parts, **wholes}, n_parts + len(labels))
    arrays = {
        "seen_keys": np.array(sorted(seen), dtype="uint64"),
        "seen_starts": np.cumsum([0, *map(len, lists)], dtype="uint32"),
        "seen_labels": np.array([one for each in lists for one in each], "uint16"),
        "templates_index": index,
        "templates_slots": slots,
    }
    for name in ("class", "cluster"):
        arrays[f"{name}_keys"] = np.array(sorted(table), dtype="uint64")
        arrays[f"{name}_values"] = np.array(
            [table[key] for key in sorted(table)], dtype="uint32"
        )
    meta = {
        "task": "morphology",
        "labels": labels,
        "n_classes": N_CLASSES,
        "parts": {"templates": {"templates": templates.to_lines(), "scale": 16.0}},
    }
    return dump_model(meta, arrays)


def random_model(templates, docs, labels, seed, *, largest=127, share=0.7):
    """A model file with random weights for features that occur in the docs.

    largest (int): The largest weight; small ones make ties.
    share (float): Of the features that have weights.
    """
    rng = np.random.default_rng(seed)
    tokens = [token for doc in docs for token in doc if not token.is_space]
    table = {
        lower: int(rng.integers(3, 3 + N_CLASSES))
        for lower in sorted({token.lower for token in tokens})
        if rng.random() < 0.7
    }
    seen = {
        orth: sorted(rng.permutation(len(labels))[: rng.integers(1, 40)].tolist())
        for orth in sorted({token.orth for token in tokens})
        if rng.random() < 0.4
    }
    empty = ReferenceMorphologizer(make_file(templates, labels, {}, {}, seen, table))
    n_parts = len({part for parts in empty.parts for part in parts}) or 1
    of_parts, of_wholes = {}, {}
    for doc in docs:
        for sentence in split_sentences(doc):
            history = rng.integers(0, len(labels), len(sentence)).tolist()
            for i in range(len(sentence)):
                for template in templates.templates:
                    if rng.random() < share:
                        key = empty.find_key(template, sentence, i, history)
                        tables = [(of_parts, n_parts)]
                        if has_wholes(template):
                            tables.append((of_wholes, len(labels)))
                        for weights, n in tables:
                            output = (key, int(rng.integers(0, n)))
                            weights[output] = int(rng.integers(-largest, largest + 1))
    return make_file(templates, labels, of_parts, of_wholes, seen, table)


def load(templates, data, cache_size=1000):
    engine = MorphologyEngine(
        templates, LearnerSettings(), seeds=1, class_min_count=1, class_min_share=0.0
    )
    engine.max_lexemes = cache_size
    engine.from_bytes(data)
    return engine


def check(engine, reference, docs, margin):
    expected = [reference.predict(doc, margin) for doc in docs]
    decisions = [one for found in expected for one in found.decisions]
    n_stages = len(reference.templates.checkpoints)
    stages = [one.n_stages for one in decisions]
    stage_counts = [stages.count(stage + 1) for stage in range(n_stages)]
    label_counts = [
        sum(one.scored[stage] for one in decisions if stage < one.n_stages)
        for stage in range(n_stages)
    ]
    for n_threads, with_leads in ((1, False), (3, True)):
        batch = engine.predict(
            docs, margin=margin, n_threads=n_threads, with_leads=with_leads
        )
        assert [labels.tolist() for labels in batch] == [one.labels for one in expected]
        assert batch.stage_counts.tolist() == stage_counts
        assert batch.label_counts.tolist() == label_counts
    is_word = batch.labels != SPACE_TAG
    assert (batch.stages[is_word] + 1).tolist() == stages
    rivals = [one.lead < INF for one in decisions]
    most = (1 << 17) - 1
    leads = [min(int(one.lead), most) for one in decisions if one.lead < INF]
    assert batch.leads[is_word][rivals].tolist() == leads
    assert (batch.leads[is_word][~np.array(rivals, dtype=bool)] >= 1 << 20).all()
    names = {SPACE_TAG: "POS=SPACE", **dict(enumerate(reference.labels))}
    for doc, found in zip(docs, expected, strict=True):
        explained = engine.explain(doc, margin=margin)
        assert [one.label for one in explained] == [names[i] for i in found.labels]
        of_words = [
            one for one, token in zip(explained, doc, strict=True) if not token.is_space
        ]
        for one, decision in zip(of_words, found.decisions, strict=True):
            assert (one.stage, one.n_labels) == (decision.n_stages, decision.n_choices)
            if decision.lead < INF:
                assert one.lead == decision.lead / reference.scale
                sums = [
                    sum(values)
                    for values in zip(*one.contributions.values(), strict=True)
                ]
                assert sums[0] - sums[1] == pytest.approx(one.lead)
            else:
                assert one.runner_up == ""


def compare(templates, docs, labels, margin, *, seed=0, cache_size=1000, **options):
    data = random_model(templates, docs, labels, seed, **options)
    engine = load(templates, data, cache_size)
    check(engine, ReferenceMorphologizer(data), docs, margin)


MARGINS = st.sampled_from([0.0, 0.5, 2.0, 8.0, 40.0, INF])


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_equals_reference(data):
    templates = data.draw(morphology_templates())
    n_margins = len(templates.checkpoints) - 1
    labels = data.draw(
        st.integers(1, 60).flatmap(
            lambda n: st.permutations(LABELS).map(lambda labels: labels[:n])
        )
    )
    margin = data.draw(
        MARGINS | st.lists(MARGINS, min_size=n_margins, max_size=n_margins)
    )
    compare(
        templates,
        data.draw(docs_strategy()),
        labels,
        margin,
        seed=data.draw(st.integers(0, 1000)),
        cache_size=data.draw(st.sampled_from([1, 3, 1000])),
        largest=data.draw(st.sampled_from([0, 1, 3, 127])),
    )


STAGES = [
    *("word", "suffix2 case", "class", "---"),
    *("lower[-1]", "suffix1[+1]", "lower[-3] lower[+3]", "---"),
    *("morph[-1]", "pos[-1] pos[+1]", "morph[+2] word", "pos[+3]", "---"),
    *("noun[-1]", "noun[-1] suffix1", "morph[-2] morph[-3]"),
]


@pytest.mark.parametrize("margin", [2.0, [INF, 2.0, 2.0], INF])
def test_long_sentences(margin):
    """The words before and after a cut are neighbours, and what nouns agree with is
    handed on over it."""
    rng = np.random.default_rng(0)
    docs = [
        Doc(NLP.vocab, words=rng.choice(WORDS, n).tolist())
        for n in (1, 2, 31, 32, 33, 1024, 1025, 2100)
    ]
    labels = np.random.default_rng(1).permutation(LABELS)[:12].tolist()
    compare(parse_templates(STAGES), docs, labels, margin, seed=3, largest=20)


def test_white_space_around_a_cut():
    """A stretch of white space that is longer than what is read at once."""
    words = ["cat", "the", *[" "] * 2500, "sat", *["on", "x"] * 540, *["\n"] * 1030]
    docs = [Doc(NLP.vocab, words=[*words, "Cat"])]
    for margin in (1.0, INF):
        compare(parse_templates(STAGES), docs, LABELS[60:90], margin, largest=20)


def test_what_nouns_agree_with_is_handed_on_far():
    """Over a cut, from a word long before."""
    labels = ["Number=Sing|POS=NOUN", "Number=Plur|POS=NOUN", "POS=X", "POS=DET"]
    templates = parse_templates(["word", "---", "noun[-1]", "noun[-1] case"])
    docs = [
        Doc(NLP.vocab, words=[first, *["x"] * 1040]) for first in ("cat", "sat", "on")
    ]
    for seed in range(3):
        compare(templates, docs, labels, INF, seed=seed, share=1.0)


def test_ties_and_all_margins():
    docs = [Doc(NLP.vocab, words=WORDS * 2)]
    for largest in (0, 1):
        for margin in (0.0, 1 / 16, 2 / 16, INF):
            compare(parse_templates(STAGES), docs, LABELS, margin, largest=largest)


@pytest.mark.parametrize("n_labels", [1, 2, 16, 17, len(LABELS)])
@pytest.mark.parametrize("margin", [0.0, 4.0, 30.0, INF])
def test_any_number_of_labels(n_labels, margin):
    docs = [Doc(NLP.vocab, words=WORDS * 2), Doc(NLP.vocab, words=WORDS[:5])]
    compare(parse_templates(STAGES), docs, LABELS[:n_labels], margin, seed=1)


def test_one_stage():
    docs = [Doc(NLP.vocab, words=WORDS * 2)]
    for margin in (0.0, 2.0, INF, []):
        compare(parse_templates(["word", "suffix3"]), docs, LABELS[:50], margin)


def test_default_templates():
    docs = [Doc(NLP.vocab, words=WORDS * 3)]
    templates = parse_templates(default_templates("morphologizer").to_lines())
    for margin in (0.5, 15.0, INF):
        compare(templates, docs, LABELS[:49], margin, seed=2, cache_size=7)


def test_leads_of_many_parts_are_no_limit():
    """Labels of hundreds of parts win by far, and margin infinity reads all the same
    all templates."""
    labels = ["|".join(f"F{i:03}=x" for i in range(400)), "POS=X", "POS=NOUN"]
    columns = ["word", "lower", "norm", "suffix1", "suffix2", "suffix3", "prefix1"]
    templates = parse_templates([*columns, "---", "lower[-1]", "---", "lower[+1]"])
    doc = Doc(NLP.vocab, words=["cat", "sat"])
    empty = ReferenceMorphologizer(make_file(templates, labels, {}, {}))
    weights = {
        (empty.find_key(template, list(doc), i, []), part): 127
        for template in templates.templates
        for i in range(2)
        for part in range(400)
    }
    data = make_file(templates, labels, weights, {})
    engine, reference = load(templates, data), ReferenceMorphologizer(data)
    for margin in (100.0, 4000.0, [100.0, INF], [INF, 100.0], INF):
        check(engine, reference, [doc], margin)
    assert engine.predict([doc], margin=INF).stage_counts.tolist() == [0, 0, 2]
