"""Whether a parser gains from tags that say more, and a morphologizer from tags.

    python benchmarks/richer_tags.py
    DYNSEL_DATA=. python benchmarks/richer_tags.py --treebanks assets:xpos:en --limit 60

A tagger and a parser are trained three times: with the tags of the treebank, with the
part of speech added to each, and with all features added as well. The tagger predicts
what the parser reads, so all that a parser could learn from `pos` and `morph` is there,
with the errors that it would have to live with. Then a tagger, a morphologizer and a
parser are trained as `configs/pipeline.cfg` trains them: the parser learns from the parts
of speech that the morphologizer predicts as well. It parses with and without that before
it; without it, the most frequent part of speech of each word and tag stands in. For the
morphologizer, a table learns from one half of the development data which label is right
given its own label and the tag of a tagger, and corrects the other half, both ways round:
what a tag could add at most to what it knows. Scores are on development data. Parsers learn once and without a
reranker, unless --full is given.
"""

import argparse
import os
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import spacy
from spacy.tokens import Doc, DocBin, Token
from spacy.vocab import Vocab
from thinc.api import Config

from corpora import make_docs, read_split, write_docbins, write_splits
from saving import save_results
from spacy_dynsel.cli.init_config import make_config
from spacy_dynsel.corpus.conll import Sentence
from tagger import bare, show
from training import CACHE, CONFIGS, train

PLAIN, POS, FEATURES = ADDED = ("tag", "tag+pos", "tag+pos+morph")
LIGHT = {"components.parser.model.seeds": 1, "components.parser.model.folds": 0}


def enrich(sentence: Sentence, added: str) -> Sentence:
    """Write more into the tags of a sentence."""
    columns = [sentence.tags]
    if added != PLAIN:
        columns.append(sentence.pos)
    if added == FEATURES:
        columns.append(sentence.morphs)
    sentence.tags = ["~".join(parts) for parts in zip(*columns, strict=True)]
    return sentence


def write_enriched(name: str, column: str, added: str, limit: int | None) -> Any:
    def make(vocab: Vocab, split: str) -> list[Doc]:
        sentences = read_split(name, split, column)[:limit]
        rich = [enrich(sentence, added) for sentence in sentences]
        return make_docs(vocab, rich, whole_documents=True, trees=True, morphology=True)

    return write_splits(f"{name}-{column}-{added}-{limit}", CACHE, make)


def write_config() -> Path:
    """The config of a pipeline that tags, finds parts of speech, and parses."""
    config = Config().from_str(make_config("pipeline"), interpolate=False)
    for name in ("lemmatizer", "ner"):
        config["nlp"]["pipeline"].remove(name)
        del config["components"][name]
    config["training"]["before_to_disk"].pop("first", None)
    CACHE.mkdir(exist_ok=True)
    path = CACHE / "richer-pipeline.cfg"
    config.to_disk(path, interpolate=False)
    return path


def annotate(
    path: Path, dev: Path, *, exclude: Sequence[str] = ()
) -> list[tuple[Token, Token]]:
    """The words of development data as a pipeline sees them, and as they should be."""
    nlp = spacy.load(path, exclude=exclude)
    gold = list(DocBin().from_disk(dev).get_docs(nlp.vocab))
    docs = nlp.pipe([bare(one, nlp.vocab) for one in gold])
    return [
        pair
        for doc, one in zip(docs, gold, strict=True)
        for pair in zip(doc, one, strict=True)
    ]


def get_share(are_right: Iterable[bool]) -> float:
    """How many are right, in percent."""
    return 100 * statistics.fmean(are_right)


def score_parser(
    path: Path, dev: Path, *, exclude: Sequence[str] = ()
) -> dict[str, float]:
    pairs = annotate(path, dev, exclude=exclude)
    heads = [one.head.i == gold.head.i for one, gold in pairs]
    labels = [one.dep_ == gold.dep_ for one, gold in pairs]
    return {
        "tags": get_share(one.tag_ == gold.tag_ for one, gold in pairs),
        "UAS": get_share(heads),
        "LAS": get_share(map(bool.__and__, heads, labels)),
    }


def correct_by_tags(paths: dict[str, Path], dev: Path) -> dict[str, float]:
    """How many labels of a morphologizer are right, and how many if a table of labels and
    tags corrects them."""
    tags = [one.tag_ for one, _ in annotate(paths["tagger"], dev)]
    pairs = annotate(paths["morphologizer"], dev)
    own, gold = (
        [f"{t.pos_}|{t.morph}" for t in tokens] for tokens in zip(*pairs, strict=True)
    )
    rows = list(zip(own, tags, gold, strict=True))
    halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    are_right = []
    for learned, corrected in (halves, halves[::-1]):
        table: dict[Any, Counter[str]] = defaultdict(Counter)
        for label, tag, right in learned:
            table[label, tag][right] += 1
        for label, tag, right in corrected:
            counts = table[label, tag]
            best = counts.most_common(1)[0][0] if counts else label
            are_right.append(best == right)
    return {
        "own": get_share(map(str.__eq__, own, gold)),
        "corrected": get_share(are_right),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    treebanks = ["ud_en_ewt:xpos:en", "ud_pt_bosque:upos:pt"]
    parser.add_argument("--treebanks", nargs="+", default=treebanks)
    parser.add_argument("--limit", type=int, help="sentences to take of each split")
    parser.add_argument("--full", action="store_true", help="all seeds, a reranker")
    args = parser.parse_args()
    results: dict[str, Any] = {}
    for treebank in args.treebanks:
        name, column, lang = treebank.split(":")
        settings = {"nlp.lang": lang, **({} if args.full else LIGHT)}
        table = {}
        for added in ADDED:
            if column == "upos" and added == POS:
                continue
            paths = write_enriched(name, column, added, args.limit)
            config = CONFIGS / "parser.cfg"
            path, _ = train(f"dynsel_richer_{added}", config, paths, settings)
            table[added] = score_parser(path, paths["dev"])
        results[f"{name}, parsers"] = table
        show(f"{name}, parsers", table)
        paths = write_docbins(
            *(name, column, CACHE),
            whole_documents=True,
            trees=True,
            morphology=True,
            limit=args.limit,
        )
        path, _ = train("dynsel_pipeline", write_config(), paths, settings)
        table = {
            row: score_parser(path, paths["dev"], exclude=exclude)
            for row, exclude in (("with", ()), ("without", ("morphologizer",)))
        }
        results[f"{name}, parsers of a pipeline"] = table
        show(f"{name}, a parser taught with a morphologizer", table)
        if column == "xpos":
            paths = write_enriched(name, column, PLAIN, args.limit)
            trained = {
                kind: train(
                    f"dynsel_{kind}", CONFIGS / f"{kind}.cfg", paths, {"nlp.lang": lang}
                )[0]
                for kind in ("tagger", "morphologizer")
            }
            table = {"labels": correct_by_tags(trained, paths["dev"])}
            results[f"{name}, a morphologizer beside a tagger"] = table
            show(f"{name}, a morphologizer beside a tagger", table)
    save_results("richer_tags", results)


if __name__ == "__main__":
    main()
