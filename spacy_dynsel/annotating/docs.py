"""From columns back to Docs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..base.corpus_errors import CorpusErrors
from .schema import META

NEEDED = ("id", "token_start", "token_end")
# What Doc calls the columns.
NAMES = {"tag": "tags", "pos": "pos", "morph": "morphs", "lemma": "lemmas"}


def to_docs(
    table: "pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch]",
    vocab: Vocab,
    texts: Sequence[str | None] | None = None,
) -> Iterator[Doc]:
    """Make Docs of annotated rows, one for each. `doc.user_data` has their "id" and, if
    there is one, their "error": such a Doc has no tokens.

    table (Table): What an Annotator returned, or a file that was written, as a table, a
        record batch or batches.
    vocab (Vocab): The vocabulary of the Docs.
    texts (Sequence[str]): The texts of all rows, unless the table has kept them.
    """
    if isinstance(table, pa.Table):
        batches: Iterable[pa.RecordBatch] = table.to_batches()
    else:
        batches = [table] if isinstance(table, pa.RecordBatch) else table
    n = 0
    for batch in batches:
        for name in NEEDED:
            if name not in batch.schema.names:
                raise ValueError(CorpusErrors.DS319.format(name=name))
        if texts is None and "text" not in batch.schema.names:
            raise ValueError(CorpusErrors.DS318)
        for row in batch.to_pylist():
            if texts is not None:
                row["text"] = texts[n]
            n += 1
            yield make_doc(row, vocab)


def make_doc(row: dict[str, Any], vocab: Vocab) -> Doc:
    """The Doc of one row."""
    starts, ends, text = row["token_start"], row["token_end"], row.get("text")
    if starts is None or text is None:
        doc = Doc(vocab)
        doc.user_data["error"] = row.get("error") or CorpusErrors.DS314
    else:
        # A space between two tokens is all that tokens do not hold themselves.
        following = [*starts, len(text)][1:]
        spaces = [a < b for a, b in zip(ends, following, strict=False)]
        words = [text[a:b] for a, b in zip(starts, ends, strict=True)]
        doc = Doc(vocab, words=words, spaces=spaces, **_get_annotations(row))
        if row.get("ents") is not None:
            ents = [Span(doc, e["start"], e["end"], e["label"]) for e in row["ents"]]
            doc.set_ents(ents, default="outside")
    doc.user_data["id"] = row["id"]
    if row.get(META):
        doc.user_data[META] = row[META]
    return doc


def _get_annotations(row: dict[str, Any]) -> dict[str, Any]:
    found = {ours: row[name] for name, ours in NAMES.items() if row.get(name)}
    if row.get("head") and row.get("dep"):
        found["heads"], found["deps"] = row["head"], row["dep"]
    if row.get("sent_start") is not None:
        starts = set(row["sent_start"])
        found["sent_starts"] = [i in starts for i in range(len(row["token_start"]))]
    return found
