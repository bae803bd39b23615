"""Files in and out: nothing is lost, nothing is there twice."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from typer.testing import CliRunner

from helpers.annotated import (
    TEXTS,
    make_annotator,
    make_table,
    make_texts,
    read_output,
    write_jsonl,
)
from helpers.corpus_code import CODE, KILLS, RAISES, SLOW
from helpers.paths import PYTHONPATH
from spacy_dynsel.annotating import sinks
from spacy_dynsel.cli import dynsel_cli
from spacy_dynsel.corpus import annotate_files, to_docs
from spacy_dynsel.corpus.conll import read_conllu


@pytest.fixture
def annotator(pipeline):
    return make_annotator(pipeline)


def run(annotator, inputs, output, **settings):
    """Annotate in this process, unless more are asked for."""
    return annotate_files(annotator, inputs, output, **{"processes": 0, **settings})


def find_output(folder):
    return sorted(path for path in folder.iterdir() if path.name[0] not in "._")


def test_all_formats_say_the_same(annotator, tmp_path):
    texts = [text for text in make_texts(30) if text]
    table = make_table(texts)
    expected = annotator(table)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=7)
    write_jsonl(tmp_path / "b.jsonl", texts)
    lines = "\n".join(texts) + "\n"
    (tmp_path / "c.txt").write_text(lines, encoding="utf8")
    with gzip.open(tmp_path / "d.txt.gz", "wt", encoding="utf8") as file:
        file.write(lines)
    docs = to_docs(expected, spacy.blank("en").vocab, texts)
    DocBin(docs=docs).to_disk(tmp_path / "e.spacy")
    inputs = sorted(tmp_path.iterdir())
    for part_bytes in (1, 1 << 20):
        counts = run(
            annotator, inputs, tmp_path / f"{part_bytes}", part_bytes=part_bytes
        )
        assert counts.n_rows == 5 * len(texts)
        assert counts.n_tokens == 5 * sum(expected["n_tokens"].to_pylist())
        found = read_output(tmp_path / f"{part_bytes}")
        for i, row in enumerate(expected.to_pylist()):
            ids = [f"doc{i}", f"b-{i}", f"c.txt:{i + 1}", f"d.txt.gz:{i + 1}"]
            ids.append(f"e.spacy:{i + 1}")
            for name in ids:
                other = {key: found[name][key] for key in row if key != "id"}
                assert other == {key: row[key] for key in other}
    assert len(find_output(tmp_path / "1")) > len(find_output(tmp_path / f"{1 << 20}"))


def test_docbins_keep_words_and_ids(annotator, tmp_path):
    nlp = spacy.blank("en")
    doc = spacy.tokens.Doc(nlp.vocab, words=["New York", "hits"], spaces=[False, False])
    doc.user_data["id"] = 17
    DocBin(docs=[doc], store_user_data=True).to_disk(tmp_path / "a.spacy")
    run(annotator, [tmp_path / "a.spacy"], tmp_path / "out")
    [row] = read_output(tmp_path / "out").values()
    assert (row["id"], row["token_end"]) == ("17", [8, 12])


def test_all_outputs_say_the_same(annotator, tmp_path):
    texts = [*TEXTS, f"{RAISES} !", *make_texts(10)]
    path = write_jsonl(tmp_path / "in.jsonl", texts)
    for kind in ("parquet", "jsonl", "conllu", "docbin"):
        counts = run(annotator, [path], tmp_path / kind, format=kind)
        assert (counts.n_rows, counts.n_errors) == (16, 1)
    rows = list(read_output(tmp_path / "parquet").values())
    assert [json.loads(row["meta"]) for row in rows] == [{"n": [i]} for i in range(16)]
    [jsonl] = find_output(tmp_path / "jsonl")
    for row, other in zip(rows, srsly.read_jsonl(jsonl), strict=True):
        assert other == {
            **{k: v for k, v in row.items() if k != "meta"},
            "n": other["n"],
        }
    [docbin] = find_output(tmp_path / "docbin")
    nlp = spacy.blank("en")
    docs = list(DocBin().from_disk(docbin).get_docs(nlp.vocab))
    for doc, row, text in zip(docs, rows, texts, strict=True):
        assert doc.user_data["id"] == row["id"]
        assert doc.user_data.get("error") == row["error"]
        if not row["error"]:
            assert doc.text == text
            assert [token.tag_ for token in doc] == row["tag"]
            assert [token.head.i for token in doc] == row["head"]
    [conllu] = find_output(tmp_path / "conllu")
    assert conllu.read_text("utf8").count("# newdoc id = ") == 16
    words = [word for one in read_conllu(conllu) for word in one.words]
    tags = [tag for one in read_conllu(conllu) for tag in one.tags]
    ents = [ent for one in read_conllu(conllu) for ent in one.ents]
    expected = [token for doc in docs for token in doc if not token.is_space]
    assert words == [token.text for token in expected]
    assert tags == [token.tag_ for token in expected]
    assert [ent[2:] for ent in ents] == [token.ent_type_ for token in expected]


def test_a_second_run_does_what_is_missing(annotator, tmp_path):
    paths = [write_jsonl(tmp_path / f"{name}.jsonl", make_texts(5)) for name in "abc"]
    output = tmp_path / "out"
    assert run(annotator, paths[:2], output).n_done == 2
    before = {path.name: path.stat().st_mtime_ns for path in find_output(output)}
    counts = run(annotator, paths, output)
    assert (counts.n_done, counts.n_skipped, counts.n_rows) == (1, 2, 5)
    after = {path.name: path.stat().st_mtime_ns for path in find_output(output)}
    assert before.items() < after.items()
    # An input that has changed takes the place of what it was, and a file that somebody
    # has cut off is written anew.
    write_jsonl(paths[0], make_texts(7))
    [cut] = output.glob("b.jsonl-*")
    cut.write_bytes(cut.read_bytes()[:100])
    (output / f".{cut.name}.{os.uname().nodename}.999999.0.part").write_bytes(b"half")
    assert run(annotator, paths, output).n_done == 2
    assert len(read_output(output)) == 17
    assert not list(output.glob(".*.part"))
    assert not (output / "_journal").exists()


def test_a_folder_has_one_origin(annotator, tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", make_texts(2))
    output = tmp_path / "out"
    run(annotator, [path], output)
    before = find_output(output)
    other = make_annotator(annotator.pipeline, columns=("tag",))
    with pytest.raises(ValueError, match=r"DS324.*settings"):
        run(other, [path], output)
    with pytest.raises(ValueError, match=r"DS324.*format"):
        run(annotator, [path], output, format="jsonl")
    nlp = spacy.blank("en")
    nlp.to_disk(tmp_path / "nlp")
    with pytest.raises(ValueError, match=r"DS324.*pipeline"):
        run(make_annotator(str(tmp_path / "nlp")), [path], output)
    with pytest.raises(ValueError, match=r"DS324.*not written"):
        run(annotator, [path], tmp_path)
    assert find_output(output) == before
    # What does not change the output may change.
    small = make_annotator(annotator.pipeline, max_rows=1)
    assert run(small, [path], output).n_skipped == 1


def test_bad_lines_cost_a_row(annotator, tmp_path):
    good = json.dumps({"id": "x", "text": "She hits ."})
    lines = [good, "{", "[]", '{"id": 2}', '{"text": 3}', '{"text": "\\ud800"}', ""]
    data = "\n".join([*lines, '{"text": null}']).encode() + b'\n{"text": "\xff"}\n'
    (tmp_path / "a.jsonl").write_bytes(data + b'{"text": "cut o')
    (tmp_path / "b.txt").write_bytes(b"fine\n\xff\n\nfine again")
    counts = run(
        annotator, [tmp_path / "a.jsonl", tmp_path / "b.txt"], tmp_path / "out"
    )
    assert (counts.n_rows, counts.n_errors) == (12, 9)
    found = read_output(tmp_path / "out")
    assert {name for name, row in found.items() if row["error"] is None} == {
        *("x", "b.txt:1", "b.txt:4"),
    }
    assert "DS323" in found["a.jsonl:2"]["error"]
    assert "Line 2 " in found["a.jsonl:2"]["error"]
    assert "DS314" in found["a.jsonl:8"]["error"]
    # What is known of a bad line is its id.
    assert "DS323" in found["2"]["error"]


def test_json_that_is_odd(annotator, tmp_path):
    """Deeper than Python goes, and halves of characters, which only JSON can write."""
    deep = "[" * 100_000 + "]" * 100_000
    lines = [
        '{"id": 1, "text": "She hits .", "deep": ' + deep + "}",
        '{"id": "\\ud83d", "text": "She hits ."}',
        '{"id": 3, "text": "She hits .", "\\ud83d": "\\ud83d"}',
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines))
    for format in ("parquet", "jsonl", "docbin", "conllu"):
        counts = run(annotator, [path], tmp_path / format, format=format)
        assert (counts.n_rows, counts.n_errors) == (3, 2)
    found = read_output(tmp_path / "parquet")
    assert set(found) == {"a.jsonl:1", "a.jsonl:2", "3"}
    [out] = (tmp_path / "jsonl").glob("a*")
    assert json.loads(out.read_text("utf8").splitlines()[2])["\ud83d"] == "\ud83d"


@pytest.mark.parametrize("processes", [0, 1])
def test_what_nobody_foresaw_is_told_once(annotator, tmp_path, processes):
    code = tmp_path / "code.py"
    code.write_text("raise RuntimeError('nobody foresaw this')")
    path = write_jsonl(tmp_path / "a.jsonl", make_texts(3))
    annotator = replace(annotator, code=str(code))
    with pytest.raises(ValueError, match=r"DS327.*\na.jsonl: RuntimeError: nobody"):
        run(annotator, [path], tmp_path / "out", processes=processes)


def write_bad_files(folder):
    folder.mkdir()
    good = write_jsonl(folder / "good.jsonl", make_texts(3))
    (folder / "fields.jsonl").write_text('{"content": "a"}\n')
    (folder / "twice.jsonl").write_text('{"id": 1, "text": "a"}\n' * 2)
    pq.write_table(pa.table({"id": ["1"]}), folder / "column.parquet")
    pq.write_table(pa.table({"id": ["1"], "text": [1]}), folder / "type.parquet")
    (folder / "bad.spacy").write_bytes(b"no docs")
    (folder / "cut.txt.gz").write_bytes(gzip.compress(b"a\n" * 99)[:-9])
    packed = bytearray(gzip.compress(bytes(range(1, 256))))
    packed[10:20] = b"\xff" * 10
    (folder / "wrong.txt.gz").write_bytes(packed)
    return good


def test_a_bad_file_does_not_keep_others_from_being_done(annotator, tmp_path):
    write_bad_files(tmp_path / "in")
    with pytest.raises(ValueError, match="DS327") as caught:
        run(annotator, [tmp_path / "in"], tmp_path / "out")
    codes = dict(re.findall(r"^(\w+)\.\S+: \[(DS\d+)\]", str(caught.value), re.M))
    assert codes == {
        "fields": "DS312",
        "twice": "DS317",
        "column": "DS312",
        "type": "DS313",
        "bad": "DS154",
        "cut": "DS322",
        "wrong": "DS322",
    }
    assert len(read_output(tmp_path / "out")) == 3
    assert not list((tmp_path / "out").glob(".*"))
    assert run(
        annotator, [tmp_path / "in" / "twice.jsonl"], tmp_path / "o", id_column=""
    )


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("none.jsonl", "DS322"),
        ("a.pdf", "DS320"),
        ("empty", "DS321"),
        ("c.parquet", "DS322"),
    ],
)
def test_bad_inputs(annotator, tmp_path, name, code):
    (tmp_path / "a.pdf").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "c.parquet").write_bytes(b"PAR1 half-written")
    with pytest.raises(ValueError, match=code):
        run(annotator, [tmp_path / name], tmp_path / "out")


def test_two_inputs_of_one_name(annotator, tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        write_jsonl(tmp_path / name / "x.jsonl", make_texts(1))
    paths = [tmp_path / name / "x.jsonl" for name in "ab"]
    with pytest.raises(ValueError, match="DS326"):
        run(annotator, paths, tmp_path / "out")
    with pytest.raises(ValueError, match="DS329"):
        run(annotator, paths, tmp_path / "out", format="csv")


def test_no_space_is_left(annotator, tmp_path, monkeypatch):
    paths = [write_jsonl(tmp_path / f"{name}.jsonl", make_texts(3)) for name in "ab"]
    output = tmp_path / "out"
    run(annotator, paths[:1], output)

    def fail(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(sinks.ParquetSink, "write", fail)
        with pytest.raises(ValueError, match=r"DS325.*no space is left"):
            run(annotator, paths, output)
    assert len(find_output(output)) == 1
    assert not list(output.glob(".*"))
    assert run(annotator, paths, output).n_done == 1


def test_empty_files_give_empty_tables(annotator, tmp_path):
    (tmp_path / "a.jsonl").touch()
    pq.write_table(make_table([]), tmp_path / "b.parquet")
    for kind in ("parquet", "jsonl", "conllu", "docbin"):
        counts = run(
            annotator,
            [tmp_path / "a.jsonl", tmp_path / "b.parquet"],
            tmp_path / kind,
            format=kind,
        )
        assert (counts.n_done, counts.n_rows) == (2, 0)
    assert read_output(tmp_path / "parquet") == {}


def test_poison(annotator, tmp_path):
    """100 bad rows among 10,000: short ones, to be quick."""
    texts = ["a"] * 10_000
    for i in range(50, 10_000, 100):
        texts[i] = f"a {RAISES}"
    path = write_jsonl(tmp_path / "in.jsonl", texts)
    counts = run(annotator, [path], tmp_path / "out")
    assert (counts.n_rows, counts.n_errors) == (10_000, 100)
    found = read_output(tmp_path / "out")
    bad = {name for name, row in found.items() if row["error"] is not None}
    assert bad == {f"in-{i}" for i in range(50, 10_000, 100)}


def test_a_process_of_its_own(annotator, tmp_path):
    path = write_jsonl(tmp_path / "in.jsonl", make_texts(20, bad=[3]))
    shown = []
    counts = run(
        annotator,
        [path],
        tmp_path / "out",
        processes=1,
        show=lambda n, total: shown.append((n, total)),
    )
    assert (counts.n_rows, counts.n_errors) == (20, 1)
    assert sum(n for n, _ in shown) == shown[0][1] == path.stat().st_size
    run(annotator, [path], tmp_path / "alone")
    assert read_output(tmp_path / "out") == read_output(tmp_path / "alone")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_processes_that_die_are_replaced(annotator, tmp_path):
    """What a document costs that kills whoever annotates it is a row."""
    folder = tmp_path / "in"
    folder.mkdir()
    texts = make_texts(30)
    for name, killing in (("a", 3), ("b", None)):
        mine = list(texts)
        if killing is not None:
            mine[killing] = f"{mine[killing]} {KILLS}"
        write_jsonl(folder / f"{name}.jsonl", mine)
    counts = run(annotator, [folder], tmp_path / "out", processes=2)
    assert (counts.n_rows, counts.n_errors) == (60, 1)
    found = read_output(tmp_path / "out")
    assert "DS316" in found["a-3"]["error"]
    good = annotator(make_table(texts)).to_pylist()
    for i, row in enumerate(good):
        for name in {"a", "b"} - ({"a"} if i == 3 else set()):
            assert {**found[f"{name}-{i}"], "id": row["id"]} == {
                **row,
                "meta": f'{{"n": [{i}]}}',
            }


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("It takes too long")


def find_children(pid):
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(one) for file in files for one in file.read_text().split()]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes by /proc")
def test_workers_and_drivers_are_killed(pipeline, tmp_path):
    """In mid-run: first a worker, then the driver. A second run completes it."""
    folder = tmp_path / "in"
    folder.mkdir()
    texts = [f"{text} {SLOW}" for text in make_texts(40)]
    for i in range(8):
        write_jsonl(folder / f"{i}.jsonl", texts)
    output = tmp_path / "out"
    options = f"{pipeline} {folder} -o {output} -n 2 -c {CODE} --max-chars 300".split()
    command = [sys.executable, "-m", "spacy", "dynsel", "annotate", *options]
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    driver = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)

    def count():
        return len(list(output.glob("*.parquet")))

    wait_for(lambda: count() >= 1)
    os.kill(find_children(driver.pid)[0], signal.SIGKILL)
    n_before = count()
    wait_for(lambda: count() > n_before)
    workers = find_children(driver.pid)
    assert driver.poll() is None
    driver.kill()
    driver.wait()
    # Without a driver, workers end.
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in workers))
    n_left = count()
    assert n_left < 8
    result = CliRunner().invoke(dynsel_cli, ["annotate", *options])
    assert result.exit_code == 0, result.output
    assert f"{n_left} files were finished" in result.output
    found = read_output(output)
    expected = run(make_annotator(pipeline), [folder], tmp_path / "alone")
    assert expected.n_rows == 320
    assert found == read_output(tmp_path / "alone")
