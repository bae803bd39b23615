"""White space is no word: nothing is decided about it, and the words around it are
tagged, recognized and parsed as if it were not there, in training too."""

import math
import pickle
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.attrs import NORM
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from helpers.embedded import learn, make_examples, read_docs, strip
from helpers.tagger import make_example, train_tagger
from spacy_dynsel.confidence.maps import ConfidenceMap
from spacy_dynsel.spacy_io.lexemes import is_blank_line
from spacy_dynsel.spacy_io.tokens import (
    find_blank_lines,
    find_words,
    hand_on_starts,
    have_same_words,
)

SPACES = ["\n", " ", "  ", "\t", "\r\n", " \n ", "\u00a0", "\u3000", "\u2028"]
LISTS = {"cities": ["London", "New York", "Paris"], "names": ["white house"]}
# A recognizer for each way to read, all of them in one pipeline.
NER = {
    "ltr": {"direction": "ltr"},
    "rtl": {"direction": "rtl"},
    "passes": {"direction": "rtl", "two_passes": True},
    "lists": {
        "direction": "ltr",
        "gazetteers": {"@misc": "spacy_dynsel.gazetteers.v1", "entries": LISTS},
    },
}


class Gap(NamedTuple):
    """White space before a word: its text, and whether it takes the sentence start and
    the edges of entities from the words beside it."""

    place: int
    text: str
    takes: bool


def insert(doc: Doc, gaps: list[Gap]) -> Doc:
    """A doc with white space between its words, and all its annotation. White space
    within an entity belongs to it, and may belong to one that it stands beside."""
    words, spaces, tags, pos, heads, deps, ents, starts = ([] for _ in range(8))
    morphs = []
    new = []
    has_heads = doc.has_annotation("DEP")
    by_place = {
        place: list(found)
        for place, found in groupby(sorted(gaps), key=lambda gap: gap.place)
    }
    for i in range(len(doc) + 1):
        for gap in by_place.get(i, []):
            before = doc[i - 1] if i else None
            after = doc[i] if i < len(doc) else None
            inside = after is not None and after.ent_iob == 1
            words.append(gap.text)
            spaces.append(False)
            tags.append("_SP" if gap.takes else "")
            pos.append("SPACE")
            morphs.append("Foo=Bar" if gap.takes else None)
            heads.append(max(i - 1, 0))
            deps.append("dep")
            start = None
            if after is not None and gap.takes and after.sent_start == 1:
                start = True
            starts.append(start)
            if inside:
                ents.append(f"I-{after.ent_type_}")
            elif gap.takes and before is not None and before.ent_iob in (1, 3):
                ents.append(f"I-{before.ent_type_}")
            elif doc.has_annotation("ENT_IOB"):
                ents.append("O")
            else:
                ents.append("")
        if i == len(doc):
            break
        token = doc[i]
        new.append(len(words))
        words.append(token.text)
        spaces.append(bool(token.whitespace_))
        tags.append(token.tag_)
        pos.append(token.pos_)
        morphs.append(token.morph if token.has_morph() else None)
        heads.append(token.head.i)
        deps.append(token.dep_)
        start = {1: True, -1: False}.get(token.sent_start)
        if i in by_place and starts[-1]:
            start = None
        starts.append(start)
        ent = token.ent_type_
        ents.append("" if token.ent_iob == 0 else f"{token.ent_iob_}-{ent}".rstrip("-"))
    spaced = Doc(
        doc.vocab,
        words=words,
        spaces=spaces,
        tags=tags,
        pos=pos,
        heads=[new[head] for head in heads] if has_heads else None,
        deps=deps if has_heads else None,
        sent_starts=None if has_heads else starts,
        ents=ents if doc.has_annotation("ENT_IOB") else None,
    )
    for token, morph in zip(spaced, morphs, strict=True):
        if morph is not None:
            token.set_morph(morph)
    return spaced


def words_of(doc):
    return [token for token in doc if not token.is_space]


def annotation(doc):
    """All that the words of a doc have, by their numbers."""
    words = words_of(doc)
    number = {token.i: n for n, token in enumerate(words)}
    tokens = [
        (
            token.text,
            token.tag_,
            number[token.head.i],
            token.dep_,
            token._.dynsel_tag_confidence,
            token._.dynsel_arc_confidence,
        )
        for token in words
    ]
    first = {min(number[t.i] for t in sent if not t.is_space) for sent in doc.sents}
    return tokens, sorted(first)


def entities(doc):
    """The entities of a doc, by the numbers of their words."""
    number = {token.i: n for n, token in enumerate(words_of(doc))}
    for ent in doc.ents:
        assert not ent[0].is_space
        assert not ent[-1].is_space
    return [
        (number[ent.start], number[ent.end - 1], ent.label_, ent._.dynsel_confidence)
        for ent in doc.ents
    ]


def random_gaps(n, share, seed, texts=SPACES):
    rng = np.random.default_rng(seed)
    return [
        Gap(place, texts[rng.integers(len(texts))], bool(rng.integers(2)))
        for place in range(n + 1)
        for _ in range(rng.choice([0, 0, 1, 2]) if rng.random() < share else 0)
    ]


@pytest.fixture(scope="module")
def nlp():
    nlp = spacy.blank("en")
    nlp.add_pipe("dynsel_tagger")
    nlp.add_pipe("dynsel_parser")
    for name, model in NER.items():
        # Few examples: let it find some entities all the same.
        config = {"model": model, "o_bias": -3.0}
        nlp.add_pipe("dynsel_ner", name=name, config=config)
    examples = make_examples(nlp, read_docs(nlp.vocab, "train", 150))
    nlp.initialize(lambda: examples)
    learn(nlp, examples, 3)
    for name in nlp.pipe_names:
        component = nlp.get_pipe(name)
        n_leads = {"dynsel_tagger": 1, "dynsel_parser": 3}.get(name, 2)
        # Each lead and each group counts.
        weights = [
            [group / 10, *(0.1 * (i + 1 + group) for i in range(n_leads))]
            for group in range(component.engine.n_groups)
        ]
        component.set_confidence_map(
            ConfidenceMap("platt", [20.0] * n_leads, 1.0, weights, [0.0], [0.5])
        )
        component.confidence = True
    return nlp


def annotate(nlp, docs, name):
    """Let the tagger, the parser and one of the recognizers do their work."""
    for pipe in ("dynsel_tagger", "dynsel_parser", name):
        docs = list(nlp.get_pipe(pipe).pipe(docs))
    return docs


def sample_words():
    docs = read_docs(Vocab(), "test", 40)
    return sorted({token.text for doc in docs for token in doc})


TEXT_WORDS = [*sample_words(), "London", "London", "New", "York", "White", "House"]


@st.composite
def docs_with_gaps(draw):
    words = draw(st.lists(st.sampled_from(TEXT_WORDS), min_size=1, max_size=25))
    starts = None
    if draw(st.booleans()):
        start = st.sampled_from([None, None, True, False])
        starts = draw(st.lists(start, min_size=len(words), max_size=len(words)))
        starts[0] = True
    gap = st.builds(
        Gap, st.integers(0, len(words)), st.sampled_from(SPACES), st.booleans()
    )
    return words, starts, draw(st.lists(gap, max_size=12))


@settings(max_examples=60, deadline=None)
@given(docs_with_gaps(), st.sampled_from(sorted(NER)))
def test_words_do_not_see_white_space(nlp, doc_with_gaps, name):
    words, starts, gaps = doc_with_gaps
    bare = Doc(nlp.vocab, words=words, sent_starts=starts)
    spaced = insert(bare, gaps)
    one, other = annotate(nlp, [bare], name)[0], annotate(nlp, [spaced], name)[0]
    assert annotation(other) == annotation(one)
    assert entities(other) == entities(one)
    for token in words_of(other):
        assert token.tag_ != "_SP"
    for token in other:
        if token.is_space:
            assert token.tag_ == "_SP"
            assert token._.dynsel_confidence is None
            assert token.ent_iob in (1, 2)
    # Explanations, one for a token.
    tagger, parser, ner = (
        nlp.get_pipe(pipe) for pipe in ("dynsel_tagger", "dynsel_parser", name)
    )
    for component in (tagger, ner):
        plain = component.explain(strip(bare))
        own = component.explain(strip(spaced))
        of_words = [own[token.i] for token in words_of(spaced)]
        assert of_words == plain
        for token, why in zip(spaced, own, strict=True):
            if token.is_space:
                assert (why.lead, why.stage, why.contributions) == (math.inf, 0, {})
        if starts is None and component is tagger:
            assert [why.label for why in own] == [token.tag_ for token in spaced]
    assert len(parser.explain(spaced)) == len(spaced)
    for component in (tagger, parser, ner):
        one, other = (component.statistics([strip(doc)]) for doc in (bare, spaced))
        one.pop("tokens"), other.pop("tokens")
        assert one == other


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("name", sorted(NER))
def test_many_docs_and_long_sentences(nlp, name, n_threads):
    """Several threads, and sentences that are longer than what is tagged at once."""
    rng = np.random.default_rng(0)
    docs = [
        Doc(
            nlp.vocab,
            words=[TEXT_WORDS[i] for i in rng.integers(0, len(TEXT_WORDS), n)],
            sent_starts=[True] + [False] * (n - 1) if n > 2000 else None,
        )
        for n in (1500, 0, 2600, 300, 1, 1500)
    ]
    spaced = [
        insert(doc, random_gaps(len(doc), 0.3, seed)) for seed, doc in enumerate(docs)
    ]
    # Nothing but white space for longer than a block.
    spaced.append(insert(docs[3], [Gap(150, "\n", False)] * 3000))
    docs.append(docs[3].copy())
    for pipe in ("dynsel_tagger", "dynsel_parser", name):
        nlp.get_pipe(pipe).n_threads = n_threads
    for one, other in zip(
        annotate(nlp, docs, name), annotate(nlp, spaced, name), strict=True
    ):
        assert annotation(other) == annotation(one)
        assert entities(other) == entities(one)


def train(factory, model, docs, *, predicted=None, copies="both"):
    """The bytes of a component that has learned from docs."""
    nlp = spacy.blank("en")
    config = {"model": model}
    if factory != "dynsel_parser":
        config["model"] = {**model, "learner": {"copies": copies}}
    component = nlp.add_pipe(factory, config=config)
    docs = [Doc(nlp.vocab).from_bytes(doc.to_bytes()) for doc in docs]
    examples = [
        Example(strip(own, nlp.vocab), doc)
        for doc, own in zip(docs, predicted or docs, strict=True)
    ]
    nlp.initialize(lambda: examples)
    losses = {}
    for _ in range(2):
        for i in range(0, len(examples), 8):
            nlp.update(examples[i : i + 8], drop=0.1, losses=losses)
            if factory != "dynsel_ner":
                # What annotating components do between updates.
                component.predict(
                    [example.predicted for example in examples[i : i + 2]]
                )
    return component.engine.to_bytes()


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize(
    ("factory", "model"),
    [
        ("dynsel_tagger", {}),
        ("dynsel_tagger", {"folds": 3}),
        ("dynsel_morphologizer", {"seeds": 2, "folds": 3}),
        *(("dynsel_ner", model) for model in NER.values()),
        ("dynsel_parser", {}),
        ("dynsel_parser", {"seeds": 2, "folds": 0}),
    ],
)
def test_training_does_not_see_white_space(factory, model, size):
    """The same data with white space give the same model, byte by byte."""
    docs = read_docs(spacy.blank("en").vocab, "train", 64)
    if size > 1:
        docs = [Doc.from_docs(docs[i : i + size]) for i in range(0, len(docs), size)]
    spaced = [
        insert(doc, random_gaps(len(doc), 0.4, seed)) for seed, doc in enumerate(docs)
    ]
    assert sum(map(len, spaced)) > 1.2 * sum(map(len, docs))
    expected = train(factory, model, docs)
    assert train(factory, model, spaced) == expected
    # White space in the predicted docs alone, or in the reference alone.
    assert train(factory, model, docs, predicted=spaced) == expected
    assert train(factory, model, spaced, predicted=docs) == expected


def test_docs_without_words(nlp):
    for words in ([], ["\n"], ["\n\n", " ", "\t"]):
        doc = Doc(nlp.vocab, words=words)
        nlp(doc)
        assert [token.tag_ for token in doc] == ["_SP"] * len(words)
        assert not doc.ents
        assert not any(token.ent_iob in (0, 1, 3) for token in doc)
        if words:
            assert [token.head.i for token in doc] == [0] * len(words)
        for name in nlp.pipe_names:
            component = nlp.get_pipe(name)
            assert len(component.explain(doc)) == len(words)
            statistics = component.statistics([Doc(nlp.vocab, words=words)])
            assert sum(statistics["stages"]) == 0


@pytest.mark.parametrize(
    ("factory", "annotated"),
    [
        ("dynsel_tagger", {"tags": ["_SP", "_SP"]}),
        ("dynsel_morphologizer", {"pos": ["SPACE", "X"], "morphs": ["A=B", ""]}),
        ("dynsel_ner", {"ents": ["B-LOC", "I-LOC"]}),
        ("dynsel_parser", {"heads": [0, 0], "deps": ["ROOT", "dep"]}),
    ],
)
def test_white_space_alone_teaches_nothing(factory, annotated):
    docs = read_docs(spacy.blank("en").vocab, "train", 8)
    vocab = docs[0].vocab
    blank = Doc(vocab, words=["\n", "  "], **annotated)
    empty = Doc(vocab)
    expected = train(factory, {}, [*docs, empty])
    assert train(factory, {}, [*docs, blank]) == expected


# Tags


def test_space_tag_and_overwrite(examples):
    nlp = spacy.blank("en")
    tagger = train_tagger(nlp, examples)
    words = ["\n", "Eat", " ", "blue", "ham", "\n"]
    tags = ["", "XX", "YY", "", "", ""]
    doc = tagger(Doc(nlp.vocab, words=words, tags=tags))
    assert [t.tag_ for t in doc] == ["_SP", "XX", "YY", "JJ", "NN", "_SP"]
    tagger.cfg["overwrite"] = True
    doc = tagger(Doc(nlp.vocab, words=words, tags=tags))
    assert [t.tag_ for t in doc] == ["_SP", "VB", "_SP", "JJ", "NN", "_SP"]
    assert "_SP" in nlp.vocab.strings
    # As arrays, one for a doc.
    doc = Doc(nlp.vocab, words=words)
    labels = [np.asarray(labels) for labels in tagger.predict([doc])]
    tagger.set_annotations([doc], labels)
    assert [t.tag_ for t in doc] == ["_SP", "VB", "_SP", "JJ", "NN", "_SP"]
    # No word is white space.
    with pytest.raises(ValueError, match="DS045"):
        tagger.set_annotations([doc], [np.full(len(doc), labels[0][0])])


def test_space_tag_outlives_memory_zones(examples):
    nlp = spacy.blank("en")
    train_tagger(nlp, examples)
    restored = spacy.blank("en")
    restored.add_pipe("dynsel_tagger")
    restored.from_bytes(nlp.to_bytes())
    with restored.memory_zone():
        restored("Eat \n blue ham")
    assert "_SP" in restored.vocab.strings
    assert [t.tag_ for t in restored("Eat\nham")] == ["VB", "_SP", "NN"]


def test_tags_of_white_space_are_no_labels():
    nlp = spacy.blank("en")
    words = ["Eat", "\n", "ham"]
    gold = Doc(nlp.vocab, words=words, tags=["VB", "SPACE", "NN"])
    example = Example(Doc(nlp.vocab, words=words), gold)
    tagger = train_tagger(nlp, [example])
    assert tagger.labels == ("NN", "VB")
    assert [t.tag_ for t in nlp("Eat\nham")] == ["VB", "_SP", "NN"]
    # Labels that are given are kept, and never predicted for want of examples.
    other = spacy.blank("en").add_pipe("dynsel_tagger")
    other.initialize(lambda: [example], labels=["_SP", "VB", "NN"])
    assert other.labels == ("_SP", "VB", "NN")
    assert (other.get_gold(example).labels == [1, -1, 2]).all()


def test_predicted_between_updates(examples):
    """Annotating components see no white space either."""
    nlp = spacy.blank("en")
    tagger = train_tagger(nlp, examples)
    docs = [nlp.make_doc(text) for text in ("\n Eat\nblue  ham\n", "The\nhits were\t")]
    guessed = tagger.engine.predict_in_training(docs)
    tagger.margin = math.inf
    assert guessed.labels.tolist() == tagger.predict(docs).labels.tolist()


# Entities


def train_ner(texts, direction="ltr", **config):
    """A recognizer that knows some entities by heart; texts are lists of words and
    tags."""
    nlp = spacy.blank("en")
    config = {"model": {"direction": direction}, **config}
    ner = nlp.add_pipe("dynsel_ner", config=config)
    examples = [
        Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, ents=ents))
        for words, ents in texts
    ]
    nlp.initialize(lambda: examples)
    for _ in range(20):
        nlp.update(examples)
    return nlp, ner


TEXTS = [
    (["We", "saw", "New", "York", "today"], ["O", "O", "B-GPE", "I-GPE", "O"]),
    (["Ann", "met", "Bo"], ["B-PER", "O", "B-PER"]),
    (["nothing", "is", "here"], ["O", "O", "O"]),
]


def iobs(doc):
    return [(token.ent_iob_, token.ent_type_) for token in doc]


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_white_space_within_entities(direction):
    nlp, _ = train_ner(TEXTS, direction)
    doc = nlp("\nWe saw \n New\n  York\n\ntoday")
    assert [ent.text for ent in doc.ents] == ["New\n  York"]
    tags = [token.ent_iob_ for token in doc if token.is_space]
    assert tags == ["O", "O", "I", "O"]


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_gold_that_starts_and_ends_on_white_space(direction):
    words = ["We", "saw", "\n", "New", " ", "York", "\n", "\t", "today"]
    tags = ["O", "O", *["B-GPE"], *["I-GPE"] * 5, "O"]
    nlp, ner = train_ner([(words, tags), *TEXTS[1:]], direction)
    gold = Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, ents=tags))
    names = [ner.move_names[action] for action in ner.get_gold(gold).actions]
    assert names == ["O", "O", "O", "B-GPE", "I-GPE", "L-GPE", "O", "O", "O"]
    assert [ent.text for ent in nlp("We saw New York today").ents] == ["New York"]
    one = Doc(nlp.vocab, words=["\n", "Bo", "\n"], ents=["B-PER", "I-PER", "I-PER"])
    gold = ner.get_gold(Example(strip(one), one))
    assert [ner.move_names[a] for a in gold.actions[1:2]] == ["U-PER"]
    spaces = Doc(nlp.vocab, words=["a", "\n", "b"], ents=["O", "B-NEW", "O"])
    ner.update([Example(strip(spaces), spaces)])
    gold = ner.get_gold(Example(strip(spaces), spaces))
    assert gold.actions.tolist() == [0, 0, 0]
    assert "NEW" not in ner.labels


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_preset_entities_with_white_space(direction):
    nlp, ner = train_ner(TEXTS, direction)
    words = ["We", "saw", "\n", "Ann", "\n", "Bo", "\t", "New", "York", "today"]
    doc = Doc(nlp.vocab, words=words)
    doc.set_ents([Span(doc, 2, 7, label="BAND")], default="missing")
    before = iobs(doc)[2:7]
    ner(doc)
    assert iobs(doc)[2:7] == before
    assert [ent.label_ for ent in doc.ents] == ["BAND", "GPE"]
    # The words are seen as an entity, from its first one to its last.
    explained = ner.explain(doc, keep_entities=True)
    labels = [why.label for why in explained[3:6]]
    assert labels == ["B-BAND", "I-BAND", "L-BAND"]
    assert (3, 6) not in [(e.start, e.end) for e in explained.entities]
    assert (2, 7) in [(e.start, e.end) for e in explained.entities]


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
@pytest.mark.parametrize("kind", ["blocked", "entity"])
def test_entities_do_not_reach_over_white_space_that_is_set(direction, kind):
    nlp, ner = train_ner(TEXTS, direction)
    words = ["We", "saw", "New", "\n", "York", "today"]
    doc = ner(Doc(nlp.vocab, words=words))
    assert [(ent.start, ent.end) for ent in doc.ents] == [(2, 5)]
    doc = Doc(nlp.vocab, words=words)
    space = Span(doc, 3, 4, label="GAP")
    if kind == "blocked":
        doc.set_ents([], blocked=[space], default="missing")
    else:
        doc.set_ents([space], default="missing")
    before = iobs(doc)[3]
    ner(doc)
    assert iobs(doc)[3] == before
    assert all(not ent.start < 3 < ent.end - 1 for ent in doc.ents)


def test_incorrect_spans_with_white_space():
    nlp, ner = train_ner(TEXTS, incorrect_spans_key="wrong")
    words = ["\n", "New", "\n", "York", "\n"]
    reference = Doc(nlp.vocab, words=words)
    reference.spans["wrong"] = [
        Span(reference, 0, 5, label="GPE"),
        Span(reference, 4, 5, label="GPE"),
    ]
    gold = ner.get_gold(Example(strip(reference), reference))
    assert [negative[:2] for negative in gold.negatives] == [(1, 4)]
    reference.set_ents([Span(reference, 1, 5, label="GPE")])
    with pytest.raises(ValueError, match="DS101"):
        ner.get_gold(Example(strip(reference), reference))


# Sentences


def train_parser(docs, **config):
    nlp = spacy.blank("en")
    parser = nlp.add_pipe("dynsel_parser", config=config)
    examples = [Example(strip(doc, nlp.vocab), doc) for doc in docs]
    nlp.initialize(lambda: examples)
    for _ in range(3):
        nlp.update(examples)
    return nlp, parser


def make_tree(words, starts=()):
    """Each word hangs on the first one of its sentence."""
    heads = []
    for i in range(len(words)):
        heads.append(i if i == 0 or i in starts else heads[-1])
    deps = ["ROOT" if i == head else "x" for i, head in enumerate(heads)]
    return Doc(spacy.blank("en").vocab, words=words, heads=heads, deps=deps)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n\n", True),
        ("\n \n", True),
        ("\r\n\r\n", True),
        ("\r\r", True),
        ("\n\r", True),
        ("\u2029", True),
        ("\n", False),
        ("\r\n", False),
        (" \t ", False),
        ("\u2028", False),
    ],
)
def test_blank_lines(text, expected):
    assert is_blank_line(text) is expected
    nlp, parser = train_parser([make_tree(["a", "b", "c", "d"])])
    words = [text, "a", "b", text, "c", text]
    for cache_size in (1, 1000):
        parser.cfg["cache_size"] = cache_size
        doc = parser(Doc(nlp.vocab, words=words))
        assert [sent.start for sent in doc.sents] == ([0, 4] if expected else [0])
    between = parser.engine.predict_in_training([Doc(nlp.vocab, words=words)])
    assert between.starts.tolist() == [1, 0, 0, 0, int(expected), 0]
    # What is set wins.
    starts = [None, None, None, None, False, None]
    doc = parser(Doc(nlp.vocab, words=words, sent_starts=starts))
    assert [sent.start for sent in doc.sents] == [0]
    between = parser.engine.predict_in_training(
        [Doc(nlp.vocab, words=words, sent_starts=starts)]
    )
    assert between.starts.tolist() == [1, 0, 0, 0, 0, 0]


def test_split_blank_lines_is_a_setting():
    nlp, parser = train_parser([make_tree(["a", "b", "c", "d"])])
    text = "a b\n\nc d"
    assert parser.split_blank_lines is None
    assert len(list(nlp(text).sents)) == 2
    parser.split_blank_lines = False
    assert len(list(nlp(text).sents)) == 1
    data = nlp.to_bytes()
    again = spacy.blank("en")
    again.add_pipe("dynsel_parser")
    again.from_bytes(data)
    assert again.get_pipe("dynsel_parser").split_blank_lines is False
    assert len(list(again(text).sents)) == 1
    copied = pickle.loads(pickle.dumps(nlp))
    assert len(list(copied(text).sents)) == 1
    parser.split_blank_lines = True
    assert len(list(nlp(text).sents)) == 2
    for value in (1, "yes", 0.0):
        with pytest.raises(ValueError, match="DS021"):
            parser.split_blank_lines = value
    assert parser.split_blank_lines is True
    parser.cfg["split_blank_lines"] = 3
    with pytest.raises(ValueError, match="DS021"):
        nlp(text)


@pytest.mark.parametrize(
    ("n_within", "n_between", "splits"),
    [(0, 0, True), (1, 1, False), (1, 2, True), (2, 0, False)],
)
def test_training_data_decide_about_blank_lines(n_within, n_between, splits):
    """They end sentences unless data say otherwise, and files remember it."""
    within = make_tree(["a", "b", "\n\n", "c"])
    between = make_tree(["a", "b", "\n\n", "c", "d"], starts=[3])
    unknown = Doc(within.vocab, words=["a", "\n\n", "b"])
    docs = [make_tree(["a", "b"]), *[within] * n_within, *[between] * n_between]
    nlp, parser = train_parser([*docs, unknown])
    assert parser.engine.splits_blank_lines is splits
    # Where the classifier finds no sentence start of its own.
    if n_between < 2:
        assert len(list(nlp("a d e f").sents)) == 1
        assert len(list(nlp("a d\n\ne f").sents)) == 1 + splits
    again = spacy.blank("en")
    again.add_pipe("dynsel_parser")
    again.from_bytes(nlp.to_bytes())
    assert again.get_pipe("dynsel_parser").engine.to_bytes() == parser.engine.to_bytes()
    assert again.get_pipe("dynsel_parser").engine.splits_blank_lines is splits
    parser.split_blank_lines = True
    assert len(list(nlp("a d\n\ne f").sents)) == 2


def test_trees_with_white_space_as_heads():
    """Arcs from and to white space are not learned, and their labels are none."""
    vocab = spacy.blank("en").vocab
    doc = Doc(
        vocab,
        words=["\n", "a", "b", " ", "c"],
        heads=[0, 0, 1, 1, 2],
        deps=["ROOT", "x", "y", "space", "z"],
    )
    _, parser = train_parser([doc])
    assert parser.labels == ("ROOT", "dep", "y", "z")
    gold = parser.get_gold(Example(strip(doc), doc))
    assert gold.heads.tolist() == [-1, -1, 1, -1, 2]


# What it is built on


def test_words_and_starts():
    vocab = spacy.blank("en").vocab
    doc = Doc(vocab, words=["\n", "a", " ", "\n\n", "b", "\n", "c", "\n\n"])
    words = find_words(doc)
    assert words.tolist() == [1, 4, 6]
    assert find_blank_lines(doc).tolist() == [False, True, False]
    starts = np.array([1, 0, 0, 1, -1, -1, 0, 1], dtype="int32")
    assert hand_on_starts(starts, words).tolist() == [1, 1, 0]
    assert have_same_words(doc, Doc(vocab, words=["a", "b", "c"]))
    assert not have_same_words(doc, Doc(vocab, words=["a", "b", "\n"]))
    assert not have_same_words(doc, Doc(vocab, words=["a", "b", "d", "\n"]))
    assert have_same_words(Doc(vocab), Doc(vocab, words=[" "]))


@pytest.mark.parametrize("getters", [{}, {NORM: str.lower}])
def test_vocabularies_without_attributes(getters):
    """What a vocabulary leaves empty comes from the string."""
    plain = spacy.blank("xx")
    texts = [
        ("I like green Eggs", "PRP VBP JJ NNS"),
        ("Eat 12 hams .", "VB CD NNS ."),
        ("London hits Paris", "NNP VBZ NNP"),
    ]
    examples = [make_example(plain, words, tags) for words, tags in texts]
    expected = train_tagger(plain, examples)
    bare = spacy.blank("xx", vocab=Vocab(lex_attr_getters=getters))
    examples = [make_example(bare, words, tags) for words, tags in texts]
    tagger = train_tagger(bare, examples)
    assert bare.vocab["Eggs"].shape == 0
    assert tagger.engine.to_bytes() == expected.engine.to_bytes()
    doc = tagger(Doc(bare.vocab, words=["Eat", "\n", "12", "\n\n", "hams"]))
    assert [token.tag_ for token in doc] == ["VB", "_SP", "CD", "_SP", "NNS"]


def test_parser_of_a_vocabulary_with_norms_only():
    """Words can be told apart, so that a label for one of them is learned."""
    vocab = Vocab(lex_attr_getters={NORM: lambda text: text})
    nlp = spacy.blank("xx", vocab=vocab)
    nlp.add_pipe("dynsel_parser")
    words = ["a", "b", "c", "d"]
    gold = Doc(
        vocab,
        words=words,
        heads=[1, 1, 3, 3],
        deps=["right", "ROOT", "left", "ROOT"],
    )
    examples = [Example(Doc(vocab, words=words), gold)]
    nlp.initialize(lambda: examples)
    for _ in range(40):
        nlp.update(examples)
    doc = nlp(Doc(vocab, words=words))
    assert [token.dep_ for token in doc] == ["right", "ROOT", "left", "ROOT"]
