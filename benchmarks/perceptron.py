"""NLTK's averaged perceptron tagger, trained on sentences."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nltk.tag.perceptron import PerceptronTagger as NltkTagger
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

EPOCHS = 5


class PerceptronTagger:
    def __init__(self, path: Path) -> None:
        weights, tagdict, classes = json.loads(path.read_text(encoding="utf8"))
        self._tagger = NltkTagger(load=False)
        self._tagger.model.weights = weights
        self._tagger.tagdict = tagdict
        self._tagger.classes = self._tagger.model.classes = set(classes)

    def tag(self, words: list[str]) -> list[str]:
        return [tag for _, tag in self._tagger.tag(words)]


def train_tagger(docs: Iterable[Doc], path: Path) -> None:
    tagger: Any = NltkTagger(load=False)
    sentences = [
        [(token.text, token.tag_) for token in sent]
        for doc in docs
        for sent in (doc.sents if doc.has_annotation("SENT_START") else [doc[:]])
    ]
    tagger.train(sentences, nr_iter=EPOCHS)
    model = [tagger.model.weights, tagger.tagdict, sorted(tagger.classes)]
    path.write_text(json.dumps(model), encoding="utf8")


if __name__ == "__main__":
    source, target = sys.argv[1:]
    train_tagger(DocBin().from_disk(source).get_docs(Vocab()), Path(target))
