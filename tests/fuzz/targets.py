"""What is fuzzed: for each reader a function that takes any bytes.

It returns when the reader has read them or refused them by an error with a code, and
raises whatever else happens.
"""

import gc
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import spacy
import srsly
from spacy.language import Language
from spacy.vocab import Vocab

from spacy_dynsel.base.settings import LearnerSettings
from spacy_dynsel.base.templates import parse_templates, read_templates
from spacy_dynsel.cascade.model import Cascade
from spacy_dynsel.core.model_file import dump_model, load_model
from spacy_dynsel.corpus.conll import (
    Columns,
    Sentence,
    make_docs,
    read_columns,
    read_conllu,
)
from spacy_dynsel.tasks.bilou.gazetteer import Gazetteer
from spacy_dynsel.tasks.bilou.gazetteers import Gazetteers
from spacy_dynsel.tasks.tagging.engine import TaggingEngine

from .models import LETTERS, MAKERS, TEXTS, load_compact, make_genuine, make_letters

# How many models are read into a component before another takes its place: labels stay
# in the vocabulary for good.
RUNS_OF_A_COMPONENT = 20_000
CODE = re.compile(r"\[DS\d{3}\]")
# In memory where that is possible: millions of files are written.
SHARED_MEMORY = Path("/dev/shm")
FOLDER = tempfile.TemporaryDirectory(
    prefix="dynsel-fuzz-", dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
)
INPUT = Path(FOLDER.name) / "input"
TOKENIZER = spacy.blank("xx").tokenizer
CORPUS_VOCAB = Vocab()
LAYOUTS = (
    Columns(),
    Columns(word=2, entity=3, tag=-1, document_mark="#"),
    Columns(entity=None, tag=2, separator="|", empty_word="?"),
)


@contextmanager
def refusal_allowed() -> Iterator[None]:
    """Let errors with a code pass, and no others."""
    try:
        yield
    except ValueError as error:
        if not CODE.match(str(error)):
            raise


def write(data: bytes) -> Path:
    INPUT.write_bytes(data)
    return INPUT


def container(data: bytes) -> None:
    """The header, the sections and the description of a model file."""
    with refusal_allowed():
        load_model(data)
    with refusal_allowed():
        meta, arrays = load_model(make_genuine(data))
        again = load_model(dump_model(meta, arrays))
        assert srsly.json_dumps(again[0]) == srsly.json_dumps(meta)
        assert {name: array.tobytes() for name, array in again[1].items()} == {
            name: array.tobytes() for name, array in arrays.items()
        }


class Models:
    """The contents of a model file, down to predictions. The first byte chooses the
    component; the indices of weights, which are large and nearly empty, are given as
    numbers of buckets."""

    def __init__(self) -> None:
        self._pipelines: dict[int, tuple[Language, Any, int]] = {}

    def __call__(self, data: bytes) -> None:
        number = data[0] % len(MAKERS) if data else 0
        nlp, component, runs = self._pipelines.get(number, (None, None, 0))
        if nlp is None or runs == RUNS_OF_A_COMPONENT:
            nlp, runs = MAKERS[number](), 0
            # Outside a memory zone, so that these words need not be made each time.
            list(nlp.tokenizer.pipe(TEXTS))
            # Pipelines hold themselves, and this many objects keep Python from looking.
            gc.collect()
            component = nlp.get_pipe(nlp.pipe_names[0])
        self._pipelines[number] = (nlp, component, runs + 1)
        with refusal_allowed():
            load_compact(component, data[1:])
            with nlp.memory_zone():
                for doc in component.pipe(map(nlp.make_doc, TEXTS)):
                    assert len(doc.to_json()["tokens"]) == len(doc)


def templates(data: bytes) -> None:
    """A file of templates."""
    with refusal_allowed():
        found = read_templates(write(data))
        again = parse_templates(found.to_lines())
        assert again.templates == found.templates
        assert again.checkpoints == found.checkpoints
        TaggingEngine(found, LearnerSettings(), class_min_count=1, class_min_share=0.1)


def gazetteer(data: bytes) -> None:
    """A list of names, divided by white space or by a tokenizer."""
    lists = Gazetteers(paths={"names": write(data)})
    with refusal_allowed():
        arrays = lists.compile(TOKENIZER if len(data) % 2 else None)
        assert all((keys[1:] > keys[:-1]).all() for keys in list(arrays.values())[::2])
        Gazetteer(arrays, 1, ["lower", "word"])


def corpus(data: bytes) -> None:
    """A file in CoNLL-U or of columns. The first byte chooses how it is read."""
    choice = data[0] if data else 0
    path = write(data[1:])
    skipped: list[str] | None = [] if choice & 1 else None
    with refusal_allowed():
        if choice & 2:
            layout = LAYOUTS[choice // 4 % len(LAYOUTS)]
            sentences = read_columns(path, layout, skipped=skipped)
        else:
            tag_column = "upos" if choice & 4 else "xpos"
            sentences = read_conllu(path, tag_column=tag_column, skipped=skipped)
        check_docs(sentences)
    assert all(CODE.match(message) for message in skipped or [])


def check_docs(sentences: list[Sentence]) -> None:
    with CORPUS_VOCAB.memory_zone():
        docs = list(make_docs(CORPUS_VOCAB, sentences, "document"))
        words = [word for sentence in sentences for word in sentence.words]
        assert [token.text for doc in docs for token in doc] == words
        heads = [head for sentence in sentences for head in sentence.heads]
        if heads and None not in heads:
            starts = np.cumsum([0, *map(len, docs)])
            found = [
                token.head.i + start
                for doc, start in zip(docs, starts[:-1], strict=True)
                for token in doc
            ]
            offsets = np.repeat(
                np.cumsum([0] + [len(one.words) for one in sentences])[:-1],
                [len(one.words) for one in sentences],
            )
            assert found == [int(h + o) for h, o in zip(heads, offsets, strict=True)]


def cascade(data: bytes) -> None:
    """A cascade, down to predictions."""
    with refusal_allowed():
        found = Cascade.from_bytes(make_genuine(data)).predict(*make_letters()[:3])
        assert len(found.labels) == sum(map(len, LETTERS))


TARGETS: dict[str, Callable[[bytes], None]] = {
    "container": container,
    "model": Models(),
    "templates": templates,
    "gazetteer": gazetteer,
    "corpus": corpus,
    "cascade": cascade,
}
