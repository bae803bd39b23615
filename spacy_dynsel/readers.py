"""Registered corpus readers."""

from collections.abc import Callable, Iterator
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example


def make_tagged_corpus(
    path: Path | str | None,
) -> Callable[[Language], Iterator[Example]]:
    """A corpus whose tags are seen by components in training, as if a tagger had set
    them: for DocBins that `spacy dynsel jackknife` has written.

    path (Path): The DocBin, or a folder of them.
    """
    return TaggedCorpus(path)


class TaggedCorpus(Corpus):
    """See make_tagged_corpus."""

    def __init__(self, path: Path | str | None) -> None:
        super().__init__(path)

    def _make_example(
        self, nlp: Language, reference: Doc, gold_preproc: bool
    ) -> Example:
        predicted = Doc(
            nlp.vocab,
            words=[token.text for token in reference],
            spaces=[bool(token.whitespace_) for token in reference],
            tags=[token.tag_ for token in reference],
        )
        return Example(predicted, reference)
