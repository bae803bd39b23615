"""A tagger that learns from a corpus in which most tags are missing.

    python benchmarks/partial.py --share 0.1

A share of the tags of UD English EWT's training data is left in: tokens drawn at random
and, for comparison, as many whole sentences. Accuracy is on test, gold words and
sentences.
"""

import argparse
import random
from pathlib import Path

import spacy
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from wasabi import msg

from corpora import make_docs, read_split, write_docbins
from tagger import accuracy, pipe_predictor
from training import CACHE, CONFIGS, train


def drop_tags(paths: dict[str, Path], share: float, *, by_sentence: bool) -> Path:
    """Write training data in which a share of the tags is left.

    by_sentence (bool): Whether sentences are tagged as a whole or not at all.
    """
    kind = "sentences" if by_sentence else "tokens"
    path = CACHE / f"{paths['train'].stem}-{share:g}-{kind}.spacy"
    if not path.exists():
        rng = random.Random(0)
        docs = []
        for doc in DocBin().from_disk(paths["train"]).get_docs(Vocab()):
            kept = [rng.random() < share for _ in doc.sents if by_sentence]
            for i, sentence in enumerate(doc.sents):
                for token in sentence:
                    if not (kept[i] if by_sentence else rng.random() < share):
                        token.tag_ = ""
            docs.append(doc)
        DocBin(docs=docs).to_disk(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--share", type=float, default=0.1)
    args = parser.parse_args()
    paths = write_docbins("ud_en_ewt", "xpos", CACHE, whole_documents=True)
    rows = []
    for name, by_sentence in (("tokens", False), ("whole sentences", True)):
        partial = {
            **paths,
            "train": drop_tags(paths, args.share, by_sentence=by_sentence),
        }
        path, usage = train("dynsel_tagger", CONFIGS / "tagger.cfg", partial, {})
        nlp = spacy.load(path)
        gold: list[Doc] = make_docs(nlp.vocab, read_split("ud_en_ewt", "test", "xpos"))
        score = accuracy(pipe_predictor(nlp), gold)
        rows.append((name, f"{score:.2f}", f"{usage['cpu_seconds']:.0f}"))
    msg.divider(f"{100 * args.share:g}% of the tags")
    msg.table(rows, header=("Tags of", "Accuracy on test", "CPU seconds"), divider=True)


if __name__ == "__main__":
    main()
