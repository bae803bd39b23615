"""The page that shows how much evidence each word took."""

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import pytest
import spacy

from helpers.report import TEXT
from spacy_dynsel.cli.visualize import render_page

VOID = {"meta", "br"}


class Reader(HTMLParser):
    """The words of a page with their labels; complains about tags that do not match."""

    def __init__(self):
        super().__init__()
        self.open, self.words, self.labels, self.links = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append((tag, dict(attrs).get("class")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open and len(self.open) > 1 and self.open[-2][1] == "word":
            target = {"b": self.words, "i": self.labels}.get(self.open[-1][0])
            if target is not None:
                target.append(data)


def test_shows_each_word(pipeline):
    page = render_page(pipeline, TEXT)
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    doc = pipeline(TEXT)
    assert len(reader.words) == len(reader.labels) == 3 * len(doc)
    shown = [token.text if token.text.strip() else "\N{OPEN BOX}" for token in doc]
    assert reader.words == shown * 3
    assert reader.labels[: len(doc)] == [token.tag_ for token in doc]
    assert reader.labels[len(doc) : 2 * len(doc)] == [token.dep_ for token in doc]
    for token, action in zip(doc, reader.labels[2 * len(doc) :], strict=True):
        assert action[2:] == token.ent_type_
    # Self-contained, and the text is never markup.
    assert all(link.startswith("#") for link in reader.links)
    assert "url(" not in page and "<script" not in page
    assert "<u" not in page and "</u" not in page
    for title in ("dynsel_tagger", "dynsel_ner", "Entities", "Dependencies"):
        assert f"<h2>{title}</h2>" in page
    # Both modes are there, and no colour that only one of them has.
    assert "prefers-color-scheme: dark" in page
    assert "displacy" not in page
    share = re.compile(r"--share:([0-9.]+)")
    assert all(0 <= float(value) <= 1 for value in share.findall(page))


def test_says_what_decided(pipeline):
    doc = pipeline.make_doc("Ann hits York")
    explanation = pipeline.get_pipe("dynsel_tagger").explain(doc)[1]
    page = render_page(pipeline, "Ann hits York")
    assert f"{explanation.label} leads {explanation.runner_up} by" in page
    template, (own, other) = max(
        explanation.contributions.items(), key=lambda item: abs(item[1][0] - item[1][1])
    )
    assert f"<td>{template}</td><td>{own:+.2f}</td><td>{other:+.2f}</td>" in page


def test_bad_input(pipeline):
    with pytest.raises(ValueError, match="DS160"):
        render_page(pipeline, "")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    with pytest.raises(ValueError, match=r"DS161.*sentencizer"):
        render_page(nlp, "text")


def run(*arguments):
    command = [sys.executable, "-m", "spacy", "dynsel", "visualize", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def page(pipeline, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    pipeline.to_disk(folder / "pipeline")
    path = folder / "new" / "page.html"
    done = run(str(folder / "pipeline"), TEXT, "--output", str(path))
    assert done.returncode == 0, done.stderr
    return path


def test_command(page, pipeline):
    assert page.read_text("utf8") == render_page(pipeline, TEXT)
    printed = run(str(page.parent.parent / "pipeline"), TEXT, "--print")
    assert printed.returncode == 0, printed.stderr
    for name in pipeline.pipe_names:
        assert f"= {name} =" in printed.stdout
    # No number has more than two decimals.
    assert re.search(r"\d\.\d\d\b", printed.stdout)
    assert not re.search(r"\d\.\d{3}", printed.stdout)
    failed = run("no/such/pipeline", TEXT, "--output", str(page.parent / "none.html"))
    assert failed.returncode == 1
    assert "E050" in failed.stdout and "Traceback" not in failed.stderr
    assert not (page.parent / "none.html").exists()


def test_in_a_browser(page):
    """A browser sees the same nesting: it moves what stands where it may not."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    dom = subprocess.run(
        [*command, page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    tags = re.compile(r"</?(?:section|div|table|tr|td|th|em|b|i|h2)\b")
    seen = [tag for tag in tags.findall(dom) if tag != "<tbody"]
    assert seen == tags.findall(page.read_text("utf8"))
