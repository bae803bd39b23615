"""A parser by links: the contract of a parser, and exact answers."""

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from helpers import embedded
from helpers.parser import TEXTS, TRAIN_DATA, make_examples, train_parser
from helpers.reference_links import all_trees
from helpers.trees import assert_well_formed, heads_of, tree_of, trees_of
from spacy_dynsel.base.templates import make_templates
from spacy_dynsel.confidence.reliability import fit_confidence
from spacy_dynsel.tasks.links.explain import combine_trees
from spacy_dynsel.tasks.links.part import LinkPart
from spacy_dynsel.tasks.links.settings import LinkSettings

WORDS = ["I", "like", "London", "and", "Nobody", "knows", "securities", "today", "."]
ARCHITECTURE = {"@architectures": "spacy_dynsel.LinkParser.v1"}
KINDS = {
    "structured": {},
    "first_order": {"with_siblings": False},
    "boosting": {"links": {"training": "boosting", "passes": 30, "eta": 0.3}},
    "adaboost": {
        "links": {
            "training": "boosting",
            "booster": "adaboost",
            "passes": 30,
            "eta": 0.3,
        }
    },
}


def train(kind="structured", n_updates=30, data=TRAIN_DATA):
    nlp = spacy.blank("en")
    model = {**ARCHITECTURE, **KINDS[kind]}
    train_parser(nlp, make_examples(nlp, data), n_updates=n_updates, model=model)
    return nlp


@pytest.fixture(scope="module", params=KINDS)
def any_nlp(request):
    return train(request.param)


@pytest.fixture(scope="module")
def nlp():
    return train()


@pytest.fixture(scope="module")
def parser(nlp):
    return nlp.get_pipe("dynsel_parser")


def make_doc(nlp, n):
    starts = [i == 0 for i in range(n)]
    return Doc(nlp.vocab, words=(WORDS * n)[:n], sent_starts=starts)


def test_it_knows_its_trees(any_nlp):
    for text, heads, deps in TRAIN_DATA:
        doc = any_nlp(Doc(any_nlp.vocab, words=text.split()))
        assert heads_of(doc) == heads
        assert [token.dep_ for token in doc] == deps.split()


def test_every_doc_gets_trees(any_nlp):
    for text in TEXTS:
        assert_well_formed(any_nlp(text))


def test_saved_and_loaded(any_nlp, tmp_path):
    any_nlp.to_disk(tmp_path)
    assert trees_of(spacy.load(tmp_path)) == trees_of(any_nlp)


def test_threads_and_batches_do_not_matter(any_nlp):
    parser = any_nlp.get_pipe("dynsel_parser")
    texts = TEXTS * 300
    expected = trees_of(any_nlp) * 300
    parser.n_threads = 3
    assert [tree_of(doc) for doc in any_nlp.pipe(texts)] == expected
    parser.n_threads = 1
    assert [tree_of(doc) for doc in any_nlp.pipe(texts, batch_size=7)] == expected


def test_learning_goes_on(any_nlp):
    nlp = spacy.blank("en")
    kind = any_nlp.config["components"]["dynsel_parser"]["model"]
    parser = nlp.add_pipe("dynsel_parser", config={"model": kind})
    nlp.from_bytes(any_nlp.to_bytes())
    row = ("London likes securities .", [1, 1, 1, 1], "nsubj ROOT dobj punct")
    for _ in range(20):
        nlp.update(make_examples(nlp, [row]))
    assert heads_of(nlp(row[0])) == row[1]
    assert parser.labels == any_nlp.get_pipe("dynsel_parser").labels


def test_training_state_is_kept():
    nlp = train(n_updates=3)
    nlp.get_pipe("dynsel_parser").keep_training_state = True
    other = spacy.blank("en")
    other.add_pipe("dynsel_parser", config={"model": {**ARCHITECTURE}})
    other.from_bytes(nlp.to_bytes())
    for one in (nlp, other):
        for _ in range(3):
            one.update(make_examples(one))
    assert nlp.get_pipe("dynsel_parser").model.to_bytes() == (
        other.get_pipe("dynsel_parser").model.to_bytes()
    )


def test_partial_trees():
    nlp = spacy.blank("en")
    row = ("They trade mortgage-backed securities .", [1, 1, 3, 1, 1])
    words = row[0].split()
    gold = Doc(nlp.vocab, words=words, heads=row[1], deps=["nsubj", "ROOT", "", "", ""])
    empty = Doc(nlp.vocab, words=words)
    example = Example(empty, gold)
    model = {**ARCHITECTURE}
    parser = nlp.add_pipe("dynsel_parser", config={"model": model})
    nlp.initialize(lambda: [example])
    for _ in range(10):
        nlp.update([example])
    doc = nlp(row[0])
    assert_well_formed(doc)
    assert doc[0].head.i == 1
    assert parser.engine.is_initialized


def test_a_sentence_is_long(nlp):
    doc = nlp(make_doc(nlp, 5000))
    assert sum(token.head.i == token.i for token in doc) == 1
    assert len({token.i for token in doc[0].sent.root.subtree}) == 5000


@settings(deadline=None, max_examples=100)
@given(n=st.integers(1, 6), data=st.data())
def test_whatever_is_possible_is_done(nlp, parser, n, data):
    """Links that are set and forbidden at random, compared with all trees there are."""
    index = st.integers(0, n - 1)
    heads = data.draw(st.dictionaries(index, index, max_size=3))
    forbid = data.draw(st.sets(st.tuples(index, index), max_size=3 * n))
    forbid -= set(heads.items())

    def is_good(tree):
        return all(tree[child] == head for child, head in heads.items()) and not any(
            tree[child] == head for child, head in forbid
        )

    trees = [
        [child if head == -1 else head for child, head in enumerate(tree)]
        for tree in all_trees(n)
    ]
    doc = make_doc(nlp, n)
    if not any(map(is_good, trees)):
        with pytest.raises(ValueError, match="DS261"):
            parser.parse(doc, heads=heads, forbid=forbid)
        assert not doc.has_annotation("DEP")
        return
    found = heads_of(parser.parse(doc, heads=heads, forbid=forbid))
    assert is_good(found)
    assert found in trees
    # The order of all trees of the links that the filter leaves is that of the parser.
    ranked = [heads_of(one) for one in parser.k_best(make_doc(nlp, n), 10_000)]
    assert len(ranked) == len(set(map(tuple, ranked)))
    possible = [tree for tree in ranked if is_good(tree)]
    if possible:
        assert found == possible[0]


def test_several_trees_of_several_sentences(nlp, parser):
    text = "They trade securities . I like Berlin ."
    found = [heads_of(doc) for doc in parser.k_best(nlp.make_doc(text), 20)]
    assert found[0] == heads_of(nlp(text))
    assert len(set(map(tuple, found))) == 20


def test_combinations_come_in_order():
    words = np.array([0, 2], dtype="int32")
    heads = np.array([[-1, 0], [1, -1]], dtype="int32")
    one = (words, heads, np.array([5, 1]))
    other = (words + 3, heads, np.array([4, 3]))
    found = [tree.tolist() for tree in combine_trees([one, other], 6, 3)]
    assert found == [
        [0, -1, 0, 3, -1, 3],
        [0, -1, 0, 5, -1, 5],
        [2, -1, 2, 3, -1, 3],
    ]


def test_explanations_have_probabilities(nlp, parser):
    doc = nlp.make_doc("I like London and Berlin .")
    found = parser.explain(doc)
    assert [one.head for one in found] == heads_of(nlp(doc.text))
    assert all(0 < one.probability <= 1 for one in found)
    assert parser.statistics([doc])["links"] >= 1


def test_confidence_can_be_fitted():
    nlp = spacy.blank("en")
    parser = nlp.add_pipe("dynsel_parser", config={"model": {**ARCHITECTURE}})
    examples = embedded.make_examples(nlp, embedded.read_docs(nlp.vocab, "dev", 80))
    nlp.initialize(lambda: examples)
    embedded.learn(nlp, examples[:40], 1)
    fit_confidence(parser, examples[40:])
    parser.confidence = True
    doc = nlp("I like London and Berlin .")
    assert all(0 <= token._.dynsel_confidence <= 1 for token in doc)


def test_settings_of_transitions_are_refused(parser):
    with pytest.raises(ValueError, match="DS264"):
        parser.margin = 3.0
    parser.label_margin = [3.0, float("inf")]
    assert parser.predict([]) is not None
    parser.label_margin = 6.0
    assert set(parser.describe()) >= {"label_margin"}
    assert "branches" not in parser.describe()


def test_rounds_of_boosting_go_on():
    nlp = train("boosting", n_updates=0)
    parser = nlp.get_pipe("dynsel_parser")
    rounds = []
    for _ in range(6):
        nlp.update(make_examples(nlp))
        nlp("I like London .")
        rounds.append(parser.engine.links.boosting.n_rounds)
    # The first one, and three more.
    assert rounds == [1, 2, 3, 4, 4, 4]


def test_templates_are_checked():
    pairs = make_templates(lines=["tag[T] tag[H]"])
    plain = make_templates(lines=["tag[T]"])
    staged = make_templates(lines=["tag[T]", "---", "tag[H]"])
    with pytest.raises(ValueError, match="DS262"):
        LinkPart(pairs, plain, LinkSettings())
    with pytest.raises(ValueError, match="DS263"):
        LinkPart(staged, None, LinkSettings())
    with pytest.raises(ValueError, match="label"):
        LinkPart(make_templates(lines=["label[T]"]), None, LinkSettings())


@pytest.mark.parametrize(
    ("name", "value"),
    [("training", "both"), ("epsilon", 2.0), ("passes", 0), ("max_heads", 0)],
)
def test_settings_are_checked(name, value):
    with pytest.raises(ValueError, match=name):
        LinkSettings(**{name: value})
