"""Students: what a teacher is sure of is learned, and nothing is annotated twice."""

import json
import shutil

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from typer.testing import CliRunner

from helpers.little_pipeline import make_pipeline
from spacy_dynsel.cli import _shards, dynsel_cli
from spacy_dynsel.cli._shards import Shards, keep_sure
from spacy_dynsel.cli.distill import distill, make_student_config
from spacy_dynsel.corpus.raw_text import RawText
from spacy_dynsel.pipeline.confidences import ANY, ARC, TAG

LINES = [
    "Ann hits her ball .",
    "She saw York now .",
    "Ann saw her .",
    "She hits York .",
]
QUICK = {
    "training.max_epochs": 2,
    "training.eval_frequency": 5,
    "training.batcher.n_batches": 5,
    "training.logger.progress_bar": False,
    "components.parser.model.folds": 0,
    "components.parser.model.seeds": 1,
    "components.ner.model.seeds": 1,
    "components.tagger.model.folds": 0,
}


@pytest.fixture(scope="module")
def teacher():
    return make_pipeline()


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("\n\n".join(LINES * 12) + "\n", encoding="utf8")
    return path


def read(folder, vocab):
    return [
        doc
        for path in sorted(folder.glob("*.spacy"))
        for doc in DocBin().from_disk(path).get_docs(vocab)
    ]


@pytest.fixture(scope="module")
def distilled(teacher, tmp_path_factory):
    folder = tmp_path_factory.mktemp("distilled")
    raw = folder / "raw.txt"
    raw.write_text("\n".join(LINES * 15), encoding="utf8")
    gold = Doc(teacher.vocab, words=LINES[0].split(), tags=["X"] * 5)
    DocBin(docs=[gold] * 10).to_disk(folder / "gold.spacy")
    found = distill(
        teacher,
        RawText([raw]),
        folder / "out",
        gold_path=folder / "gold.spacy",
        gold_dev_path=folder / "gold.spacy",
        overrides=QUICK,
    )
    return folder / "out", found


def test_the_student_has_what_the_teacher_has(distilled):
    folder, found = distilled
    nlp = spacy.load(folder / "model-best")
    assert nlp.pipe_names == ["tagger", "parser", "ner"]
    doc = nlp("She saw York now .")
    assert [token.tag_ for token in doc] == ["PRP", "VBD", "NNP", "RB", "."]
    assert [ent.text for ent in doc.ents] == ["York"]
    assert found == json.loads((folder / "report.json").read_text("utf8"))
    assert found["agreement"]["dep_uas"] > 0.9
    assert {"tag_acc"} <= set(found["student"]) & set(found["teacher"])
    assert set(found["speed"]) == {"student", "teacher"}


def test_gold_data_win_where_they_hold_the_text(distilled, teacher):
    folder, _ = distilled
    docs = read(folder / "train", teacher.vocab)
    assert [doc[0].tag_ for doc in docs[:10]] == ["X"] * 10
    assert all(doc.text != LINES[0] for doc in docs[10:])
    assert {doc.text for doc in docs[10:]} == set(LINES[1:])


def test_nothing_is_annotated_twice(teacher, raw, tmp_path, monkeypatch):
    monkeypatch.setattr(_shards, "LINES", 7)
    whole = Shards(tmp_path / "whole", teacher, RawText([raw]))
    known = whole.annotate()
    assert known == {"TAG", "DEP", "ENT_IOB"}

    nlp = make_pipeline()
    seen = []
    pipe = nlp.pipe

    def stop_after_three(lines, **settings):
        if len(seen) == 3:
            raise KeyboardInterrupt
        seen.append(len(lines))
        return pipe(lines, **settings)

    monkeypatch.setattr(nlp, "pipe", stop_after_three)
    part = Shards(tmp_path / "part", nlp, RawText([raw]))
    with pytest.raises(KeyboardInterrupt):
        part.annotate()
    assert len(list(part.train.iterdir())) == 3
    seen.clear()
    monkeypatch.setattr(nlp, "pipe", lambda lines: seen.extend(lines) or pipe(lines))
    assert part.annotate() == known
    assert len(seen) == 48 - 21
    seen.clear()
    assert part.annotate() == known
    assert not seen
    for one, other in ((whole.train, part.train), (whole.held_out, part.held_out)):
        assert [doc.to_json() for doc in read(one, teacher.vocab)] == [
            doc.to_json() for doc in read(other, teacher.vocab)
        ]
    assert len(read(part.held_out, teacher.vocab)) == 2
    # Another setting, or a damaged state.
    with pytest.raises(ValueError, match="DS342"):
        Shards(tmp_path / "part", nlp, RawText([raw]), max_words=5).annotate()
    (tmp_path / "part" / "state.json").write_text("{", encoding="utf8")
    with pytest.raises(ValueError, match="DS342"):
        part.annotate()


def test_what_the_teacher_is_not_sure_of_is_missing(teacher):
    doc = teacher("She saw York now .")
    assert doc.ents
    doc[0]._.set(TAG, 0.5)
    doc[1]._.set(TAG, 0.95)
    doc[3]._.set(ARC, 0.2)
    doc.ents[0]._.set(ANY, 0.1)
    kept = keep_sure(doc, 0.9)
    assert [token.tag_ for token in kept] == ["", *(t.tag_ for t in doc[1:])]
    assert [token.has_dep() for token in kept] == [True, True, True, False, True]
    assert [token.ent_iob_ for token in kept] == ["O", "O", "", "O", "O"]
    assert [token.head.i for token in keep_sure(doc, 0.0)] == [t.head.i for t in doc]


def test_few_lines_are_enough(teacher, tmp_path):
    raw = tmp_path / "raw.txt"
    raw.write_text("Ann hits her ball .\nShe saw York now .\n", encoding="utf8")
    shards = Shards(tmp_path / "few", teacher, RawText([raw]))
    shards.annotate()
    assert [doc.text for doc in read(shards.train, teacher.vocab)] == [LINES[0]]
    assert [doc.text for doc in read(shards.held_out, teacher.vocab)] == [LINES[1]]


@pytest.mark.parametrize("text", ["", "\n \n", "Ann hits .\n"])
def test_too_little_text(teacher, tmp_path, text):
    raw = tmp_path / "raw.txt"
    raw.write_text(text, encoding="utf8")
    with pytest.raises(ValueError, match="DS341"):
        distill(teacher, RawText([raw]), tmp_path / "out")
    shutil.rmtree(tmp_path / "out", ignore_errors=True)


def test_a_teacher_that_knows_nothing(raw, tmp_path):
    with pytest.raises(ValueError, match="DS340"):
        distill(spacy.blank("en"), RawText([raw]), tmp_path / "out")


def test_the_command_says_what_is_wrong(teacher, tmp_path):
    teacher.to_disk(tmp_path / "teacher")
    (tmp_path / "raw.txt").write_bytes(b"\xff\xfe\x00")
    command = ["distill", tmp_path / "teacher", tmp_path / "raw.txt", "-o"]
    result = CliRunner().invoke(dynsel_cli, [*map(str, command), str(tmp_path / "out")])
    assert result.exit_code == 1
    assert "DS250" in result.stdout


def test_configs_have_only_what_can_be_learned():
    for known, names in (
        ({"TAG"}, ["tagger"]),
        ({"POS", "LEMMA"}, ["morphologizer", "lemmatizer"]),
        ({"DEP", "LEMMA"}, ["parser"]),
        ({"ENT_IOB"}, ["ner"]),
    ):
        config = make_student_config("en", known)
        assert config["nlp"]["pipeline"] == names
        nlp = spacy.util.load_model_from_config(config, auto_fill=True)
        assert nlp.pipe_names == names
    with pytest.raises(ValueError, match="DS340"):
        make_student_config("en", {"LEMMA"})
