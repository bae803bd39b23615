"""Explanations as tables, and drawings of entities and dependencies."""

import math
import re
from xml.etree import ElementTree

import pytest
import spacy
from spacy.tokens import Doc

from helpers.report import TEXT
from spacy_dynsel.report.drawing import HUES, draw_entities, draw_tree
from spacy_dynsel.report.explained import make_page, make_table, make_text, show
from spacy_dynsel.tasks.arc_eager.explain import ParseExplanation, Transition
from spacy_dynsel.tasks.explanation import Explanation

LONG = 1 / 3
LABELS = [
    Explanation(
        "NNP", 1 + LONG, "NN", 2, 40, {"word": (LONG, -1.0), "shape": (0.1, 0)}
    ),
    Explanation("VBZ", math.inf, "", 1, 34, {}),
]
ARCS = [
    ParseExplanation(1, "nsubj", [], math.inf, False),
    ParseExplanation(
        1,
        "ROOT",
        [
            Transition("LEFT", "nsubj", 0, LONG, "SHIFT", 1, 12, 8),
            Transition("SHIFT", "", 0, 2 + LONG, "LEFT", 2, 30, 0),
        ],
        LONG,
        True,
    ),
]


@pytest.fixture
def doc():
    return Doc(spacy.blank("en").vocab, words=["Ann", "<hits>"])


def test_text_has_two_decimals(doc):
    text = make_text(doc, LABELS)
    first, second = text.strip().splitlines()[2:]
    assert first.split()[:6] == ["Ann", "NNP", "1.33", "NN", "2", "40"]
    assert "word +1.33, shape +0.10" in first
    assert second.split() == ["<hits>", "VBZ", "\N{INFINITY}", "-", "1", "34"]
    first, second = make_text(doc, ARCS).strip().splitlines()[2:]
    assert first.split() == ["Ann", "nsubj", "<hits>", "-", "0", "no"]
    assert second.split()[:6] == ["<hits>", "ROOT", "-", "0.33", "42", "yes"]
    assert "LEFT nsubj 0.33, SHIFT 2.33" in second


@pytest.mark.parametrize("explained", [LABELS, ARCS])
def test_table(doc, explained):
    html = make_table(doc, explained)
    root = ElementTree.fromstring(html)
    rows = root.findall(".//tbody/tr")
    cells = [["".join(td.itertext()) for td in row] for row in rows]
    assert cells == [list(one.cells) for one in show(doc, explained)]
    assert "<hits>" not in html and "&lt;hits&gt;" in html
    assert not re.search(r"\d\.\d{3}", html)


def test_page_needs_nothing_else(doc):
    html = make_page(doc, {"tags": LABELS, "trees": ARCS})
    for name in ("tags", "trees"):
        assert f"<h2>{name}</h2>" in html
    assert html.count("<table") == 2
    assert "prefers-color-scheme: dark" in html
    assert not re.search(r"(src|href)=|@import|url\(", html)
    assert "<hits>" not in html


def test_of_trained_components(pipeline):
    doc = pipeline(TEXT)
    for name in pipeline.pipe_names:
        explained = pipeline.get_pipe(name).explain(doc)
        lines = make_text(doc, explained).strip().splitlines()
        assert len(lines) == 2 + len(doc)
        assert make_table(doc, explained).count("<tr>") == 1 + len(doc)


def test_another_doc(doc):
    with pytest.raises(ValueError, match="DS223"):
        make_text(doc[:1].as_doc(), LABELS)
    assert show(Doc(doc.vocab), []) == []


def test_entities_have_colours_of_their_own(doc):
    words = ["Ann", "<b>", "in", "Rome", "\n", "x", "y"]
    ents = ["B-PER", "B-ORG", "O", "B-GPE", "O", "B-aa", "B-bb"]
    doc = Doc(doc.vocab, words=words, ents=ents)
    html = draw_entities(doc)
    hues = re.findall(r"--hue:(\d+)", html)
    assert len(hues) == len(set(hues)) == 5
    assert "".join(ElementTree.fromstring(html).itertext()) == "".join(
        token.text + (token.ent_type_ or "") + token.whitespace_ for token in doc
    )
    assert HUES["PER"] == HUES["PERSON"]
    assert HUES["LOC"] == HUES["GPE"]
    assert len({HUES[label] for label in ("PER", "ORG", "LOC", "MISC")}) == 4


def read_numbers(text):
    return [float(number) for number in re.findall(r"-?[0-9.]+", text)]


@pytest.mark.parametrize(
    ("heads", "lang"),
    [
        ([1, 1, 1, 2], "en"),
        ([0, 0, 1, 2], "en"),
        # Arcs that cross each other.
        ([2, 3, 2, 2], "en"),
        ([1, 1, 1, 2], "he"),
        ([0], "en"),
    ],
)
def test_trees_are_drawn_as_a_whole(heads, lang):
    words = ["Ann", "hits&", "漢字かな", "."][: len(heads)]
    deps = ["ROOT" if i == head else f"d{i}" for i, head in enumerate(heads)]
    vocab = spacy.blank(lang).vocab
    doc = Doc(vocab, words=words, heads=heads, deps=deps, tags=["<T>"] * len(heads))
    [sent] = doc.sents
    root = ElementTree.fromstring(draw_tree(sent))
    _, _, width, height = read_numbers(root.get("viewBox"))
    texts = root.findall("text")
    labels = [one for one in texts if one.get("class") == "label"]
    assert sorted(one.text for one in labels) == sorted(set(deps) - {"ROOT"})
    for one in texts:
        assert 0 < float(one.get("x")) < width
        assert 0 < float(one.get("y")) < height
    # Nothing is cut off above, and there is no empty band either.
    tops = [float(one.get("y")) for one in labels]
    assert not tops or 10 <= min(tops) <= 20
    # Labels do not hide each other.
    assert len({(one.get("x"), one.get("y")) for one in labels}) == len(labels)
    shown = [one for one in texts if one.get("class") in (None, "root")]
    assert [one.text for one in shown] == words
    places = [float(one.get("x")) for one in shown]
    assert places == sorted(places, reverse=lang == "he")
