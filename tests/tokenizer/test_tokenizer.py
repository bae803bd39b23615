"""The cached tokenizer gives the tokens of spaCy's, whatever the rules and the text."""

import copy
import pickle
import pkgutil
import re
import threading
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
import spacy
import spacy.lang
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokenizer import Tokenizer
from spacy.training import Example
from spacy.util import get_lang_class
from spacy.vocab import Vocab

from spacy_dynsel.tokenizer.cached import CachedTokenizer

NAME = "spacy_dynsel.CachedTokenizer.v1"
CONFIG = {"nlp": {"tokenizer": {"@tokenizers": NAME}}}
# fmt: off
ATTRS = [
    "ORTH", "NORM", "SPACY", "IDX", "LENGTH", "LEMMA", "TAG", "POS", "MORPH", "DEP",
    "HEAD", "SENT_START", "ENT_IOB", "ENT_TYPE", "ENT_KB_ID", "ENT_ID",
]
# fmt: on
LANGS = sorted(
    module.name for module in pkgutil.iter_modules(spacy.lang.__path__) if module.ispkg
)
SEGMENTED = ["ja", "ko", "th", "vi", "zh"]
SPACES = [" ", "  ", "\n", " \n\n ", "\t", "\u00a0", "\u2028", "\u3000", "\x1c", "\r\n"]
PIECES = [
    *SPACES,
    *"'\"().,:;!?-/*&%$#@_~+=<>[]{}|\\^`€°…\u2013—\u2019“”«»、。',8DpxA",
    *("it's", "It\u2019s", "don't", "can't", "a.m.", "10a.m.", "U.S.", "e.g.", "we're"),
    *(":)", ":-)", "(:", ":(", "8)", ":'(", "<3", "\\n", "\\t", "¯\\(ツ)/¯", "=D"),
    *("http://a.co/x?y=(z)", "www.b.org.", "me@c.de", "#tag", "@user", "1,000.50"),
    *("5km", "20%", "$10", "dyn-o-mite", "and/or", "one...two", "A.B.C."),
    *(
        "d'accord",
        "l\u2019eau",
        "z.B.",
        "İstanbul'da",
        "schön",
        "漢字かな",
        "🙂",
        "👍🏽",
    ),
    *("", "\u200d", "\ufeff", "\0", "e\u0301"),
]


def make_texts(pieces):
    return st.lists(st.sampled_from(pieces), max_size=12).map("".join)


def tokenize(tokenizer, text):
    """All that a tokenizer says about a text, or that it refuses it."""
    try:
        doc = tokenizer(text)
    except (ValueError, AssertionError, KeyError) as error:
        return repr(error)
    edges = [get_edges(token) for token in doc]
    return doc.to_array(ATTRS).tolist(), edges, doc.has_unknown_spaces


def get_edges(token):
    # Beyond the doc, where spaCy has put a special case of several tokens as one.
    try:
        return token.left_edge.i, token.right_edge.i
    except IndexError:
        return None


def assert_same(stock, cached, texts):
    """Twice, so that what is in the cache is compared as well."""
    for _ in range(2):
        for text in texts:
            assert tokenize(cached, text) == tokenize(stock, text), repr(text)


@pytest.fixture(scope="module")
def stock():
    return spacy.blank("en").tokenizer


@pytest.fixture(scope="module")
def cached(stock):
    return CachedTokenizer.from_tokenizer(stock)


@given(texts=st.lists(make_texts(PIECES), min_size=1, max_size=5))
@settings(max_examples=150, deadline=None)
def test_english(stock, cached, texts):
    assert_same(stock, cached, texts)


@given(text=st.text(max_size=40))
@settings(max_examples=150, deadline=None)
def test_any_text(stock, cached, text):
    assert_same(stock, cached, [text])


@pytest.mark.parametrize("lang", LANGS)
def test_languages(lang):
    """Also those that spaCy has a tokenizer of another kind for, with their rules."""
    section = {"@tokenizers": NAME, "replace_segmenter": lang in SEGMENTED}
    cached = spacy.blank(lang, config={"nlp": {"tokenizer": section}}).tokenizer
    assert type(cached) is CachedTokenizer
    rules = sorted(cached.rules)
    pieces = [*PIECES, *rules[:: len(rules) // 40 + 1]]
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(pieces, size=8)) for _ in range(40)]
    with suppress(ModuleNotFoundError):
        texts += import_module(f"spacy.lang.{lang}.examples").sentences
    # What it inherits is spaCy's tokenizer.
    assert_same(partial(Tokenizer.__call__, cached), cached, texts)


@pytest.mark.parametrize("lang", SEGMENTED)
def test_segmenters_are_not_replaced(lang):
    with pytest.raises(ValueError, match=r"DS221.*Leave out"):
        spacy.blank(lang, config=CONFIG)


def test_languages_with_a_segmenter_are_known():
    found = [
        lang
        for lang in LANGS
        if get_lang_class(lang).default_config["nlp"]["tokenizer"]["@tokenizers"]
        != "spacy.Tokenizer.v1"
    ]
    assert found == SEGMENTED


def test_only_rule_tokenizers_are_taken_over():
    nlp = spacy.blank("zh")
    assert [token.text for token in nlp("作为语言")] == list("作为语言")
    for tokenizer in (nlp.tokenizer, None, str.split):
        with pytest.raises(TypeError, match=r"DS220.*Keep it"):
            CachedTokenizer.from_tokenizer(tokenizer)


SMALL = "ab'.-( "
WORDS = st.text(SMALL, min_size=1, max_size=4)


@st.composite
def special_cases(draw):
    """A special case, divided at random, some of its tokens with a norm."""
    word = draw(WORDS)
    cuts = sorted(draw(st.sets(st.integers(0, len(word)))) | {0, len(word)})
    tokens = [{"ORTH": word[i:j]} for i, j in pairwise(cuts)]
    for token in tokens:
        if draw(st.booleans()):
            token["NORM"] = draw(WORDS)
    return word, tokens


def maybe(pattern):
    return st.one_of(st.none(), st.sampled_from(pattern).map(re.compile))


@st.composite
def tokenizer_settings(draw):
    prefix = draw(maybe([r"^['(.]", r"^(ab|-)", r"^a*"]))
    suffix = draw(maybe([r"['.]$", r"(b|\.\.)$", r"'b$"]))
    infix = draw(maybe([r"-", r"(?<=a)\.", r"[.']", r"(?=b)"]))
    token = draw(maybe([r"^a-b$", r"\(a"]))
    url = draw(maybe([r"^[ab]+\.[ab]+$"]))
    return {
        "rules": dict(draw(st.lists(special_cases(), max_size=5))),
        "prefix_search": prefix and prefix.search,
        "suffix_search": suffix and suffix.search,
        "infix_finditer": infix and infix.finditer,
        "token_match": token and token.match,
        "url_match": url and url.match,
        "faster_heuristics": draw(st.booleans()),
    }


@given(
    config=tokenizer_settings(),
    texts=st.lists(st.text(SMALL, max_size=20), min_size=1, max_size=6),
    case=special_cases(),
)
@settings(max_examples=250, deadline=None)
def test_any_rules(config, texts, case):
    vocab = Vocab()
    stock, cached = Tokenizer(vocab, **config), CachedTokenizer(vocab, **config)
    assert_same(stock, cached, texts)
    for tokenizer in (stock, cached):
        tokenizer.add_special_case(*case)
    assert_same(stock, cached, [*texts, case[0], f"({case[0]}'", f"a {case[0]} b"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rules", {"can't": [{"ORTH": "can"}, {"ORTH": "'t", "NORM": "not"}]}),
        ("rules", {}),
        ("prefix_search", re.compile(r"^c").search),
        ("suffix_search", None),
        ("infix_finditer", re.compile(r"n").finditer),
        ("token_match", re.compile(r"^\(.*\)$").match),
        ("url_match", re.compile(r"^http.*").match),
        ("faster_heuristics", False),
    ],
)
def test_follows_changes(name, value):
    stock = spacy.blank("en").tokenizer
    cached = CachedTokenizer.from_tokenizer(stock)
    texts = ["(can't) http://x.y/z :-) (x) can't a.m. dyn-o-mite (it's)"]
    assert_same(stock, cached, texts)
    for tokenizer in (stock, cached):
        setattr(tokenizer, name, value)
    assert cached.n_cached == 0
    assert_same(stock, cached, texts)


@pytest.mark.parametrize("text", [None, 1, b"bytes", "\ud800"])
def test_refuses_what_spacy_refuses(stock, cached, text):
    with pytest.raises((TypeError, UnicodeEncodeError)) as error:
        stock(text)
    with pytest.raises(error.type):
        cached(text)


def test_chunks_of_any_size(stock, cached):
    texts = ["-" * n + "x" * n + " " + "(a" * n for n in (1, 60, 127, 128, 129, 300)]
    assert_same(stock, cached, texts)


def test_pieces_that_do_not_fit_into_the_doc(cached, stock):
    text = "a/b" + "-c" * 30
    assert_same(stock, cached, [text, f"{text} {text} x", ("don't " * 500).strip()])


def test_cache_is_bounded(stock):
    cached = CachedTokenizer.from_tokenizer(stock, max_cache_size=10)
    for i in range(100):
        assert_same(stock, cached, [f"word{i} it's word{i + 1}."])
        assert cached.n_cached <= 10
    cached.max_cache_size = 0
    assert_same(stock, cached, ["none of this is kept"])
    assert cached.n_cached == 0


def test_special_cases_are_cached():
    cached = spacy.blank("en", config=CONFIG).tokenizer
    calls = []
    search = cached.prefix_search
    cached.prefix_search = lambda text: calls.append(text) or search(text)
    cached("don't (don't) other")
    calls.clear()
    cached("other (don't) don't")
    assert calls == []


def test_memory_zone():
    nlp, own = spacy.blank("en"), spacy.blank("en", config=CONFIG)
    own.tokenizer("before it's")
    n_before = own.tokenizer.n_cached
    n_lexemes, n_strings = len(list(own.vocab)), len(own.vocab.strings)
    for i in range(50):
        texts = [f"before it's new{i} (new{i}) other", f"new{i}"]
        with own.memory_zone():
            assert_same(nlp.tokenizer, own.tokenizer, texts)
            assert own.tokenizer.n_cached > n_before
        assert own.tokenizer.n_cached == n_before
    assert len(list(own.vocab)) == n_lexemes
    assert len(own.vocab.strings) == n_strings
    assert_same(nlp.tokenizer, own.tokenizer, ["before it's new1 (new2) other"])


def test_memory_zone_of_the_vocab_alone():
    nlp, own = spacy.blank("en"), spacy.blank("en", config=CONFIG)
    own.tokenizer("before")
    for i in range(20):
        with own.vocab.memory_zone():
            assert_same(nlp.tokenizer, own.tokenizer, [f"before new{i} it's"])
        assert own.tokenizer.n_cached == 1
    assert_same(nlp.tokenizer, own.tokenizer, ["before new1 it's"])


def test_memory_zone_ends_with_an_error():
    own = spacy.blank("en", config=CONFIG)
    with pytest.raises(ZeroDivisionError), own.memory_zone():
        own.tokenizer("within")
        raise ZeroDivisionError
    assert own.tokenizer.n_cached == 0
    own.tokenizer("within")
    assert own.tokenizer.n_cached == 1


def test_lexemes_are_those_of_the_vocab():
    """Also after the vocabulary was loaded anew, with other norms."""
    own = spacy.blank("en", config=CONFIG)
    own.tokenizer("word")
    own.vocab.lookups.add_table("lexeme_norm", {"word": "other"})
    own.vocab.from_bytes(own.vocab.to_bytes())
    assert [token.norm_ for token in own.tokenizer("word")] == ["other"]
    own.vocab["word"].norm_ = "third"
    assert [token.norm_ for token in own.tokenizer("word")] == ["third"]


def test_serialization(tmp_path):
    own = spacy.blank("en", config=CONFIG)
    own.tokenizer.add_special_case("gimme", [{"ORTH": "gim"}, {"ORTH": "me"}])
    own.tokenizer.infix_finditer = re.compile(r"~").finditer
    own.tokenizer.faster_heuristics = False
    own.tokenizer.max_cache_size = 77
    texts = ["gimme a~b (gimme) it's", "\n\n x ~ y"]
    for text in texts:
        own.tokenizer(text)
    own.to_disk(tmp_path / "own")
    fresh = spacy.blank("en", config=CONFIG)
    fresh.tokenizer("gimme a~b")
    fresh.tokenizer.from_bytes(own.tokenizer.to_bytes())
    unpickled = pickle.loads(pickle.dumps(own.tokenizer))
    copied = copy.deepcopy(own.tokenizer)
    loaded = spacy.load(tmp_path / "own").tokenizer
    for other in (unpickled, copied, loaded, fresh.tokenizer):
        assert type(other) is CachedTokenizer
        assert other.to_bytes(exclude=["vocab"]) == own.tokenizer.to_bytes(
            exclude=["vocab"]
        )
        assert_same(own.tokenizer, other, texts)
    assert unpickled.max_cache_size == copied.max_cache_size == 77
    # As a stock tokenizer, and back.
    plain = spacy.blank("en").tokenizer.from_bytes(own.tokenizer.to_bytes())
    assert_same(plain, own.tokenizer, texts)


def test_existing_pipeline_takes_it(tmp_path):
    nlp = spacy.blank("de")
    nlp.tokenizer.add_special_case("gimme", [{"ORTH": "gim"}, {"ORTH": "me"}])
    nlp.to_disk(tmp_path)
    own = spacy.load(tmp_path, config={"nlp.tokenizer.@tokenizers": NAME})
    assert type(own.tokenizer) is CachedTokenizer
    assert_same(nlp.tokenizer, own.tokenizer, ["gimme z.B. was (gimme)"])
    nlp.tokenizer = CachedTokenizer.from_tokenizer(nlp.tokenizer)
    assert [token.text for token in nlp("gimme")] == ["gim", "me"]


def test_in_a_pipeline(nlp):
    own = spacy.blank(
        "en", config={"nlp": {"tokenizer": {"@tokenizers": NAME, "max_cache_size": 5}}}
    )
    assert own.tokenizer.max_cache_size == 5
    texts = [f"It's text {i}, isn't it?" for i in range(20)]
    expected = [[token.text for token in nlp(text)] for text in texts]
    for n_process in (1, 2):
        docs = own.pipe(texts, n_process=n_process, batch_size=5)
        assert [[token.text for token in doc] for doc in docs] == expected
    examples = [Example(own.make_doc(text), nlp.make_doc(text)) for text in texts]
    assert own.evaluate(examples)["token_acc"] == 1.0
    assert own.tokenizer.explain("(it's)") == nlp.tokenizer.explain("(it's)")


def test_rules_that_change_meanwhile():
    """What was tokenized by the old rules is not kept."""
    own = spacy.blank("en", config=CONFIG).tokenizer
    search = own.prefix_search

    def search_and_change(text):
        if text == "gimme" and text not in own.rules:
            own.add_special_case("gimme", [{"ORTH": "gim"}, {"ORTH": "me"}])
        return search(text)

    own.prefix_search = search_and_change
    own("gimme")
    assert [token.text for token in own("gimme")] == ["gim", "me"]


def test_threads():
    """Rules change while other threads tokenize."""
    own = spacy.blank("en", config=CONFIG).tokenizer
    texts = [f"it's gimme word{i % 50} (gimme) www.x{i}.com" for i in range(300)]
    failures = []

    def work():
        for text in texts:
            doc = own(text)
            if doc.text != text:
                failures.append(text)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        own.add_special_case("gimme", [{"ORTH": "gim"}, {"ORTH": "me"}])
        own.max_cache_size = 30
    for thread in threads:
        thread.join()
    assert not failures
    assert [token.text for token in own("gimme")] == ["gim", "me"]


# Those with entities and trees have the texts of those with trees.
@pytest.mark.corpus
@pytest.mark.parametrize(
    ("corpus", "lang"),
    [
        ("ud_en_ewt", "en"),
        ("ud_pt_bosque", "pt"),
        ("ner_en_btc", "en"),
        ("ner_en_wnut17", "en"),
        ("ner_en_wikigold", "en"),
    ],
)
def test_corpora(corpora, corpus, lang):
    folder = corpora / corpus
    if not folder.is_dir():
        pytest.skip(f"{corpus} is not in DYNSEL_DATA")
    cached = spacy.blank(lang, config=CONFIG).tokenizer
    n_tokens = 0
    for path in sorted(folder.glob("*.conll*")):
        sentences = list(read_sentences(path))
        for start in range(0, len(sentences), 20):
            text = "  ".join(sentences[start : start + 20])
            doc, expected = cached(text), Tokenizer.__call__(cached, text)
            assert np.array_equal(doc.to_array(ATTRS), expected.to_array(ATTRS)), text
            n_tokens += len(doc)
    assert n_tokens > 20_000


def read_sentences(path):
    """The texts of CoNLL-U sentences; of other files the words of sentences."""
    words = []
    for line in path.read_text("utf8").split("\n"):
        if line.startswith("# text = "):
            yield line.removeprefix("# text = ")
        elif path.suffix == ".conll":
            if line.strip():
                words.append(re.split(r"[\t ]", line)[0])
            elif words:
                yield " ".join(words)
                words = []
