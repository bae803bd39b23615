"""Docs without annotation."""

from spacy.tokens import Doc


def bare(doc: Doc) -> Doc:
    """The words of a doc, and where its sentences start."""
    return Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        sent_starts=[token.is_sent_start for token in doc],
    )
