"""All components beside their peers: one command, one process, interleaved rounds.

    python benchmarks/compare.py
    python benchmarks/compare.py --instructions               # callgrind, some minutes
    python benchmarks/compare.py --ours out/model-best        # a pipeline of your own
    DYNSEL_DATA=. python benchmarks/compare.py --corpus assets --column upos \\
        --entities "" --limit 60 --spacy-steps 10 --rounds 1  # a quick try

Tagger, parser and entity recognizer are trained on the documents of one corpus and the
sentences of another, which has the entities, ours and spaCy's on the same data;
CRFsuite and NLTK's perceptron learn from the sentences of each. All are measured on
test splits; accuracy is that of tags, LAS and F1. Speeds are by CPU time, the best of
several rounds, in which all candidates take turns; "spread" is the worst over the best.
Times of two threads or processes and of single texts are by the clock. "from raw text"
has the tokenizer in it. Cycles are times over that of an addition. What is trained is
kept in benchmarks/cache, and peers that are not installed are left out. The results are
written as JSON, with charts, to benchmarks/results.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

# Before numpy is loaded: one thread for everybody.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg

import ner
import tagger
from chart import draw_bars
from corpora import make_docs, read_split, write_docbins
from floor import measure_floor
from instructions import count_instructions
from parser import CNN_PIPELINE, Bed, Setting, train_pipelines
from peers import CrfTagger, PerceptronTagger
from spacy_dynsel.report.figure import Line, draw
from spacy_dynsel.tokenizer.cached import CachedTokenizer
from tagger import best_times, consume, directory_mb, measure_load, pipe_through, show
from training import CACHE, HERE, train_by_script

OURS = "dynsel"
CNN = "spaCy tok2vec+component"
CRF = "CRFsuite"
PERCEPTRON = "NLTK perceptron"
TAGGER, PARSER, NER = COMPONENTS = ("tagger", "parser", "ner")
INFINITY = float("inf")
Table = dict[str, dict[str, Any]]


class Contest:
    """Candidates that do the same work, and how well they do it."""

    def __init__(self) -> None:
        self.table: Table = {}
        self._runs: dict[str, tuple[Callable[[], Any], int]] = {}

    def add(
        self, name: str, run: Callable[[], Any], n_tokens: int, **scores: float
    ) -> None:
        self.table[name] = scores
        self._runs[name] = (run, n_tokens)

    def measure(
        self,
        rounds: int,
        unit: str,
        *,
        prepare: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.process_time,
    ) -> Table:
        """Let them run.

        unit (str): The candidate that the others are compared with, if it is there.
        prepare (Callable): What to do before each run.
        clock (Callable): CPU time, which other work on the machine disturbs least, if
            all of them use one thread.
        """
        runs = {name: run for name, (run, _) in self._runs.items()}
        best_times(runs, 1, prepare)
        times = best_times(runs, rounds, prepare, clock)
        speeds = {name: n / times[name][0] for name, (_, n) in self._runs.items()}
        for name, (best, worst) in times.items():
            self.table[name]["tokens_per_second"] = speeds[name]
            if unit in speeds:
                self.table[name]["times_faster"] = speeds[name] / speeds[unit]
            self.table[name]["spread"] = worst / best
        return self.table


def margins_of(component: Any) -> dict[str, float]:
    """Three positions of the knob."""
    default = component.margin
    return {
        f"margin {default / 2:g}": default / 2,
        f"margin {default:g} (default)": default,
        "all templates": INFINITY,
    }


def at_margin(
    component: Any, margin: float, run: Callable[[], Any]
) -> Callable[[], Any]:
    def run_there() -> Any:
        default = component.margin
        component.margin = margin
        try:
            return run()
        finally:
            component.margin = default

    return run_there


class Field:
    """All that takes part.

    ours (Language), cnn (Language): The pipelines, spaCy's if it takes part.
    crf (dict): CRFsuite for tags and for entities.
    perceptron: NLTK's tagger.
    """

    def __init__(
        self, ours: Language, cnn: Language | None, crf: dict[str, Any], perceptron: Any
    ) -> None:
        self.ours = ours
        self.cnn = cnn
        self.crf = crf
        self.perceptron = perceptron

    def cnn_components(self, name: str) -> list[Any]:
        assert self.cnn is not None
        return [self.cnn.get_pipe("tok2vec"), self.cnn.get_pipe(name)]

    def compare_taggers(self, gold: list[Doc], rounds: int) -> Table:
        contest = Contest()
        component = self.ours.get_pipe(TAGGER)
        component.cfg["overwrite"] = True
        docs = [tagger.bare(doc, self.ours.vocab) for doc in gold]
        n_tokens = sum(map(len, docs))

        def tag() -> None:
            consume(component.pipe(docs, batch_size=1000))

        for name, margin in margins_of(component).items():
            run = at_margin(component, margin, tag)
            run()
            contest.add(
                f"{OURS}, {name}", run, n_tokens, accuracy=tag_accuracy(docs, gold)
            )
        if self.cnn is not None:
            components = self.cnn_components("tagger")
            cnn_docs = [tagger.bare(doc, self.cnn.vocab) for doc in gold]
            components[-1].cfg["overwrite"] = True
            pipe_through(components, cnn_docs)
            contest.add(
                CNN,
                lambda: pipe_through(components, cnn_docs),
                n_tokens,
                accuracy=tag_accuracy(cnn_docs, gold),
            )
        words = [[token.text for token in doc] for doc in gold]
        for name, peer in ((CRF, self.crf.get("tags")), (PERCEPTRON, self.perceptron)):
            if peer is not None:
                contest.add(
                    name,
                    lambda peer=peer: [peer.tag(sentence) for sentence in words],  # type: ignore[misc]
                    n_tokens,
                    accuracy=tagger.accuracy(
                        lambda doc, peer=peer: peer.tag([token.text for token in doc]),  # type: ignore[misc]
                        gold,
                    ),
                )
        return contest.measure(rounds, CNN)

    def compare_parsers(self, gold: list[Doc], rounds: int) -> Table:
        contest = Contest()
        bed = Bed(self.ours, gold, with_starts=True)
        default = Setting.of(bed.parser)
        beds = [bed]
        for branching, base in (
            ("greedy", default._replace(branches=0)),
            ("branching", default),
        ):
            for name, margin in margins_of(bed.parser).items():
                setting = base.with_margin(margin)
                setting.apply(bed.parser)
                contest.add(
                    f"{OURS}, {branching}, {name}",
                    setting_run(bed, setting),
                    bed.n_tokens,
                    accuracy=bed.score()["LAS"],
                )
                default.apply(bed.parser)
        if self.cnn is not None:
            cnn_bed = Bed(self.cnn, gold, with_starts=True)
            beds.append(cnn_bed)
            contest.add(
                CNN, cnn_bed.parse, cnn_bed.n_tokens, accuracy=cnn_bed.score()["LAS"]
            )

        def reset() -> None:
            default.apply(bed.parser)
            for each in beds:
                each.reset()

        table = contest.measure(rounds, CNN, prepare=reset)
        default.apply(bed.parser)
        return table

    def compare_recognizers(self, gold: list[Doc], rounds: int) -> Table:
        contest = Contest()
        component = self.ours.get_pipe(NER)
        docs = [ner.bare(doc, self.ours.vocab) for doc in gold]
        n_tokens = sum(map(len, docs))
        all_docs = list(docs)

        def clear() -> None:
            # Entities that are set would be kept.
            for doc in all_docs:
                doc.set_ents([], default="missing")

        def recognize() -> None:
            consume(component.pipe(docs, batch_size=1000))

        for name, margin in margins_of(component).items():
            run = at_margin(component, margin, recognize)
            clear()
            run()
            contest.add(f"{OURS}, {name}", run, n_tokens, accuracy=entity_f(docs, gold))
        if self.cnn is not None:
            components = self.cnn_components("ner")
            cnn_docs = [ner.bare(doc, self.cnn.vocab) for doc in gold]
            all_docs += cnn_docs
            pipe_through(components, cnn_docs)
            contest.add(
                CNN,
                lambda: pipe_through(components, cnn_docs),
                n_tokens,
                accuracy=entity_f(cnn_docs, gold),
            )
        crf = self.crf.get("entities")
        if crf is not None:
            words = [[t.text for t in sent] for doc in gold for sent in doc.sents]
            contest.add(
                CRF,
                lambda: [crf.tag(sentence) for sentence in words],
                n_tokens,
                accuracy=ner.f_score(ner.crf_predictor(crf), gold),
            )
        return contest.measure(rounds, CNN, prepare=clear)

    def compare_pipelines(self, texts: list[str], rounds: int) -> Table:
        """Whole pipelines from raw text, and tokenizers alone."""
        contest = Contest()
        stock = self.ours.tokenizer
        cached = CachedTokenizer.from_tokenizer(stock)
        parser = self.ours.get_pipe(PARSER)
        branches = parser.branches
        n_tokens = sum(map(len, map(stock, texts)))

        def run_ours(tokenizer: Any, n_branches: int) -> Callable[[], None]:
            def run() -> None:
                self.ours.tokenizer, parser.branches = tokenizer, n_branches
                consume(self.ours.pipe(texts))

            return run

        for name, tokenizer, n_branches in (
            ("spaCy's tokenizer", stock, branches),
            ("cached tokenizer", cached, branches),
            ("cached tokenizer, greedy", cached, 0),
        ):
            contest.add(f"{OURS}, {name}", run_ours(tokenizer, n_branches), n_tokens)
        cnn = self.cnn
        if cnn is not None:
            contest.add(CNN_PIPELINE, lambda: consume(cnn.pipe(texts)), n_tokens)
        contest.add("spaCy's tokenizer", lambda: consume(map(stock, texts)), n_tokens)
        contest.add("cached tokenizer", lambda: consume(map(cached, texts)), n_tokens)
        table = contest.measure(rounds, CNN_PIPELINE)
        self.ours.tokenizer, parser.branches = stock, branches
        return table

    def compare_with_tokenizer(self, texts: list[str], rounds: int) -> Table:
        """What our components, with greedy parsing, take beside spaCy's tokenizer."""
        contest = Contest()
        tokenizer = self.ours.tokenizer
        parser = self.ours.get_pipe(PARSER)
        branches = parser.branches
        parser.branches = 0
        docs = list(map(tokenizer, texts))
        n_tokens = sum(map(len, docs))

        def run_components() -> None:
            stream: Any = map(Doc.copy, docs)
            for name in COMPONENTS:
                stream = self.ours.get_pipe(name).pipe(stream, batch_size=1000)
            consume(stream)

        names = ("spaCy's tokenizer", "components, on copies of Docs", "copies of Docs")
        stock, whole, copies = names
        contest.add(stock, lambda: consume(map(tokenizer, texts)), n_tokens)
        contest.add(whole, run_components, n_tokens)
        contest.add(copies, lambda: consume(map(Doc.copy, docs)), n_tokens)
        table = contest.measure(rounds, stock)
        parser.branches = branches
        times = {name: 1 / table[name]["tokens_per_second"] for name in names}
        table["components beside the tokenizer"] = {
            "share": (times[whole] - times[copies]) / times[stock]
        }
        return table

    def measure_latency(self, texts: list[str], rounds: int) -> Table:
        """One text at a time through nlp(text), in microseconds."""
        stock = self.ours.tokenizer
        cached = CachedTokenizer.from_tokenizer(stock)
        pipelines: dict[str, tuple[Language, Any]] = {
            f"{OURS}, spaCy's tokenizer": (self.ours, stock),
            f"{OURS}, cached tokenizer": (self.ours, cached),
        }
        if self.cnn is not None:
            pipelines[CNN_PIPELINE] = (self.cnn, self.cnn.tokenizer)
        times = {name: np.full(len(texts), INFINITY) for name in pipelines}
        for _ in range(rounds):
            for i, text in enumerate(texts):
                for name, (nlp, tokenizer) in pipelines.items():
                    nlp.tokenizer = tokenizer
                    start = time.perf_counter()
                    nlp(text)
                    times[name][i] = min(times[name][i], time.perf_counter() - start)
        self.ours.tokenizer = stock
        table: Table = {}
        for name, values in times.items():
            p50, p99 = np.percentile(values * 1e6, [50, 99])
            table[name] = {"p50_us": float(p50), "p99_us": float(p99)}
        if CNN_PIPELINE in table:
            for row in table.values():
                row["times_faster"] = table[CNN_PIPELINE]["p50_us"] / row["p50_us"]
        return table

    def tag(self, docs: list[Doc]) -> list[Doc]:
        """Docs with our tags, without which a parser is unsure everywhere."""
        return list(self.ours.get_pipe(TAGGER).pipe(docs, batch_size=1000))

    def measure_threads(self, gold: list[Doc], rounds: int) -> Table:
        """Each component with one thread and with two, on one large batch."""
        docs = self.tag(
            [tagger.bare(doc, self.ours.vocab, with_starts=True) for doc in gold]
        )
        # Enough for the time to be that of the work.
        docs *= max(1, 200_000 // max(1, sum(map(len, docs))))
        table: Table = {}
        for name in COMPONENTS:
            component = self.ours.get_pipe(name)

            def runner(n_threads: int, component: Any = component) -> Any:
                def run() -> None:
                    component.n_threads = n_threads
                    component.predict(docs)

                return run

            times = best_times({"one": runner(1), "two": runner(2)}, rounds)
            component.n_threads = 1
            one, two = times["one"][0], times["two"][0]
            table[name] = {"one_ms": 1e3 * one, "two_ms": 1e3 * two, "ratio": one / two}
        return table

    def measure_ways(self, texts: list[str], rounds: int) -> Table:
        """Ways to use two cores for whole pipelines, from raw text, by the clock."""
        contest = Contest()
        nlp = self.ours
        stock = nlp.tokenizer
        nlp.tokenizer = CachedTokenizer.from_tokenizer(stock)
        n_tokens = sum(len(nlp.tokenizer(text)) for text in texts)
        halves = [texts[::2], texts[1::2]]

        def with_threads(n_threads: int) -> Callable[[], None]:
            def run() -> None:
                for name in COMPONENTS:
                    nlp.get_pipe(name).n_threads = n_threads
                consume(nlp.pipe(texts))
                for name in COMPONENTS:
                    nlp.get_pipe(name).n_threads = 1

            return run

        def with_python_threads() -> None:
            with ThreadPoolExecutor(2) as pool:
                consume(pool.map(lambda half: consume(nlp.pipe(half)), halves))

        contest.add("one thread", with_threads(1), n_tokens)
        contest.add("n_threads = 2", with_threads(2), n_tokens)
        contest.add("two Python threads", with_python_threads, n_tokens)
        contest.add(
            "n_process = 2", lambda: consume(nlp.pipe(texts, n_process=2)), n_tokens
        )
        table = contest.measure(rounds, "one thread", clock=time.perf_counter)
        nlp.tokenizer = stock
        return table

    def measure_predictions(
        self, gold: list[Doc], rounds: int, cycle: float | None
    ) -> Table:
        """Nanoseconds and cycles a token of predictions, without what is written into
        Docs.

        cycle (float): The nanoseconds of a cycle, if known.
        """
        docs = self.tag(
            [tagger.bare(doc, self.ours.vocab, with_starts=True) for doc in gold]
        )
        n_tokens = sum(map(len, docs))
        runs: dict[str, Callable[[], Any]] = {}
        for name in COMPONENTS:
            component = self.ours.get_pipe(name)
            predict = partial(component.predict, docs)
            for margin_name, margin in margins_of(component).items():
                runs[f"{name}, {margin_name}"] = at_margin(component, margin, predict)
        best_times(runs, 1)
        times = best_times(runs, rounds, clock=time.process_time)
        table: Table = {}
        for name, (best, _) in times.items():
            table[name] = {"ns": 1e9 * best / n_tokens}
            if cycle is not None:
                table[name]["cycles"] = table[name]["ns"] / cycle
        return table

    def measure_scaling(self, gold: list[Doc], rounds: int) -> dict[str, Table]:
        """Nanoseconds a token for documents of several lengths and for several numbers of
        documents, both made of real sentences, and for texts of several numbers of
        different words, which are made up."""
        vocab = self.ours.vocab
        choose = random.Random(0)
        made_up = [f"w{i}" for i in range(1 << 17)]
        components = [self.ours.get_pipe(name) for name in COMPONENTS]
        tokens = [(token.text, token.i == 0) for doc in gold for token in doc]

        def make(n_docs: int, length: int, n_words: int = 0) -> list[Doc]:
            docs = []
            for number in range(n_docs):
                if n_words:
                    words = choose.choices(made_up[:n_words], k=length)
                    starts = [i % 20 == 0 for i in range(length)]
                else:
                    places = range(number * length, (number + 1) * length)
                    words, starts = map(
                        list,
                        zip(*(tokens[i % len(tokens)] for i in places), strict=True),
                    )
                docs.append(Doc(vocab, words=words, sent_starts=starts))
            return self.tag(docs)

        sizes = {
            "tokens in a document": [
                (2**n, make(2 ** (16 - n), 2**n)) for n in range(4, 17, 2)
            ],
            "documents": [(2**n, make(2**n, 64)) for n in range(2, 12, 2)],
            "different words": [(2**n, make(256, 512, 2**n)) for n in range(9, 18, 2)],
        }
        result: dict[str, Table] = {}
        for what, series in sizes.items():
            table: Table = {}
            for size, docs in series:
                n_tokens = sum(map(len, docs))
                runs: dict[str, Callable[[], Any]] = {
                    name: partial(component.predict, docs)
                    for name, component in zip(COMPONENTS, components, strict=True)
                }
                best_times(runs, 1)
                times = best_times(runs, rounds, clock=time.process_time)
                table[str(size)] = {
                    name: 1e9 * best / n_tokens for name, (best, _) in times.items()
                }
            result[what] = table
        return result


def setting_run(bed: Bed, setting: Setting) -> Callable[[], None]:
    def run() -> None:
        setting.apply(bed.parser)
        bed.parse()

    return run


def tag_accuracy(docs: list[Doc], gold: list[Doc]) -> float:
    found = iter(docs)
    return tagger.accuracy(lambda _: [token.tag_ for token in next(found)], gold)


def entity_f(docs: list[Doc], gold: list[Doc]) -> float:
    found = iter(docs)
    return ner.f_score(lambda _: ner.spans_of(next(found)), gold)


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
            for number, name in enumerate(COMPONENTS)
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


def measure_models(
    paths: dict[str, Path], training: dict[str, Any], lang: str, rounds: int
) -> Table:
    """Size, loading, memory and training of each."""
    table: Table = {name: dict(usage) for name, usage in training.items()}
    names = {
        OURS: list(COMPONENTS),
        CNN_PIPELINE: ["tok2vec", "tagger", "parser", "ner"],
    }
    for name, path in paths.items():
        loading = measure_load(path, lang, rounds, names[name])
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


def main() -> None:
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
    args = parser.parse_args()

    paths, training = train_pipelines(args, args.ours)
    crf, perceptron = train_peers(args, training)
    cnn = None if args.skip_spacy else spacy.load(paths[CNN_PIPELINE])
    field = Field(spacy.load(paths[OURS]), cnn, crf, perceptron)
    vocab = spacy.blank(args.lang).vocab
    test = read_split(args.corpus, "test", args.column)[: args.limit]
    gold = make_docs(vocab, test, trees=True)
    entities = gold
    if args.entities:
        entity_test = read_split(args.entities, "test", "entities")[: args.limit]
        entities = make_docs(vocab, entity_test)
    train_split = read_split(args.corpus, "train", args.column)[: args.limit]
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
        "from raw text": lambda: field.compare_pipelines(texts, rounds),
        "beside the tokenizer": lambda: field.compare_with_tokenizer(
            train_texts, rounds
        ),
        "one text at a time": lambda: field.measure_latency(short, rounds),
        "two threads": lambda: field.measure_threads(gold, rounds),
        "two cores, from raw text": lambda: field.measure_ways(texts, rounds),
        "models": lambda: measure_models(paths, training, args.lang, rounds),
        "the floor of this machine": lambda: measure_floor(rounds),
    }
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

    save(results, list(measurements)[:4], args.output)


if __name__ == "__main__":
    main()
