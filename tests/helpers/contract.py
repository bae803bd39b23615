"""What all components of spaCy keep to."""

import copy
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example


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
