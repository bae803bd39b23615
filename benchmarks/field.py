"""Our pipeline and its peers, and what is measured of them side by side."""

import random
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from spacy.language import Language, create_tokenizer
from spacy.tokens import Doc

import ner
import tagger
from contest import Contest, Table, at_margin, margins_of
from parser import CNN_PIPELINE, OURS, PARSER, Bed, Setting
from spacy_dynsel.pipeline.component import DynselComponent
from spacy_dynsel.tokenizer.cached import CachedTokenizer
from tagger import best_times, consume, pipe_through

CNN = "spaCy tok2vec+component"
CRF = "CRFsuite"
PERCEPTRON = "NLTK perceptron"
TAGGER, NER = "tagger", "ner"
COMPONENTS = (TAGGER, PARSER, NER)
MORPHOLOGIZER = "morphologizer"
# What sets parts of speech, features and lemmas.
MORPHOLOGY = (MORPHOLOGIZER, "lemmatizer", "trainable_lemmatizer")
RULE_PIPELINE = "spaCy CNN pipeline, attribute_ruler and rule lemmatizer"
INFINITY = float("inf")


class Field:
    """All that takes part.

    ours (Language), cnn (Language): The pipelines, spaCy's if it takes part.
    crf (dict): CRFsuite for tags and for entities.
    perceptron: NLTK's tagger.
    rules (Language): spaCy's pipeline with a map of tags and rules for lemmas.
    """

    def __init__(
        self,
        ours: Language,
        cnn: Language | None,
        crf: dict[str, Any],
        perceptron: Any,
        rules: Language | None = None,
    ) -> None:
        self.ours = ours
        # Whichever it was saved with, it is measured with spaCy's and the cached one.
        ours.tokenizer = create_tokenizer()(ours)
        self.cnn = cnn
        self.crf = crf
        self.perceptron = perceptron
        self.rules = rules
        # All that have a margin, threads and so on.
        self.components: dict[str, Any] = {
            name: component
            for name, component in ours.pipeline
            if isinstance(component, DynselComponent)
        }

    @property
    def sets_everything(self) -> bool:
        """Whether ours has all that spaCy's pipelines have."""
        return {*COMPONENTS, *MORPHOLOGY[:2]} <= set(self.ours.pipe_names)

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

    def compare_pipelines(
        self, texts: list[str], rounds: int, *, morphology: bool = False
    ) -> Table:
        """Whole pipelines from raw text, and tokenizers alone.

        morphology (bool): Whether parts of speech, features and lemmas are set too.
        """
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
        peers = {CNN_PIPELINE: self.cnn}
        if morphology:
            peers[RULE_PIPELINE] = self.rules
        for name, nlp in peers.items():
            if nlp is not None:
                contest.add(
                    name,
                    lambda nlp=nlp: consume(nlp.pipe(texts)),  # type: ignore[misc]
                    n_tokens,
                )
        contest.add("spaCy's tokenizer", lambda: consume(map(stock, texts)), n_tokens)
        contest.add("cached tokenizer", lambda: consume(map(cached, texts)), n_tokens)
        with ExitStack() as stack:
            for nlp in (self.ours, self.cnn):
                if nlp is not None and not morphology:
                    disabled = [name for name in MORPHOLOGY if name in nlp.pipe_names]
                    stack.enter_context(nlp.select_pipes(disable=disabled))
                    # A parser that misses parts of speech says so.
                    stack.enter_context(warnings.catch_warnings())
                    warnings.filterwarnings("ignore", message=r".*DW123")
            table = contest.measure(rounds, CNN_PIPELINE)
        self.ours.tokenizer, parser.branches = stock, branches
        if RULE_PIPELINE in table:
            unit = table[RULE_PIPELINE]["tokens_per_second"]
            for row in table.values():
                row["times_faster_than_rules"] = row["tokens_per_second"] / unit
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
        """Docs with our tags, without which a parser is unsure everywhere, and with our
        parts of speech and features, without which a lemmatizer is."""
        stream: Any = docs
        for name in (TAGGER, MORPHOLOGIZER):
            if name in self.components:
                stream = self.components[name].pipe(stream, batch_size=1000)
        return list(stream)

    def measure_threads(self, gold: list[Doc], rounds: int) -> Table:
        """Each component with one thread and with two, on one large batch."""
        docs = self.tag(
            [tagger.bare(doc, self.ours.vocab, with_starts=True) for doc in gold]
        )
        # Enough for the time to be that of the work.
        docs *= max(1, 200_000 // max(1, sum(map(len, docs))))
        table: Table = {}
        for name, component in self.components.items():

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
                for component in self.components.values():
                    component.n_threads = n_threads
                consume(nlp.pipe(texts))
                for component in self.components.values():
                    component.n_threads = 1

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
        for name, component in self.components.items():
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
                    for name, component in self.components.items()
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
