"""Annotating corpora: text in, columns out. What users import stands in
spacy_dynsel.corpus."""

from importlib.util import find_spec

from ..base.corpus_errors import CorpusErrors

if find_spec("pyarrow") is None:
    raise ImportError(CorpusErrors.DS310)
