"""What annotations look like as columns: one row a document, in types that Arrow, Spark,
Ray and Dask all take."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from ..about import __version__
from ..pipeline.confidences import ARC, LEMMA, MORPH, TAG

# Changes whenever a column changes its meaning or its type.
SCHEMA_VERSION = 1
METADATA_KEY = b"spacy_dynsel"

NUMBERS = pa.list_(pa.int32())
STRINGS = pa.list_(pa.string())
PROBABILITIES = pa.list_(pa.float32())
ENTITIES = pa.list_(
    pa.struct([("start", pa.int32()), ("end", pa.int32()), ("label", pa.string())])
)
# Offsets count code points, heads and starts of sentences count tokens. Ends are
# exclusive, and a root is its own head.
ANNOTATIONS: dict[str, pa.DataType] = {
    "token_start": NUMBERS,
    "token_end": NUMBERS,
    "tag": STRINGS,
    "pos": STRINGS,
    "morph": STRINGS,
    "lemma": STRINGS,
    "dep": STRINGS,
    "head": NUMBERS,
    "sent_start": NUMBERS,
    "ents": ENTITIES,
}
# One value a token; ent_confidence has one an entity.
CONFIDENCES = {
    "tag_confidence": TAG,
    "morph_confidence": MORPH,
    "dep_confidence": ARC,
    "lemma_confidence": LEMMA,
}
ENT_CONFIDENCE = "ent_confidence"
# Fields of JSONL that are none of ours, as JSON.
META = "meta"
# In the words of Spark's SQL.
SPARK_TYPES = {
    pa.string(): "string",
    pa.int32(): "int",
    NUMBERS: "array<int>",
    STRINGS: "array<string>",
    PROBABILITIES: "array<float>",
    ENTITIES: "array<struct<start: int, end: int, label: string>>",
}


def make_schema(
    columns: Iterable[str], *, confidence: bool, kept: Sequence[pa.Field] = ()
) -> pa.Schema:
    """The schema of annotated documents.

    columns (Iterable[str]): Those of ANNOTATIONS that are wanted.
    confidence (bool): Whether probabilities are.
    kept (Sequence[Field]): Columns that come from the input.
    """
    wanted = set(columns)
    fields = [pa.field("id", pa.string()), pa.field("n_tokens", pa.int32())]
    fields += [
        pa.field(name, kind) for name, kind in ANNOTATIONS.items() if name in wanted
    ]
    if confidence:
        names = (*CONFIDENCES, ENT_CONFIDENCE)
        fields += [pa.field(name, PROBABILITIES) for name in names]
    return pa.schema([*fields, pa.field("error", pa.string()), *kept])


def add_metadata(schema: pa.Schema, described: dict[str, Any]) -> pa.Schema:
    """Say in a schema where the annotations come from."""
    found = {**described, "schema": SCHEMA_VERSION, "spacy_dynsel": __version__}
    data = json.dumps(found, sort_keys=True).encode()
    return schema.with_metadata({METADATA_KEY: data})


def read_metadata(schema: pa.Schema) -> dict[str, Any]:
    """What add_metadata has said; empty if it did not."""
    data = (schema.metadata or {}).get(METADATA_KEY)
    return json.loads(data) if data else {}


def to_spark(schema: pa.Schema) -> str:
    """A schema as Spark writes it."""
    return ", ".join(f"`{field.name}` {SPARK_TYPES[field.type]}" for field in schema)
