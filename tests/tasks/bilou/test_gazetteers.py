"""Lists of names: reading, matching, and their place in the model."""

import pickle

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from helpers.ner import TEXTS, ents_of, make_examples, train_ner
from spacy_dynsel.tasks.bilou.gazetteer import MAX_ENTRY_TOKENS, MAX_LISTS, match_words
from spacy_dynsel.tasks.bilou.gazetteers import Gazetteers

NLP = spacy.blank("en")
LISTS = {"cities": ["London", "New York", "New York City"], "names": ["shaka khan"]}


def reference_codes(words: list[str], entries: list[str]) -> list[int]:
    """Matching, the slow and obvious way: longest match, leftmost first."""
    lowers = [word.lower() for word in words]
    phrases = [entry.split() for entry in entries]
    codes = [0] * len(words)
    covered = 0
    for start in range(len(words)):
        lengths = [
            len(phrase)
            for phrase in phrases
            if lowers[start : start + len(phrase)] == [word.lower() for word in phrase]
        ]
        if not lengths or start < covered:
            continue
        end = start + max(lengths)
        covered = end
        same = words[start:end] in phrases
        for i in range(start, end):
            kind = (
                3 if end - start == 1 else 0 if i == start else 2 if i + 1 == end else 1
            )
            codes[i] = 1 + 2 * kind + same
    return codes


WORD = st.sampled_from(["a", "A", "b", "B", "c", "\u00e9", "\u00c9"])
ENTRY = st.lists(WORD, min_size=1, max_size=4).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(WORD, min_size=1, max_size=12),
    st.lists(st.lists(ENTRY, min_size=1, max_size=6), min_size=1, max_size=3),
)
def test_matches_equal_the_reference(words, lists):
    named = {f"x{i}": entries for i, entries in enumerate(lists)}
    arrays = Gazetteers(entries=named, tokenize=False).compile()
    lexemes = [NLP.vocab[word] for word in words]
    codes = match_words(
        arrays,
        len(lists),
        np.array([lex.orth for lex in lexemes], dtype="uint64"),
        np.array([lex.lower for lex in lexemes], dtype="uint64"),
    )
    for i, entries in enumerate(lists):
        assert codes[:, i].tolist() == reference_codes(words, entries)


def config_for(direction="rtl", **gazetteers):
    return {
        "direction": direction,
        "gazetteers": {"@misc": "spacy_dynsel.gazetteers.v1", **gazetteers},
    }


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_lists_help_with_unknown_names(nlp, direction):
    cities = ["Paris", "Rome", "San Marino", "Lima", "Cusco", "Santa Fe"]
    data = [("I like Paris.", [(7, 12, "LOC")]), ("I like Peter.", [])]
    data += [("I like San Marino.", [(7, 17, "LOC")]), ("I like Mister Miller.", [])]
    data += [("I like Rome.", [(7, 11, "LOC")]), ("I like Paul.", [])]
    ner = train_ner(
        nlp,
        make_examples(nlp, data),
        model=config_for(direction, entries={"cities": cities}),
    )
    assert ents_of(nlp("I like Cusco.")) == [(7, 12, "LOC")]
    assert ents_of(nlp("I like Santa Fe.")) == [(7, 15, "LOC")]
    assert ents_of(nlp("I like Quentin.")) == []
    names = [str(template) for template in ner.engine.templates.templates]
    assert {"list_cities", "list_cities[-1]", "list_cities[1]", "lists"} <= set(names)


def test_saved_pipelines_need_no_files(nlp, tmp_path):
    path = tmp_path / "cities.txt"
    path.write_text("London\nNew York\n\n  Boston  \n", encoding="utf8")
    ner = train_ner(
        nlp, make_examples(nlp), model=config_for(paths={"cities": str(path)})
    )
    expected = [ents_of(nlp(text)) for text in TEXTS]
    nlp.to_disk(tmp_path / "out")
    path.unlink()
    loaded = spacy.load(tmp_path / "out")
    assert [ents_of(loaded(text)) for text in TEXTS] == expected
    assert loaded.get_pipe("dynsel_ner").to_bytes() == ner.to_bytes()
    copied = pickle.loads(pickle.dumps(loaded))
    assert [ents_of(copied(text)) for text in TEXTS] == expected
    with pytest.raises(ValueError, match="DS110"):
        loaded.initialize(lambda: make_examples(nlp))


def test_files_that_are_not_embedded(nlp, tmp_path):
    path = tmp_path / "cities.txt"
    path.write_text("London\nNew York\n", encoding="utf8")
    model = config_for(paths={"cities": str(path)}, embed=False, tokenize=False)
    train_ner(nlp, make_examples(nlp), model=model)
    expected = [ents_of(nlp(text)) for text in TEXTS]
    nlp.to_disk(tmp_path / "out")
    loaded = spacy.load(tmp_path / "out")
    assert [ents_of(loaded(text)) for text in TEXTS] == expected
    path.write_text("London\n", encoding="utf8")
    with pytest.raises(ValueError, match="DS119"):
        spacy.load(tmp_path / "out")
    path.unlink()
    with pytest.raises(ValueError, match="DS110"):
        spacy.load(tmp_path / "out")


def test_lists_of_another_config(nlp):
    ner = train_ner(nlp, make_examples(nlp), model=config_for(entries=LISTS))
    other = spacy.blank("en").add_pipe("dynsel_ner")
    with pytest.raises(ValueError, match="DS118"):
        other.from_bytes(ner.to_bytes())


def test_entries_are_divided_as_the_text_is(nlp):
    lists = Gazetteers(entries={"x": ["St. John's"]})
    by_tokenizer = lists.compile(nlp.tokenizer)
    by_space = lists.compile()
    assert len(by_tokenizer["folded_keys"]) == len(nlp.make_doc("St. John's"))
    assert len(by_space["folded_keys"]) == 2
    Gazetteers(entries={"x": ["Zzyzx Road"]}).compile(nlp.tokenizer)
    assert "Zzyzx" not in nlp.vocab.strings


def test_matches_stay_within_sentences(nlp):
    model = config_for(entries={"cities": ["London", "New York"]})
    model["templates"] = {"lines": ["lower", "---", "lower[-1]"]}
    ner = train_ner(nlp, make_examples(nlp), model=model)
    words = ["in", "New", "York"]
    whole = ner.explain(Doc(nlp.vocab, words=words))
    assert [why.label for why in whole] == ["O", "B-LOC", "L-LOC"]
    cut = ner.explain(Doc(nlp.vocab, words=words, sent_starts=[True, False, True]))
    assert [why.label for why in cut] == ["O", "O", "O"]
    # The list says the same about all three words: nothing.
    assert len({why.contributions["list_cities"][0] for why in cut}) == 1


def write(tmp_path, data: bytes):
    path = tmp_path / "list.txt"
    path.write_bytes(data)
    return {"x": path}


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda folder: {"paths": {"x": folder / "missing.txt"}}, "DS110"),
        (lambda folder: {"paths": {"x": folder}}, "DS110"),
        (lambda folder: {"paths": write(folder, b"")}, "DS111"),
        (lambda folder: {"paths": write(folder, b"\n \n\t\n")}, "DS111"),
        (lambda folder: {"paths": write(folder, b"\x00\x01\x02abc")}, "DS110"),
        (lambda folder: {"paths": write(folder, b"\xff\xfe\x80\x81")}, "DS110"),
        (lambda folder: {"paths": write(folder, b"word " * 10_000)}, "DS112"),
        (lambda folder: {"entries": {"x": []}}, "DS111"),
        (lambda folder: {"entries": {"x": ["a", 5]}}, "DS117"),
        (lambda folder: {"entries": {"x": "London"}}, "DS117"),
        (lambda folder: {"entries": {"x": 5}}, "DS117"),
        (lambda folder: {"entries": {"x": ["a"]}, "paths": {"x": folder}}, "DS113"),
        (lambda folder: {"entries": {"no name": ["a"]}}, "DS115"),
        (
            lambda folder: {"entries": {f"x{i}": ["a"] for i in range(MAX_LISTS + 1)}},
            "DS114",
        ),
        (lambda folder: {"entries": {"x": ["a"]}, "embed": False}, "DS116"),
    ],
)
def test_bad_lists(nlp, tmp_path, make, code):
    with pytest.raises(ValueError, match=code):
        Gazetteers(**make(tmp_path)).compile()


def test_a_file_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "list.txt"
    path.write_bytes("\ufeffLondon\r\nNew York\r\n".encode())
    assert Gazetteers(paths={"x": path}).read() == {"x": ["London", "New York"]}


def test_entries_that_would_take_a_tokenizer_long(nlp):
    with pytest.raises(ValueError, match=r"DS200.*Entry 2"):
        Gazetteers(entries={"x": ["a", "[" * 100_000]}).compile(nlp.tokenizer)


def test_the_longest_entry(nlp):
    entry = " ".join(["w"] * MAX_ENTRY_TOKENS)
    arrays = Gazetteers(entries={"x": [entry]}).compile(nlp.tokenizer)
    assert len(arrays["folded_keys"]) == MAX_ENTRY_TOKENS


def test_any_iterable_will_do(nlp):
    lists = Gazetteers(entries={"x": (f"name{i}" for i in range(3)), "y": {"a b"}})
    assert lists.names == ["x", "y"]
    assert lists.read() == {"x": ["name0", "name1", "name2"], "y": ["a b"]}
    # The same entry in two lists, or twice in one, is no error.
    again = Gazetteers(entries={"x": ["a", "a"], "y": ["a"]})
    arrays = again.compile()
    assert arrays["folded_lists"].tolist() == [3]


@pytest.mark.parametrize("kind", ["one list", "all lists"])
def test_entries_of_a_registered_function(nlp, kind, tmp_path):
    names = ("London", "New York")
    made = {"one list": iter, "all lists": lambda names: {"cities": set(names)}}[kind]
    spacy.registry.misc("test_gazetteers.v1", func=lambda: made(names))
    entries = {"@misc": "test_gazetteers.v1"}
    if kind == "one list":
        entries = {"cities": entries}
    ner = train_ner(nlp, make_examples(nlp), model=config_for(entries=entries))
    assert sorted(ner.engine.gazetteers.read()["cities"]) == sorted(names)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path).get_pipe("dynsel_ner")
    assert loaded.to_bytes() == ner.to_bytes()
