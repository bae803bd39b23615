"""Branches and the choice between trees, on the embedded corpus; and explanations."""

import math
import random

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.converters import conllu_to_docs

from helpers.paths import ASSETS
from helpers.trees import assert_well_formed, tree_of


def read_corpus(nlp, split):
    """Examples whose docs have tags and sentence starts, as a tagger would set them."""
    text = (ASSETS / f"{split}.conllu").read_text(encoding="utf8")
    examples = []
    for read in conllu_to_docs(text, n_sents=1, no_print=True):
        words = [token.text for token in read]
        gold = Doc(
            nlp.vocab,
            words=words,
            tags=[token.tag_ for token in read],
            pos=[token.pos_ for token in read],
            heads=[token.head.i for token in read],
            deps=[token.dep_ for token in read],
        )
        starts = [i == 0 for i in range(len(words))]
        tags = [token.tag_ for token in gold]
        doc = Doc(nlp.vocab, words=words, tags=tags, sent_starts=starts)
        examples.append(Example(doc, gold))
    return examples


@pytest.fixture(scope="module")
def trained():
    nlp = spacy.blank("en")
    parser = nlp.add_pipe("dynsel_parser")
    examples = read_corpus(nlp, "train")
    parser.initialize(lambda: examples, nlp=nlp)
    shuffler = random.Random(0)
    for _ in range(6):
        shuffler.shuffle(examples)
        for start in range(0, len(examples), 64):
            parser.update(examples[start : start + 64], drop=0.1)
    return nlp


def parse(parser, examples):
    docs = [example.predicted.copy() for example in examples]
    parser.set_annotations(docs, parser.predict(docs))
    return docs


def count_right(docs, examples):
    return sum(
        (token.head.i, token.dep_) == (gold.head.i, gold.dep_)
        for doc, example in zip(docs, examples, strict=True)
        for token, gold in zip(doc, example.reference, strict=True)
    )


@pytest.fixture
def parser(trained):
    parser = trained.get_pipe("dynsel_parser")
    parser.branches, parser.branch_lead = 8, 3.0
    return parser


def test_a_second_look_pays(trained, parser):
    examples = read_corpus(trained, "dev") + read_corpus(trained, "test")
    ranked = parse(parser, examples)
    parser.branches = 0
    greedy = parse(parser, examples)
    assert list(map(tree_of, ranked)) != list(map(tree_of, greedy))
    assert count_right(ranked, examples) > count_right(greedy, examples)


def test_trees_stay_trees(trained, parser):
    examples = read_corpus(trained, "test")
    parser.branches, parser.branch_lead = 40, 100.0
    for doc in parse(parser, examples):
        assert_well_formed(doc)


def test_no_doubt_is_greedy(trained, parser):
    examples = read_corpus(trained, "test")
    parser.branch_lead = 0.0
    doubtless = list(map(tree_of, parse(parser, examples)))
    parser.branches = 0
    assert doubtless == list(map(tree_of, parse(parser, examples)))


def test_same_trees_in_every_way(trained, parser):
    examples = read_corpus(trained, "test")
    expected = list(map(tree_of, parse(parser, examples)))
    parser.n_threads = 3
    assert list(map(tree_of, parse(parser, examples))) == expected
    parser.n_threads = 1
    alone = [tree_of(parse(parser, [example])[0]) for example in examples]
    assert alone == expected
    loaded = trained.create_pipe("dynsel_parser").from_bytes(parser.to_bytes())
    assert loaded.to_bytes() == parser.to_bytes()
    assert list(map(tree_of, parse(loaded, examples))) == expected


def test_a_file_with_a_reranker_needs_one(trained, parser):
    config = {"model": {**parser_model(trained), "folds": 0}}
    other = trained.create_pipe("dynsel_parser", config=config)
    with pytest.raises(ValueError, match="DS121"):
        other.from_bytes(parser.to_bytes())


def test_folds_need_templates(trained):
    config = {"model": {**parser_model(trained), "trees": None}}
    with pytest.raises(ValueError, match="DS120"):
        trained.create_pipe("dynsel_parser", config=config)


def parser_model(nlp):
    return dict(nlp.get_factory_meta("dynsel_parser").default_config["model"])


def test_explanations(trained, parser):
    for example in read_corpus(trained, "test")[:60]:
        (doc,) = parse(parser, [example])
        parser.branches = 0
        (greedy,) = parse(parser, [example])
        plain = parser.explain(example.predicted)
        assert not any(token.reranked for token in plain)
        assert_explains(plain, greedy)
        parser.branches = 8
        explanations = parser.explain(example.predicted)
        # The transitions are those of the first tree.
        assert [one.transitions for one in explanations] == [
            one.transitions for one in plain
        ]
        for i, one in enumerate(explanations):
            same = (one.head, one.label) == (plain[i].head, plain[i].label)
            assert one.reranked or same
            if not has_lifted(explanations):
                assert (one.head, one.label) == (doc[i].head.i, doc[i].dep_)


def has_lifted(explanations):
    return any("||" in one.label for one in explanations)


def assert_explains(explanations, doc):
    """Each arc was made by a transition that is there."""
    arcs = {}
    for i, one in enumerate(explanations):
        leads = [transition.lead for transition in one.transitions]
        assert one.weakest_lead == min(leads, default=math.inf)
        for transition in one.transitions:
            assert transition.lead >= 0
            assert transition.runner_up != transition.action
            assert transition.n_templates > 0
            if transition.action == "LEFT":
                arcs[transition.top] = (i, transition.label)
            elif transition.action == "RIGHT":
                arcs[i] = (transition.top, transition.label)
            assert bool(transition.label) == (transition.n_label_templates > 0)
    for i, one in enumerate(explanations):
        if one.head == i:
            assert one.label == "ROOT"
            assert i not in arcs
        else:
            assert arcs[i] == (one.head, one.label)
    if not has_lifted(explanations):
        assert [(one.head, one.label) for one in explanations] == [
            (token.head.i, token.dep_) for token in doc
        ]


def test_explaining_nothing(trained, parser):
    assert parser.explain(Doc(trained.vocab)) == []
    (space,) = parser.explain(Doc(trained.vocab, words=[" "]))
    assert (space.head, space.label, space.transitions) == (0, "ROOT", [])
