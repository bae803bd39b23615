"""The callable: what it gives for tables, and for rows that are bad."""

import copyreg
import gc
import json
import os
import pickle
import socket
import threading
from uuid import uuid4

import pyarrow as pa
import pytest
import spacy
from spacy.util import import_file

from helpers.annotated import TEXTS, make_annotator, make_table, make_texts
from helpers.corpus_code import CODE, RAISES
from spacy_dynsel.annotating import pipelines
from spacy_dynsel.annotating.schema import SCHEMA_VERSION, read_metadata
from spacy_dynsel.corpus import Annotator, to_docs


@pytest.fixture
def annotator(pipeline):
    return make_annotator(pipeline)


@pytest.fixture(scope="module")
def nlp(pipeline):
    import_file("dynsel_code", str(CODE))
    return spacy.load(pipeline)


def test_it_is_small_and_can_be_sent_anywhere(annotator):
    data = pickle.dumps(annotator)
    assert len(data) < 1024
    assert pickle.loads(data) == annotator


def test_pickling_is_noticed(nlp):
    for thing in (nlp, nlp.make_doc("a")):
        with pytest.raises(RuntimeError, match="is pickled"):
            pickle.dumps(thing)
    assert copyreg.dispatch_table


def test_docs_come_back(annotator, nlp):
    table = annotator(make_table(TEXTS))
    docs = list(to_docs(table, nlp.vocab, TEXTS))
    assert len(docs) == len(TEXTS)
    for doc, text in zip(docs, TEXTS, strict=True):
        assert doc.to_json() == nlp(text).to_json()
    assert [doc.user_data["id"] for doc in docs] == table["id"].to_pylist()
    assert any(row for row in table["ents"].to_pylist())
    kept = make_annotator(annotator.pipeline, keep=("text",))(make_table(TEXTS))
    assert [doc.text for doc in to_docs(kept, nlp.vocab)] == TEXTS
    with pytest.raises(ValueError, match="DS318"):
        list(to_docs(table, nlp.vocab))
    with pytest.raises(ValueError, match="DS319"):
        list(to_docs(table.drop_columns(["token_end"]), nlp.vocab, TEXTS))


def test_values(annotator, nlp):
    """Against what tokens say themselves."""
    for row, text in zip(annotator(make_table(TEXTS)).to_pylist(), TEXTS, strict=True):
        doc = nlp(text)
        assert row["error"] is None
        assert row["n_tokens"] == len(doc)
        assert row["token_start"] == [token.idx for token in doc]
        assert row["token_end"] == [token.idx + len(token) for token in doc]
        assert row["tag"] == [token.tag_ for token in doc]
        assert row["pos"] == [token.pos_ for token in doc]
        assert (row["morph"] or []) == [
            str(token.morph) for token in doc if row["morph"]
        ]
        assert row["lemma"] == [token.lemma_ for token in doc]
        assert row["dep"] == [token.dep_ for token in doc]
        assert row["head"] == [token.head.i for token in doc]
        assert row["sent_start"] == [sent.start for sent in doc.sents]
        ents = [(ent["start"], ent["end"], ent["label"]) for ent in row["ents"]]
        assert ents == [(ent.start, ent.end, ent.label_) for ent in doc.ents]


def test_the_kind_of_batch_does_not_matter(annotator):
    table = make_table(make_texts(25))
    whole = annotator(table)
    [batch] = table.combine_chunks().to_batches()
    assert isinstance(annotator(batch), pa.RecordBatch)
    assert pa.table(annotator(batch)).equals(whole)
    batches = annotator(iter(table.to_batches(max_chunksize=4)))
    assert pa.Table.from_batches(batches).equals(whole)
    for settings in ({"max_rows": 3}, {"max_chars": 100}, {"max_chars": 1}):
        found = make_annotator(annotator.pipeline, **settings)(table)
        assert found.equals(whole)
        assert found["id"].num_chunks > 1
    empty = annotator(table.slice(0, 0))
    assert empty.num_rows == 0
    assert empty.schema.equals(whole.schema)


def test_the_schema_is_known_before(annotator):
    table = annotator(make_table(TEXTS))
    assert table.schema.equals(annotator.schema, check_metadata=False)
    found = read_metadata(table.schema)
    assert found["schema"] == SCHEMA_VERSION
    assert found["pipeline"]["name"] == "en_pipeline"
    assert found["settings"]["max_length"] == annotator.max_length
    few = make_annotator(annotator.pipeline, columns=("ents",))
    assert few.schema.names == ["id", "n_tokens", "ents", "error"]
    assert few(make_table(TEXTS))["ents"].equals(table["ents"])
    assert few.spark_schema.startswith("`id` string, `n_tokens` int, `ents` array<")


def test_what_is_not_annotated_is_null(annotator):
    disabled = make_annotator(
        annotator.pipeline,
        disable=("dynsel_parser", "dynsel_ner", "dynsel_lemmatizer"),
    )
    table = disabled(make_table(TEXTS[:1]))
    nulls = {name for name in table.column_names if table[name].null_count}
    assert nulls == {"lemma", "dep", "head", "sent_start", "ents", "error"}


def test_a_bad_row_costs_a_row(annotator):
    texts = make_texts(60, bad=range(5, 60, 10))
    texts[3] = None
    texts[4] = "x" * 101
    annotator = make_annotator(annotator.pipeline, max_length=100)
    rows = annotator(make_table(texts)).to_pylist()
    good = make_annotator(annotator.pipeline)(make_table(make_texts(60))).to_pylist()
    wrong = {i: row["error"] for i, row in enumerate(rows) if row["error"] is not None}
    assert set(wrong) == {3, 4, 5, 15, 25, 35, 45, 55}
    assert "DS314" in wrong[3]
    assert "DS315" in wrong[4]
    assert wrong[5] == "RuntimeError: This text is poison"
    for i, row in enumerate(rows):
        if i in wrong:
            known = {name for name, value in row.items() if value is not None}
            assert known == {"id", "error"}
        else:
            assert row == good[i]


def test_error_rows_become_empty_docs(annotator, nlp):
    texts = [TEXTS[0], RAISES]
    docs = list(to_docs(annotator(make_table(texts)), nlp.vocab, texts))
    assert len(docs[1]) == 0
    assert "poison" in docs[1].user_data["error"]


@pytest.mark.parametrize(
    ("settings", "columns", "code"),
    [
        ({}, {"id": ["1"]}, "DS312"),
        ({}, {"text": ["a"]}, "DS312"),
        ({"keep": ("other",)}, {"id": ["1"], "text": ["a"]}, "DS312"),
        ({}, {"id": ["1"], "text": [1]}, "DS313"),
        ({}, {"id": [1.5], "text": ["a"]}, "DS313"),
        ({}, {"id": ["1", None], "text": ["a", "b"]}, "DS313"),
        ({"columns": ("tags",)}, {}, "DS311"),
        ({"keep": ("text", "id")}, {}, "DS329.*'id'"),
        ({"keep": ("tag",)}, {}, "DS329"),
        ({"keep": ("tag_confidence",), "confidence": True}, {}, "DS329"),
        ({"max_rows": 0}, {}, "DS022"),
    ],
)
def test_bad_tables_and_settings(pipeline, settings, columns, code):
    with pytest.raises(ValueError, match=code):
        make_annotator(pipeline, **settings)(pa.table(columns))


def test_no_such_pipeline():
    with pytest.raises(ValueError, match="DS137"):
        Annotator("no_such_pipeline")(make_table(TEXTS))
    for thing in ("text", {"id": []}, 3):
        with pytest.raises(ValueError, match="DS329"):
            Annotator("no_such_pipeline")(thing)


def test_numbers_and_other_strings_will_do(annotator):
    expected = annotator(make_table(TEXTS))
    table = pa.table(
        {
            "id": pa.array(range(5)),
            "text": pa.array(TEXTS).dictionary_encode(),
        }
    )
    found = annotator(table)
    assert found["id"].to_pylist() == list("01234")
    assert found["tag"].equals(expected["tag"])
    large = make_table(TEXTS).cast(
        pa.schema([("id", pa.large_string()), ("text", pa.large_string())])
    )
    assert annotator(large).equals(expected)


def test_words_of_others(annotator):
    words = [["She", "hits", "New York", "."], ["a-b"]]
    spaces = [[True, True, False, False], [False]]
    table = pa.table(
        {"id": ["1", "2"], "text": ["", ""], "words": words, "spaces": spaces}
    )
    other = make_annotator(
        annotator.pipeline, words_column="words", spaces_column="spaces"
    )
    assert other(table)["token_start"].to_pylist() == [[0, 4, 9, 17], [0]]


def test_words_are_forgotten_and_pipelines_renewed(annotator, monkeypatch):
    """Neither changes what comes out."""
    monkeypatch.setattr(pipelines, "_pipelines", {})
    monkeypatch.setattr(pipelines, "MAX_KEPT", 20)
    expected = annotator(make_table(make_texts(90)))
    loaded = annotator._get_pipeline()
    before, n_strings = loaded.nlp, len(loaded.nlp.vocab.strings)
    assert loaded._n_kept > 20
    annotator(make_table(make_texts(300)))
    assert loaded.nlp is before
    assert len(loaded.nlp.vocab.strings) == n_strings
    monkeypatch.setattr(pipelines, "MAX_FORGOTTEN", 20)
    few = make_annotator(annotator.pipeline, max_rows=30)
    assert few(make_table(make_texts(90))).equals(expected)
    assert loaded.nlp is not before


def test_what_is_kept_is_there_once(annotator):
    kept = make_annotator(annotator.pipeline, columns=(), keep=["text", "text"])
    assert kept(make_table(TEXTS)).column_names == ["id", "n_tokens", "error", "text"]


def test_huge_texts_leave_no_words(annotator, monkeypatch):
    monkeypatch.setattr(pipelines, "_pipelines", {})
    monkeypatch.setattr(pipelines, "MAX_CHARS_KEPT", 100)
    annotator(make_table(TEXTS[:1]))
    strings = annotator._get_pipeline().nlp.vocab.strings
    n_strings = len(strings)
    annotator(make_table(make_texts(40)))
    assert len(strings) == n_strings
    annotator(make_table(make_texts(1)))
    assert len(strings) > n_strings


def test_garbage_is_collected_again(annotator, monkeypatch):
    states = []
    monkeypatch.setattr(
        pipelines, "annotate", lambda *args: states.append(gc.isenabled()) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        annotator(make_table(TEXTS))
    assert states == [False]
    assert gc.isenabled()
    gc.disable()
    try:
        with pytest.raises(ZeroDivisionError):
            annotator(make_table(TEXTS))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_pipeline_that_a_fork_found_at_work_is_loaded_anew(annotator):
    """It may be in the middle of anything."""
    loaded = annotator._get_pipeline()
    before, expected = loaded.nlp, annotator(make_table(TEXTS))
    assert loaded.nlp is before
    loaded._is_busy = True
    assert annotator(make_table(TEXTS)).equals(expected)
    assert loaded.nlp is not before


def test_threads_take_turns(annotator):
    table = make_table(make_texts(40))
    expected = annotator(table)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(annotator(table)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(one.equals(expected) for one in found)


def note(folder, key, pid, place=None):
    """What a process writes before it dies, or before it goes on."""
    folder.mkdir(exist_ok=True)
    with (folder / f"{key}.jsonl").open("a") as file:
        me = {"try": uuid4().hex, "pid": pid, "host": socket.gethostname()}
        print("\n" + json.dumps({**me, "place": place, "id": None}), file=file)
        file.write('{"cut off')


def test_what_kills_is_set_aside(annotator, tmp_path):
    """After the second death of a process that annotates it alone, and nothing else is."""
    # Who has written notes under the number of this process is gone.
    dead = os.getpid()
    notes = tmp_path / "notes"
    watched = make_annotator(annotator.pipeline, journal=str(notes))
    texts = make_texts(12)
    key = watched._make_key([f"doc{i}" for i in range(12)], texts)
    good = annotator(make_table(texts)).to_pylist()
    # The first death is no reason yet, nor is another process at work.
    note(notes, key, dead)
    note(notes, key, dead, place=7)
    for _ in range(2):
        note(notes, key, os.getppid(), place=3)
    assert watched(make_table(texts)).to_pylist() == good
    assert not list(notes.iterdir())
    for place in (None, 7, 7):
        note(notes, key, dead, place)
    rows = watched(make_table(texts)).to_pylist()
    assert "DS316" in rows.pop(7)["error"]
    assert rows == good[:7] + good[8:]
    assert not list(notes.iterdir())


def test_confidence_is_written_on_request(pipeline):
    with pytest.raises(ValueError, match="DS190"):
        make_annotator(pipeline, confidence=True)(make_table(TEXTS))


def test_other_components_work(tmp_path):
    """Those of spaCy, and a tokenizer that is not ours."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path)
    [row] = Annotator(str(tmp_path))(make_table(["One. Two two."])).to_pylist()
    assert row["sent_start"] == [0, 2]
    assert row["tag"] is None
    assert row["n_tokens"] == 5
