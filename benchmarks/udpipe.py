"""UDPipe 1 as a tagger and lemmatizer: what its authors call the tagger, without
tokenizer and parser."""

from collections.abc import Iterable
from pathlib import Path

from spacy.tokens import Doc
from ufal import udpipe

METHOD = "morphodita_parsito"
EMPTY = "_"


def make_sentence(doc: Doc, *, gold: bool = False) -> udpipe.Sentence:
    """The words of a Doc and, if wanted, what is annotated."""
    sentence = udpipe.Sentence()
    for token in doc:
        word = sentence.addWord(token.text)
        if gold:
            word.upostag = token.pos_
            word.xpostag = token.tag_
            word.feats = str(token.morph)
            word.lemma = token.lemma_ or EMPTY
    return sentence


def train_udpipe(
    train: Iterable[Doc], dev: Iterable[Doc], path: Path, options: str = ""
) -> None:
    """Train a model. It takes the iteration that does best on dev.

    options (str): Settings of UDPipe's tagger that differ from the default, such as
        "iterations=5".
    """
    train_data, dev_data = udpipe.Sentences(), udpipe.Sentences()
    for docs, data in ((train, train_data), (dev, dev_data)):
        for doc in docs:
            data.push_back(make_sentence(doc, gold=True))
    error = udpipe.ProcessingError()
    model = udpipe.Trainer.train(
        METHOD,
        train_data,
        dev_data,
        udpipe.Trainer.NONE,
        options,
        udpipe.Trainer.NONE,
        error,
    )
    if error.occurred():
        raise SystemExit(f"UDPipe does not train: {error.message}")
    path.write_bytes(model)


class UdpipeTagger:
    def __init__(self, path: Path) -> None:
        self._model = udpipe.Model.load(str(path))

    def make_sentence(self, doc: Doc) -> udpipe.Sentence:
        return make_sentence(doc)

    def tag(self, sentence: udpipe.Sentence) -> None:
        """Analyse the words of a sentence in place."""
        self._model.tag(sentence, udpipe.Model.DEFAULT)

    def read(self, sentence: udpipe.Sentence) -> list[tuple[str, str, str]]:
        """The part of speech, the features and the lemma of each word."""
        # The first is the root.
        return [
            (word.upostag, word.feats, word.lemma) for word in list(sentence.words)[1:]
        ]


if __name__ == "__main__":
    import sys

    from spacy.tokens import DocBin
    from spacy.vocab import Vocab

    source, target, heldout, *settings = sys.argv[1:]
    vocab = Vocab()
    train_docs, dev_docs = (
        DocBin().from_disk(file).get_docs(vocab) for file in (source, heldout)
    )
    train_udpipe(train_docs, dev_docs, Path(target), ";".join(settings))
