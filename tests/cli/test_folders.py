"""Each command takes a DocBin and a folder of them alike."""

import shutil

import pytest
import spacy
from spacy.tokens import DocBin
from typer.testing import CliRunner

from helpers.cli import TEMPLATE_LINES, overrides, write_corpus
from helpers.embedded import learn, make_examples, read_docs
from helpers.paths import CONFIGS
from spacy_dynsel.cli import _data, dynsel_cli
from spacy_dynsel.cli.calibrate import calibrate
from spacy_dynsel.cli.convert import convert
from spacy_dynsel.cli.experiment import experiment
from spacy_dynsel.cli.jackknife import jackknife
from spacy_dynsel.cli.order import order
from spacy_dynsel.cli.reliability import reliability


@pytest.fixture
def corpus(tmp_path):
    """The same docs as one file and as a folder of two."""
    whole = write_corpus(tmp_path / "whole.spacy")
    vocab = spacy.blank("en").vocab
    docs = list(DocBin().from_disk(whole).get_docs(vocab))
    folder = tmp_path / "parts"
    (folder / "more").mkdir(parents=True)
    DocBin(docs=docs[:35]).to_disk(folder / "a.spacy")
    DocBin(docs=docs[35:]).to_disk(folder / "more" / "b.spacy")
    (folder / "notes.txt").write_text("no data")
    DocBin(docs=docs).to_disk(folder / "._c.spacy")
    return whole, folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tagger, a parser and an entity recognizer under names of their own."""
    nlp = spacy.blank("en")
    nlp.add_pipe("dynsel_tagger", "tags")
    config = {"model": {"folds": 0}, "min_label_freq": 1}
    nlp.add_pipe("dynsel_parser", "trees", config=config)
    nlp.add_pipe("dynsel_ner", "names")
    examples = make_examples(nlp, read_docs(nlp.vocab, "train", 250))
    nlp.initialize(lambda: examples)
    learn(nlp, examples, 3)
    path = tmp_path_factory.mktemp("folders") / "pipeline"
    nlp.to_disk(path)
    return path


def get_texts(path):
    return [doc.to_json() for doc in _data.read_docs(path, spacy.blank("en").vocab)]


def test_same_docs(corpus):
    whole, folder = corpus
    assert len(get_texts(whole)) == 60
    assert get_texts(folder) == get_texts(whole) == get_texts(str(folder))


def test_order(corpus, tmp_path):
    outputs = []
    for path in corpus:
        output = tmp_path / "order.txt"
        order(
            CONFIGS / "tagger.cfg",
            output,
            method="contribution",
            held_out_path=path,
            overrides=overrides(path),
        )
        outputs.append(output.read_text())
    assert outputs[0] == outputs[1]


def test_jackknife(corpus, tmp_path):
    outputs = []
    for path in corpus:
        output = tmp_path / "jackknifed.spacy"
        jackknife(CONFIGS / "tagger.cfg", path, output, folds=2, epochs=1)
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1]


def test_experiment(corpus, tmp_path):
    (tmp_path / "order.txt").write_text(TEMPLATE_LINES)
    found = [
        experiment(
            tmp_path / path.name.replace(".", "-"),
            {"tagging": (path, path)},
            order_path=tmp_path / "order.txt",
            epochs=1,
            orders=False,
        )["tagging"]
        for path in corpus
    ]
    assert found[0]["dynamic"] == found[1]["dynamic"]


def test_convert(corpus, tmp_path):
    found = []
    for path in corpus:
        output = convert(path, tmp_path / f"to-{path.stem}.spacy", lang="en")
        found.append(get_texts(output))
    assert found[0] == found[1]


def write_data(folder, *, with_entities):
    vocab = spacy.blank("en").vocab
    docs = read_docs(vocab, "train")[250:] + read_docs(vocab, "dev")
    if not with_entities:
        for doc in docs:
            doc.set_ents([], default="missing")
    folder.mkdir()
    DocBin(docs=docs[::2]).to_disk(folder / "a.spacy")
    DocBin(docs=docs[1::2]).to_disk(folder / "b.spacy")
    return folder


def test_calibrate(trained, tmp_path):
    data = write_data(tmp_path / "data", with_entities=True)
    result = calibrate(trained, data, max_loss=5.0, name="tags", dry_run=True)
    assert result["max_loss"] == 5.0


def test_reliability(trained, tmp_path):
    pipeline = shutil.copytree(trained, tmp_path / "pipeline")
    data = write_data(tmp_path / "data", with_entities=True)
    results = reliability(pipeline, data, fit_path=data)
    assert list(results) == ["tags", "trees", "names"]


def test_reliability_keeps_what_could_be_measured(trained, tmp_path):
    pipeline = shutil.copytree(trained, tmp_path / "pipeline")
    data = write_data(tmp_path / "data", with_entities=False)
    page = tmp_path / "new folder" / "page.html"
    arguments = ["reliability", str(pipeline), str(data), "--fit", str(data)]
    done = CliRunner().invoke(dynsel_cli, [*arguments, "--output", str(page)])
    assert done.exit_code == 0, done.output
    assert "names was left out: [DS135]" in done.output
    html = page.read_text("utf8")
    assert html.count("<svg") == 2
    for what in (pipeline.name, data.name, "left out: [DS135]"):
        assert what in html
    # The axes end where probabilities do.
    assert ">100%</text>" in html
    assert ">120%</text>" not in html
    nlp = spacy.load(pipeline)
    assert [nlp.get_pipe(name).confidence for name in nlp.pipe_names] == [
        *(True, True, False)
    ]
    done = CliRunner().invoke(dynsel_cli, [*arguments, "--name", "names"])
    assert done.exit_code == 1
    assert "DS135" in done.output


def test_nothing_could_be_measured(trained, tmp_path):
    """Without --fit there is no confidence to measure."""
    data = write_data(tmp_path / "data", with_entities=True)
    done = CliRunner().invoke(dynsel_cli, ["reliability", str(trained), str(data)])
    assert done.exit_code == 1
    assert "DS190" in done.output


@pytest.mark.parametrize(
    ("what", "code"),
    [("empty", "DS222"), ("damaged", "DS154"), ("damaged.spacy", "DS154")],
)
def test_bad_data(trained, tmp_path, what, code):
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged").mkdir()
    for file in ("damaged/x.spacy", "damaged.spacy"):
        (tmp_path / file).write_bytes(b"no DocBin")
    command = ["calibrate", str(trained), str(tmp_path / what)]
    done = CliRunner().invoke(dynsel_cli, command)
    assert done.exit_code == 1
    assert code in done.output


def test_o_bias_is_tuned_by_factory(trained, tmp_path):
    """Whatever the recognizer is called, and only of a recognizer of ours."""
    data = write_data(tmp_path / "data", with_entities=True)
    nlp = spacy.load(trained)
    make = spacy.registry.callbacks.get("spacy_dynsel.tune_o_bias.v1")
    nlp.get_pipe("names").o_bias = 3.0
    make(data)(nlp)
    assert nlp.get_pipe("names").o_bias != 3.0
    for name in ("tags", "dynsel_ner"):
        with pytest.raises(ValueError, match="DS105"):
            make(data, component=name)(nlp)
