import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_dynsel.base.templates import (
    DEFAULTS,
    MAX_TEMPLATES,
    default_templates,
    make_templates,
    parse_template,
    parse_templates,
    read_templates,
)
from spacy_dynsel.tasks.arc_eager import places as parse_places
from spacy_dynsel.tasks.bilou import engine as bilou
from spacy_dynsel.tasks.labelling import engine as labelling
from spacy_dynsel.tasks.lemmas import engine as lemmas
from spacy_dynsel.tasks.links.part import PAIR_PLACES, SIBLING, check_templates
from spacy_dynsel.tasks.morphology import engine as morphology
from spacy_dynsel.tasks.tagging import engine as tagging

PLACES = {
    "tagger": tagging.PLACES,
    "cascade": labelling.LEXICAL_PLACES,
    "ner": bilou.PLACES,
    "lemmatizer": lemmas.PLACES,
    "morphologizer": morphology.PLACES,
}


def test_atoms_have_one_spelling():
    assert str(parse_template("word[0]")) == "word"
    assert str(parse_template("lower[+1]")) == "lower[1]"
    assert str(parse_template("word tag[-1]")) == "tag[-1] word"
    assert parse_template("word  tag[-1]") == parse_template("tag[-1] word[+0]")


def test_places_of_other_tasks_are_kept():
    assert str(parse_template("tag[S0] word[N0.left]")) == "tag[S0] word[N0.left]"


def test_file_with_comments_and_checkpoints(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("# a comment\nword\n\nlower[-1]  # why\n---\ntag[-1] word\n")
    templates = read_templates(path)
    assert templates.to_lines() == ["word", "lower[-1]", "---", "tag[-1] word"]
    assert templates.checkpoints == (2, 3)
    assert templates.lines == (2, 4, 6)


def test_checkpoints_can_be_replaced():
    lines = ["word", "---", "lower", "shape", "flags"]
    assert parse_templates(lines).checkpoints == (1, 4)
    assert parse_templates(lines, checkpoints=[2, 3]).checkpoints == (2, 3, 4)
    assert parse_templates(lines, checkpoints=[]).checkpoints == (4,)
    assert parse_templates(lines, checkpoints=[4]).checkpoints == (4,)


@pytest.mark.parametrize(
    ("lines", "options", "code", "words"),
    [
        (["word", "wurd"], {}, "DS001", ["line 2", "'wurd'"]),
        (["word[4]"], {}, "DS001", ["word[4]", "-3"]),
        (["word", "tag[0]"], {}, "DS001", ["line 2", "'tag'"]),
        ([], {}, "DS002", ["empty"]),
        (["# only", ""], {}, "DS002", ["empty"]),
        (["word tag[-1]", "tag[-1] word"], {}, "DS003", ["line 2", "line 1"]),
        (["word"], {"checkpoints": [2]}, "DS004", ["2"]),
        (["word"], {"checkpoints": [0]}, "DS004", ["0"]),
        (["word", "lower"], {"checkpoints": [1, 1]}, "DS004", ["1"]),
        (["---", "word"], {}, "DS005", ["line 1"]),
        (["word", "---", "---", "lower"], {}, "DS005", ["line 3"]),
        ([" ".join(f"prefix{i}" for i in range(1, 8))], {}, "DS006", ["7"]),
        (["word[", "lower"], {}, "DS009", ["'word['"]),
        (["[-1]"], {}, "DS009", ["'[-1]'"]),
        (["word", 3], {}, "DS009", ["line 2"]),
    ],
)
def test_bad_lists_name_line_and_atom(lines, options, code, words):
    with pytest.raises(ValueError, match=code) as caught:
        parse_templates(lines, **options).check_atoms(PLACES["tagger"])
    for word in words:
        assert word in str(caught.value)


def test_too_many_templates():
    lines = [f"x{i}" for i in range(MAX_TEMPLATES + 1)]
    with pytest.raises(ValueError, match="DS007"):
        parse_templates(lines)
    assert len(parse_templates(lines[:-1]).templates) == MAX_TEMPLATES


def test_unreadable_files(tmp_path):
    with pytest.raises(ValueError, match="DS010"):
        read_templates(tmp_path / "missing.txt")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="DS010"):
        read_templates(tmp_path / "binary.txt")


def test_sources_in_a_config(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("word\n---\nlower\n")
    from_file = make_templates(path=path)
    from_lines = make_templates(lines=["word", "---", "lower"])
    assert from_file.to_lines() == from_lines.to_lines()
    assert make_templates(default="tagger").templates
    for options in ({}, {"path": path, "lines": ["word"]}):
        with pytest.raises(ValueError, match="DS008"):
            make_templates(**options)
    with pytest.raises(ValueError, match="DS011"):
        make_templates(default="nonsense")


@pytest.mark.parametrize("name", [path.stem for path in DEFAULTS.glob("*.txt")])
def test_default_lists_are_valid(name):
    templates = default_templates(name)
    task, _, part = name.removesuffix("_clusters").partition("_")
    if part.startswith(("links", "siblings")):
        check_templates(templates, (*PAIR_PLACES, SIBLING))
        return
    if task == "parser":
        templates.check_atoms(parse_places.PLACES[part])
        return
    templates.check_atoms(PLACES[task])
    least = 36 if part == "plain" else {"lemmatizer": 30, "cascade": 42}.get(task, 46)
    assert len(templates.templates) >= least
    # A cascade reads all of them.
    assert len(templates.checkpoints) >= 2 or task == "cascade"


LINES = st.lists(st.text(max_size=20), max_size=8)


@given(LINES)
def test_any_text_is_read_or_refused(lines):
    try:
        templates = parse_templates(lines)
    except ValueError as error:
        assert "[DS" in str(error)
    else:
        assert parse_templates(templates.to_lines()).to_lines() == templates.to_lines()
