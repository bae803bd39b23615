"""Registered augmenters: more training data from what there is."""

import random
from collections.abc import Callable, Iterator

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..base.settings import check_number

Augmenter = Callable[[Language, Example], Iterator[Example]]


def make_case_augmenter(upper: float = 0.1, lower: float = 0.1) -> Augmenter:
    """An augmenter for readers such as spacy_dynsel.gold_words_corpus.v1, after which a
    model can also read headlines in capitals and text without any. Each example stays
    as it is; copies in other cases come on top.

    upper (float): The share of examples that come in upper case as well.
    lower (float): The same for lower case.
    """
    check_number("upper", upper, 0.0, 1.0, whole=False)
    check_number("lower", lower, 0.0, 1.0, whole=False)

    def augment(nlp: Language, example: Example) -> Iterator[Example]:
        yield example
        for share, change in ((upper, str.upper), (lower, str.lower)):
            # spaCy seeds these numbers before training.
            if random.random() < share:
                yield change_case(example, change)

    return augment


def change_case(example: Example, change: Callable[[str], str]) -> Example:
    """A copy of an example with other words, and with the same annotation.

    change (Callable): Gives the new form of a word.
    """
    reference = example.reference
    words = [change(token.text) for token in reference]
    spaces = [bool(token.whitespace_) for token in reference]
    annotation = example.to_dict()
    annotation["token_annotation"]["ORTH"] = words
    return Example.from_dict(
        Doc(reference.vocab, words=words, spaces=spaces), annotation
    )
