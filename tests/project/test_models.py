"""The workflow of the pretrained packages, and the packages that are there."""

import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest
import spacy
from spacy import displacy
from spacy.vocab import Vocab

from helpers.little_pipeline import make_pipeline
from helpers.paths import ROOT
from spacy_dynsel.corpus.conll import Sentence

MODELS = ROOT / "models"
TEXTS = {
    "en_dynsel_web": "Barack Obama told the new boss of Apple in Paris that the band left.",
    "pt_dynsel_bosque": "O presidente Lula disse em Lisboa que a banda chegou.",
}
# Unpacked, in MB.
MOST = {"en_dynsel_web": 18, "pt_dynsel_bosque": 15}
# As wheels.
MOST_PACKED = {"en_dynsel_web": 12, "pt_dynsel_bosque": 10}


@pytest.fixture(scope="module")
def modules():
    """The scripts of the workflow, by their names."""
    sys.path.insert(0, str(MODELS))
    try:
        yield import_module
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def make(modules):
    return modules("make")


@pytest.fixture(scope="module")
def readers(modules):
    return modules("texts")


def test_types_of_entities(readers, tmp_path):
    path = tmp_path / "names.conll"
    path.write_text(
        "Ann\tB-person\nX\tB-product\nACME\tB-corporation\nInc\tI-corporation\n"
        "Blur\tB-group\nin\tO\nRome\tB-location\n\tO\n",
        encoding="utf8",
    )
    [doc] = readers.read_names(path, Vocab())
    assert [(ent.text, ent.label_) for ent in doc.ents] == [
        *(("Ann", "PER"), ("ACME Inc", "ORG"), ("Blur", "ORG"), ("Rome", "LOC"))
    ]
    assert all(token.ent_iob_ for token in doc)


def test_entities_join_the_same_words(readers):
    trees = [Sentence(words=["Ann", "left"]), Sentence(words=["Ann", "'s"])]
    names = [Sentence(words=["Ann", "left"], ents=["B-PER", "O"])]
    assert [one.ents for one in readers.join_names(trees, names)] == [
        *(["B-PER", "O"], ["", ""])
    ]


@pytest.mark.parametrize("name", TEXTS)
def test_configs(make, name, tmp_path):
    config = make.make_training_config(make.PACKAGES[name], tmp_path)
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    assert nlp.pipe_names == ["tagger", "morphologizer", "parser", "lemmatizer", "ner"]
    assert type(nlp.tokenizer).__name__ == "CachedTokenizer"
    templates = nlp.get_pipe("ner").engine.templates.to_lines()
    assert templates.index("tag") < templates.index("---")
    teachers = ["tagger", "morphologizer"]
    assert config["training"]["annotating_components"] == teachers


def test_a_package_is_written_whole(make, tmp_path, monkeypatch):
    package = make.PACKAGES["en_dynsel_web"]
    nlp = make_pipeline()
    nlp.meta.update(version=make.VERSION, name=package.name, requirements=[])
    nlp.meta["description"] = "A little one."
    found = {
        "text": {"tag_acc": 0.9512},
        "gold": {"tag_acc": 0.96},
        "entities": {"uner": {"all": 0.7, "PER": 0.8}},
        "performance": {"tag_acc": 0.9512},
        "cost": {"minutes": 12.3, "memory": 1.5, "grams": 2.0},
    }
    folder = make.write_package(package, nlp, found, tmp_path)
    card = (folder / "README.md").read_text("utf8")
    assert "| tags | 95.12 | 96.00 |" in card
    assert "| Universal NER EWT, test | 70.00 | 80.00 |" in card
    assert "Broad Twitter Corpus" in (folder / "LICENSE").read_text("utf8")
    # The vocabulary has no words, and nothing is missing without them.
    inner = folder / "en_dynsel_web"
    loaded = spacy.load(inner / f"en_dynsel_web-{make.VERSION}")
    text = "Ann saw York ."
    assert loaded(text).to_json() == nlp(text).to_json()
    assert "hits" not in loaded.vocab.strings
    monkeypatch.syspath_prepend(folder)
    installed = import_module("en_dynsel_web").load(exclude=["dynsel_ner"])
    assert installed.pipe_names == nlp.pipe_names[:2]
    assert [t.tag_ for t in installed(text)] == [t.tag_ for t in nlp(text)]
    sys.modules.pop("en_dynsel_web")


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_wheels(name, tmp_path):
    """pip makes a wheel of the sources, with all files of the pipeline."""
    find_package(name)
    folder = MODELS / name
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet"]
    command += ["--wheel-dir", str(tmp_path), str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for path in (folder / name).rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            assert str(path.relative_to(folder)) in names
    assert wheel.stat().st_size <= MOST_PACKED[name] * 1e6


def find_package(name: str) -> Path:
    folders = list((MODELS / name / name).glob(f"{name}-*"))
    if not folders:
        pytest.skip("make it by: spacy project run models")
    [folder] = folders
    return folder


@pytest.mark.parametrize("name", TEXTS)
def test_what_users_rely_on(name):
    nlp = spacy.load(find_package(name))
    doc = nlp(TEXTS[name])
    assert len(list(doc.sents)) == 1
    assert all(
        token.pos_ and token.tag_ and token.lemma_ and token.dep_ for token in doc
    )
    assert str(doc[0].morph) or str(doc[1].morph)
    assert {ent.label_ for ent in doc.ents} <= {"PER", "ORG", "LOC"}
    assert doc.ents
    assert len(list(doc.noun_chunks)) > 2
    assert "<svg" in displacy.render(doc, style="dep", jupyter=False)
    assert nlp.vocab.strings["nsubj"] in {token.dep for token in doc}
    if name == "en_dynsel_web":
        chunks = [chunk.text for chunk in doc.noun_chunks]
        assert "the new boss" in chunks
        assert "Barack Obama" in chunks


@pytest.mark.parametrize("name", TEXTS)
def test_packages_are_small(name):
    folder = find_package(name)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert size <= MOST[name] * 1e6


@pytest.mark.slow
@pytest.mark.corpus
def test_test_data_are_not_learned_from(readers, corpora):
    """No text of some length is both learned from and measured on."""
    for make_splits in readers.MAKERS.values():
        train, dev, test = make_splits(corpora, Vocab())
        learned = {
            doc.text for docs in (*train.values(), *dev.values()) for doc in docs
        }
        tested = {doc.text for docs in test.values() for doc in docs}
        assert not {text for text in learned & tested if len(text) > 200}
