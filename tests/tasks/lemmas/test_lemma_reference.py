"""The compiled lemmatizer decides as the slow and obvious reference does."""

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.strings import get_string_id
from spacy.tokens import Doc

from helpers.models import make_file, templates_strategy
from helpers.reference_lemmas import NONE, SPACE, ReferenceLemmatizer
from spacy_dynsel.base.settings import LearnerSettings
from spacy_dynsel.base.templates import default_templates, parse_templates
from spacy_dynsel.tasks.lemmas.engine import OTHERS, PLACES, LemmaEngine
from spacy_dynsel.tasks.lemmas.known import KnownLemmas, load_known
from spacy_dynsel.tasks.lemmas.scripts import read_script

NLP = spacy.blank("en")
WORDS = [
    *("The", "the", "cities", "CITIES", "Berlin", "8,000,000", "went", "über", "ÜBER"),
    *("iPhone", "$", "...", "日本語", "\u200b", "İ", "a" * 300, " ", "\n\n"),
]
LABELS = [
    *("lower", "keep", "title", "upper", "lower s>$", "lower ies>y$", "keep s>$"),
    *("lower ,>>", "lower ^went>go$", "lower e>a", "lower ^u>ü", "lower >e$"),
]
POS = ["", "NOUN", "VERB", "PROPN"]
MORPHS = ["", "Number=Plur", "Number=Sing|Person=3"]


@st.composite
def docs_strategy(draw: st.DrawFn) -> Doc:
    word = st.sampled_from(WORDS) | st.text(
        st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5
    )
    words = draw(st.lists(word, max_size=10))
    size = {"min_size": len(words), "max_size": len(words)}
    return Doc(
        NLP.vocab,
        words=words,
        pos=draw(st.lists(st.sampled_from(POS), **size)),
        morphs=draw(st.lists(st.sampled_from(MORPHS), **size)),
    )


def make_engine(templates, labels, docs, seed=0, *, reads_pos=True):
    """An engine with random weights, and the reference with the same."""
    rng = np.random.default_rng(seed)
    meta = {"task": "lemmas", "labels": labels, "reads_pos": reads_pos}
    known = find_some_lemmas(labels, docs, rng) if reads_pos else KnownLemmas()
    others = {"known": known.to_array()}
    file = make_file(meta, templates, len(labels), others=others, rng=rng)
    empty = ReferenceLemmatizer(file)
    keys = {
        empty.find_key(template, token)
        for doc in docs
        for token in doc
        for template in templates.templates
    }
    data = make_file(meta, templates, len(labels), keys=keys, others=others, rng=rng)
    engine = LemmaEngine(templates, LearnerSettings())
    engine.max_lexemes = 1000
    engine.from_bytes(data)
    return engine, ReferenceLemmatizer(data)


def find_some_lemmas(labels, docs, rng):
    """Some of the lemmas that the words of docs can have."""
    scripts = [read_script(label) for label in labels]
    lemmas = {
        (script.apply(token.text), token.pos)
        for doc in docs
        for token in doc
        for script in scripts
    }
    possible = sorted(lemma for lemma in lemmas if lemma[0] is not None)
    return KnownLemmas().add(one for one in possible if rng.random() < 0.3)


def check(engine, reference, docs, margin):
    expected = [reference.lemmatize_all(doc, margin) for doc in docs]
    ranks = [rank for doc in expected for _, _, rank in doc if rank]
    ends = reference.templates.checkpoints
    for n_threads, with_leads in ((1, False), (3, True), (1, True)):
        batch = engine.predict(
            docs, margin=margin, n_threads=n_threads, with_leads=with_leads
        )
        assert [
            list(zip(labels.tolist(), doc, strict=True))
            for labels, doc in zip(batch, docs, strict=True)
        ] == [
            [(label, token) for (label, _, _), token in zip(found, doc, strict=True)]
            for found, doc in zip(expected, docs, strict=True)
        ]
        assert batch.lemmas.tolist() == [
            get_string_id(lemma) for doc in expected for _, lemma, _ in doc
        ]
        assert batch.stage_counts.tolist() == [ranks.count(end) for end in ends]
    for doc, found in zip(docs, expected, strict=True):
        explained = engine.explain(doc, margin=margin)
        for why, (label, _, rank) in zip(explained, found, strict=True):
            names = {**OTHERS, **dict(enumerate(reference.labels))}
            assert (why.label, why.n_templates) == (names[label], rank)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_decisions(data):
    templates = data.draw(templates_strategy(PLACES, 3, 8))
    docs = data.draw(st.lists(docs_strategy(), max_size=3))
    labels = data.draw(st.lists(st.sampled_from(LABELS), min_size=1, unique=True))
    margin = data.draw(st.sampled_from([0.0, 1.0, 5.0, float("inf")]))
    seed = data.draw(st.integers(0, 100))
    check(*make_engine(templates, labels, docs, seed), docs, margin)


@pytest.mark.parametrize("n_labels", [1, 12, 257, 600])
def test_many_labels(n_labels):
    """Both forms of weights, and rows of any width."""
    labels = [*LABELS, *(f"lower >{i}$" for i in range(600))][:n_labels]
    docs = [Doc(NLP.vocab, words=WORDS, pos=["NOUN"] * len(WORDS))]
    engine, reference = make_engine(default_templates("lemmatizer"), labels, docs)
    for margin in (0.0, 2.0, float("inf")):
        check(engine, reference, docs, margin)


def test_without_parts_of_speech():
    """What was trained without them does not look at them."""
    templates = parse_templates(["lower pos", "suffix1 morph", "word"])
    words = ["cities", "Berlin", "went"]
    docs = [Doc(NLP.vocab, words=words)]
    engine, reference = make_engine(templates, LABELS, docs, reads_pos=False)
    others = [Doc(NLP.vocab, words=words, pos=["NOUN"] * 3, morphs=["Number=Plur"] * 3)]
    expected = [label for label, _, _ in reference.lemmatize_all(docs[0], 1.0)]
    for one in (docs, others):
        assert engine.predict(one, margin=1.0).labels.tolist() == expected


def test_a_full_cache_is_replaced():
    docs = [Doc(NLP.vocab, words=[f"w{i}s" for i in range(50)])]
    templates = parse_templates(["word", "suffix2"])
    engine, reference = make_engine(templates, ["lower", "lower s>$"], docs)
    expected = [label for label, _, _ in reference.lemmatize_all(docs[0], 1.0)]
    for size in (1, 7, 50, 1000):
        engine.max_lexemes = size
        for _ in range(3):
            assert engine.predict(docs, margin=1.0).labels.tolist() == expected
            assert engine.n_lexemes <= size
    assert engine.n_lexemes == 50


def test_a_cache_belongs_to_its_margins():
    docs = [Doc(NLP.vocab, words=WORDS)]
    engine, reference = make_engine(default_templates("lemmatizer"), LABELS, docs)
    for margin in (0.0, float("inf"), 0.0, 3.0):
        expected = [label for label, _, _ in reference.lemmatize_all(docs[0], margin)]
        assert engine.predict(docs, margin=margin).labels.tolist() == expected


def test_what_stands_for_no_label():
    docs = [Doc(NLP.vocab, words=["went", "\n", "x"])]
    engine, _ = make_engine(parse_templates(["word"]), ["lower ^went>go$"], docs)
    assert engine.predict(docs, margin=1.0).labels.tolist() == [0, SPACE, NONE]


@pytest.mark.parametrize("keys", [[2, 1], [1, 1]])
def test_malformed_known_lemmas(keys):
    array = np.array(keys, dtype="uint32")
    with pytest.raises(ValueError, match="DS035"):
        load_known({"known": array})
    with pytest.raises(ValueError, match="DS035"):
        load_known({})
    assert load_known({"known": np.unique(array)}).to_array().tolist() == sorted(
        set(keys)
    )
