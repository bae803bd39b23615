"""What a tagger forgets when it is corrected, one sentence at a time.

    python benchmarks/retraining.py

The tagger of UD English EWT is loaded and shown sentences of dev on which it errs, one
after the other, each by nlp.update until it gets them right (a few times at most).
Reported are how many of the corrected decisions are right at once and after all other
corrections, and the accuracy on test before and after. --with-state goes on with the
state of training instead.
"""

import argparse
import time
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from corpora import make_docs, read_split, write_docbins
from tagger import TAGGER, accuracy, bare, pipe_predictor
from training import CACHE, CONFIGS, train

MAX_UPDATES = 3


def find_errors(nlp: Language, gold: Doc) -> list[int]:
    tags = pipe_predictor(nlp)(gold)
    return [i for i, tag in enumerate(tags) if tag != gold[i].tag_]


def correct(nlp: Language, gold: Doc) -> int:
    """Show a sentence until it is right. RETURNS (int): How often that was."""
    n = 0
    while n < MAX_UPDATES and find_errors(nlp, gold):
        nlp.update([Example(bare(gold, nlp.vocab), gold)])
        n += 1
    return n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corrections", type=int, default=100)
    parser.add_argument("--with-state", action="store_true")
    parser.add_argument("--pipeline", type=Path, help="one that is trained already")
    args = parser.parse_args()
    path = args.pipeline
    if path is None:
        paths = write_docbins("ud_en_ewt", "xpos", CACHE, whole_documents=True)
        keep = f"components.{TAGGER}.keep_training_state"
        settings = {keep: "true"} if args.with_state else {}
        path, _ = train("dynsel_tagger", CONFIGS / "tagger.cfg", paths, settings)
    nlp = spacy.load(path)
    splits = {
        split: make_docs(nlp.vocab, read_split("ud_en_ewt", split, "xpos"))
        for split in ("dev", "test")
    }
    before = accuracy(pipe_predictor(nlp), splits["test"])
    corrected: list[tuple[Doc, list[int]]] = []
    right = updates = 0
    start = time.process_time()
    for gold in splits["dev"]:
        wrong = find_errors(nlp, gold)
        if not wrong:
            continue
        updates += correct(nlp, gold)
        right += len(set(wrong) - set(find_errors(nlp, gold)))
        corrected.append((gold, wrong))
        if len(corrected) == args.corrections:
            break
    seconds = (time.process_time() - start) / max(1, updates)
    later = sum(
        len(set(wrong) - set(find_errors(nlp, gold))) for gold, wrong in corrected
    )
    n = sum(len(wrong) for _, wrong in corrected)
    after = accuracy(pipe_predictor(nlp), splits["test"])
    msg.divider(f"{len(corrected)} sentences with {n} wrong tags, {updates} updates")
    msg.table(
        [
            ("Right at once", f"{100 * right / n:.1f}%"),
            ("Right at the end", f"{100 * later / n:.1f}%"),
            ("Accuracy on test before", f"{before:.2f}"),
            ("Accuracy on test after", f"{after:.2f} ({after - before:+.2f})"),
            ("CPU seconds for an update and a look at it", f"{seconds:.2f}"),
        ]
    )


if __name__ == "__main__":
    main()
