"""Registered corpus readers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from spacy.errors import Errors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from spacy.training.augment import dont_augment

Reader = Callable[[Language], Iterator[Example]]


def make_gold_words_corpus(
    path: Path | str | None,
    max_length: int = 0,
    limit: int = 0,
    augmenter: Callable[[Language, Example], Iterator[Example]] | None = None,
) -> Reader:
    """A corpus whose words are those of the annotation, and not what the tokenizer makes
    of its text: every word that is annotated can be learned.

    path (Path): The DocBin, or a folder of them.
    max_length (int): The length from which on docs are divided into sentences.
    limit (int): How many docs to read, if not all.
    augmenter (Callable): See spacy.Corpus.v1.
    """
    return GoldWordsCorpus(
        path,
        max_length=max_length,
        limit=limit,
        augmenter=augmenter or dont_augment,
    )


def make_tagged_corpus(path: Path | str | None) -> Reader:
    """A corpus whose tags are seen by components in training, as if a tagger had set
    them: for DocBins that `spacy dynsel jackknife` has written.

    path (Path): The DocBin, or a folder of them.
    """
    return TaggedCorpus(path)


class GoldWordsCorpus(Corpus):
    """See make_gold_words_corpus."""

    def __init__(self, path: Path | str | None, **settings: Any) -> None:
        if path is None:
            raise ValueError(Errors.E913)
        super().__init__(path, **settings)

    def _make_example(
        self, nlp: Language, reference: Doc, gold_preproc: bool
    ) -> Example:
        return super()._make_example(nlp, reference, gold_preproc=True)


class TaggedCorpus(GoldWordsCorpus):
    """See make_tagged_corpus."""

    def _make_example(
        self, nlp: Language, reference: Doc, gold_preproc: bool
    ) -> Example:
        example = super()._make_example(nlp, reference, gold_preproc)
        for token, gold in zip(example.predicted, reference, strict=True):
            token.tag_ = gold.tag_
        return example
