"""The embedded corpus is sound, and what checks it finds what is not."""

import re
import shutil
import subprocess
import sys
from collections import defaultdict

import pytest

from helpers.paths import ASSETS
from spacy_dynsel.corpus.conll import read_conllu

SPLITS = ("train", "dev", "test")


def validate(folder):
    return subprocess.run(
        [sys.executable, str(ASSETS / "validate.py"), str(folder)],
        capture_output=True,
        encoding="utf8",
        check=False,
    )


def test_sound_and_described():
    """The counts of the README are those of the corpus."""
    done = validate(ASSETS)
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[1:]}
    readme = (ASSETS / "README.md").read_text("utf8").replace(",", "")
    for name in (*SPLITS, "all"):
        title = "all" if name == "all" else f"`{name}.conllu`"
        assert f"| {' | '.join([title, *rows[name]])} |" in readme
    assert int(rows["all"][1]) >= 1000
    for genre in rows.keys() - {*SPLITS, "all", "no"}:
        assert re.search(rf"^\| {genre} \|.*\| {rows[genre][1]} / ", readme, re.M), (
            genre
        )


def test_ambiguous():
    tags = defaultdict(set)
    for split in SPLITS:
        for sentence in read_conllu(ASSETS / f"{split}.conllu"):
            for word, tag in zip(sentence.words, sentence.tags, strict=True):
                tags[word.lower()].add(tag)
    assert tags["hits"] >= {"VBZ", "NNS"}
    assert tags["that"] >= {"DT", "IN", "WDT"}
    assert tags["to"] >= {"TO", "IN"}
    assert tags["her"] >= {"PRP", "PRP$"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2\tdid\t_\tAUX", "2\tdid\t_\tAUXI", "unknown UPOS"),
        ("\tVBD\t_\t4\taux", "\tVXX\t_\t4\taux", "unknown XPOS"),
        ("\tVBD\t_\t4\taux", "\tVBD\t_\t4\tauxi", "unknown relation"),
        ("\tVBD\t_\t4\taux", "\tVBD\t_\t40\taux", "head 40 out of range"),
        ("\tVBD\t_\t4\taux", "\tVBD\t_\tx\taux", "is not a number"),
        ("\tVBD\t_\t4\taux", "\tVBD\t_\t0\troot", "2 roots"),
        ("5\tthe\t_\tDET\tDT\t_\t7", "5\tthe\t_\tDET\tDT\t_\t5", "out of range"),
        ("\tNN\t_\t4\tobj", "\tNN\t_\t6\tobj", "cycle"),
        ("2\tdid", "3\tdid", "expected 2"),
        ("Entity=B-PER", "Entity=I-PER", "I-PER after O"),
        ("Entity=B-PER", "Entity=B-ANIMAL", "malformed entity"),
        ("8\tyet\t_\tADV\tRB\t_\t4\tadvmod\t_\tSpaceAfter=No", "8\tyet", "2 columns"),
        ("SpaceAfter=No", "_", "is not the words"),
        ("# sent_id = chat-002-01", "# sent_id = chat-002-07", "does not fit"),
        ("# newdoc id = chat-002", "# newdoc id = law-002", "does not fit"),
    ],
)
def test_faults_are_found(old, new, message, tmp_path):
    for split in SPLITS:
        shutil.copy(ASSETS / f"{split}.conllu", tmp_path)
    path = tmp_path / "train.conllu"
    text = path.read_text("utf8")
    assert old in text.split("\n\n")[0]
    path.write_text(text.replace(old, new, 1), "utf8")
    done = validate(tmp_path)
    assert done.returncode == 1
    assert re.search(rf"^train.conllu:\d+: .*{message}", done.stderr, re.M)
