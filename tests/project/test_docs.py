"""Every Python block of the pages runs, commands and codes exist, every link leads
somewhere, and the API reference is current."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
import spacy
import srsly
from typer.main import get_command

from helpers.paths import PYTHONPATH, ROOT
from spacy_dynsel.about import __title__, __version__
from spacy_dynsel.base.catalogues import CATALOGUES
from spacy_dynsel.cli import dynsel_cli
from spacy_dynsel.spacy_io.lexemes import LEXICAL_COLUMNS
from spacy_dynsel.tasks.arc_eager import places as parse_places
from spacy_dynsel.tasks.bilou import engine as bilou
from spacy_dynsel.tasks.lemmas import engine as lemmas
from spacy_dynsel.tasks.tagging import engine as tagging

PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
WITHOUT_CODE = [
    *("CHANGELOG.md", "CONTRIBUTING.md", "api.md", "architecture.md", "ordering.md"),
    *("engines.md", "results.md", "troubleshooting.md"),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page, tmp_path, monkeypatch):
    """The blocks of a page build on each other."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text("utf8"), flags=re.DOTALL)
    assert bool(blocks) == (page.name not in WITHOUT_CODE)
    names = {}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)


def read_places():
    """The table of places: for each list of templates the places of its columns."""
    found = {}
    columns = []
    page = (ROOT / "docs" / "templates.md").read_text("utf8")
    rows = re.findall(
        r"^\| ((?:tagger|rec|lemma|parser).*?) \| (.*) \| (.*) \|$", page, re.M
    )
    for lists, names, places in rows:
        task, _, parts = lists.partition(": ")
        names_here = re.findall(r"`(\S+?)`", names)
        if names != "the same":
            of_words = list(LEXICAL_COLUMNS) if "of words" in names else []
            columns = of_words + names_here
            if " but " in names:
                columns = [name for name in of_words if name not in names_here]
        where = [place.lstrip("+") for place in re.findall(r"`(\S+?)`", places)]
        keys = re.findall(r"`(\w+)`", parts) or [parts and "all lists"]
        for key in parse_places.PLACES if keys == ["all lists"] else keys:
            for column in columns:
                found.setdefault((task, key), {})[column] = where or ["0"]
    return found


def test_places_are_those_of_the_tasks():
    expected = {
        ("tagger", ""): tagging.PLACES,
        ("recognizer", ""): bilou.PLACES,
        ("lemmatizer", ""): lemmas.PLACES,
        **{("parser", part): has for part, has in parse_places.PLACES.items()},
    }
    expected = {
        key: {column: list(places) for column, places in columns.items()}
        for key, columns in expected.items()
    }
    assert read_places() == expected


def find_anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", page.read_text("utf8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.*)", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text("utf8")):
        path, _, anchor = re.sub(r"\s", "", link).partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in find_anchors(target), link


def test_each_page_can_be_found_from_the_readme():
    readme = PAGES[0].read_text("utf8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f"](docs/{page.name})" in readme, page.name


def test_the_readme_is_short_and_has_both_commands():
    lines = PAGES[0].read_text("utf8").splitlines()
    assert len(lines) <= 150
    first = next(line for line in lines if "spacy project run all" in line)
    second = next(line for line in lines if line.endswith("&& pytest"))
    assert first == "pip install -e . && spacy project run all"
    assert second == "pip install -e '.[test]' && pytest"


def load_api():
    spec = importlib.util.spec_from_file_location("api", ROOT / "docs" / "make_api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_api_reference_is_current():
    """If not: python docs/make_api.py"""
    api = load_api()
    assert api.PAGE.read_text("utf8") == api.make_page()


def test_the_api_reference_describes_every_setting():
    """A setting without a description is missing in its docstring."""
    bare = re.findall(
        r"^\| `(\w+)` \|[^|]*\|[^|]*\|  \|$", load_api().make_page(), re.M
    )
    assert bare == []


def test_the_citation_has_the_version():
    citation = srsly.read_yaml(ROOT / "CITATION.cff")
    assert citation["version"] == __version__
    assert citation["title"] == __title__


CODES = {name for one in CATALOGUES for name in vars(one) if not name.startswith("_")}


def find_codes(page):
    """The codes that a page mentions, with those between the ends of ranges."""
    text = page.read_text("utf8")
    found = set(re.findall(r"\bD[SW]\d{3}\b", text))
    assert found <= CODES, page.name
    for first, last in re.findall(r"(D[SW]\d{3}) to (D[SW]\d{3})", text):
        found |= {code for code in CODES if first <= code <= last}
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_codes_exist(page):
    assert find_codes(page) <= CODES


def test_troubleshooting_knows_every_code():
    assert find_codes(ROOT / "docs" / "troubleshooting.md") == CODES


WITH_COMMANDS = [page for page in PAGES if page.name != "api.md"]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_commands_have_these_options(page):
    text = page.read_text("utf8").replace("\\\n", " ")
    commands = get_command(dynsel_cli).commands
    for line in re.findall(r"spacy dynsel ([a-z][^`\n]*)", text):
        name, *arguments = shlex.split(line)
        command = commands[name]
        context = command.context_class(command, **command.context_settings)
        _, rest, _ = command.make_parser(context).parse_args(arguments)
        # What is not an option of the command is a setting in a config.
        assert all("." in one for one in rest if one.startswith("--")), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_commands_name_is_there(page):
    text = page.read_text("utf8")
    project = srsly.read_yaml(ROOT / "project.yml")
    known = {command["name"] for command in project["commands"]}
    for name in re.findall(r"spacy project run\s+([a-z-]+)", text):
        assert name in known | set(project["workflows"])
    assert set(re.findall(r"--vars\.(\w+)", text)) <= set(project["vars"])
    folders = "assets|benchmarks|configs|docs|examples|spacy_dynsel|tests"
    for path in re.findall(rf"\b(?:{folders})/[\w/]+\.(?:cfg|md|py)\b", text):
        assert (ROOT / path).exists() or (page.parent / path).exists(), path


@pytest.mark.slow
def test_from_a_corpus_to_a_tagger(tmp_path):
    """The commands of the page, as they stand there, on the embedded corpus and in a
    folder that has nothing else of the checkout."""
    text = (ROOT / "docs" / "training.md").read_text("utf8")
    [block] = re.findall(
        r"```bash\n(python -m spacy dynsel convert assets.*?)```", text, flags=re.DOTALL
    )
    shutil.copytree(ROOT / "assets", tmp_path / "assets")
    for line in block.splitlines():
        command = [sys.executable, *shlex.split(line)[1:]]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": PYTHONPATH},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "page.html").exists()
    nlp = spacy.load(tmp_path / "out" / "model-best")
    assert [token.tag_ for token in nlp("She hits the ball.")][-2:] == ["NN", "."]
    assert "promise" in nlp.meta["dynsel"]["tagger"]
