"""Raw text of all kinds, good and bad."""

import pytest

from spacy_dynsel.corpus import raw_text
from spacy_dynsel.corpus.raw_text import RawText, WordReader


def write(path, data):
    path.write_bytes(data)
    return path


def read_words(text):
    reader = WordReader(text)
    return [[reader.get_string(int(key)) for key in line] for line in reader.read()]


def test_lines_become_words(tmp_path):
    path = write(tmp_path / "a.txt", "\ufeffIt isn't so.\r\n\n  Yes\u00e9 \n".encode())
    assert read_words(RawText([path])) == [
        ["It", "is", "n't", "so", "."],
        ["Yes\u00e9"],
    ]


def test_other_encodings_are_named(tmp_path):
    path = write(tmp_path / "a.txt", "na\u00efve".encode("latin-1"))
    with pytest.raises(ValueError, match=r"DS250.*--encoding"):
        list(RawText([path]).read())
    assert list(RawText([path], encoding="latin-1").read()) == ["na\u00efve"]
    with pytest.raises(ValueError, match="DS250"):
        RawText([path], encoding="no-such")
    path = write(tmp_path / "b.txt", "wide".encode("utf-16"))
    with pytest.raises(ValueError, match="DS250"):
        list(RawText([path]).read())
    assert list(RawText([path], encoding="utf-16").read()) == ["wide"]


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfe\x00", b"half \xc3"])
def test_binary_files_are_refused(tmp_path, data):
    with pytest.raises(ValueError, match="DS250"):
        list(RawText([write(tmp_path / "a.bin", data)]).read())
    with pytest.raises(ValueError, match="DS250"):
        list(RawText([tmp_path / "none"]).read())


def test_long_lines_come_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_text, "BLOCK", 100)
    words = [f"w{i}" for i in range(500)]
    data = " ".join(words) + "\nend " + "x" * 1000 + " of it"
    pieces = list(RawText([write(tmp_path / "a.txt", data.encode())]).read())
    assert max(map(len, pieces)) <= 300
    found = " ".join(pieces).split()
    assert found[: len(words)] == words
    assert found[len(words)] == "end"
    assert found[-2:] == ["of", "it"]


def test_a_large_vocabulary_is_replaced(tmp_path, monkeypatch):
    text = RawText([write(tmp_path / "a.txt", b"one two\nthree\nfour\n")])
    reader = WordReader(text)
    monkeypatch.setattr(raw_text, "MAX_LEXEMES", 0)
    replaced = []
    reader.on_replace = lambda: replaced.append(reader.nlp.vocab)
    n_words = [len(line) for line in reader.read()]
    assert n_words == [2, 1, 1]
    assert len(replaced) == 3
    assert reader.nlp.vocab not in replaced


def test_an_unknown_language(tmp_path):
    text = RawText([write(tmp_path / "a.txt", b"a")], "qqq")
    with pytest.raises(ValueError, match="DS153"):
        WordReader(text)
