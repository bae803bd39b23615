"""What all components of spaCy keep to."""

import copy
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

FACTORIES = [
    "dynsel_tagger",
    "dynsel_morphologizer",
    "dynsel_ner",
    "dynsel_parser",
    "dynsel_lemmatizer",
]


def check_empty_docs(pipe: Any) -> None:
    empty = Doc(pipe.vocab)
    assert len(pipe.predict([empty])[0]) == 0
    assert len(pipe.predict([])) == 0
    assert pipe(empty) is empty
    assert pipe.explain(empty) == []
    assert pipe.update([Example(empty, Doc(pipe.vocab))]) == {pipe.name: 0.0}
    assert pipe.update([]) == {pipe.name: 0.0}


def check_use_before_initialize(pipe: Any, examples: list[Example]) -> None:
    doc = Doc(pipe.vocab, words=["A", "text"])
    for use in (
        lambda: pipe(doc),
        lambda: pipe.predict([doc]),
        lambda: pipe.explain(doc),
        lambda: pipe.update(examples),
    ):
        with pytest.raises(ValueError, match="DS040"):
            use()


def check_untrained(nlp: Language, factory: str, label: str, folder: Path) -> None:
    """What has labels and no weights is saved and loaded."""
    nlp.add_pipe(factory).add_label(label)
    nlp.to_disk(folder)
    other = spacy.load(folder)
    assert other.get_pipe(factory).labels == (label,)
    with pytest.raises(ValueError, match="DS040"):
        other("text")


def check_resuming(
    nlp: Language, pipe: Any, examples: list[Example], folder: Path
) -> None:
    """Training goes on after saving, bit for bit as if it had not been interrupted."""

    def train(pipe, n_updates):
        for _ in range(n_updates):
            pipe.update(examples, drop=0.3)

    train(pipe, 2)
    nlp.to_disk(folder)
    train(pipe, 3)
    other = spacy.load(folder).get_pipe(pipe.name)
    train(other, 3)
    assert other.engine.to_bytes() == pipe.engine.to_bytes()


def check_same_bytes(
    factory: str, make_examples: Callable[[Language], list[Example]]
) -> None:
    """Two runs of the same training write the same."""

    def train():
        nlp = spacy.blank("en")
        examples = make_examples(nlp)
        pipe = nlp.add_pipe(factory)
        nlp.initialize(lambda: examples)
        for _ in range(5):
            nlp.update(examples, drop=0.2)
        return pipe.engine.to_bytes()

    assert train() == train()


def check_contributions(why: Any) -> None:
    """What templates contribute adds up to the lead."""
    assert len(why.contributions) == why.n_templates
    if why.runner_up:
        ours, others = np.sum(list(why.contributions.values()), axis=0)
        assert ours - others == pytest.approx(why.lead)


def check_equal_copies(copies: Iterable[Language], pipe: Any) -> None:
    """A component is the same in copies of its pipeline."""
    own = {"exclude": ["vocab"]}
    for nlp in copies:
        other = nlp.get_pipe(pipe.name)
        assert other.to_bytes(**own) == pipe.to_bytes(**own)
        assert other.labels == pipe.labels
        assert other.label_data == pipe.label_data
        assert other.margin == pipe.margin
        assert other.model.get_dim("nO") == len(pipe.labels)


def make_copies(nlp: Language, folder: Path) -> list[Language]:
    """A pipeline by all ways in which it can be copied."""
    nlp.to_disk(folder)
    from_bytes = spacy.blank(nlp.lang)
    for name in nlp.pipe_names:
        from_bytes.add_pipe(nlp.get_pipe_meta(name).factory, name)
    from_bytes.from_bytes(nlp.to_bytes())
    return [
        spacy.load(folder),
        from_bytes,
        pickle.loads(pickle.dumps(nlp)),
        copy.deepcopy(nlp),
    ]


def check_copies(nlp: Language, annotate: Callable[[Language], Any]) -> None:
    expected = annotate(nlp)
    for other in (pickle.loads(pickle.dumps(nlp)), copy.deepcopy(nlp)):
        assert annotate(other) == expected
        for name, pipe in nlp.pipeline:
            assert other.get_pipe(name).to_bytes() == pipe.to_bytes()


def check_processes(
    nlp: Language, texts: list[str], annotation_of: Callable[[Doc], Any]
) -> None:
    """Several processes annotate as one does."""
    expected = [annotation_of(nlp(text)) for text in texts]
    docs = nlp.pipe(texts, n_process=2, batch_size=2)
    assert [annotation_of(doc) for doc in docs] == expected


def check_error_handler(nlp: Language, texts: list[str], word: str) -> None:
    """What a component can't annotate goes to the error handler, and nothing else is lost.

    texts (list[str]): Texts, some of which have the word.
    word (str): What the component of the pipeline fails on.
    """
    [(name, pipe)] = nlp.pipeline
    predict = pipe.predict

    def fail(docs):
        if any(word in doc.text for doc in docs):
            raise ValueError("bad doc")
        return predict(docs)

    pipe.predict = fail
    names, failed = [], []

    def handle(name, proc, docs, error):
        names.append(name)
        failed.extend(docs)

    pipe.set_error_handler(handle)
    docs = list(nlp.pipe(texts, batch_size=1))
    bad = [text for text in texts if word in text]
    assert bad
    assert [doc.text for doc in failed] == bad
    assert names == [name] * len(bad)
    assert [doc.text for doc in docs] == [text for text in texts if text not in bad]


def check_memory_zones(nlp: Language, annotate: Callable[[Language], Any]) -> None:
    """Words that come and go with zones change nothing, and labels outlive zones."""
    expected = annotate(nlp)
    for i in range(50):
        with nlp.memory_zone():
            nlp(f"New words like Qq{i} and Ww{i * i} are London{i}")
            assert annotate(nlp) == expected
    for _, pipe in nlp.pipeline:
        assert pipe.labels
        assert all(label in nlp.vocab.strings for label in pipe.labels)
        # For some, each list of them says something else about labels.
        data = pipe.label_data
        lists = data.values() if isinstance(data, dict) else [data]
        assert all(label in nlp.vocab.strings for one in lists for label in one)


def make_stock(
    factory: str, make_examples: Callable[[Language], Iterable[Example]], **config: Any
) -> tuple[Any, Any]:
    """One of spaCy's own components, and what `spacy init labels` writes for it."""
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe(factory, config=config)
    nlp.initialize(lambda: make_examples(nlp))
    return pipe, srsly.json_loads(srsly.json_dumps(pipe.label_data))
