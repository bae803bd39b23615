"""The command that orders templates, for all tasks."""

import subprocess
import sys

import pytest

from helpers.cli import overrides, write_corpus
from helpers.paths import CONFIGS
from spacy_dynsel.base.templates import read_templates
from spacy_dynsel.cli.checkpoints import choose_checkpoints
from spacy_dynsel.cli.order import order
from spacy_dynsel.ordering.journal import Journal


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "train.spacy")


@pytest.mark.parametrize("method", ["wrapper", "lasso", "gomp", "contribution"])
def test_tagging(method, corpus, tmp_path):
    output = tmp_path / "out.txt"
    order(CONFIGS / "tagger.cfg", output, method=method, overrides=overrides(corpus))
    templates = read_templates(output)
    assert str(templates.templates[0]) == "suffix1"
    assert {str(one) for one in templates.templates} == {
        "prefix1[1]",
        "suffix1",
        "shape[-1]",
    }
    assert templates.checkpoints == (1, 2, 3)
    assert set(tmp_path.iterdir()) == {corpus, output}


def test_entities(corpus, tmp_path):
    output = tmp_path / "out.txt"
    settings = overrides(corpus, "ner", ["lower[-2]", "action[-1]", "suffix1"])
    order(CONFIGS / "ner.cfg", output, n_places=2, each=False, overrides=settings)
    templates = read_templates(output)
    assert len(templates.templates) == 2
    assert templates.checkpoints == (2,)


@pytest.mark.parametrize("part", ["actions", "labels", "boundaries"])
def test_parsing(part, corpus, tmp_path):
    output = tmp_path / "out.txt"
    order(
        CONFIGS / "parser.cfg",
        output,
        name="parser",
        part=part,
        method="contribution",
        n_places=3,
        limit=20,
        overrides={"paths.train": str(corpus)},
    )
    assert len(read_templates(output).templates) == 3


def test_first_stage_that_others_read(corpus, tmp_path):
    """Tags of words to come are what the first stage says: it stays what it is."""
    output = tmp_path / "out.txt"
    lines = ["prefix1", "suffix1", "---", "tag[-1]", "tag[+1] shape"]
    settings = overrides(corpus, templates=lines)
    order(CONFIGS / "tagger.cfg", output, overrides=settings)
    templates = read_templates(output)
    assert [str(one) for one in templates.templates[:2]] == ["suffix1", "prefix1"]
    assert templates.checkpoints == (2, 3, 4)
    settings["components.tagger.model.templates.lines"] = templates.to_lines()
    found = choose_checkpoints(CONFIGS / "tagger.cfg", output, overrides=settings)
    assert found.stages[0].end == 2
    assert read_templates(output).checkpoints[0] == 2


def test_held_out_file(corpus, tmp_path):
    output = tmp_path / "out.txt"
    held_out = write_corpus(tmp_path / "dev.spacy", n=10)
    order(
        CONFIGS / "tagger.cfg",
        output,
        held_out_path=held_out,
        overrides=overrides(corpus),
    )
    assert "60 held-out decisions" in output.read_text()


def test_settings_of_the_method(corpus, tmp_path):
    settings = {**overrides(corpus), "ordering.wrapper.fast": True}
    order(CONFIGS / "tagger.cfg", tmp_path / "out.txt", overrides=settings)
    settings["ordering.wrapper.epochs"] = 0
    with pytest.raises(ValueError, match="DS022"):
        order(CONFIGS / "tagger.cfg", tmp_path / "other.txt", overrides=settings)
    assert not (tmp_path / "other.txt").exists()


@pytest.mark.parametrize("n_places", [0, 4, -1])
def test_impossible_number_of_templates(n_places, corpus, tmp_path):
    with pytest.raises(ValueError, match="DS132"):
        order(
            CONFIGS / "tagger.cfg",
            tmp_path / "out.txt",
            n_places=n_places,
            overrides=overrides(corpus),
        )


def test_templates_of_another_task(corpus, tmp_path):
    settings = overrides(corpus, templates=["lower[S0]"])
    with pytest.raises(ValueError, match="DS001"):
        order(CONFIGS / "tagger.cfg", tmp_path / "out.txt", overrides=settings)


def test_unknown_names(corpus, tmp_path):
    settings = overrides(corpus)
    for change, code in (
        ({"method": "magic"}, "DS133"),
        ({"part": "actions"}, "DS128"),
        ({"name": "nobody"}, "DS134"),
    ):
        with pytest.raises(ValueError, match=code):
            order(
                CONFIGS / "tagger.cfg",
                tmp_path / "out.txt",
                overrides=settings,
                **change,
            )


def test_no_annotation(tmp_path):
    corpus = write_corpus(tmp_path / "bare.spacy", annotated=False)
    for name in ("tagger", "ner", "parser"):
        with pytest.raises(ValueError, match="DS135"):
            order(
                CONFIGS / f"{name}.cfg",
                tmp_path / "out.txt",
                name=name,
                overrides={"paths.train": str(corpus)},
            )


def test_journal_of_another_run(corpus, tmp_path):
    output = tmp_path / "out.txt"
    Journal(tmp_path / "out.txt.journal", "other").do("place 0", lambda: [])
    with pytest.raises(ValueError, match="DS130"):
        order(CONFIGS / "tagger.cfg", output, overrides=overrides(corpus))
    order(CONFIGS / "tagger.cfg", output, restart=True, overrides=overrides(corpus))
    assert output.exists()


def test_command(corpus, tmp_path):
    output = tmp_path / "out.txt"
    command = [sys.executable, "-m", "spacy", "dynsel", "order"]
    arguments = [str(CONFIGS / "tagger.cfg"), str(output), "--method", "contribution"]
    settings = ["--templates", "2", "--paths.train", str(corpus)]
    done = subprocess.run(
        [*command, *arguments, *settings], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(read_templates(output).templates) == 2
