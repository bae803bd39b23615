"""Parts of speech, features and lemmas beside the peers, trained and measured on the
same data in one run.

    python benchmarks/morphology.py
    python benchmarks/morphology.py --skip dynsel              # the peers alone
    python benchmarks/morphology.py --skip udpipe --spacy-for-speed --labels 0
                                                               # ours, and speeds
    DYNSEL_DATA=. python benchmarks/morphology.py --treebanks assets:xpos:en \\
        --limit 60 --spacy-steps 10 --rounds 1                 # a quick try

Ours are a morphologizer and a lemmatizer, spaCy's a tok2vec with a morphologizer and a
trainable lemmatizer, UDPipe's a tagger, which does both. Scores are on gold words of
the test splits, lemmas with the tags of each system itself; all features of a word
count as one. Speeds are by CPU time on Docs in memory, the best of several rounds, in
which all candidates take turns; "spread" is the worst over the best, "of_tagger" the
time over that of our tagger, "times_faster" is against spaCy on the same treebank. At
first sight, lemmatizers are loaded afresh for each run. With many labels, those of the
last treebank are divided by a feature that depends on the word. What is trained is kept
in benchmarks/cache. Treebanks are found through DYNSEL_DATA; peers that are not
installed are left out.
"""

import argparse
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

# Before numpy is loaded: one thread for everybody.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import spacy
from spacy.attrs import LEMMA
from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab
from wasabi import msg

from analyses import (
    WRITTEN,
    Analysis,
    clear,
    count_labels,
    distinct_words,
    find_parts,
    read_doc,
    running_words,
    score,
    split_features,
)
from contest import Contest, Table, at_margin
from corpora import SPLITS, make_docs, read_split, write_docbins, write_splits
from peers import UdpipeTagger
from rules import add_rule_lemmatizer
from saving import save_results
from spacy_dynsel.corpus.conll import Sentence
from tagger import TAGGER, bare, consume, directory_mb, pipe_through, show
from training import CACHE, CONFIGS, spacy_config, train, train_by_script

OURS, SPACY, UDPIPE = CANDIDATES = ("dynsel", "spacy", "udpipe")
MORPHOLOGIZER, LEMMATIZER = "morphologizer", "lemmatizer"
TRAINABLE = "trainable_lemmatizer"
TOK2VEC = "tok2vec"
RULES = "spaCy rule lemmatizer"
TREEBANKS = ("ud_en_ewt:xpos:en", "ud_pt_bosque:upos:pt")
# Enough where only the speed of spaCy's counts, which does not depend on its weights.
FEW_STEPS = 20
# Each takes three minutes of CPU time on EWT.
UDPIPE_ITERATIONS = 4
# For our components and for rules.
BATCH_SIZE = 1000


class Treebank(NamedTuple):
    """A treebank, the column that taggers learn, and its language."""

    name: str
    column: str
    lang: str

    def read(self, split: str, limit: int | None) -> list[Sentence]:
        return read_split(self.name, split, self.column)[:limit]


class Trained(NamedTuple):
    """What has been trained and what that took."""

    path: Path
    usage: dict[str, float]


class Entry(NamedTuple):
    """What takes part in a measurement of speed.

    n_tokens (int): How many it annotates.
    unit (str): What of spaCy's it is compared with.
    docs (Sequence[Doc]), written (tuple[int]): Where to forget which attributes before each
        run.
    """

    run: Callable[[], Any]
    n_tokens: int
    unit: str = ""
    docs: Sequence[Doc] = ()
    written: tuple[int, ...] = ()


# Training


def train_ours(treebank: Treebank, config: Path, limit: int | None) -> Trained:
    # Ours takes sentences out of documents by itself; the peers do better on sentences.
    docbins = write_docbins(
        treebank.name,
        treebank.column,
        CACHE,
        whole_documents=True,
        morphology=True,
        limit=limit,
    )
    settings = {"nlp.lang": treebank.lang}
    return Trained(*train("dynsel_morphology", config, docbins, settings))


def train_tagger(treebank: Treebank, limit: int | None) -> Trained:
    docbins = write_docbins(
        treebank.name, treebank.column, CACHE, whole_documents=True, limit=limit
    )
    settings = {"nlp.lang": treebank.lang}
    return Trained(*train("dynsel_tagger", CONFIGS / "tagger.cfg", docbins, settings))


def train_split(
    treebank: Treebank, sentences: dict[str, list[Sentence]], limit: int | None
) -> Trained:
    """A morphologizer for many labels.

    sentences (dict): Those of each split, with these labels.
    """

    def make(vocab: Vocab, split: str) -> list[Doc]:
        return make_docs(vocab, sentences[split], whole_documents=True, morphology=True)

    name = f"{treebank.name}-{count_labels(sentences['train'])}-labels"
    docbins = write_splits(f"{name}-{limit}" if limit else name, CACHE, make)
    config = CONFIGS / "morphologizer.cfg"
    settings = {"nlp.lang": treebank.lang}
    return Trained(*train("dynsel_morphologizer", config, docbins, settings))


def train_peers(treebank: Treebank, args: argparse.Namespace) -> dict[str, Trained]:
    docbins = write_docbins(
        treebank.name, treebank.column, CACHE, morphology=True, limit=args.limit
    )
    trained = {}
    if SPACY not in args.skip:
        config = spacy_config(
            treebank.lang, [MORPHOLOGIZER, TRAINABLE], args.spacy_steps
        )
        trained[SPACY] = Trained(*train("spacy_morphology", config, docbins, {}))
    if UDPIPE not in args.skip and UdpipeTagger is None:
        msg.warn("UDPipe is left out: pip install 'spacy-dynsel[benchmark]'")
    elif UDPIPE not in args.skip:
        options = f"iterations={args.udpipe_iterations}"
        stem = docbins["train"].stem
        model = CACHE / f"udpipe-{stem}-{args.udpipe_iterations}.model"
        trained[UDPIPE] = Trained(
            *train_by_script(
                "udpipe.py", docbins["train"], model, str(docbins["dev"]), options
            )
        )
    return trained


# Accuracy


def annotate(nlp: Language, gold: list[Doc]) -> list[Doc]:
    """Docs with the words of gold ones, annotated by a pipeline."""
    docs = [bare(doc, nlp.vocab) for doc in gold]
    pipe_through([component for _, component in nlp.pipeline], docs)
    return docs


def score_docs(docs: list[Doc], gold: list[Doc]) -> dict[str, float]:
    return score(
        (word for doc in docs for word in read_doc(doc)),
        (word for doc in gold for word in read_doc(doc)),
    )


def score_udpipe(tagger: Any, gold: list[Doc]) -> dict[str, float]:
    found: list[Analysis] = []
    for doc in gold:
        sentence = tagger.make_sentence(doc)
        tagger.tag(sentence)
        found += [Analysis(*word) for word in tagger.read(sentence)]
    return score(found, (word for doc in gold for word in read_doc(doc)))


def measure_scores(
    pipelines: dict[str, Language], udpipe: Any, gold: list[Doc]
) -> Table:
    """What each gets right, ours also with all templates and labels."""
    table: Table = {}
    for name, nlp in pipelines.items():
        table[name] = score_docs(annotate(nlp, gold), gold)
        if name.startswith(OURS):
            morphologizer = nlp.get_pipe(MORPHOLOGIZER)
            table[f"{name}, all templates and labels"] = at_margin(
                morphologizer,
                float("inf"),
                lambda nlp=nlp: score_docs(annotate(nlp, gold), gold),  # type: ignore[misc]
            )()
    if udpipe is not None:
        table[UDPIPE] = score_udpipe(udpipe, gold)
    return table


# Size


def measure_models(trained: dict[str, Trained]) -> Table:
    """Labels, megabytes and training of each."""
    table: Table = {}
    for name, (path, usage) in trained.items():
        row: dict[str, Any] = {}
        if path.is_dir():
            nlp = spacy.load(path)
            for component in nlp.pipe_names:
                row[f"{component}_mb"] = directory_mb(path / component)
            row["labels"] = len(nlp.get_pipe(MORPHOLOGIZER).labels)
        else:
            row["model_mb"] = path.stat().st_size / 2**20
        table[name] = row | usage
        if SPACY in trained:
            share = usage["cpu_seconds"] / trained[SPACY].usage["cpu_seconds"]
            table[name]["cpu_of_spacy"] = share
    return table


# Speed


def component_entry(
    nlp: Language, names: list[str], gold: list[Doc], before: list[str], unit: str
) -> Entry:
    """Components on the words of gold docs.

    names (list[str]): The components: one, or spaCy's with their tok2vec.
    before (list[str]): Those that have annotated the docs already.
    """
    components: list[Any] = [nlp.get_pipe(name) for name in names]
    docs = [bare(doc, nlp.vocab) for doc in gold]
    pipe_through([nlp.get_pipe(name) for name in before], docs)

    def run() -> None:
        if len(components) > 1:
            pipe_through(components, docs)
        else:
            consume(components[0].pipe(docs, batch_size=BATCH_SIZE))

    is_lemmatizer = names[-1] in (LEMMATIZER, TRAINABLE)
    written = (LEMMA,) if is_lemmatizer else WRITTEN
    return Entry(run, sum(map(len, docs)), unit, docs, written)


def name_morphologizer(nlp: Language, treebank: str) -> str:
    n_labels = len(nlp.get_pipe(MORPHOLOGIZER).labels)
    return f"dynsel_morphologizer, {treebank}, {n_labels} labels"


def make_entries(
    treebank: str, pipelines: dict[str, Language], udpipe: Any, gold: list[Doc]
) -> dict[str, Entry]:
    """All that are measured for one treebank.

    pipelines (dict[str, Language]): Ours and spaCy's, as far as they are there.
    """
    morphologizer = f"spaCy tok2vec+{MORPHOLOGIZER}, {treebank}"
    lemmatizer = f"spaCy tok2vec+{TRAINABLE}, {treebank}"
    entries = {}
    if OURS in pipelines:
        nlp = pipelines[OURS]
        entries[name_morphologizer(nlp, treebank)] = component_entry(
            nlp, [MORPHOLOGIZER], gold, [], morphologizer
        )
        entries[f"dynsel_lemmatizer, {treebank}"] = component_entry(
            nlp, [LEMMATIZER], gold, [MORPHOLOGIZER], lemmatizer
        )
    if SPACY in pipelines:
        nlp = pipelines[SPACY]
        before = [TOK2VEC, MORPHOLOGIZER]
        entries[morphologizer] = component_entry(nlp, before, gold, [], morphologizer)
        entries[lemmatizer] = component_entry(
            nlp, [TOK2VEC, TRAINABLE], gold, before, lemmatizer
        )
        if add_rule_lemmatizer(nlp) is not None:
            entries[f"{RULES}, {treebank}"] = component_entry(
                nlp, [LEMMATIZER], gold, before, lemmatizer
            )
            nlp.remove_pipe(LEMMATIZER)
    if udpipe is not None:
        sentences = [udpipe.make_sentence(doc) for doc in gold]
        entries[f"UDPipe, tags and lemmas, {treebank}"] = Entry(
            lambda: [udpipe.tag(sentence) for sentence in sentences],
            sum(map(len, gold)),
            morphologizer,
        )
    return entries


def measure_speed(entries: dict[str, Entry], tagger: str, rounds: int) -> Table:
    """Let all take turns.

    tagger (str): The entry that times are compared with, if it is there.
    """
    contest = Contest()
    for name, entry in entries.items():
        contest.add(name, entry.run, entry.n_tokens)

    def forget() -> None:
        for entry in entries.values():
            clear(entry.docs, entry.written)

    table = contest.measure(rounds, "", prepare=forget)
    speeds = {name: row["tokens_per_second"] for name, row in table.items()}
    for name, row in table.items():
        row["ns"] = 1e9 / speeds[name]
        if tagger in speeds:
            row["of_tagger"] = speeds[tagger] / speeds[name]
        if entries[name].unit in speeds:
            row["times_faster"] = speeds[name] / speeds[entries[name].unit]
    return table


def load_lemmatizers(
    paths: dict[str, Path], lang: str
) -> dict[str, tuple[Language, list[str]]]:
    """Lemmatizers as new, and the components that each consists of.

    paths (dict[str, Path]): Our pipeline and spaCy's, as far as they are there.
    """
    found: dict[str, tuple[Language, list[str]]] = {}
    if OURS in paths:
        found["dynsel_lemmatizer"] = (spacy.load(paths[OURS]), [LEMMATIZER])
    if SPACY in paths:
        nlp = spacy.load(paths[SPACY])
        found[f"spaCy tok2vec+{TRAINABLE}"] = (nlp, [TOK2VEC, TRAINABLE])
        with_rules = spacy.blank(lang)
        if add_rule_lemmatizer(with_rules) is not None:
            found[RULES] = (with_rules, [LEMMATIZER])
    return found


def measure_first_sight(
    paths: dict[str, Path], lang: str, gold: list[Doc], rounds: int
) -> Table:
    """Lemmatizers that are loaded afresh for each run, with gold parts of speech and
    features, on words that occur once and on running text, in which words come again;
    "of_rules" is the time over that of rules.

    paths (dict[str, Path]): See load_lemmatizers.
    """
    table: Table = {}
    for kind, make in (
        ("each word once", distinct_words),
        ("running text", running_words),
    ):
        times: dict[str, list[float]] = {}
        for _ in range(rounds):
            for name, (nlp, names) in load_lemmatizers(paths, lang).items():
                components = [nlp.get_pipe(component) for component in names]
                docs = make(gold, nlp.vocab)
                start = time.process_time()
                pipe_through(components, docs)
                used = time.process_time() - start
                times.setdefault(name, []).append(1e9 * used / sum(map(len, docs)))
        for name, values in times.items():
            row = {"ns": min(values), "spread": max(values) / min(values)}
            if RULES in times:
                row["of_rules"] = min(values) / min(times[RULES])
            table[f"{name}, {kind}"] = row
    return table


class Run:
    """One run of this script: what is trained, and what is measured of it."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.results: dict[str, Table] = {}
        self.entries: dict[str, Entry] = {}
        self.tagger = ""

    def add(self, title: str, table: Table) -> None:
        self.results[title] = table
        show(title, table)

    def measure_treebank(self, treebank: Treebank) -> None:
        """Train on a treebank, and measure all but speed."""
        limit = self.args.limit
        trained: dict[str, Trained] = {}
        if OURS not in self.args.skip:
            config = CONFIGS / "lemmatizer.cfg"
            trained[OURS] = train_ours(treebank, config, limit)
        trained |= train_peers(treebank, self.args)
        udpipe = UdpipeTagger(trained[UDPIPE].path) if UDPIPE in trained else None
        pipelines = {
            name: spacy.load(path)
            for name, (path, _) in trained.items()
            if name != UDPIPE
        }
        gold = make_docs(Vocab(), treebank.read("test", limit), morphology=True)
        name = treebank.name
        ready = {
            one: nlp
            for one, nlp in pipelines.items()
            if one != SPACY or not self.args.spacy_for_speed
        }
        self.add(f"{name}, accuracy on test", measure_scores(ready, udpipe, gold))
        self.add(
            f"{name}, models",
            measure_models(
                {one: trained[one] for one in trained if one != SPACY or one in ready}
            ),
        )
        paths = {name: path for name, (path, _) in trained.items()}
        if OURS in trained and treebank.column == "xpos" and not self.tagger:
            tagger = spacy.load(train_tagger(treebank, limit).path)
            n_labels = len(tagger.get_pipe(TAGGER).labels)
            self.tagger = f"dynsel_tagger, {name}, {n_labels} labels"
            self.entries[self.tagger] = component_entry(tagger, [TAGGER], gold, [], "")
        self.entries |= make_entries(name, pipelines, udpipe, gold)
        self.add(
            f"{name}, lemmas at first sight",
            measure_first_sight(paths, treebank.lang, gold, min(3, self.args.rounds)),
        )

    def measure_many_labels(self, treebank: Treebank) -> None:
        """The same labels, divided until they are many."""
        limit = self.args.limit
        sentences = {split: treebank.read(split, limit) for split in SPLITS}
        parts = find_parts(sentences["train"], self.args.labels)
        sentences = {
            split: split_features(values, parts) for split, values in sentences.items()
        }
        trained = train_split(treebank, sentences, limit)
        nlp = spacy.load(trained.path)
        gold = make_docs(Vocab(), sentences["test"], morphology=True)
        table = measure_scores({OURS: nlp}, None, gold)
        for row in table.values():
            del row["lemma"]
        self.add(f"{treebank.name}, many labels, accuracy on test", table)
        self.add(
            f"{treebank.name}, many labels, models", measure_models({OURS: trained})
        )
        self.entries[name_morphologizer(nlp, treebank.name)] = component_entry(
            nlp,
            [MORPHOLOGIZER],
            gold,
            [],
            f"spaCy tok2vec+{MORPHOLOGIZER}, {treebank.name}",
        )

    def measure_all(self) -> None:
        treebanks = [Treebank(*text.split(":")) for text in self.args.treebanks]
        for treebank in treebanks:
            self.measure_treebank(treebank)
        if OURS not in self.args.skip and self.args.labels:
            self.measure_many_labels(treebanks[-1])
        self.add("speed", measure_speed(self.entries, self.tagger, self.args.rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--treebanks",
        nargs="+",
        default=TREEBANKS,
        help="each as folder:column of tags:language",
    )
    parser.add_argument(
        "--skip", nargs="+", default=[], choices=CANDIDATES, help="whom to leave out"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--spacy-steps", type=int, default=3000)
    parser.add_argument(
        "--udpipe-iterations",
        type=int,
        default=UDPIPE_ITERATIONS,
        help="20 by its own default, which takes more than an hour",
    )
    parser.add_argument(
        "--spacy-for-speed",
        action="store_true",
        help=f"train spaCy's for {FEW_STEPS} steps, and leave out its scores",
    )
    parser.add_argument(
        "--labels", type=int, default=2000, help="how many are many; 0 for none"
    )
    parser.add_argument(
        "--limit", type=int, help="sentences to take of each split, for a quick try"
    )
    args = parser.parse_args()
    if args.spacy_for_speed:
        args.spacy_steps = FEW_STEPS

    run = Run(args)
    run.measure_all()
    save_results(
        f"morphology-{args.limit}" if args.limit else "morphology", run.results
    )


if __name__ == "__main__":
    main()
