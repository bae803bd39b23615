"""The parser beside spaCy's, trained and measured on the same data in one run.

    python benchmarks/parser.py                                  # English, XPOS
    python benchmarks/parser.py --seeds 3                        # mean and spread
    python benchmarks/parser.py --documents                      # no sentence starts
    python benchmarks/parser.py --corpus ud_pt_bosque --column upos --lang pt
    python benchmarks/parser.py --untagged --skip-spacy          # no tagger before it
    python benchmarks/parser.py --pipeline                       # with all others

Both are trained on one Doc for each sentence, or, with --documents, for each document.
Attachment scores are on gold words and the pipeline's own tags, and count all tokens,
punctuation included; dep_las is what spaCy's scorer says, which leaves punctuation out.
"Gold sentences" are Docs of one sentence; "documents" are Docs without sentence starts.
Speeds are those of the parser on Docs in memory that have tags already, spaCy's with
the tok2vec that it needs, the best of several rounds, in which all candidates take
turns. With --pipeline, whole pipelines, with all that spaCy's set, are measured from
raw text, tokenizer included. Corpora are found through DYNSEL_DATA.
"""

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

# Before numpy is loaded: one thread for everybody.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import spacy
from spacy.language import Language
from spacy.pipeline.dep_parser import parser_score
from spacy.tokens import Doc
from spacy.training import Example

from corpora import make_docs, read_split, write_docbins
from ner import summary
from saving import save_results
from spacy_dynsel.pipeline.parser import DynselParser
from tagger import (
    bare,
    best_times,
    consume,
    directory_mb,
    measure_load,
    pipe_through,
    show,
)
from training import CACHE, CONFIGS, spacy_config, train

PARSER = "parser"
OURS = "dynsel"
CNN = "spaCy tok2vec+parser"
CNN_PIPELINE = "spaCy CNN pipeline"
CNN_COMPONENTS = ["tagger", "morphologizer", "parser", "trainable_lemmatizer", "ner"]
SPACY_STEPS = 3000
INFINITY = float("inf")
MARGINS = (INFINITY, 8.0, 6.0, 4.0, 3.0)
BRANCHINGS = ((2, 1.0), (4, 2.0), (8, 3.0), (16, 4.0), (24, 6.0))
Measurements = dict[str, Callable[[], dict[str, Any]]]


class Setting(NamedTuple):
    """A position of the knobs between speed and accuracy."""

    margin: float
    label_margin: float
    branches: int
    branch_lead: float

    @classmethod
    def of(cls, parser: Any) -> "Setting":
        return cls(*(getattr(parser, name) for name in cls._fields))

    def apply(self, parser: Any) -> None:
        for name, value in self._asdict().items():
            setattr(parser, name, value)

    def with_margin(self, margin: float) -> "Setting":
        """Another margin; that of labels keeps its distance."""
        label_margin = self.label_margin + margin - self.margin
        return self._replace(margin=margin, label_margin=label_margin)

    def __str__(self) -> str:
        branching = f"{self.branches}:{self.branch_lead:g}" if self.branches else "0"
        return f"margin {self.margin:g}, branches {branching}"


def headline_settings(default: Setting) -> dict[str, Setting]:
    greedy = default._replace(branches=0)
    branches, lead = BRANCHINGS[-1]
    return {
        "greedy": greedy,
        "greedy, all templates": greedy.with_margin(INFINITY),
        "default": default,
        "default, all templates": default.with_margin(INFINITY),
        "strongest": default._replace(branches=branches, branch_lead=lead).with_margin(
            INFINITY
        ),
    }


def table_settings(default: Setting) -> list[Setting]:
    """All margins without branches and with the default ones, and all branchings with
    the default margin."""
    rows = [
        row.with_margin(margin)
        for row in (default._replace(branches=0), default)
        for margin in MARGINS
    ]
    rows += [default._replace(branches=n, branch_lead=lead) for n, lead in BRANCHINGS]
    return list(dict.fromkeys([*rows, default]))


class Bed:
    """A pipeline and gold docs without their trees, to be parsed again and again.

    with_starts (bool): Whether the parser is told where sentences start.
    """

    def __init__(self, nlp: Language, gold: list[Doc], *, with_starts: bool) -> None:
        self.gold = gold
        self.is_ours = isinstance(nlp.get_pipe(PARSER), DynselParser)
        before, names = ["tok2vec", "tagger"], ["tok2vec", "parser"]
        if self.is_ours:
            before, names = nlp.pipe_names[: nlp.pipe_names.index(PARSER)], [PARSER]
        self.docs = [bare(doc, nlp.vocab, with_starts=with_starts) for doc in gold]
        self.components = [nlp.get_pipe(name) for name in names]
        self.parser: Any = self.components[-1]
        self.n_tokens = sum(map(len, self.docs))
        pipe_through([nlp.get_pipe(name) for name in before], self.docs)
        self._starts = [doc.to_array("SENT_START") for doc in self.docs]

    def reset(self) -> None:
        """Forget the sentence starts that parsing has set: they would be kept."""
        for doc, starts in zip(self.docs, self._starts, strict=True):
            doc.from_array(["SENT_START"], starts.reshape(-1, 1))

    def parse(self) -> None:
        if self.is_ours:
            consume(self.parser.pipe(self.docs, batch_size=1000))
        else:
            pipe_through(self.components, self.docs)

    def score(self) -> dict[str, float]:
        """Parse and compare, in percent."""
        self.reset()
        self.parse()
        heads = labeled = tags = 0
        for doc, gold in zip(self.docs, self.gold, strict=True):
            for token, true in zip(doc, gold, strict=True):
                tags += token.tag_ == true.tag_
                if token.head.i == true.head.i:
                    heads += 1
                    labeled += token.dep_ == true.dep_
        examples = [
            Example(doc, gold) for doc, gold in zip(self.docs, self.gold, strict=True)
        ]
        scores = parser_score(examples)
        return {
            "LAS": 100 * labeled / self.n_tokens,
            "UAS": 100 * heads / self.n_tokens,
            "sents_f": 100 * scores["sents_f"],
            "dep_las": 100 * scores["dep_las"],
            "tag_acc": 100 * tags / self.n_tokens,
        }


def measure_accuracy(
    ours: list[Language], cnn: Language | None, gold: list[Doc], *, with_starts: bool
) -> dict[str, Any]:
    """Scores at the settings that matter most: means over the seeds, and the spread of
    LAS if there are several."""
    table: dict[str, Any] = {}
    scores: dict[str, list[dict[str, float]]] = {}
    for nlp in ours:
        bed = Bed(nlp, gold, with_starts=with_starts)
        default = Setting.of(bed.parser)
        for name, setting in headline_settings(default).items():
            setting.apply(bed.parser)
            scores.setdefault(f"{OURS}, {name}", []).append(bed.score())
        default.apply(bed.parser)
    if cnn is not None:
        scores[CNN] = [Bed(cnn, gold, with_starts=with_starts).score()]
    for name, runs in scores.items():
        summaries = {key: summary([run[key] for run in runs]) for key in runs[0]}
        table[name] = {key: values["mean"] for key, values in summaries.items()}
        if len(ours) > 1:
            table[name]["LAS_lowest"] = summaries["LAS"]["lowest"]
            table[name]["LAS_highest"] = summaries["LAS"]["highest"]
    return table


def measure_table(
    nlp: Language,
    cnn: Language | None,
    gold: list[Doc],
    *,
    with_starts: bool,
    rounds: int,
) -> dict[str, Any]:
    """Margin and branching against accuracy, templates and speed: Table 2 of the paper,
    extended."""
    bed = Bed(nlp, gold, with_starts=with_starts)
    beds = [bed]
    default = Setting.of(bed.parser)
    table: dict[str, Any] = {}
    candidates: dict[str, Callable[[], None]] = {}

    def runner(setting: Setting) -> Callable[[], None]:
        def run() -> None:
            setting.apply(bed.parser)
            bed.parse()

        return run

    for setting in table_settings(default):
        setting.apply(bed.parser)
        scores = bed.score()
        bed.reset()
        statistics = bed.parser.statistics(bed.docs)
        table[str(setting)] = {
            **{key: scores[key] for key in ("LAS", "UAS")},
            "templates": statistics["templates"],
            "label_templates": statistics["label_templates"],
        }
        candidates[str(setting)] = runner(setting)
    if cnn is not None:
        cnn_bed = Bed(cnn, gold, with_starts=with_starts)
        beds.append(cnn_bed)
        scores = cnn_bed.score()
        table[CNN] = {key: scores[key] for key in ("LAS", "UAS")}
        candidates[CNN] = cnn_bed.parse
    texts = [doc.text for doc in bed.docs]
    candidates["spaCy tokenizer"] = lambda: consume(map(nlp.tokenizer, texts))

    def reset() -> None:
        for each in beds:
            each.reset()

    times = best_times(candidates, rounds, reset)
    default.apply(bed.parser)
    for name, (best, worst) in times.items():
        row = table.setdefault(name, {})
        row["tokens_per_second"] = bed.n_tokens / best
        if cnn is not None:
            row["speed_up"] = times[CNN][0] / best
        row["spread"] = worst / best
    return table


def measure_model(paths: dict[str, Path], lang: str, rounds: int) -> dict[str, Any]:
    """The size of each pipeline, and what it takes to load our parser."""
    table: dict[str, Any] = {
        name: {"pipeline_mb": directory_mb(path)} for name, path in paths.items()
    }
    table[OURS].update(measure_load(paths[OURS], lang, rounds, [PARSER]))
    return table


def train_all(
    args: argparse.Namespace,
) -> tuple[list[Language], Language | None, dict[str, Path], dict[str, Any]]:
    """RETURNS (tuple): Our pipelines, one for each seed; spaCy's; where the first of
    each is; and what its training took."""
    docbins = write_docbins(
        args.corpus,
        args.column,
        CACHE,
        whole_documents=args.documents,
        trees=True,
        limit=args.limit,
    )
    ours: list[Language] = []
    cnn = None
    paths: dict[str, Path] = {}
    training: dict[str, Any] = {}
    ours_config = args.config or CONFIGS / "parser.cfg"
    for seed in range(args.seeds):
        settings: dict[str, Any] = {"nlp.lang": args.lang, "system.seed": seed}
        if args.untagged:
            settings["nlp.pipeline"] = json.dumps([PARSER])
            settings["training.annotating_components"] = "[]"
        path, usage = train("dynsel_parser", ours_config, docbins, settings)
        ours.append(spacy.load(path))
        paths.setdefault(OURS, path)
        training.setdefault(OURS, usage)
    if not args.skip_spacy:
        config = spacy_config(args.lang, ["tagger", "parser"], args.spacy_steps)
        paths[CNN], training[CNN] = train("spacy_parser", config, docbins, {})
        cnn = spacy.load(paths[CNN])
        needs = training[CNN]["cpu_seconds"]
        for usage in training.values():
            usage["share"] = usage["cpu_seconds"] / needs
    return ours, cnn, paths, training


def measure_texts(
    pipelines: dict[str, Language], texts: list[str], rounds: int
) -> dict[str, Any]:
    """Tokens a second from raw text."""
    runs: dict[str, Callable[[], None]] = {}
    for name, nlp in pipelines.items():
        runs[name] = lambda nlp=nlp: consume(nlp.pipe(texts))  # type: ignore[misc]
    tokenizer = pipelines[OURS].tokenizer
    runs["spaCy tokenizer"] = lambda: consume(map(tokenizer, texts))
    n_tokens = sum(len(tokenizer(text)) for text in texts)
    for run in runs.values():
        run()
    times = best_times(runs, rounds)
    return {
        name: {
            "tokens_per_second": n_tokens / best,
            "dynsel_is_faster": best / times[OURS][0],
            "spread": worst / best,
        }
        for name, (best, worst) in times.items()
    }


def train_pipelines(
    args: argparse.Namespace, ours: Path | None = None
) -> tuple[dict[str, Path], dict[str, Any]]:
    """Train whole pipelines on the documents of one corpus and the sentences of another,
    which has the entities, ours only if it is not given. RETURNS (tuple): Where the
    pipelines are, and what their training took."""
    docbins = write_docbins(
        args.corpus,
        args.column,
        CACHE,
        whole_documents=True,
        trees=True,
        morphology=True,
        limit=args.limit,
        entities=args.entities,
    )
    paths: dict[str, Path] = {}
    training: dict[str, Any] = {}
    if ours is not None:
        paths[OURS] = ours
    else:
        config = args.config or CONFIGS / "pipeline.cfg"
        paths[OURS], training[OURS] = train(
            "dynsel_pipeline", config, docbins, {"nlp.lang": args.lang}
        )
    if not args.skip_spacy:
        cnn_config = spacy_config(args.lang, CNN_COMPONENTS, args.spacy_steps)
        paths[CNN_PIPELINE], training[CNN_PIPELINE] = train(
            "spacy_pipeline", cnn_config, docbins, {}
        )
    return paths, training


def plan_pipeline(args: argparse.Namespace) -> Measurements:
    """Whole pipelines from raw text."""
    paths, training = train_pipelines(args)
    pipelines = {name: spacy.load(path) for name, path in paths.items()}
    sentences = read_split(args.corpus, "test", args.column)[: args.limit]
    vocab = pipelines[OURS].vocab
    texts = [doc.text for doc in make_docs(vocab, sentences, whole_documents=True)]
    return {
        "training": lambda: training,
        "from raw text": lambda: measure_texts(pipelines, texts, args.rounds),
    }


def plan_parser(args: argparse.Namespace) -> Measurements:
    ours, cnn, paths, training = train_all(args)
    measurements: Measurements = {
        "training": lambda: training,
        "model": lambda: measure_model(paths, args.lang, args.rounds),
    }
    vocab = spacy.blank(args.lang).vocab

    def load(split: str, *, whole_documents: bool) -> list[Doc]:
        sentences = read_split(args.corpus, split, args.column)[: args.limit]
        return make_docs(vocab, sentences, whole_documents=whole_documents, trees=True)

    def scorer(split: str, *, whole_documents: bool) -> Callable[[], dict[str, Any]]:
        return lambda: measure_accuracy(
            ours,
            cnn,
            load(split, whole_documents=whole_documents),
            with_starts=not whole_documents,
        )

    for split in ("dev", "test"):
        for level in ("gold sentences", "documents"):
            measure = scorer(split, whole_documents=level == "documents")
            measurements[f"{split}, {level}"] = measure
    measurements["margin and branching on test"] = lambda: measure_table(
        ours[0],
        cnn,
        load("test", whole_documents=args.documents),
        with_starts=not args.documents,
        rounds=args.rounds,
    )
    return measurements


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", default="ud_en_ewt")
    parser.add_argument("--column", default="xpos", choices=["xpos", "upos"])
    parser.add_argument("--lang", default="en")
    parser.add_argument(
        "--documents", action="store_true", help="documents as Docs, not sentences"
    )
    parser.add_argument(
        "--untagged", action="store_true", help="train and measure without a tagger"
    )
    parser.add_argument(
        "--pipeline", action="store_true", help="measure whole pipelines"
    )
    parser.add_argument(
        "--entities", default="ner_en_btc", help="corpus for the ner of --pipeline"
    )
    parser.add_argument("--seeds", type=int, default=1, help="how many to train")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--skip-spacy", action="store_true", help="leave out spaCy")
    parser.add_argument("--spacy-steps", type=int, default=SPACY_STEPS)
    parser.add_argument(
        "--limit", type=int, help="sentences to take of each split, for a quick try"
    )
    parser.add_argument("--config", type=Path, help="ours, if not that of configs/")
    args = parser.parse_args()

    results = {}
    plan = plan_pipeline if args.pipeline else plan_parser
    for title, measure in plan(args).items():
        results[title] = measure()
        show(title, results[title])
    parts = ["pipeline" if args.pipeline else "parser", args.corpus, args.column]
    parts.append("documents" if args.documents or args.pipeline else "sentences")
    if args.untagged:
        parts.append("untagged")
    if args.limit:
        parts.append(str(args.limit))
    if args.config:
        parts.append(args.config.stem)
    save_results("-".join(parts), results)


if __name__ == "__main__":
    main()
