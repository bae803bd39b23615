"""Entities in text that is written otherwise than the training data: wrapped, in upper
case, in lower case; with and without copies in other cases in training.

    python benchmarks/ner_cases.py

F1 on the development data of the Broad Twitter Corpus, one seed. Wrapped text has a line
break after every sixth word, as a token of its own.
"""

from collections.abc import Callable

import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_config

from corpora import make_docs, read_split, write_docbins
from ner import f_score, pipe_predictor
from saving import save_results
from spacy_dynsel.registry.augmenters import change_case
from tagger import show
from training import CACHE, CONFIGS, train

CORPUS = "ner_en_btc"
WIDTH = 6


def wrap(doc: Doc) -> Doc:
    """A doc with line breaks, which belong to the entities that they break."""
    words: list[str] = []
    ents: list[str] = []
    for token in doc:
        if token.i and token.i % WIDTH == 0:
            words.append("\n")
            inside = token.ent_iob_ == "I"
            ents.append(f"I-{token.ent_type_}" if inside else "O")
        words.append(token.text)
        iob = token.ent_iob_
        ents.append(f"{iob}-{token.ent_type_}" if token.ent_type_ else "O")
    starts = [i == 0 for i in range(len(words))]
    return Doc(doc.vocab, words=words, ents=ents, sent_starts=starts)


def recase(change: Callable[[str], str]) -> Callable[[Doc], Doc]:
    return lambda doc: change_case(Example(doc, doc), change).reference


TEXTS: dict[str, Callable[[Doc], Doc]] = {
    "as it is": lambda doc: doc,
    "wrapped": wrap,
    "upper case": recase(str.upper),
    "lower case": recase(str.lower),
}


def main() -> None:
    paths = write_docbins(CORPUS, "entities", CACHE)
    config = load_config(CONFIGS / "ner.cfg")
    config["corpora"]["train"]["augmenter"] = {
        "@augmenters": "spacy_dynsel.case_augmenter.v1"
    }
    augmented = CACHE / "ner_augmented.cfg"
    config.to_disk(augmented)
    gold = make_docs(spacy.blank("en").vocab, read_split(CORPUS, "dev", "entities"))
    results = {}
    for name, path in (("default", CONFIGS / "ner.cfg"), ("with copies", augmented)):
        settings = {"nlp.lang": "en", "system.seed": 0}
        nlp = spacy.load(train("dynsel_ner", path, paths, settings)[0])
        results[name] = {
            text: f_score(pipe_predictor(nlp), [change(doc) for doc in gold])
            for text, change in TEXTS.items()
        }
        show(name, {text: {"F1": score} for text, score in results[name].items()})
    save_results("ner-cases", results)


if __name__ == "__main__":
    main()
