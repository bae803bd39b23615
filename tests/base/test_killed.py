"""What is on disk after `kill -9` at the worst moments, and where files are written."""

import os
import shutil
import signal
import warnings
from pathlib import Path

import pytest
import spacy
from spacy.cli.package import package
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin

from helpers.cli import overrides as of_order
from helpers.cli import write_corpus
from helpers.paths import CONFIGS
from helpers.tagger import SENTENCES
from spacy_dynsel.base.atomic import write_file
from spacy_dynsel.cli.calibrate import calibrate
from spacy_dynsel.cli.convert import convert
from spacy_dynsel.cli.order import order

CONFIG = CONFIGS / "tagger.cfg"
TEXTS = ["I like green eggs", "She hits her ball hard ."]
FIRST = "1\tOne\t_\tNUM\tCD\t_\t0\troot\t_\t_\n\n"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]


def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)


def die_at_call(n, function):
    """A function that works until it is called for the nth time."""
    calls = []

    def count(*args, **kwargs):
        calls.append(args)
        return die() if len(calls) == n else function(*args, **kwargs)

    return count


def run_and_kill(work, module, name, n=1):
    """Run something in a process of its own that is killed when it calls a function
    for the nth time."""
    with warnings.catch_warnings():
        # Other threads of this process do nothing meanwhile.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            setattr(module, name, die_at_call(n, getattr(module, name)))
            work()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


# With the data in the file beside, and with the file beside complete.
MOMENTS = [(os, "fsync"), (Path, "replace")]


@pytest.mark.parametrize(("module", "name"), MOMENTS)
def test_a_file_is_old_or_new(module, name, tmp_path):
    path = tmp_path / "file"
    write_file(path, b"old")
    run_and_kill(lambda: write_file(path, b"new"), module, name)
    assert path.read_bytes() == b"old"
    write_file(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("n", [1, 2])
def test_a_component_that_is_saved_over_another(n, nlp, tagger, examples, tmp_path):
    """Killed before its settings or before its model: what was there is loaded."""

    def annotate():
        loaded = spacy.load(tmp_path)
        return [[token.tag_ for token in doc] for doc in loaded.pipe(TEXTS)]

    nlp.to_disk(tmp_path)
    before = annotate()
    for example in examples:
        for token in example.reference:
            token.tag_ = "CD"
    for _ in range(20):
        nlp.update(examples)
    run_and_kill(lambda: nlp.to_disk(tmp_path), os, "fsync", n)
    assert annotate() == before
    nlp.to_disk(tmp_path)
    assert annotate() != before


@pytest.fixture
def overrides(nlp, tmp_path):
    docs = [
        Doc(nlp.vocab, words=words.split(), tags=tags.split())
        for words, tags in SENTENCES
    ]
    DocBin(docs=docs * 5).to_disk(tmp_path / "data.spacy")
    data = str(tmp_path / "data.spacy")
    return {
        "paths.train": data,
        "paths.dev": data,
        "training.max_epochs": 3,
        "training.batcher.n_batches": 2,
        "training.eval_frequency": 1,
    }


def test_training_leaves_a_whole_pipeline(overrides, tmp_path):
    """spaCy writes model-last, and then makes model-best anew as a copy: one of them is
    whole at any time."""
    out = tmp_path / "out"
    for module, name, n, whole in (
        (os, "fsync", 4, ["model-best", "model-last"]),  # within the component
        (shutil, "copytree", 2, ["model-last"]),  # model-best is removed already
    ):
        run_and_kill(lambda: train(CONFIG, out, overrides=overrides), module, name, n)
        for folder in whole:
            nlp = spacy.load(out / folder)
            assert all(token.tag_ for doc in nlp.pipe(TEXTS) for token in doc)


def test_calibrate(nlp, tagger, overrides, tmp_path):
    nlp.to_disk(tmp_path / "nlp")
    files = [path for path in (tmp_path / "nlp").rglob("*") if path.is_file()]
    before = [path.read_bytes() for path in files]
    data = tmp_path / "data.spacy"
    run_and_kill(
        lambda: calibrate(tmp_path / "nlp", data, max_loss=20, unit="token"),
        os,
        "fsync",
    )
    assert [path.read_bytes() for path in files] == before


@pytest.mark.parametrize("method", ["wrapper", "lasso", "gomp", "contribution"])
def test_order(method, tmp_path):
    """Killed while it writes down its second step, it goes on to the same result."""
    corpus = write_corpus(tmp_path / "train.spacy")

    def run(name):
        order(CONFIG, tmp_path / name, method=method, overrides=of_order(corpus))
        return (tmp_path / name).read_bytes()

    run_and_kill(lambda: run("killed.txt"), os, "fsync", 2)
    assert not (tmp_path / "killed.txt").exists()
    assert (tmp_path / "killed.txt.journal").exists()
    assert run("killed.txt") == run("whole.txt")
    assert not list(tmp_path.glob("*.journal"))


def read_tree(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# spaCy's command leaves files to be closed by the interpreter.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("module", "name"), [(shutil, "copytree"), (Path, "open")])
def test_package(module, name, nlp, tagger, tmp_path):
    """The pipeline and the package of an earlier version are as before."""
    nlp.to_disk(tmp_path / "nlp")
    packages = tmp_path / "packages"
    packages.mkdir()
    settings = {"create_wheel": False, "create_sdist": False}
    package(tmp_path / "nlp", packages, version="1.0.0", **settings)
    before = [read_tree(tmp_path / "nlp"), read_tree(packages)]
    assert all(before)
    run_and_kill(
        lambda: package(tmp_path / "nlp", packages, version="2.0.0", **settings),
        module,
        name,
    )
    assert read_tree(tmp_path / "nlp") == before[0]
    assert before[1].items() <= read_tree(packages).items()


def test_names_that_lead_elsewhere(nlp, tagger, overrides, tmp_path):
    """spaCy takes the name of a component for a path, which may be absolute."""
    nlp.rename_pipe("dynsel_tagger", str(tmp_path / "elsewhere"))
    nlp.to_disk(tmp_path / "nlp")
    cfg = tmp_path / "elsewhere" / "cfg"
    before = cfg.read_bytes()
    with pytest.raises(ValueError, match="DS201"):
        calibrate(tmp_path / "nlp", tmp_path / "data.spacy", max_loss=20, unit="token")
    assert cfg.read_bytes() == before


def test_convert(tmp_path):
    path, output = tmp_path / "corpus.conllu", tmp_path / "corpus.spacy"
    path.write_text(FIRST)
    convert(path, output)
    before = output.read_bytes()
    path.write_text(FIRST * 2)
    run_and_kill(lambda: convert(path, output), os, "fsync")
    assert output.read_bytes() == before


def test_saving_twice_writes_the_same_bytes(nlp, tagger, tmp_path):
    def save(nlp, folder):
        nlp.to_disk(folder)
        path = folder / "dynsel_tagger"
        return {file.name: file.read_bytes() for file in path.iterdir()}

    first = save(nlp, tmp_path / "first")
    assert save(spacy.load(tmp_path / "first"), tmp_path / "second") == first
