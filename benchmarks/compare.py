"""All components beside their peers: one command, one process, interleaved rounds.

    python benchmarks/compare.py
    python benchmarks/compare.py --instructions               # callgrind, some minutes
    python benchmarks/compare.py --ours out/model-best        # a pipeline of your own
    DYNSEL_DATA=. python benchmarks/compare.py --corpus assets --column upos \\
        --entities "" --limit 60 --spacy-steps 10 --rounds 1  # a quick try

Whole pipelines are trained on the documents of one corpus and the sentences of another,
which has the entities, ours and spaCy's on the same data; CRFsuite and NLTK's
perceptron learn from the sentences of each. All are measured on test splits; accuracy
is that of tags, LAS and F1, and benchmarks/morphology.py has those of the other
components. Speeds are by CPU time, the best of several rounds, in which all candidates
take turns; "spread" is the worst over the best. Times of two threads or processes and
of single texts are by the clock. "from raw text" has the tokenizer in it; "everything"
is tags, parts of speech, features, lemmas, trees and entities, which spaCy's pipelines
set by trained components, or by a map of tags and rules for lemmas. Cycles are times
over that of an addition. What is trained is kept in benchmarks/cache, and peers that
are not installed are left out. The results are written as JSON, with charts, to
benchmarks/results.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Before numpy is loaded: one thread for everybody.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_config
from wasabi import msg

import ner
import tagger
from chart import draw_bars
from contest import Table
from corpora import make_docs, read_split, write_docbins
from field import CRF, MORPHOLOGY, PERCEPTRON, Field
from floor import measure_floor
from instructions import count_instructions
from parser import CNN_PIPELINE, OURS, train_pipelines
from peers import CrfTagger, PerceptronTagger
from rules import add_rules, make_tag_map
from spacy_dynsel.report.figure import Line, draw
from tagger import directory_mb, measure_load, show
from training import CACHE, HERE, train_by_script


def draw_scaling(result: dict[str, Table]) -> dict[str, str]:
    """A chart for each kind of size."""
    charts = {}
    for what, table in result.items():
        lines = [
            Line(
                name,
                [(np.log2(float(size)), row[name]) for size, row in table.items()],
                number,
            )
            for number, name in enumerate(next(iter(table.values())))
        ]
        charts[what.replace(" ", "-")] = draw(
            lines, f"{what}, as a power of 2", "nanoseconds a token"
        )
    return charts


def train_peers(
    args: argparse.Namespace, training: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    """CRFsuite for tags and entities, and NLTK's perceptron, as far as they are there."""
    tagged = write_docbins(args.corpus, args.column, CACHE, limit=args.limit)["train"]
    crf: dict[str, Any] = {}
    if CrfTagger is None:
        msg.warn("CRFsuite is left out: pip install 'spacy-dynsel[benchmark]'")
    else:
        path, training[f"{CRF}, tags"] = tagger.train_crf(tagged, "rich")
        training[f"{CRF}, tags"] |= measure_peer("crf", "CrfTagger", path, "rich")
        crf["tags"] = CrfTagger(path, "rich")
        entities = tagged
        if args.entities:
            entities = write_docbins(
                args.entities, "entities", CACHE, limit=args.limit
            )["train"]
        path, training[f"{CRF}, entities"] = ner.train_crf(entities)
        training[f"{CRF}, entities"] |= measure_peer("crf", "CrfTagger", path, "ner")
        crf["entities"] = CrfTagger(path, "ner")
    if PerceptronTagger is None:
        msg.warn("NLTK is left out: pip install 'spacy-dynsel[benchmark]'")
        return crf, None
    model = CACHE / f"perceptron-{tagged.stem}.model"
    path, training[PERCEPTRON] = train_by_script("perceptron.py", tagged, model)
    training[PERCEPTRON] |= measure_peer("perceptron", "PerceptronTagger", path)
    return crf, PerceptronTagger(path)


PEER = """
import time
from pathlib import Path
from {module} import {name}
from load import resident_kb
before, start = resident_kb(), time.perf_counter()
peer = {name}(Path({path!r}), *{arguments!r})
peer.tag(["A", "short", "text"])
print(time.perf_counter() - start, resident_kb() - before)
"""


def measure_peer(
    module: str, name: str, path: Path, *arguments: str
) -> dict[str, float]:
    """The size of a peer's model, the time to load it in a new process, first text
    included, and what that adds to the resident memory."""
    code = PEER.format(module=module, name=name, path=str(path), arguments=arguments)
    output = subprocess.check_output([sys.executable, "-c", code], cwd=HERE)
    seconds, grown = map(float, output.split())
    return {
        "load_ms": 1e3 * seconds,
        "resident_mb": grown / 1024,
        "directory_mb": path.stat().st_size / 2**20,
    }


def load_with_rules(path: Path, docs: list[Doc]) -> Language | None:
    """spaCy's pipeline with a map of tags and with rules in place of what is trained for
    parts of speech, features and lemmas. RETURNS (Language): None if there are no rules.

    docs (list[Doc]): What the map is made from.
    """
    nlp = spacy.load(path, exclude=[*MORPHOLOGY])
    if not add_rules(nlp, make_tag_map(docs)):
        msg.warn("Rules are left out: pip install 'spacy-dynsel[lookups]'")
        return None
    return nlp


def measure_models(
    paths: dict[str, Path], training: dict[str, Any], lang: str, rounds: int
) -> Table:
    """Size, loading, memory and training of each."""
    table: Table = {name: dict(usage) for name, usage in training.items()}
    for name, path in paths.items():
        components = load_config(path / "config.cfg")["nlp"]["pipeline"]
        loading = measure_load(path, lang, rounds, components)
        table.setdefault(name, {}).update(loading)
        table[name]["directory_mb"] = directory_mb(path)
    return table


def save(results: dict[str, Any], speeds: list[str], folder: Path) -> None:
    """Write the results and their charts.

    speeds (list[str]): The tables whose speeds are drawn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / "compare.json"
    output.write_text(json.dumps(results, indent=2) + "\n")
    charts = {
        "speed": draw_bars(
            {
                title: {
                    name: row["tokens_per_second"]
                    for name, row in results[title].items()
                    if "tokens_per_second" in row
                }
                for title in speeds
            },
            "tokens a second",
        ),
        **draw_scaling(results["scaling"]),
    }
    for name, chart in charts.items():
        (folder / f"compare-{name}.svg").write_text(chart, encoding="utf8")
    msg.good("Saved the results", str(output))


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", default="ud_en_ewt")
    parser.add_argument("--column", default="xpos", choices=["xpos", "upos"])
    parser.add_argument(
        "--entities", default="ner_en_btc", help="corpus of entities; '' for --corpus"
    )
    parser.add_argument("--lang", default="en")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--skip-spacy", action="store_true", help="leave out spaCy")
    parser.add_argument("--spacy-steps", type=int, default=3000)
    parser.add_argument(
        "--limit", type=int, help="sentences to take of each split, for a quick try"
    )
    parser.add_argument("--config", type=Path, help="ours, if not configs/pipeline.cfg")
    parser.add_argument("--ours", type=Path, help="a trained pipeline to take as ours")
    parser.add_argument(
        "--instructions", action="store_true", help="count them, with valgrind"
    )
    parser.add_argument("--output", type=Path, default=HERE / "results")
    return parser.parse_args()


def main() -> None:
    args = read_arguments()
    paths, training = train_pipelines(args, args.ours)
    crf, perceptron = train_peers(args, training)
    vocab = spacy.blank(args.lang).vocab
    train_split = read_split(args.corpus, "train", args.column)[: args.limit]
    cnn = rules = None
    if not args.skip_spacy:
        cnn = spacy.load(paths[CNN_PIPELINE])
        tagged = make_docs(vocab, train_split, morphology=True)
        rules = load_with_rules(paths[CNN_PIPELINE], tagged)
    field = Field(spacy.load(paths[OURS]), cnn, crf, perceptron, rules)
    test = read_split(args.corpus, "test", args.column)[: args.limit]
    gold = make_docs(vocab, test, trees=True)
    entities = gold
    if args.entities:
        entity_test = read_split(args.entities, "test", "entities")[: args.limit]
        entities = make_docs(vocab, entity_test)
    documents = make_docs(vocab, test, whole_documents=True)
    texts = [doc.text for doc in documents]
    long = make_docs(vocab, train_split, whole_documents=True)
    train_texts = [doc.text for doc in long]
    if args.limit is None:
        # Enough for the words that a text brings along for the first time.
        texts += train_texts[: len(train_texts) // 3]
    short = [doc.text for doc in gold[:300]]
    rounds = args.rounds
    measurements: dict[str, Callable[[], Any]] = {
        "tagging": lambda: field.compare_taggers(gold, rounds),
        "parsing": lambda: field.compare_parsers(gold, rounds),
        "entities": lambda: field.compare_recognizers(entities, rounds),
        "from raw text to tags, trees and entities": lambda: field.compare_pipelines(
            texts, rounds
        ),
        "beside the tokenizer": lambda: field.compare_with_tokenizer(
            train_texts, rounds
        ),
        "one text at a time": lambda: field.measure_latency(short, rounds),
        "two threads": lambda: field.measure_threads(gold, rounds),
        "two cores, from raw text": lambda: field.measure_ways(texts, rounds),
        "models": lambda: measure_models(paths, training, args.lang, rounds),
        "the floor of this machine": lambda: measure_floor(rounds),
    }
    speeds = list(measurements)[:4]
    if field.sets_everything:
        measurements["from raw text to everything"] = lambda: field.compare_pipelines(
            texts, rounds, morphology=True
        )
    results = {}
    for title, measure in measurements.items():
        results[title] = measure()
        show(title, results[title])
    results["scaling"] = field.measure_scaling(gold, min(3, rounds))
    for what, table in results["scaling"].items():
        show(f"nanoseconds a token, by {what}", table)
    cycle = results["the floor of this machine"].get("one cycle", {}).get("ns")
    results["predictions"] = field.measure_predictions(gold, rounds, cycle)
    show("predictions alone, a token", results["predictions"])
    if args.instructions:
        bin_path = write_docbins(args.corpus, args.column, CACHE, limit=300)["test"]
        results["instructions"] = count_instructions(paths[OURS], bin_path)
        for name, places in results["instructions"].items():
            show(f"instructions a token, {name}", places)

    save(results, speeds, args.output)


if __name__ == "__main__":
    main()
