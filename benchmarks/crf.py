"""CRFsuite as a tagger, with the usual features made in Python."""

from collections.abc import Iterable
from pathlib import Path

import pycrfsuite
from spacy.tokens import Doc


def word_features(word: str) -> list[str]:
    lower = word.lower()
    return [
        f"w={word}",
        f"l={lower}",
        *(f"p{n}={lower[:n]}" for n in range(1, 5)),
        *(f"s{n}={lower[-n:]}" for n in range(1, 5)),
        f"upper={word[:1].isupper()}",
        f"allupper={word.isupper()}",
        f"digit={any(char.isdigit() for char in word)}",
        f"hyphen={'-' in word}",
    ]


def sentence_features(words: list[str]) -> list[list[str]]:
    lowers = ["<s2>", "<s1>", *(word.lower() for word in words), "</s1>", "</s2>"]
    features = []
    for i, word in enumerate(words):
        features.append(
            [
                "bias",
                *word_features(word),
                f"-1={lowers[i + 1]}",
                f"+1={lowers[i + 3]}",
                f"-2={lowers[i]}",
                f"+2={lowers[i + 4]}",
                f"-1s={lowers[i + 1][-3:]}",
                f"+1s={lowers[i + 3][-3:]}",
                f"-1,0={lowers[i + 1]}|{lowers[i + 2]}",
                f"0,+1={lowers[i + 2]}|{lowers[i + 3]}",
            ]
        )
    return features


def train_crf(docs: Iterable[Doc], path: Path) -> None:
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.select("lbfgs")
    trainer.set_params(
        {
            "c1": 0.1,
            "c2": 0.01,
            "max_iterations": 100,
            "feature.possible_transitions": True,
        }
    )
    for doc in docs:
        words = [token.text for token in doc]
        trainer.append(sentence_features(words), [token.tag_ for token in doc])
    trainer.train(str(path))


class CrfTagger:
    def __init__(self, path: Path) -> None:
        self._tagger = pycrfsuite.Tagger()
        self._tagger.open(str(path))

    def tag(self, words: list[str]) -> list[str]:
        return self._tagger.tag(sentence_features(words))


if __name__ == "__main__":
    import sys

    from spacy.tokens import DocBin
    from spacy.vocab import Vocab

    source, target = sys.argv[1:]
    train_crf(DocBin().from_disk(source).get_docs(Vocab()), Path(target))
