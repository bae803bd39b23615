"""Commands say what is wrong, and show no traceback."""

import pytest
from typer.testing import CliRunner

from helpers.cli import write_corpus
from helpers.paths import CONFIGS
from spacy_dynsel.cli import dynsel_cli

TAGGER = str(CONFIGS / "tagger.cfg")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, in which there is a corpus."""
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path / "train.spacy", n=10)
    return tmp_path


def run(command):
    return CliRunner().invoke(dynsel_cli, command.format(cfg=TAGGER).split())


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("order {cfg} out.txt --method best --paths.train train.spacy", "DS133"),
        ("order {cfg} out.txt --paths.train none.spacy", "none.spacy"),
        ("order {cfg} out.txt --paths.train train.spacy --nlp.lang zz", "DS153"),
        ("order {cfg} out.txt", "E913"),
        ("order {cfg} out.txt --paths.train train.spacy --share 0", "DS022"),
        ("order {cfg} out.txt --paths.train train.spacy --share 0.9", "DS022"),
        ("order {cfg} out.txt --ordering.wrapper.fast perhaps", "fast"),
        ("order {cfg} out.txt --ordering.wraper.fast true", "wraper"),
        ("order {cfg} out.txt --fast", "No such option '--fast'"),
        ("checkpoints {cfg} out.txt --paths.train train.spacy --nlp.lang zz", "DS153"),
        ("jackknife {cfg} train.spacy out.spacy --name other", "DS125"),
        ("convert train.spacy out.spacy --lang zz", "DS153"),
        ("convert train.spacy out.spacy --documents --paragraphs", "DS155"),
        ("experiment out", "DS139"),
        ("experiment out --tagging none.spacy none.spacy", "none.spacy"),
        ("experiment out --tagging train.spacy train.spacy --lang zz", "DS153"),
        ("init-config tagger out.cfg --lang zz", "DS153"),
        ("calibrate . train.spacy", "DS137"),
        ("visualize none text", "E050"),
    ],
)
def test_message(command, message, folder):
    before = sorted(folder.rglob("*"))
    result = run(command)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert message in result.output
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("order {cfg} folder --paths.train train.spacy", "output_path"),
        ("order {cfg} out.txt --paths.train train.spacy --limit -1", "--limit"),
        ("checkpoints {cfg} folder --paths.train train.spacy", "output_path"),
        ("checkpoints {cfg} out.txt --most 0", "--most"),
        ("checkpoints {cfg} out.txt --overhead -1", "--overhead"),
        ("jackknife {cfg} train.spacy folder", "output_path"),
        ("experiment train.spacy --tagging train.spacy train.spacy", "output_path"),
        ("experiment out --limit -1", "--limit"),
        ("init-config best out.cfg", "best"),
        ("init-config tagger out.cfg --best", "--best"),
        ("init-config tagger folder", "output_path"),
        ("init-config tagger train.spacy", "output_path"),
        ("init-config parser out.cfg --gazetteers", "--gazetteers"),
        ("visualize pipeline text --output folder", "--output"),
    ],
)
def test_usage(command, option, folder):
    """What can be seen from the arguments alone is said before any work is done."""
    (folder / "folder").mkdir()
    result = run(command)
    assert result.exit_code == 2
    assert option in result.output
