"""Annotating corpora: text in, columns out. What users import stands in
spacy_dynsel.corpus."""
