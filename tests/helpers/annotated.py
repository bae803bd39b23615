"""Texts to annotate as a corpus, and what should come of them."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from helpers.corpus_code import CODE, KILLS, RAISES
from spacy_dynsel.corpus import Annotator

TEXTS = [
    "She hits the ball in Lisbon .",
    "",
    "  Two  spaces,\nand a line break.\n\nThe band plays new hits",
    "Éloïse 🎉 didn't see @marlo_92 — at 5pm?",
    "\n",
]


def make_annotator(pipeline, **settings) -> Annotator:
    return Annotator(pipeline, code=str(CODE), **settings)


def make_texts(n, bad=(), killing=()):
    """Texts of ever new words."""
    marks = {**dict.fromkeys(bad, RAISES), **dict.fromkeys(killing, KILLS)}
    return [
        f"She hits word{i} in Lisbon , and {marks.get(i, 'nobody')} sees the band ."
        for i in range(n)
    ]


def make_table(texts) -> pa.Table:
    ids = [f"doc{i}" for i in range(len(texts))]
    return pa.table({"id": ids, "text": pa.array(texts, pa.string())})


def write_jsonl(path, texts):
    rows = [
        {"id": f"{path.stem}-{i}", "text": text, "n": [i]}
        for i, text in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf8")
    return path


def read_output(folder) -> dict:
    """The rows of all files by their ids, each of which must be there once."""
    rows = [
        row
        for path in sorted(folder.glob("[!_.]*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]
    found = {row["id"]: row for row in rows}
    assert len(found) == len(rows)
    return found
