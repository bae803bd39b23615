import copyreg
from importlib.util import find_spec

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from helpers.corpus_code import refuse
from helpers.embedded import learn, make_examples, read_docs

# Tables need it, and nothing else does.
collect_ignore_glob = ["test_*.py"] if find_spec("pyarrow") is None else []


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory):
    """The path of a pipeline that knows something of all that there is."""
    nlp = spacy.blank("en")
    nlp.add_pipe("dynsel_tagger")
    nlp.add_pipe("dynsel_morphologizer")
    nlp.add_pipe("dynsel_parser", config={"model": {"folds": 0, "seeds": 1}})
    nlp.add_pipe("dynsel_lemmatizer")
    nlp.add_pipe("dynsel_ner", config={"model": {"seeds": 1}})
    examples = make_examples(nlp, read_docs(nlp.vocab, "train", 150))
    nlp.initialize(lambda: examples)
    learn(nlp, examples, 2)
    nlp.add_pipe("dangerous")
    path = tmp_path_factory.mktemp("corpus") / "nlp"
    nlp.to_disk(path)
    return str(path)


@pytest.fixture(autouse=True)
def no_pickle(monkeypatch):
    """Pickling a Doc or a pipeline is an error."""
    monkeypatch.setitem(copyreg.dispatch_table, Doc, refuse)
    monkeypatch.setattr(Language, "__reduce_ex__", refuse)
