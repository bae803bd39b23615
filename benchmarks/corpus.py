"""Corpora: from Parquet to Parquet by the annotator, beside nlp.pipe in memory, nlp.pipe
with two processes and `spacy apply`; and the memory of a worker that meets ever new words.

    python benchmarks/corpus.py
    python benchmarks/corpus.py --pipeline PATH --documents 20000 --new-tokens 5000000

The pipeline has all five components: tagger, morphologizer, parser (8 branches) and
lemmatizer from UD English EWT, and entities from the Broad Twitter Corpus, trained for a
few epochs, since only speed matters here. The text is `raw_en/webdocs.txt`, a paragraph a
document. Both are found through DYNSEL_DATA.

Speeds are given by the time that passed and, since other work on the machine changes
that, by CPU time; both without start-up, which is measured by a corpus of four documents.
With two processes, the speed by CPU time is that of two whole cores.
"""

import argparse
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import spacy
import srsly
from spacy.tokens import DocBin
from spacy.training import Example
from thinc.api import Config
from wasabi import msg

from load import make_text, read_words, resident_kb
from saving import save_results
from spacy_dynsel.annotating.files import plan
from spacy_dynsel.annotating.jobs import run_job
from spacy_dynsel.annotating.workers import make_environment
from spacy_dynsel.cli.init_config import make_config
from spacy_dynsel.corpus import Annotator
from spacy_dynsel.corpus.conll import Columns, make_docs, read_columns, read_conllu
from spacy_dynsel.tokenizer.cached import CachedTokenizer
from training import CACHE, train

QUICK = {
    "training.max_epochs": 3,
    "components.tagger.model.folds": 0,
    "components.morphologizer.model.folds": 0,
    "components.parser.model.folds": 2,
    "components.parser.model.seeds": 1,
}
NER_DOCS = 3000
BATCH = 1000
DOC_LENGTH = 40
SHARE_NEW = 0.25
N_PARTS = 5
N_GROUPS = 4
# What two processes are compared with.
OTHERS = (
    "annotate_files, 1 process",
    "nlp.pipe, n_process=2",
    "spacy apply -b 1000",
)


def make_pipeline(data: Path) -> Path:
    """A pipeline of all components, or the one that an earlier run has made."""
    output = CACHE / "corpus-pipeline"
    if output.exists():
        return output
    CACHE.mkdir(exist_ok=True)
    config = Config().from_str(make_config("pipeline"), interpolate=False)
    config["nlp"]["pipeline"].remove("ner")
    del config["components"]["ner"]
    config["training"]["before_to_disk"].pop("first", None)
    weights = config["training"]["score_weights"]
    for name in [name for name in weights if name.startswith("ents")]:
        del weights[name]
    config.to_disk(CACHE / "corpus.cfg")
    vocab = spacy.blank("en").vocab
    paths = {}
    for split in ("train", "dev"):
        sentences = read_conllu(data / "ud_en_ewt" / f"{split}.conllu")
        paths[split] = CACHE / f"corpus-{split}.spacy"
        DocBin(docs=make_docs(vocab, sentences)).to_disk(paths[split])
    best, _ = train("dynsel-corpus", CACHE / "corpus.cfg", paths, QUICK)
    add_entities(best, data, output)
    return output


def add_entities(pipeline: Path, data: Path, output: Path) -> None:
    """Add a component that finds entities."""
    nlp = spacy.load(pipeline)
    ner = nlp.add_pipe("dynsel_ner", "ner", config={"model": {"seeds": 1}})
    sentences = read_columns(
        data / "ner_en_btc" / "train.conll", Columns(empty_word="_")
    )[:NER_DOCS]
    docs = list(make_docs(nlp.vocab, sentences))
    words = [[token.text for token in doc] for doc in docs]
    examples = [
        Example(spacy.tokens.Doc(nlp.vocab, words=row), doc)
        for row, doc in zip(words, docs, strict=True)
    ]
    ner.initialize(lambda: examples, nlp=nlp)
    for _ in range(3):
        for start in range(0, len(examples), 64):
            ner.update(examples[start : start + 64])
    nlp.to_disk(output)


def write_inputs(folder: Path, texts: list[str]) -> None:
    """The same documents as Parquet, in some row groups, and as JSONL."""
    folder.mkdir(parents=True)
    ids = [str(i) for i in range(len(texts))]
    size = -(-len(texts) // N_GROUPS)
    table = pa.table({"id": ids, "text": texts})
    pq.write_table(table, folder / "in.parquet", row_group_size=size)
    srsly.write_jsonl(folder / "in.jsonl", [{"text": text} for text in texts])


def in_memory(pipeline: str, folder: Path, **settings: Any) -> None:
    """What spaCy does with texts that are in memory."""
    nlp = spacy.load(pipeline)
    nlp.tokenizer = CachedTokenizer.from_tokenizer(nlp.tokenizer)
    texts = pq.read_table(folder / "in.parquet")["text"].to_pylist()
    for _ in nlp.pipe(texts, batch_size=BATCH, **settings):
        pass


def to_parquet(pipeline: str, folder: Path) -> None:
    """Annotate in this process."""
    output = folder / "alone"
    jobs, _ = plan(Annotator(pipeline), [folder / "in.parquet"], output)
    for job in jobs:
        run_job(job)


def run_here(name: str, pipeline: str, folder: Path) -> None:
    """What a process does that is measured."""
    if name == "memory":
        in_memory(pipeline, folder)
    elif name == "n_process":
        in_memory(pipeline, folder, n_process=2)
    else:
        to_parquet(pipeline, folder)


def make_commands(pipeline: str, folder: Path) -> dict[str, list[str]]:
    """What is compared."""
    me = [sys.executable, __file__, "--pipeline", pipeline, "--folder", str(folder)]
    spacy_cli = [sys.executable, "-m", "spacy"]

    def annotate(n: int) -> list[str]:
        # Small parts, so that each process has the same number of them.
        code = "from spacy_dynsel.corpus import *; import sys; "
        code += "annotate_files(Annotator(sys.argv[1]), [sys.argv[2]], sys.argv[3], "
        code += f"processes={n}, part_bytes=1)"
        source, output = folder / "in.parquet", folder / f"out{n}"
        return [sys.executable, "-c", code, pipeline, str(source), str(output)]

    apply = ["apply", pipeline, str(folder / "in.jsonl"), str(folder / "out.spacy")]
    return {
        "nlp.pipe, in memory": [*me, "--run", "memory"],
        "annotate_file, to Parquet": [*me, "--run", "parquet"],
        "annotate_files, 1 process": annotate(1),
        "annotate_files, 2 processes": annotate(2),
        "nlp.pipe, n_process=2": [*me, "--run", "n_process"],
        "spacy apply -b 1000": [*spacy_cli, *apply, "-b", str(BATCH), "-F"],
    }


def measure(command: list[str]) -> tuple[float, float, float]:
    """Run a command. RETURNS (tuple): Seconds, CPU seconds, and peak memory in MB."""
    start = time.perf_counter()
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(command, stdout=printed, stderr=printed, env=env)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            printed.seek(0)
            raise SystemExit(printed.read().decode())
    seconds = time.perf_counter() - start
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def compare(
    pipeline: str, texts: list[str], folder: Path, rounds: int
) -> dict[str, dict[str, float]]:
    """Tokens a second of all, best of several rounds in turns."""
    nlp = spacy.load(pipeline, exclude=["tagger", "morphologizer", "parser", "ner"])
    n_tokens = sum(len(nlp.make_doc(text)) for text in texts)
    msg.info(f"{len(texts):,} documents, {n_tokens:,} tokens")
    best: dict[str, list[tuple[float, float, float]]] = {}
    # As many documents as there are parts, so that all processes start.
    for k, some in ((1, texts[:N_GROUPS]), (rounds, texts)):
        for i in range(k):
            here = folder / f"{len(some)}-{i}"
            write_inputs(here, some)
            for name, command in make_commands(pipeline, here).items():
                found = measure(command)
                msg.text(f"{name}: {found[0]:.1f} s, CPU {found[1]:.1f} s")
                best.setdefault(name, []).append(found)
            shutil.rmtree(here)
    table = {}
    for name, (idle, *runs) in best.items():
        wall = min(run[0] for run in runs) - idle[0]
        cpu = min(run[1] for run in runs) - idle[1]
        n_cores = 2 if "2" in name else 1
        table[name] = {
            "start_up_s": idle[1] / n_cores,
            "tokens_s": n_tokens / wall,
            "tokens_s_by_cpu": n_cores * n_tokens / cpu,
            "peak_mb": max(run[2] for run in runs),
        }
    return table


def measure_memory(pipeline: str, n_tokens: int, folder: Path) -> list[float]:
    """The highest memory in each fifth of a text of ever new words, in MB."""
    words = make_text(random.Random(0), read_words(), SHARE_NEW)
    path = folder / "new.txt"
    n_docs = n_tokens // DOC_LENGTH
    with path.open("w", encoding="utf8") as file:
        for _ in range(n_docs):
            file.write(" ".join(itertools.islice(words, DOC_LENGTH)) + "\n")
    jobs, _ = plan(Annotator(pipeline), [path], folder / "new", part_bytes=1 << 40)
    highest = [0.0] * N_PARTS

    def sample(share: float) -> None:
        part = min(N_PARTS - 1, int(share * N_PARTS))
        highest[part] = max(highest[part], resident_kb() / 1024)

    for job in jobs:
        run_job(job, sample)
    return highest


def count_bytes(pipeline: str, texts: list[str], folder: Path) -> tuple[float, float]:
    """The bytes of a token, in and out, as Parquet."""
    write_inputs(folder, texts)
    jobs, _ = plan(Annotator(pipeline), [folder / "in.parquet"], folder / "out")
    n_tokens = sum(run_job(job)[1] for job in jobs)
    n_out = sum(Path(job.output).stat().st_size for job in jobs)
    return (folder / "in.parquet").stat().st_size / n_tokens, n_out / n_tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--pipeline", help="another pipeline than the one of its own")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--new-tokens", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip-speed", action="store_true")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run == "new":
        print(json.dumps(measure_memory(args.pipeline, args.new_tokens, args.folder)))
        return
    if args.run:
        run_here(args.run, args.pipeline, args.folder)
        return
    data = Path(os.environ["DYNSEL_DATA"])
    pipeline = str(args.pipeline or make_pipeline(data))
    lines = (data / "raw_en" / "webdocs.txt").read_text("utf8").splitlines()
    texts = [line for line in lines if line.strip()][: args.documents]
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not args.skip_speed:
            table = compare(pipeline, texts, folder, args.rounds)
            results["speed"] = table
            base = table["nlp.pipe, in memory"]
            header = ["", "start-up, s", "tokens/s", "by CPU", "of nlp.pipe", "peak MB"]
            msg.table(
                [
                    [
                        row,
                        f"{one['start_up_s']:.1f}",
                        f"{one['tokens_s']:,.0f}",
                        f"{one['tokens_s_by_cpu']:,.0f}",
                        f"{one['tokens_s_by_cpu'] / base['tokens_s_by_cpu']:.2f}",
                        f"{one['peak_mb']:.0f}",
                    ]
                    for row, one in table.items()
                ],
                header=header,
                divider=True,
            )
            speeds = {name: one["tokens_s_by_cpu"] for name, one in table.items()}
            ratios = {
                name: speeds["annotate_files, 2 processes"] / speeds[name]
                for name in OTHERS
            }
            results["ratios"] = ratios
            shown = ", ".join(f"{x:.2f} of {name}" for name, x in ratios.items())
            msg.text(f"two processes, by CPU time: {shown}")
        sizes = count_bytes(pipeline, texts, folder / "sizes")
        results["bytes_a_token"] = sizes
        msg.text(f"bytes a token: {sizes[0]:.2f} in, {sizes[1]:.2f} out")
        command = [sys.executable, __file__, "--run", "new", "--pipeline", pipeline]
        command += ["--folder", name, "--new-tokens", str(args.new_tokens)]
        env = make_environment()
        done = subprocess.run(command, stdout=subprocess.PIPE, env=env, check=True)
        highest = json.loads(done.stdout.splitlines()[-1])
        results["memory"] = highest
        shown = ", ".join(f"{one:.0f}" for one in highest)
        msg.text(
            f"{args.new_tokens:,} tokens, a quarter new words: {shown} MB by fifths"
        )
    save_results("corpus", results)


if __name__ == "__main__":
    main()
