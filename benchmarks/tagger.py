"""The tagger beside its peers, trained and measured on the same data in one run.

    python benchmarks/tagger.py                                  # English, XPOS
    python benchmarks/tagger.py --corpus ud_pt_bosque --column upos --lang pt

Accuracy is on the test split, gold words. Speeds are the best of several rounds, in
which all candidates take turns. Corpora are found through DYNSEL_DATA; peers that are
not installed are left out.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Before numpy is loaded: one thread for everybody.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg

from corpora import make_docs, read_split, write_docbins
from peers import CrfTagger
from saving import save_results
from training import CACHE, CONFIGS, spacy_config, train, train_by_script

TAGGER = "tagger"
CNN = "spaCy tok2vec+tagger"
SPACY_STEPS = 3000
INFINITY = float("inf")
# Of a column in a table: no name is cut.
MAX_WIDTH = 80


def bare(doc: Doc, vocab: Any = None, *, with_starts: bool = False) -> Doc:
    """The words and spaces of a doc and, if wanted, its sentence starts, in a doc of
    their own."""
    return Doc(
        vocab or doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        sent_starts=[bool(token.is_sent_start) for token in doc]
        if with_starts
        else None,
    )


def accuracy(predict: Callable[[Doc], list[str]], gold: list[Doc]) -> float:
    right = total = 0
    for doc in gold:
        tags = predict(doc)
        right += sum(tag == token.tag_ for tag, token in zip(tags, doc, strict=True))
        total += len(doc)
    return 100 * right / total


def pipe_predictor(nlp: Language) -> Callable[[Doc], list[str]]:
    def predict(doc: Doc) -> list[str]:
        result = bare(doc, nlp.vocab)
        for _, component in nlp.pipeline:
            result = component(result)
        return [token.tag_ for token in result]

    return predict


def best_times(
    candidates: dict[str, Callable[[], Any]],
    rounds: int,
    prepare: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, tuple[float, float]]:
    """The shortest and the longest time of each candidate, in interleaved rounds.

    prepare (Callable): What to do before each run, which is not part of its time.
    clock (Callable): What to tell the time by.
    """
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            prepare()
            start = clock()
            run()
            times[name].append(clock() - start)
    return {name: (min(values), max(values)) for name, values in times.items()}


def consume(docs: Any) -> None:
    for _ in docs:
        pass


def measure_accuracy(
    ours: Language, peers: dict[str, Callable[[Doc], list[str]]], test: list[Any]
) -> dict[str, Any]:
    """Accuracy on sentences and on whole documents without marks."""
    tagger = ours.get_pipe(TAGGER)
    default = tagger.margin
    gold = {
        "sentences": make_docs(ours.vocab, test),
        "documents": make_docs(ours.vocab, test, whole_documents=True),
    }
    table: dict[str, Any] = {}
    for name, margin in (
        (f"dynsel, margin {default}", default),
        ("dynsel, all templates", INFINITY),
    ):
        tagger.margin = margin
        row = {
            level: accuracy(pipe_predictor(ours), docs) for level, docs in gold.items()
        }
        statistics = tagger.statistics([bare(doc) for doc in gold["sentences"]])
        table[name] = {
            **row,
            "templates": statistics["templates"],
            "stages": statistics["stages"],
        }
    tagger.margin = default
    for name, predict in peers.items():
        table[name] = {level: accuracy(predict, docs) for level, docs in gold.items()}
    return table


def pipe_through(components: list[Any], docs: list[Doc]) -> None:
    """Run spaCy's components, in the batches that suit them."""
    stream: Any = docs
    for component in components:
        stream = component.pipe(stream, batch_size=256)
    consume(stream)


def measure_speed(
    ours: Language, cnn: Language | None, crf: Any, sentences: list[Any], rounds: int
) -> dict[str, Any]:
    """Tokens a second on Docs in memory, and the tokenizer on their text."""
    tagger = ours.get_pipe(TAGGER)
    docs = [bare(doc) for doc in make_docs(ours.vocab, sentences)]
    part = docs[: max(1, len(docs) // 8)]
    texts = [doc.text for doc in docs]
    words = [[token.text for token in doc] for doc in part]
    tagger.cfg["overwrite"] = True

    n_all, n_part = sum(map(len, docs)), sum(map(len, part))
    candidates: dict[str, tuple[Callable[[], Any], int]] = {
        "dynsel": (lambda: consume(tagger.pipe(docs, batch_size=1000)), n_all),
        "spaCy tokenizer": (lambda: consume(map(ours.tokenizer, texts)), n_all),
    }
    if cnn is not None:
        components = [component for _, component in cnn.pipeline]
        cnn_docs = [bare(doc, cnn.vocab) for doc in part]
        candidates[CNN] = (lambda: pipe_through(components, cnn_docs), n_part)
    if crf is not None:
        candidates["CRFsuite"] = (
            lambda: [crf.tag(sentence) for sentence in words],
            n_part,
        )
    for run, _ in candidates.values():
        run()
    times = best_times({name: run for name, (run, _) in candidates.items()}, rounds)
    tokens = {name: n for name, (_, n) in candidates.items()}
    speeds: dict[str, Any] = {
        name: {
            "tokens_per_second": tokens[name] / best,
            "nanoseconds_per_token": 1e9 * best / tokens[name],
            "spread": worst / best,
        }
        for name, (best, worst) in times.items()
    }
    fastest = speeds["dynsel"]["tokens_per_second"]
    for row in speeds.values():
        row["dynsel_is_faster"] = fastest / row["tokens_per_second"]
    return speeds


def time_margins(pipe: Any, docs: list[Doc], rounds: int) -> dict[float, float]:
    """The nanoseconds that a token takes: without more than the first stage, with the
    margin of the component, and with all templates."""
    default = pipe.margin
    n_tokens = sum(map(len, docs))

    def runner(margin: float) -> Callable[[], None]:
        def run() -> None:
            pipe.margin = margin
            pipe.predict(docs)

        return run

    margins = [0.0, default, INFINITY]
    times = best_times({str(margin): runner(margin) for margin in margins}, rounds)
    pipe.margin = default
    return {margin: 1e9 * times[str(margin)][0] / n_tokens for margin in margins}


def measure_early_exit(
    ours: Language, sentences: list[Any], rounds: int
) -> dict[str, Any]:
    """Time for a token at several margins."""
    docs = [bare(doc) for doc in make_docs(ours.vocab, sentences)]
    times = time_margins(ours.get_pipe(TAGGER), docs, rounds)
    return {str(margin): time for margin, time in times.items()}


def measure_threads(
    ours: Language, sentences: list[Any], rounds: int
) -> dict[str, float]:
    tagger = ours.get_pipe(TAGGER)
    docs = [bare(doc) for doc in make_docs(ours.vocab, sentences[:10_000])]

    def runner(n_threads: int) -> Callable[[], None]:
        def run() -> None:
            tagger.n_threads = n_threads
            tagger.predict(docs)

        return run

    times = best_times({"one": runner(1), "two": runner(2)}, 3 * rounds)
    tagger.n_threads = 1
    one, two = times["one"][0], times["two"][0]
    return {"one_ms": 1e3 * one, "two_ms": 1e3 * two, "speedup": one / two}


def measure_cold(path: Path, sentences: list[Any], rounds: int) -> dict[str, float]:
    """Tokenizer and tagger on text that none of them has seen."""
    texts = [doc.text for doc in make_docs(spacy.blank("xx").vocab, sentences)]
    tokenizing, tagging = [], []
    for _ in range(min(3, rounds)):
        nlp = spacy.load(path)
        start = time.perf_counter()
        docs = [nlp.make_doc(text) for text in texts]
        middle = time.perf_counter()
        consume(nlp.get_pipe(TAGGER).pipe(docs, batch_size=1000))
        tagging.append(time.perf_counter() - middle)
        tokenizing.append(middle - start)
    n_tokens = sum(map(len, docs))
    return {
        "tokenizer_ns": 1e9 * min(tokenizing) / n_tokens,
        "tagger_ns": 1e9 * min(tagging) / n_tokens,
        "share": min(tagging) / min(tokenizing),
    }


def measure_single_texts(
    ours: Language, cnn: Language, sentences: list[Any], rounds: int
) -> dict[str, float]:
    """What nlp(text) takes beyond the tokenizer, one short text at a time."""
    texts = [doc.text for doc in make_docs(ours.vocab, sentences[:300])]
    times = best_times(
        {
            "ours": lambda: [ours(text) for text in texts],
            "ours_tokenizer": lambda: [ours.make_doc(text) for text in texts],
            "cnn": lambda: [cnn(text) for text in texts],
            "cnn_tokenizer": lambda: [cnn.make_doc(text) for text in texts],
        },
        rounds,
    )
    added = {
        name: 1e6 * (times[name][0] - times[f"{name}_tokenizer"][0]) / len(texts)
        for name in ("ours", "cnn")
    }
    return {
        "dynsel_us": added["ours"],
        "spacy_us": added["cnn"],
        "ratio": added["cnn"] / added["ours"],
    }


LOAD = """
import resource, sys, time
start = time.perf_counter()
import spacy
imported = time.perf_counter()
nlp = spacy.blank({lang!r})
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
config = spacy.util.load_config({path!r} + "/config.cfg", interpolate=True)
# spaCy's lemmatizer looks for its strings here.
nlp.vocab.strings.from_disk({path!r} + "/vocab/strings.json")
before, started, worked = resident(), time.perf_counter(), time.process_time()
for name in {names!r}:
    settings = dict(config["components"][name])
    factory = settings.pop("factory")
    component = nlp.add_pipe(factory, name=name, config=settings)
    component.from_disk({path!r} + "/" + name, exclude=["vocab"])
nlp("A first text.")
loaded = time.perf_counter() - started
print(imported - start, loaded, time.process_time() - worked, resident() - before)
"""


def measure_load(
    path: Path, lang: str, rounds: int, names: list[str]
) -> dict[str, float]:
    """Time to import spaCy and to load components into a blank pipeline in a new
    process, first text included, and what that adds to the resident memory."""
    code = LOAD.format(path=str(path), lang=lang, names=names)
    runs = [
        [
            float(word)
            for word in subprocess.check_output([sys.executable, "-c", code]).split()
        ]
        for _ in range(rounds)
    ]
    imported, loaded, worked, grown = map(min, zip(*runs, strict=True))
    return {
        "import_spacy_ms": 1e3 * imported,
        "load_ms": 1e3 * loaded,
        "load_cpu_ms": 1e3 * worked,
        "load_share": loaded / imported,
        "resident_mb": grown / 2**20,
        "directory_mb": sum(directory_mb(path / name) for name in names),
    }


def directory_mb(path: Path) -> float:
    files = [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 2**20


def train_crf(train_path: Path, features: str) -> tuple[Path, dict[str, float]]:
    model = CACHE / f"crf-{features}-{train_path.stem}.model"
    return train_by_script("crf.py", train_path, model, features)


def show(title: str, result: dict[str, Any]) -> None:
    msg.divider(title)
    rows = {
        name: row if isinstance(row, dict) else {"": row}
        for name, row in result.items()
    }
    columns = list(dict.fromkeys(key for row in rows.values() for key in row))
    msg.table(
        [
            (name, *(format_value(row.get(column)) for column in columns))
            for name, row in rows.items()
        ],
        header=("", *columns),
        aligns=("l", *("r" for _ in columns)),
        max_col=MAX_WIDTH,
        divider=True,
    )


def format_value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return " ".join(f"{item:.3f}" for item in value)
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", default="ud_en_ewt")
    parser.add_argument("--column", default="xpos", choices=["xpos", "upos"])
    parser.add_argument("--lang", default="en")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--skip-spacy", action="store_true", help="leave out spaCy")
    parser.add_argument(
        "--peer-features",
        default="rich",
        choices=["rich", "standard"],
        help="CRFsuite's features: ours, or those of python-crfsuite's tutorial",
    )
    parser.add_argument("--config", type=Path, default=CONFIGS / "tagger.cfg")
    args = parser.parse_args()

    sentences = write_docbins(args.corpus, args.column, CACHE)
    documents = write_docbins(args.corpus, args.column, CACHE, whole_documents=True)
    # Ours takes sentences out of documents by itself; the peers do better on sentences.
    path, usage = train(
        "dynsel_tagger", args.config, documents, {"nlp.lang": args.lang}
    )
    ours = spacy.load(path)
    training: dict[str, dict[str, float]] = {"dynsel": usage}
    cnn = None
    if not args.skip_spacy:
        cnn_config = spacy_config(args.lang, ["tagger"], SPACY_STEPS)
        cnn_path, cnn_usage = train("spacy_tagger", cnn_config, sentences, {})
        cnn = spacy.load(cnn_path)
        training[CNN] = cnn_usage
        usage["spacy_needs"] = cnn_usage["cpu_seconds"] / usage["cpu_seconds"]
    crf = None
    if CrfTagger is None:
        msg.warn("CRFsuite is left out: pip install 'spacy-dynsel[benchmark]'")
    else:
        crf_path, training["CRFsuite"] = train_crf(
            sentences["train"], args.peer_features
        )
        crf = CrfTagger(crf_path, args.peer_features)

    splits = {
        split: read_split(args.corpus, split, args.column)
        for split in ("train", "test")
    }
    peers = {}
    if cnn is not None:
        peers[CNN] = pipe_predictor(cnn)
    if crf is not None:
        peers["CRFsuite"] = lambda doc: crf.tag([token.text for token in doc])
    rounds = args.rounds
    measurements: dict[str, Callable[[], dict[str, Any]]] = {
        "training": lambda: training,
        "accuracy on test": lambda: measure_accuracy(ours, peers, splits["test"]),
        "speed": lambda: measure_speed(ours, cnn, crf, splits["train"], rounds),
        "nanoseconds a token by margin": lambda: measure_early_exit(
            ours, splits["train"], rounds
        ),
        "two threads": lambda: measure_threads(ours, splits["train"], rounds),
        "cold start": lambda: measure_cold(path, splits["train"], rounds),
        "loading": lambda: measure_load(path, args.lang, rounds, [TAGGER]),
    }
    if cnn is not None:
        measurements["one short text at a time"] = lambda: measure_single_texts(
            ours, cnn, splits["test"], rounds
        )
    results = {}
    for title, measure in measurements.items():
        results[title] = measure()
        show(title, results[title])
    name = f"tagger-{args.corpus}-{args.column}-{args.peer_features}"
    save_results(name, results)


if __name__ == "__main__":
    main()
