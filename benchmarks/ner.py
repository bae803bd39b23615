"""The entity recognizer beside its peers, trained and measured on the same data in one
run.

    python benchmarks/ner.py  # the default config and CRFsuite on all corpora
    python benchmarks/ner.py --corpus ner_en_btc --resources  # tweets, in detail
    python benchmarks/ner.py --corpus uner_pt_bosque --lang pt --documents

The second is also measured on other kinds of English text. F1 is on gold words, with
sentence starts as the corpus has them, a mean over the seeds; choices are made on the
development split. Speeds are the best of several rounds, in which all candidates take
turns. Corpora are found through DYNSEL_DATA; peers that are not installed are left out.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

# Before numpy is loaded: one thread for everybody.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg

from corpora import (
    data_folder,
    make_docs,
    read_iob,
    read_split,
    write_docbins,
    write_splits,
)
from peers import CrfTagger
from saving import save_results
from tagger import best_times, consume, directory_mb, pipe_through, show, time_margins
from training import (
    CACHE,
    CONFIGS,
    HERE,
    run_measured,
    spacy_config,
    train,
    train_by_script,
)

NER = "ner"
OURS = "dynsel"
FAST = "dynsel, fast"
RESOURCES = "dynsel, resources"
CNN = "spaCy tok2vec+ner"
INFINITY = float("inf")
# The corpora of a run without flags: their languages, and whether documents are Docs.
CORPORA = {
    "ner_en_btc": ("en", False),
    "uner_pt_bosque": ("pt", True),
    "uner_da": ("da", False),
    "ner_en_wnut17": ("en", False),
}
# The one that is also learned with clusters and gazetteers, and tried on other text.
TWEETS = "ner_en_btc"
N_FOLDS = 5
Spans = set[tuple[int, int, str]]


def bare(doc: Doc, vocab: Any, *, with_starts: bool = True) -> Doc:
    """The words of a doc and, if wanted, its sentence starts."""
    return Doc(
        vocab,
        words=[token.text for token in doc],
        sent_starts=[bool(token.is_sent_start) for token in doc]
        if with_starts
        else None,
    )


def spans_of(doc: Doc) -> Spans:
    return {(ent.start, ent.end, ent.label_) for ent in doc.ents}


def f_score(
    predict: Callable[[Doc], Spans], gold: list[Doc], labels: set[str] | None = None
) -> float:
    """The F1 of entities, in percent.

    labels (set[str]): The only labels that count, if given.
    """
    right = n_predicted = n_gold = 0
    for doc in gold:
        found, true = predict(doc), spans_of(doc)
        if labels is not None:
            found = {span for span in found if span[2] in labels}
            true = {span for span in true if span[2] in labels}
        right += len(found & true)
        n_predicted += len(found)
        n_gold += len(true)
    return 200 * right / max(1, n_predicted + n_gold)


def pipe_predictor(
    nlp: Language, *, with_starts: bool = True
) -> Callable[[Doc], Spans]:
    def predict(doc: Doc) -> Spans:
        result = bare(doc, nlp.vocab, with_starts=with_starts)
        for _, component in nlp.pipeline:
            result = component(result)
        return spans_of(result)

    return predict


def crf_predictor(crf: Any) -> Callable[[Doc], Spans]:
    def predict(doc: Doc) -> Spans:
        tags: list[str] = []
        for sent in doc.sents:
            tags += crf.tag([token.text for token in sent])
        return spans_of(
            Doc(doc.vocab, words=[token.text for token in doc], ents=repair(tags))
        )

    return predict


def repair(tags: list[str]) -> list[str]:
    """Tags in which an I that continues nothing starts an entity."""
    fixed: list[str] = []
    for tag in tags:
        before = fixed[-1] if fixed else "O"
        starts = tag.startswith("I-") and before[2:] != tag[2:]
        fixed.append(f"B-{tag[2:]}" if starts else tag)
    return fixed


def summary(scores: list[float]) -> dict[str, float]:
    return {
        "mean": sum(scores) / len(scores),
        "lowest": min(scores),
        "highest": max(scores),
    }


def measure_accuracy(
    ours: dict[str, list[Language]],
    peers: dict[str, Callable[[Doc], Spans]],
    gold: list[Doc],
) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for variant, pipelines in ours.items():
        for what, margin, with_starts in (
            ("default margin", None, True),
            ("all templates", INFINITY, True),
            ("no sentence starts", None, False),
        ):
            scores = []
            for nlp in pipelines:
                ner = nlp.get_pipe(NER)
                default = ner.margin
                ner.margin = default if margin is None else margin
                predict = pipe_predictor(nlp, with_starts=with_starts)
                scores.append(f_score(predict, gold))
                ner.margin = default
            table[f"{variant}, {what}"] = summary(scores)
    for name, predict in peers.items():
        table[name] = summary([f_score(predict, gold)])
    return table


def read_other_text() -> dict[str, list[Doc]]:
    """Other kinds of English text than tweets."""
    vocab = spacy.blank("en").vocab
    wikigold = data_folder() / "ner_en_wikigold" / "wikigold.conll"
    texts = {
        "uner_en_ewt": read_split("uner_en_ewt", "test", "entities"),
        "ner_en_wikigold": read_iob(wikigold),
    }
    return {
        name: make_docs(vocab, sentences, whole_documents=True)
        for name, sentences in texts.items()
    }


def measure_elsewhere(
    ours: dict[str, list[Language]], peers: dict[str, Callable[[Doc], Spans]]
) -> dict[str, Any]:
    """The same models on other kinds of text: person, organisation, location."""
    labels = {"PER", "ORG", "LOC"}
    table: dict[str, Any] = {}
    for name, gold in read_other_text().items():
        for variant, pipelines in ours.items():
            table[f"{name}, {variant}"] = summary(
                [f_score(pipe_predictor(nlp), gold, labels) for nlp in pipelines]
            )
        for peer, predict in peers.items():
            table[f"{name}, {peer}"] = summary([f_score(predict, gold, labels)])
    return table


def measure_speed(
    ours: dict[str, list[Language]],
    cnn: Language | None,
    crf: Any,
    gold: list[Doc],
    rounds: int,
) -> dict[str, Any]:
    """Tokens a second on Docs in memory."""
    part = gold[: max(1, len(gold) // 8)]
    cnn_docs = [] if cnn is None else [bare(doc, cnn.vocab) for doc in part]
    sentences = [[token.text for token in sent] for doc in part for sent in doc.sents]

    def clear(docs: list[Doc]) -> None:
        for doc in docs:
            doc.set_ents([], default="missing")

    def runner(ner: Any, docs: list[Doc]) -> Callable[[], None]:
        return lambda: consume(ner.pipe(docs, batch_size=1000))

    n_part = sum(map(len, part))
    candidates: dict[str, tuple[Callable[[], Any], int]] = {}
    our_docs: list[Doc] = []
    for variant, (nlp, *_) in ours.items():
        docs = [bare(doc, nlp.vocab) for doc in gold]
        candidates[variant] = (runner(nlp.get_pipe(NER), docs), sum(map(len, docs)))
        our_docs += docs
    if cnn is not None:
        components = [component for _, component in cnn.pipeline]
        candidates[CNN] = (lambda: pipe_through(components, cnn_docs), n_part)
    if crf is not None:
        candidates["CRFsuite"] = (lambda: [crf.tag(s) for s in sentences], n_part)
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds + 1):
        # Entities that are set would be kept: every round starts without.
        clear(our_docs)
        clear(cnn_docs)
        for name, (best, _) in best_times(
            {name: run for name, (run, _) in candidates.items()}, 1
        ).items():
            times[name].append(best)
    speeds: dict[str, Any] = {}
    for name, (_, n_tokens) in candidates.items():
        best, worst = min(times[name][1:]), max(times[name][1:])
        speeds[name] = {
            "tokens_per_second": n_tokens / best,
            "nanoseconds_per_token": 1e9 * best / n_tokens,
            "spread": worst / best,
        }
    fastest = speeds[OURS]["tokens_per_second"]
    for row in speeds.values():
        row["dynsel_is_faster"] = fastest / row["tokens_per_second"]
    return speeds


def measure_early_exit(ours: Language, gold: list[Doc], rounds: int) -> dict[str, Any]:
    """Time for a token and the share of tokens that need all templates."""
    ner = ours.get_pipe(NER)
    default = ner.margin
    docs = [bare(doc, ours.vocab) for doc in gold]
    table = {}
    for margin, time in time_margins(ner, docs, rounds).items():
        ner.margin = margin
        statistics = ner.statistics(docs)
        table[f"margin {margin}"] = {
            "nanoseconds_per_token": time,
            "templates": statistics["templates"],
            "last_stage": statistics["stages"][-1],
        }
    ner.margin = default
    return table


def train_crf(train_path: Path) -> tuple[Path, dict[str, float]]:
    model = CACHE / f"crf-{train_path.stem}.model"
    return train_by_script("crf.py", train_path, model, "ner")


def list_names() -> Path:
    """The gazetteers of examples/, made once."""
    folder = CACHE / "gazetteers"
    if not folder.exists():
        script = HERE.parent / "examples" / "make_gazetteers.py"
        run_measured([sys.executable, str(script), str(folder)])
    return folder


def train_variants(
    args: argparse.Namespace, paths: dict[str, Path]
) -> tuple[dict[str, list[Language]], dict[str, Any], dict[str, Any]]:
    """Train all that is asked for with several seeds. RETURNS (tuple): Pipelines, what
    the training of the first took, and its size, by variant."""
    base = {"nlp.lang": args.lang}
    variants: dict[str, tuple[Path, dict[str, Any]]] = {
        OURS: (args.config, base),
        FAST: (CONFIGS / "ner_fast.cfg", base),
    }
    if args.resources:
        settings = {**base, "paths.gazetteers": list_names()}
        variants[RESOURCES] = (CONFIGS / "ner_resources.cfg", settings)
    ours: dict[str, list[Language]] = {}
    training: dict[str, Any] = {}
    models: dict[str, Any] = {}
    for variant, (config, settings) in variants.items():
        ours[variant] = []
        for seed in range(args.seeds):
            settings["system.seed"] = seed
            path, usage = train("dynsel_ner", config, paths, settings)
            ours[variant].append(spacy.load(path))
            training.setdefault(variant, usage)
            models.setdefault(variant, {"directory_mb": directory_mb(path / NER)})
        models[variant]["o_bias"] = [nlp.get_pipe(NER).o_bias for nlp in ours[variant]]
    return ours, training, models


def measure_corpus(
    lang: str,
    paths: dict[str, Path],
    tests: dict[str, list[Doc]],
    seeds: Iterable[int],
) -> dict[str, list[float]]:
    """Train the default config and CRFsuite. RETURNS (dict): F1 on each test, for all
    seeds, and the seconds that training took."""
    table: dict[str, list[float]] = {}
    for seed in seeds:
        settings = {"nlp.lang": lang, "system.seed": seed}
        path, usage = train("dynsel_ner", CONFIGS / "ner.cfg", paths, settings)
        predict = pipe_predictor(spacy.load(path))
        for name, gold in tests.items():
            table.setdefault(f"{name}, {OURS}", []).append(f_score(predict, gold))
        table.setdefault("CPU seconds of training", []).append(usage["cpu_seconds"])
    if CrfTagger is not None:
        crf = crf_predictor(CrfTagger(train_crf(paths["train"])[0], "ner"))
        for name, gold in tests.items():
            table[f"{name}, CRFsuite"] = [f_score(crf, gold)]
    return table


def measure_resources(tests: dict[str, list[Doc]], seeds: int) -> dict[str, Any]:
    """Learn tweets with clusters and gazetteers. RETURNS (dict): F1 on their test data,
    and of persons, organisations and locations in other kinds of text."""
    paths = write_docbins(TWEETS, "entities", CACHE)
    pipelines = []
    for seed in range(seeds):
        settings = {"system.seed": seed, "paths.gazetteers": list_names()}
        config = CONFIGS / "ner_resources.cfg"
        pipelines.append(spacy.load(train("dynsel_ner", config, paths, settings)[0]))
    table = {
        name: summary([f_score(pipe_predictor(nlp), gold) for nlp in pipelines])
        for name, gold in tests.items()
    }
    return {**table, **measure_elsewhere({RESOURCES: pipelines}, {})}


def measure_folds() -> dict[str, list[float]]:
    """The same on Wikigold, which has no split: each fifth of its documents is test
    data once, the next one is for choices."""
    table: dict[str, list[float]] = {}
    sentences = read_iob(data_folder() / "ner_en_wikigold" / "wikigold.conll")
    for fold in range(N_FOLDS):

        def make(vocab: Any, split: str, fold: int = fold) -> list[Doc]:
            docs = make_docs(vocab, sentences, whole_documents=True)
            numbers = [
                (i * N_FOLDS // len(docs) - fold) % N_FOLDS for i in range(len(docs))
            ]
            wanted = {"test": {0}, "dev": {1}}.get(split, {2, 3, 4})
            return [doc for doc, n in zip(docs, numbers, strict=True) if n in wanted]

        paths = write_splits(f"wikigold-{fold}", CACHE, make)
        tests = {"folds": make(spacy.blank("en").vocab, "test")}
        for name, scores in measure_corpus("en", paths, tests, [0]).items():
            table.setdefault(name, []).extend(scores)
    return table


def measure_all(seeds: int) -> dict[str, Any]:
    """F1 on the test data of all corpora, printed as it comes."""
    results: dict[str, Any] = {}
    for corpus, (lang, documents) in CORPORA.items():
        paths = write_docbins(corpus, "entities", CACHE, whole_documents=documents)
        test = read_split(corpus, "test", "entities")
        vocab = spacy.blank(lang).vocab
        tests = {"sentences": make_docs(vocab, test)}
        if documents:
            tests["documents"] = make_docs(vocab, test, whole_documents=True)
        found = measure_corpus(lang, paths, tests, range(seeds))
        results[corpus] = {name: summary(scores) for name, scores in found.items()}
        show(f"F1 on the test data of {corpus}", results[corpus])
        if corpus == TWEETS:
            results[RESOURCES] = measure_resources(tests, seeds)
            show("F1 with clusters and gazetteers", results[RESOURCES])
    folds = {name: summary(scores) for name, scores in measure_folds().items()}
    results["ner_en_wikigold"] = folds
    show(f"F1 on {N_FOLDS} folds of ner_en_wikigold", folds)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", help="a single corpus, in detail")
    parser.add_argument("--lang", default="en")
    parser.add_argument("--documents", action="store_true", help="documents as Docs")
    parser.add_argument(
        "--resources", action="store_true", help="measure clusters and lists too"
    )
    parser.add_argument("--skip-spacy", action="store_true", help="leave out spaCy")
    parser.add_argument("--spacy-steps", type=int, default=3000, help="of training")
    parser.add_argument("--seeds", type=int, default=3, help="how many to train")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--config", type=Path, default=CONFIGS / "ner.cfg")
    args = parser.parse_args()

    if args.corpus is None:
        save_results("ner", measure_all(args.seeds))
        return
    paths = write_docbins(
        args.corpus, "entities", CACHE, whole_documents=args.documents
    )
    ours, training, models = train_variants(args, paths)
    peers: dict[str, Callable[[Doc], Spans]] = {}
    cnn = crf = None
    if not args.skip_spacy:
        cnn_config = spacy_config(args.lang, ["ner"], args.spacy_steps)
        cnn_path, training[CNN] = train("spacy_ner", cnn_config, paths, {})
        cnn = spacy.load(cnn_path)
        peers[CNN] = pipe_predictor(cnn)
    if CrfTagger is None:
        msg.warn("CRFsuite is left out: pip install 'spacy-dynsel[benchmark]'")
    else:
        crf_path, training["CRFsuite"] = train_crf(paths["train"])
        crf = CrfTagger(crf_path, "ner")
        peers["CRFsuite"] = crf_predictor(crf)
    one = ours[OURS][0]
    gold = {
        split: make_docs(
            one.vocab,
            read_split(args.corpus, split, "entities"),
            whole_documents=args.documents,
        )
        for split in ("train", "dev", "test")
    }
    measurements: dict[str, Callable[[], dict[str, Any]]] = {
        "training": lambda: training,
        "model": lambda: models,
        "F1 on dev": lambda: measure_accuracy(ours, peers, gold["dev"]),
        "F1 on test": lambda: measure_accuracy(ours, peers, gold["test"]),
        "speed": lambda: measure_speed(ours, cnn, crf, gold["train"], args.rounds),
        "early exit": lambda: measure_early_exit(one, gold["train"], args.rounds),
    }
    if args.corpus == TWEETS:
        measurements["F1 elsewhere"] = lambda: measure_elsewhere(ours, peers)
    results = {}
    for title, measure in measurements.items():
        results[title] = measure()
        show(title, results[title])
    level = "documents" if args.documents else "sentences"
    save_results(f"ner-{args.corpus}-{level}-{args.config.stem}", results)


if __name__ == "__main__":
    main()
