"""CRFsuite as a tagger, with two sets of features, and as an entity recognizer. The
features are made in Python."""

from collections.abc import Callable, Iterable
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


def rich_features(words: list[str]) -> list[list[str]]:
    """Affixes of up to four characters, a window of five words, pairs of words."""
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


def standard_features(words: list[str]) -> list[list[str]]:
    """The features of python-crfsuite's tutorial, less the part-of-speech tags."""
    features = []
    for i, word in enumerate(words):
        row = [
            "bias",
            f"word.lower={word.lower()}",
            f"word[-3:]={word[-3:]}",
            f"word[-2:]={word[-2:]}",
            f"word.isupper={word.isupper()}",
            f"word.istitle={word.istitle()}",
            f"word.isdigit={word.isdigit()}",
        ]
        for offset, edge in ((-1, "BOS"), (1, "EOS")):
            if 0 <= i + offset < len(words):
                other = words[i + offset]
                row += [
                    f"{offset:+}:word.lower={other.lower()}",
                    f"{offset:+}:word.istitle={other.istitle()}",
                    f"{offset:+}:word.isupper={other.isupper()}",
                ]
            else:
                row.append(edge)
        features.append(row)
    return features


def entity_features(words: list[str]) -> list[list[str]]:
    """The rich ones, and how the neighbours are written."""
    features = rich_features(words)
    forms = ["<s>", *map(shape, words), "</s>"]
    for i, row in enumerate(features):
        row += [
            f"sh={forms[i + 1]}",
            f"-1sh={forms[i]}",
            f"+1sh={forms[i + 2]}",
            f"-1,0sh={forms[i]}|{forms[i + 1]}",
            f"0,+1sh={forms[i + 1]}|{forms[i + 2]}",
        ]
    return features


def shape(word: str) -> str:
    """The word with letters and digits as classes, runs cut short."""
    form = ""
    for char in word:
        kind = char
        if char.isalpha():
            kind = "X" if char.isupper() else "x"
        elif char.isdigit():
            kind = "d"
        if form[-2:] != 2 * kind:
            form += kind
    return form


def tag_labels(doc: Doc) -> list[str]:
    return [token.tag_ for token in doc]


def entity_labels(doc: Doc) -> list[str]:
    return [
        f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else "O"
        for token in doc
    ]


KINDS: dict[str, tuple[Callable[..., list[list[str]]], Callable[[Doc], list[str]]]] = {
    "rich": (rich_features, tag_labels),
    "standard": (standard_features, tag_labels),
    "ner": (entity_features, entity_labels),
}


def train_crf(docs: Iterable[Doc], path: Path, kind: str) -> None:
    get_features, get_labels = KINDS[kind]
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
        labels = get_labels(doc)
        for sent in doc.sents if doc.has_annotation("SENT_START") else [doc[:]]:
            words = [token.text for token in sent]
            trainer.append(get_features(words), labels[sent.start : sent.end])
    trainer.train(str(path))


class CrfTagger:
    def __init__(self, path: Path, kind: str) -> None:
        self._get_features = KINDS[kind][0]
        self._tagger = pycrfsuite.Tagger()
        self._tagger.open(str(path))

    def tag(self, words: list[str]) -> list[str]:
        return self._tagger.tag(self._get_features(words))


if __name__ == "__main__":
    import sys

    from spacy.tokens import DocBin
    from spacy.vocab import Vocab

    source, target, kind = sys.argv[1:]
    train_crf(DocBin().from_disk(source).get_docs(Vocab()), Path(target), kind)
