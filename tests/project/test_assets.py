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
        ("2\tdid\tdo\tAUX", "2\tdid\tdo\tAUXI", "unknown UPOS"),
        ("\tVBD\tMood", "\tVXX\tMood", "unknown XPOS"),
        ("Fin\t4\taux", "Fin\t4\tauxi", "unknown relation"),
        ("Fin\t4\taux", "Fin\t40\taux", "head 40 out of range"),
        ("Fin\t4\taux", "Fin\tx\taux", "is not a number"),
        ("Fin\t4\taux", "Fin\t0\troot", "2 roots"),
        ("PronType=Art\t7", "PronType=Art\t5", "out of range"),
        ("\t4\tobj", "\t6\tobj", "cycle"),
        ("Mood=Ind|Number=Sing", "Mood|Number=Sing", "malformed FEATS"),
        ("Mood=Ind|Number=Sing", "Number=Sing|Mood=Ind", "not in order"),
        ("Mood=Ind|Number=Sing", "Mood=Ind|Mood=Ind|Number=Sing", "malformed FEATS"),
        ("Mood=Ind|Number=Sing", "Mood=Ind|Number=Dual", "Number=Dual of .* AUX"),
        ("Degree=Pos", "Degree=Pos|Gender=Fem", "Gender=Fem of .* ADJ"),
        ("Degree=Pos", "_", "ADJ without Degree"),
        ("Degree=Pos", "Degree=Sup", "'Degree=Sup' of .* JJ"),
        ("Tense=Past", "Tense=Pres", "Tense=Pres.* of .* VBD"),
        ("Degree=Pos", "Degree=Pos|ExtPos=ADP", "ExtPos, or a fixed"),
        ("\t4\taux", "\t4\taux:pass", "without Voice=Pass"),
        ("\ttrailer\ttrailer", "\ttrailer\t_", "no lemma"),
        ("\ttrailer\ttrailer", "\ttrailer\tTrailer", "capital in the lemma"),
        ("\ttrailer\ttrailer", "\ttrailer\ttrail", "basic form"),
        ("2\tdid\tdo", "2\tdid\tdid", "lemma 'do', elsewhere 'did'"),
        ("2\tdid", "3\tdid", "expected 2"),
        ("Entity=B-PER", "Entity=I-PER", "I-PER after O"),
        ("Entity=B-PER", "Entity=B-ANIMAL", "malformed entity"),
        ("8\tyet\tyet\tADV\tRB\t_\t4\tadvmod\t_\tSpaceAfter=No", "8\tyet", "2 columns"),
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
