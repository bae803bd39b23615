"""What users can feed to the parser: odd text and gold, settings, damaged files."""

from itertools import pairwise

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from helpers.model_bytes import check_damaged_directory, check_forged, crafted
from helpers.parser import TRAIN_DATA, make_doc, make_examples, train_parser
from helpers.trees import assert_well_formed, deps_of, heads_of, tree_of
from helpers.words import ODD_WORDS


def from_heads(nlp, heads, deps=None):
    """A doc with heads that spaCy would not take otherwise."""
    n = len(heads)
    words = [f"w{i}" for i in range(n)]
    doc = Doc(nlp.vocab, words=words)
    ids = [nlp.vocab.strings.add(dep) for dep in (deps or ["nsubj"] * n)]
    relative = (np.array(heads) - np.arange(n)).astype("int64").astype("uint64")
    doc.from_array(["HEAD", "DEP"], np.stack([relative, np.array(ids, "uint64")], 1))
    return Example(Doc(nlp.vocab, words=words), doc)


@pytest.mark.parametrize("heads", [[1, 0], [1, 2, 0, 3], [0, 2, 3, 1]])
def test_cycles(nlp, parser, heads):
    example = from_heads(nlp, heads)
    with pytest.raises(ValueError, match="DS123"):
        parser.update([example])
    with pytest.raises(ValueError, match="DS123"):
        parser.initialize(lambda: [example])
    other = Example(Doc(nlp.vocab, words=["".join(example.text.split())]), example.y)
    with pytest.raises(ValueError, match="DS123"):
        parser.update([other])


def test_heads_out_of_range(nlp):
    """spaCy does not take them."""
    with pytest.raises(ValueError, match="E190"):
        from_heads(nlp, [0, 7])
    with pytest.raises(ValueError, match="E190"):
        from_heads(nlp, [-3, 1])


@pytest.mark.parametrize(
    ("heads", "starts"),
    [
        ([0, 1, 2], None),
        ([0, 1, 2], [1, -1, -1]),
        ([0, 0, 2, 0], None),
        ([2, 1, 2, 1], None),
        ([1, 1, 1, 1], [1, -1, 1, -1]),
    ],
    ids=["all roots", "all roots, one sentence", "crossing", "nested", "across"],
)
def test_trees_that_are_not_right(nlp, parser, heads, starts):
    """Several roots in a sentence, arcs from one to another: what can be learned is,
    and the output is in order."""
    example = from_heads(nlp, heads)
    if starts is not None:
        tokens = np.array([starts], dtype="int64").astype("uint64").T
        example.reference.from_array(["SENT_START"], tokens)
    for _ in range(20):
        losses = parser.update([example, *make_examples(nlp)])
    assert np.isfinite(losses["dynsel_parser"])
    assert_well_formed(parser(example.predicted))
    for words, *tree in TRAIN_DATA:
        doc = parser(make_doc(nlp, words))
        assert [heads_of(doc), deps_of(doc)] == tree


def test_boundaries_that_contradict_gold(nlp, fresh_parser):
    """Training goes by the reference; predictions go by what is set."""
    words, heads, deps = TRAIN_DATA[1]
    starts = [True, False, True, False, False, False]
    example = Example(
        make_doc(nlp, words, sent_starts=starts), make_doc(nlp, words, heads, deps)
    )
    assert fresh_parser.update([example])["dynsel_parser"] == 0
    doc = fresh_parser(example.predicted.copy())
    assert [sent.start for sent in doc.sents] == [0, 2]
    assert_well_formed(doc)


@pytest.fixture(scope="module")
def others():
    """A pipeline that may learn whatever comes."""
    nlp = spacy.blank("en")
    train_parser(nlp, make_examples(nlp))
    return nlp


def cut(text, bounds):
    """A text as words, some of which are white space."""
    bounds = sorted({0, len(text), *(i for i in bounds if i < len(text))})
    return [text[a:b] for a, b in pairwise(bounds)]


@settings(deadline=None)
@given(
    st.text("ab\n", min_size=1, max_size=12),
    st.lists(st.integers(1, 11)),
    st.lists(st.integers(1, 11)),
    st.data(),
)
def test_any_alignment(others, text, one, other, data):
    """Words that differ, trees of all kinds, and heads that are missing."""
    parser = others.get_pipe("dynsel_parser")
    words = cut(text, one)
    n = len(words)
    # Each head is a root or stands earlier in a random order, so that there is no cycle.
    order = data.draw(st.permutations(range(n)))
    heads, deps = [0] * n, [""] * n
    for place, token in enumerate(order):
        head = order[data.draw(st.integers(0, place))]
        heads[token] = head
        deps[token] = data.draw(st.sampled_from(["", "nsubj", "dobj", "new"]))
        if deps[token] == "":
            heads[token] = data.draw(st.sampled_from([head, None]))
    reference = Doc(
        others.vocab, words=words, spaces=[False] * n, heads=heads, deps=deps
    )
    pieces = cut(text, other)
    bare = Doc(others.vocab, words=pieces, spaces=[False] * len(pieces))
    gold = parser.get_gold(Example(bare, reference))
    for array in gold[1:]:
        assert len(array) == len(bare)
    assert ((gold.heads >= -1) & (gold.heads < len(bare))).all()
    assert ((gold.labels >= -1) & (gold.labels < len(parser.label_data))).all()
    if words == pieces:
        # Nothing is learned about white space, and no word hangs on it.
        known = [
            head is not None
            and bool(dep or head != i)
            and not reference[i].is_space
            and not reference[head].is_space
            for i, (head, dep) in enumerate(zip(heads, deps, strict=True))
        ]
        assert (gold.heads != -1).tolist() == known
    parser.update([Example(bare, reference)])
    assert_well_formed(parser(bare))


@pytest.mark.parametrize("label", ["", "||", "a||", "||b", "a||b||c"])
def test_labels_that_can_not_be(parser_pipeline, label):
    parser = parser_pipeline.get_pipe("dynsel_parser")
    with pytest.raises(ValueError, match=r"DS041|DS124"):
        parser.add_label(label)
    with pytest.raises(ValueError, match=r"DS041|DS124"):
        parser.initialize(
            lambda: make_examples(parser_pipeline), labels=["nsubj", label]
        )
    assert label not in parser.label_data


def test_labels_that_look_like_others(nlp):
    """In gold, "ROOT" on an arc and delimiters at odd places are not learned."""
    data = [("a b c d", [1, 1, 1, 1], ["ROOT", "root", "x||y||z", "ok"])]
    parser = train_parser(nlp, make_examples(nlp, data))
    assert parser.label_data == ("ok",)
    doc = parser(make_doc(nlp, "a b c d"))
    assert heads_of(doc) == [1, 1, 1, 1]
    assert deps_of(doc).split()[1::2] == ["ROOT", "ok"]


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("margin", float("nan"), "DS020"),
        ("margin", [1.0, 2.0, 3.0, 4.0, 5.0], "DS020"),
        ("label_margin", float("nan"), "DS020"),
        ("label_margin", -1.0, "DS020"),
        ("label_margin", "much", "DS020"),
        ("label_margin", None, "DS020"),
        ("branches", -1, "DS022"),
        ("branches", 1.5, "DS022"),
        ("branches", True, "DS022"),
        ("branches", 10**6, "DS022"),
        ("branch_lead", float("nan"), "DS022"),
        ("branch_lead", float("inf"), "DS022"),
        ("branch_lead", -0.1, "DS022"),
        ("branch_lead", "low", "DS022"),
        ("n_threads", 0, "DS022"),
    ],
)
def test_bad_settings(parser_pipeline, name, value, code):
    parser = parser_pipeline.get_pipe("dynsel_parser")
    before = getattr(parser, name)
    with pytest.raises(ValueError, match=code):
        setattr(parser, name, value)
    assert getattr(parser, name) == before


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"min_label_freq": -1}, "DS022"),
        ({"branches": -1}, "DS022"),
        ({"label_margin": -1.0}, "DS020"),
        ({"model": {"seeds": 0}}, "DS022"),
        ({"model": {"actions": {"default": "tagger"}}}, "DS001"),
        ({"model": {"labels": {"default": "nothing"}}}, "DS011"),
        ({"model": {"label_learner": {"margin": -1.0}}}, "DS020"),
    ],
)
def test_bad_configs(nlp, config, code):
    with pytest.raises(ValueError, match=code):
        nlp.add_pipe("dynsel_parser", config=config)


@pytest.mark.parametrize(
    "words", [*ODD_WORDS, ["NOUN", "nsubj", "IS_ALPHA", "ROOT", "dep"]]
)
def test_odd_words(parser_pipeline, words):
    doc = parser_pipeline.get_pipe("dynsel_parser")(
        Doc(parser_pipeline.vocab, words=words)
    )
    assert len(list(doc.sents)) >= 1
    if len(words) < 100:
        assert_well_formed(doc)


def test_a_hundred_thousand_tokens(nlp, parser):
    words = [word for text, _, _ in TRAIN_DATA for word in text.split()]
    doc = Doc(nlp.vocab, words=(words * 5_000)[:100_000])
    parser(doc)
    assert len(list(doc.sents)) > 10_000


def test_learning_a_very_long_sentence(nlp, parser):
    """No tree is too long."""
    n = 20_000
    words = ["London", "and"] * (n // 2)
    for heads in ([0] * n, [n - 1] * n):
        deps = ["ROOT" if i == head else "conj" for i, head in enumerate(heads)]
        gold = Doc(nlp.vocab, words=words, heads=heads, deps=deps)
        parser.update([Example(Doc(nlp.vocab, words=words), gold)])


def test_the_cache_does_not_matter(nlp, parser):
    rng = np.random.default_rng(0)
    doc = Doc(nlp.vocab, words=[f"W{i}" for i in rng.integers(0, 3000, 5000)])
    expected = parser.predict([doc])
    for cache_size in (1, 100):
        parser.cfg["cache_size"] = cache_size
        found = parser.predict([doc])
        assert found.heads.tolist() == expected.heads.tolist()
        assert found.labels.tolist() == expected.labels.tolist()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m, a: m.update(task="tagging"), "DS037"),
        (lambda m, a: m.update(labels=["A", "A"]), "DS035"),
        (lambda m, a: m.update(labels=["A"]), "DS035"),
        (lambda m, a: m.update(labels="nsubj"), "DS035"),
        (lambda m, a: m.update(labels=[1, 2]), "DS035"),
        (lambda m, a: m.update(labels=["", *m["labels"][1:]]), "DS035"),
        (lambda m, a: m.pop("parts"), "DS035"),
        (lambda m, a: m.update(parts=[]), "DS035"),
        (lambda m, a: m["parts"].pop("labels"), "DS035"),
        (lambda m, a: m["parts"]["labels"].update(scale=-1.0), "DS035"),
        (lambda m, a: m["parts"]["actions"].update(scale="1"), "DS035"),
        (lambda m, a: m["parts"]["actions"].update(templates=["tag[S0]"]), "DS036"),
        (lambda m, a: m["parts"]["boundaries"].update(templates=None), "DS035"),
        (lambda m, a: a.pop("tag_keys"), "DS035"),
        (lambda m, a: a.pop("labels_codes"), "DS035"),
        (lambda m, a: a.update(labels_codes=a["labels_codes"][:-1]), "DS035"),
        (lambda m, a: a.update(actions_keys=a["actions_keys"][:-1]), "DS035"),
        (lambda m, a: a["actions_keys"].__setitem__(0, 0xFFFFFFFF), "DS035"),
        (lambda m, a: a["labels_codes"].__setitem__(0, 0x7FFFFFFF), "DS035"),
        (lambda m, a: a["boundaries_codes"].__setitem__(0, 1 << 16), "DS035"),
        (lambda m, a: a.update(tag_keys=np.array([0], "uint64")), "DS035"),
        (
            lambda m, a: a.update(
                tag_keys=np.array([5, 4], "uint64"), tag_values=np.zeros(2, "uint8")
            ),
            "DS035",
        ),
        (lambda m, a: a.update(class_keys=np.array([5], "uint64")), "DS035"),
    ],
)
def test_contents_that_would_do_harm(parser_pipeline, change, code):
    parser = parser_pipeline.get_pipe("dynsel_parser")
    before = parser.to_bytes()
    with pytest.raises(ValueError, match=code):
        parser.engine.from_bytes(crafted(parser, change))
    assert parser.to_bytes() == before


def test_large_models_are_read_by_threads(parser_pipeline, monkeypatch):
    monkeypatch.setattr("spacy_dynsel.tasks.engine.MIN_BYTES_FOR_THREADS", 0)
    parser = parser_pipeline.get_pipe("dynsel_parser")
    before = parser.to_bytes()
    parser.engine.from_bytes(parser.engine.to_bytes())
    assert parser.to_bytes() == before
    bad = crafted(parser, lambda m, a: a["actions_keys"].__setitem__(0, 0xFFFFFFFF))
    with pytest.raises(ValueError, match="DS035"):
        parser.engine.from_bytes(bad)
    assert parser.to_bytes() == before


def test_bytes_with_a_forged_checksum(nlp, parser):
    other = spacy.blank("en").add_pipe("dynsel_parser")
    doc = nlp.make_doc("I like London and Berlin . Nobody knows .")
    check_forged(
        parser.engine.to_bytes(), other, doc, margin=1.0, label_margin=1.0, n_tries=100
    )


def test_damaged_model_directories(nlp, parser, tmp_path):
    check_damaged_directory(
        nlp,
        tmp_path,
        lambda nlp: tree_of(nlp("Nobody knows .")),
        n_flipped=3,
        lengths=lambda n: (0, n // 2, n - 1),
    )


def test_too_many_labels(nlp):
    parser = nlp.add_pipe("dynsel_parser")
    labels = [f"L{i}" for i in range(1 << 15)]
    with pytest.raises(ValueError, match="DS044"):
        parser.initialize(lambda: make_examples(nlp), labels=labels)
