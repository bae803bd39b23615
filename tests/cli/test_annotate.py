"""The command that shows a text, and annotates corpora."""

import os
import subprocess
import sys

import pytest
import spacy
from typer.testing import CliRunner

from helpers.paths import PYTHONPATH
from helpers.tagger import SENTENCES, make_example, train_tagger
from spacy_dynsel.cli import dynsel_cli


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    nlp = spacy.blank("en")
    train_tagger(nlp, [make_example(nlp, words, tags) for words, tags in SENTENCES])
    path = tmp_path_factory.mktemp("annotate") / "nlp"
    nlp.to_disk(path)
    return str(path)


WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = None
from spacy.cli import setup_cli
sys.argv = ["spacy", "dynsel", "annotate", *sys.argv[1:]]
setup_cli()
"""


def test_a_text_is_shown_without_arrow(pipeline, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    for arguments, status, words in (
        (["--text", "She hits\nthe ball ."], 0, ["\\n", "PRP", "6 tokens in", "tag"]),
        ([str(tmp_path / "a.txt"), "--output", str(tmp_path / "out")], 1, ["DS310"]),
    ):
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_ARROW, pipeline, *arguments],
            env={**os.environ, "PYTHONPATH": PYTHONPATH},
            capture_output=True,
            encoding="utf8",
            check=False,
        )
        assert done.returncode == status, done.stderr
        for word in words:
            assert word in done.stdout + done.stderr
    assert "lemma" not in done.stdout


def test_what_is_asked_for_must_be_clear(pipeline, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a b\n")
    for arguments in (
        [],
        [str(path)],
        [str(path), "--text", "a", "--output", str(tmp_path)],
    ):
        result = CliRunner().invoke(dynsel_cli, ["annotate", pipeline, *arguments])
        assert result.exit_code == 2
        assert "--text" in result.output or "--output" in result.output
