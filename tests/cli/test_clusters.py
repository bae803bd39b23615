"""The command that finds clusters in raw text."""

import random

import pytest
from typer.testing import CliRunner

from spacy_dynsel.cli import clusters, dynsel_cli
from spacy_dynsel.cli.clusters import make_clusters
from spacy_dynsel.corpus.raw_text import RawText
from spacy_dynsel.tasks.word_classes import WordClasses, WordResources

KINDS = {
    "the": "D", "a": "D", "this": "D",
    "dog": "N", "cat": "N", "bird": "N", "fish": "N",
    "sees": "V", "eats": "V", "likes": "V",
}  # fmt: skip


@pytest.fixture
def raw(tmp_path):
    """Sentences in which words of a kind stand in the same places."""
    rng = random.Random(0)
    words = {kind: [w for w, k in KINDS.items() if k == kind] for kind in "DNV"}
    lines = [" ".join(rng.choice(words[kind]) for kind in "DNVDN") for _ in range(400)]
    path = tmp_path / "raw.txt"
    path.write_text("\n".join(lines) + "\n" + "\n".join(["rare", "other"]))
    return path


def run(*options):
    return CliRunner().invoke(dynsel_cli, ["clusters", *map(str, options)])


def test_words_of_a_kind_are_together(raw, tmp_path):
    path = tmp_path / "en.clusters"
    result = run(raw, path, "--classes", 3)
    assert result.exit_code == 0, result.output
    found = WordClasses.from_disk(path)
    assert (found.kind, found.lang) == ("clusters", "en")
    assert set(found.words) == set(KINDS)
    by_word = dict(zip(found.words, found.columns["cluster"].tolist(), strict=True))
    assert len({(KINDS[word], by_word[word]) for word in by_word}) == 3
    assert sorted(path.parent.iterdir()) == [path, raw]
    assert run(raw, path, "--classes", 3).exit_code == 2
    before = path.read_bytes()
    assert run(raw, path, "--classes", 3, "--force", "-t", 3).exit_code == 0
    assert path.read_bytes() == before


def test_an_interrupted_run_goes_on(raw, tmp_path, monkeypatch):
    text = RawText([raw])
    settings = {"n_classes": 3, "sweeps": 4}
    expected = make_clusters(text, tmp_path / "whole", **settings).to_bytes()
    save = clusters.Work.save

    def interrupt(self, name, arrays):
        save(self, name, arrays)
        if name == "classes":
            raise KeyboardInterrupt

    path = tmp_path / "part"
    with monkeypatch.context() as patched:
        patched.setattr(clusters.Work, "save", interrupt)
        with pytest.raises(KeyboardInterrupt):
            make_clusters(text, path, **settings)
    assert not path.exists()
    with monkeypatch.context() as patched:
        patched.setattr(clusters, "count_pairs", None)
        assert make_clusters(text, path, **settings).to_bytes() == expected
    assert path.read_bytes() == expected
    assert not [one for one in tmp_path.iterdir() if one.name.startswith("part.")]


def test_what_is_left_of_other_work_is_not_used(raw, tmp_path):
    path = tmp_path / "out"
    expected = make_clusters(RawText([raw]), path, n_classes=3).to_bytes()
    (tmp_path / "out.counts").write_bytes(b"damaged")
    other = clusters.Work(path, {"other": 1})
    other.save("classes", {})
    assert make_clusters(RawText([raw]), path, n_classes=3).to_bytes() == expected


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--classes", 11], "DS252"),
        (["--classes", 1], "DS022"),
        (["--classes", 100_000], "DS022"),
        (["--min-count", 0], "DS022"),
        (["--min-count", 10_000], "DS251"),
        (["--lang", "qqq"], "DS153"),
        (["--encoding", "utf-16"], "DS250"),
        (["--sweeps", 0], "DS022"),
    ],
)
def test_bad_settings(raw, tmp_path, options, code):
    result = run(raw, tmp_path / "out", *options)
    assert result.exit_code == 1
    assert code in result.output
    assert not (tmp_path / "out").exists()


def test_an_empty_file(tmp_path):
    path = tmp_path / "empty.txt"
    path.touch()
    result = run(path, tmp_path / "out")
    assert "DS251" in result.output


def test_damaged_files_are_refused(raw, tmp_path):
    path = tmp_path / "out"
    data = make_clusters(RawText([raw]), path, n_classes=3).to_bytes()
    assert set(WordResources([path]).read("en")) == {"cluster"}
    with pytest.raises(ValueError, match="DS254"):
        WordResources([path]).read("de")
    with pytest.raises(ValueError, match="DS255"):
        WordResources([path, path]).read("en")
    for bad in (b"", data[:-1], data[:100] + b"x" + data[101:], b"text"):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match="DS253"):
            WordClasses.from_disk(path)
    with pytest.raises(ValueError, match="DS253"):
        WordClasses.from_disk(tmp_path / "none")
