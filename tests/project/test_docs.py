"""Every Python block of the README and the guide runs, commands are what they are said to
be, and every link leads somewhere."""

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

from helpers.paths import ROOT
from spacy_dynsel.cli import dynsel_cli
from spacy_dynsel.spacy_io.bridge import LEXICAL_COLUMNS
from spacy_dynsel.tasks.arc_eager import places as parse_places
from spacy_dynsel.tasks.bilou import engine as bilou
from spacy_dynsel.tasks.tagging import engine as tagging

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WITHOUT_CODE = ["results.md"]


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
    rows = re.findall(r"^\| ((?:tagger|rec|parser).*?) \| (.*) \| (.*) \|$", page, re.M)
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
        **{("parser", part): has for part, has in parse_places.PLACES.items()},
    }
    expected = {
        key: {column: list(places) for column, places in columns.items()}
        for key, columns in expected.items()
    }
    assert read_places() == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf8")):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
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
    for path in re.findall(r"(?:configs|benchmarks|examples)/\w+\.(?:cfg|py)", text):
        assert (ROOT / path).exists(), path


@pytest.mark.slow
def test_from_a_corpus_to_a_tagger(tmp_path):
    """The commands of the guide, as they stand there, on the embedded corpus."""
    text = (ROOT / "docs" / "guide.md").read_text("utf8")
    [block] = re.findall(
        r"```bash\n(python -m spacy dynsel convert assets.*?)```", text, flags=re.DOTALL
    )
    for folder in ("assets", "configs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for line in block.splitlines():
        command = [sys.executable, *shlex.split(line)[1:]]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "page.html").exists()
    nlp = spacy.load(tmp_path / "out" / "model-best")
    assert [token.tag_ for token in nlp("She hits the ball.")][-2:] == ["NN", "."]
    assert "promise" in nlp.meta["dynsel"]["tagger"]
