"""Small pipelines of each task, and their model files in a form that is small as well."""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_dynsel.cascade.model import Cascade
from spacy_dynsel.cascade.settings import CascadeSettings
from spacy_dynsel.core.checksum import checksum
from spacy_dynsel.core.model_file import (
    BYTE_ORDER,
    MAGIC,
    VERSION,
    dump_model,
    load_model,
)

N_BUCKETS = 1 << 16
LETTERS = ["abba", "cab", "dad", "", "add", "badacab"] * 8
TEXTS = ["She hits her ball hard", "Shaka Khan saw London", ""]
LINES = ["word", "lower[-1]", "---", "suffix3 shape"]
GOLD: list[dict[str, Any]] = [
    {
        "words": ["She", "saw", "London"],
        "tags": ["PRP", "VBD", "NNP"],
        "heads": [1, 1, 1],
        "deps": ["nsubj", "ROOT", "obj"],
        "ents": ["O", "O", "B-GPE"],
        "lemmas": ["she", "see", "London"],
    },
    {
        "words": ["Shaka", "Khan", "hits", "hard"],
        "tags": ["NNP", "NNP", "VBZ", "RB"],
        "heads": [1, 2, 2, 2],
        "deps": ["compound", "nsubj", "ROOT", "advmod"],
        "ents": ["B-PERSON", "I-PERSON", "O", "O"],
        "lemmas": ["Shaka", "Khan", "hit", "hard"],
    },
]

# For those who learn them: others would say that nothing sets them.
MORPHOLOGY: list[dict[str, Any]] = [
    {
        "pos": ["PRON", "VERB", "PROPN"],
        "morphs": ["Case=Nom|Number=Sing", "Tense=Past", "Number=Sing"],
    },
    {
        "pos": ["PROPN", "PROPN", "VERB", "ADV"],
        "morphs": ["Number=Sing", "Number=Sing", "Number=Sing|Tense=Pres", ""],
    },
]


def make_pipeline(factory: str, **model: Any) -> Language:
    nlp = spacy.blank("xx")
    nlp.add_pipe(factory, config={"model": model})
    return nlp


def given(*lines: str) -> dict[str, Any]:
    return {"lines": list(lines)}


def make_tagger() -> Language:
    templates = given(*LINES, "tag[-1] class")
    return make_pipeline("dynsel_tagger", templates=templates, class_min_count=1)


def make_morphologizer() -> Language:
    templates = given("word", "suffix3 class", "---", "lower[-1]", "---")
    templates["lines"] += ["morph[-1] pos[+1]", "noun[-1] word", "pos[-1]"]
    return make_pipeline(
        "dynsel_morphologizer", templates=templates, class_min_count=1, seeds=1
    )


def make_ner() -> Language:
    return make_pipeline("dynsel_ner", templates=given(*LINES, "action[-1] seen"))


def make_rich_ner() -> Language:
    lists = {"names": ["Shaka Khan", "London"]}
    return make_pipeline(
        "dynsel_ner",
        templates=given(*LINES, "cases"),
        gazetteers={"@misc": "spacy_dynsel.gazetteers.v1", "entries": lists},
        two_passes=True,
    )


def make_parser() -> Language:
    return make_pipeline(
        "dynsel_parser",
        actions=given("tag[S0] tag[N0]", "---", "lower[S0] lower[N0]"),
        labels=given("tag[D] tag[H]", "---", "lower[D]"),
        boundaries=given("lower[B]", "---", "tag[B-1]"),
        branches=given("lead pair", "pair lower[N0]"),
        trees=given("side tag[T] tag[H]", "label[T]"),
        folds=2,
        seeds=1,
    )


def make_lemmatizer() -> Language:
    return make_pipeline(
        "dynsel_lemmatizer", templates=given("word", "---", "suffix3 pos", "morph")
    )


MAKERS: tuple[Callable[[], Language], ...] = (
    make_tagger,
    make_morphologizer,
    make_ner,
    make_rich_ner,
    make_parser,
    make_lemmatizer,
)


def get_gold(nlp: Language) -> list[dict[str, Any]]:
    """What a pipeline learns from."""
    if "dynsel_morphologizer" not in nlp.pipe_names:
        return GOLD
    return [{**gold, **more} for gold, more in zip(GOLD, MORPHOLOGY, strict=True)]


def train(nlp: Language) -> Language:
    examples = []
    for gold in get_gold(nlp):
        reference = Doc(nlp.vocab, **gold)
        words = Doc(nlp.vocab, words=gold["words"], tags=gold["tags"])
        examples.append(Example(words, reference))
    nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples)
    return nlp


def make_letters() -> tuple[np.ndarray, ...]:
    """Sequences for a cascade: features, offsets, lengths, labels."""
    labels = np.array([ord(letter) - ord("a") for word in LETTERS for letter in word])
    features = np.where(np.arange(len(labels)) % 7, labels, 0)
    offsets = np.arange(len(labels) + 1)
    return features, offsets, np.array([len(word) for word in LETTERS]), labels


def make_cascade(cliques: str) -> bytes:
    settings = CascadeSettings(order=3, cliques=cliques, folds=2, epsilon=0.2)
    cascade = Cascade(settings).fit(*make_letters())
    # So that there is something to choose from.
    cascade.alpha = 0.2
    return cascade.to_bytes()


def compact(model: bytes) -> bytes:
    """A model file with a bucket for each slot in the place of an index, which is
    large and nearly empty."""
    meta, arrays = load_model(model)
    for name, array in arrays.items():
        if name.endswith("_index"):
            buckets = np.arange(N_BUCKETS, dtype="uint16")
            arrays[name] = np.repeat(buckets, np.diff(array))
    return dump_model(meta, arrays)


def expand(model: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What is in the file that compact was given, for any sections."""
    meta, arrays = load_model(make_genuine(model))
    for name, array in arrays.items():
        if name.endswith("_index") and array.dtype == np.uint16:
            buckets = np.sort(array)
            ends = np.empty(len(buckets) + 2, dtype="int64")
            ends[0], ends[1:-1], ends[-1] = -1, buckets, N_BUCKETS
            steps = ends[1:] - ends[:-1]
            arrays[name] = np.arange(len(steps), dtype="uint32").repeat(steps)
    return meta, arrays


def load_compact(component: Any, model: bytes) -> None:
    """Let a component read what compact gave: what from_disk does, without writing and
    reading a file, and without spaCy's part in it, which is slow."""
    component.engine.from_contents(*expand(model))


def make_genuine(data: bytes) -> bytes:
    """Give bytes the header of a file that is whole, as somebody who means harm would:
    else all that is tested is the checksum."""
    result = bytearray(data.ljust(40, b"\0"))
    numbers = struct.pack("<IIQQ", BYTE_ORDER, VERSION, len(result), 0)
    result[:32] = MAGIC + numbers
    result[24:32] = struct.pack("<Q", checksum(result))
    return bytes(result)
