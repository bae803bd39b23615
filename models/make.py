"""Make the pretrained packages: read the corpora, train, measure, and write the sources
of a package that pip can install.

    python models/make.py en_dynsel_web --corpora FOLDER
    python models/make.py pt_dynsel_bosque --corpora FOLDER

FOLDER holds the corpora that `spacy project assets` downloads, and is DYNSEL_DATA unless
it is named. The same data make the same bytes. `--limit` takes a few docs of each corpus
and `--quick` a cheap training, to try the steps out. `--skip-training` takes the pipeline
of an earlier run.
"""

import argparse
import json
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import spacy
import srsly
from spacy.language import Language
from spacy.vocab import Vocab
from thinc.api import Config, fix_random_seed

import card
import texts
from scores import measure, measure_cost
from spacy_dynsel.about import __version__ as dynsel_version
from spacy_dynsel.base.templates import CHECKPOINT, make_templates
from spacy_dynsel.cli.init_config import make_config

HERE = Path(__file__).parent
WORK = HERE.parent / "training" / "models"
VERSION = "0.1.0"
SPACY_VERSION = ">=3.8.7,<3.9.0"
CLUSTERS = "words.clusters"
sys.path.insert(0, str(HERE.parent / "benchmarks"))
from training import run_measured  # noqa: E402

# What entities learn from the tags before them: the tagger knows names of web text that
# the corpora of entities don't have.
TAG_TEMPLATES = [
    *("tag", "tag[-1]", "tag[+1]", "tag[-2]", "tag[+2]", "tag case"),
    *("tag[-1] tag", "tag tag[+1]", "tag[-1] tag tag[+1]"),
    *("action[-1] tag", "action[-1] tag tag[+1]"),
]
# A feature that occurs once says little, and weights that hardly moved say less. Both take
# most of the room. models/prune.py shows what each setting costs on development data.
SMALLER = {
    "tagger.model.learner.cutoff": 2,
    "tagger.model.learner.prune": 2.7,
    "morphologizer.model.learner.cutoff": 2,
    "morphologizer.model.learner.prune": 3.5,
    "parser.model.learner.cutoff": 2,
    "parser.model.learner.prune": 2.75,
    "parser.model.label_learner.cutoff": 2,
    "parser.model.label_learner.prune": 3.75,
    "ner.model.learner.cutoff": 2,
    "ner.model.learner.prune": 1.5,
}
QUICK = {"parser.model.seeds": 1, "parser.model.folds": 2, "ner.model.seeds": 1}
CHEAP_TRAINING = {"max_epochs": 4, "eval_frequency": 250}


@dataclass
class Package:
    """What is to be made.

    lang (str), name (str): The two parts of its name.
    clusters (bool): Whether it knows the Brown clusters of spacy-lookups-data.
    settings (dict): Settings of components that differ from those of init-config.
    """

    lang: str
    name: str
    clusters: bool
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.lang}_{self.name}"


PACKAGES = {
    package.full_name: package
    for package in (
        Package("en", "dynsel_web", clusters=True, settings=SMALLER),
        Package("pt", "dynsel_bosque", clusters=False, settings=SMALLER),
    )
}


def make_training_config(
    package: Package, work: Path, *, is_quick: bool = False
) -> Config:
    """The config of the pipeline: that of `init-config pipeline`, with the cached
    tokenizer, and with chunks where spaCy's rules don't know the labels."""
    resources = [str(work / CLUSTERS)] if package.clusters else []
    text = make_config("pipeline", lang=package.lang, resources=resources)
    config = Config().from_str(text, interpolate=False)
    config["paths"]["train"] = str(work / "train")
    config["paths"]["dev"] = str(work / "dev")
    config["nlp"]["tokenizer"] = {"@tokenizers": "spacy_dynsel.CachedTokenizer.v1"}
    if package.lang == "en":
        config["nlp"]["after_creation"] = {"@callbacks": "spacy_dynsel.noun_chunks.v1"}
    set_templates(config["components"]["ner"]["model"])
    # The bias is tuned once, when training is over: see finish.
    config["training"]["before_to_disk"]["first"] = None
    for path, value in {**package.settings, **(QUICK if is_quick else {})}.items():
        block = config["components"]
        *keys, last = path.split(".")
        for key in keys:
            block = block[key]
        block[last] = value
    if is_quick:
        config["training"].update(CHEAP_TRAINING)
    return config


def set_templates(model: dict[str, Any]) -> None:
    """Let an entity recognizer look at tags, in its first stage."""
    lines = make_templates(default=model["templates"]["default"]).to_lines()
    first = lines.index(CHECKPOINT)
    lines = [*lines[:first], *TAG_TEMPLATES, *lines[first:], "tag lower"]
    model["templates"] = {"default": None, "lines": lines}


def train(package: Package, work: Path, *, is_quick: bool) -> Path:
    """Train by `spacy train`. RETURNS (Path): The pipeline."""
    path = work / "config.cfg"
    make_training_config(package, work, is_quick=is_quick).to_disk(path)
    output = work / "pipeline"
    shutil.rmtree(output, ignore_errors=True)
    command = [sys.executable, "-m", "spacy", "train", str(path)]
    cost = run_measured([*command, "--output", str(output)])
    srsly.write_json(work / "cost.json", cost)
    # The last one: all of them learn to the end, and none is chosen by scores that
    # differ by chance.
    return output / "model-last"


def finish(package: Package, trained: Path, work: Path) -> Language:
    """The trained pipeline with what is chosen after training, and without what only
    training needs."""
    nlp = spacy.load(trained)
    tune = spacy.registry.callbacks.get("spacy_dynsel.tune_o_bias.v1")
    nlp = tune(work / "dev" / "uner.spacy", "ner")(nlp)
    for section in ("corpora", "training", "initialize", "paths", "pretraining"):
        default = Language.default_config.get(section, {})
        nlp.config[section] = json.loads(json.dumps(default))
    about = card.ABOUT[package.full_name]
    nlp.meta.update(
        name=package.name,
        version=VERSION,
        # Of spaCy, what the library itself needs.
        spacy_version=SPACY_VERSION,
        description=about["description"],
        author="The spacy-dynsel developers",
        email="",
        url="",
        license="CC BY-SA 4.0",
        sources=about["sources"],
        requirements=[f"spacy-dynsel>={dynsel_version},<{next_minor()}"],
    )
    return nlp


def next_minor() -> str:
    """The first version that may read model files otherwise."""
    major, minor, _ = dynsel_version.split(".")
    return f"{major}.{int(minor) + 1}.0"


def write_package(
    package: Package, nlp: Language, found: dict[str, Any], models: Path = HERE
) -> Path:
    """Write the sources of the package. RETURNS (Path): Their folder."""
    name = package.full_name
    folder = models / name
    shutil.rmtree(folder, ignore_errors=True)
    data = folder / name / f"{name}-{VERSION}"
    data.mkdir(parents=True)
    nlp.meta["performance"] = found["performance"]
    nlp.to_disk(data, exclude=["vocab"])
    write_vocab(nlp, data / "vocab")
    forget_files(data / "config.cfg")
    # What `spacy info` and `spacy validate` read.
    shutil.copy(data / "meta.json", folder / name / "meta.json")
    (folder / name / "__init__.py").write_text(card.INIT, encoding="utf8")
    texts = {
        "pyproject.toml": card.make_project(name, nlp.meta),
        "README.md": card.make_card(name, nlp, found, folder_size(data)),
        "LICENSE": card.make_license(name),
    }
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf8")
    return folder


def write_vocab(nlp: Language, folder: Path) -> None:
    """Write a vocabulary without the words of the training data: components know words by
    their hashes, and bring their labels."""
    empty = Vocab()
    empty.strings.add(nlp.lang)
    empty.to_disk(folder, exclude=["lookups", "vectors"])


def forget_files(path: Path) -> None:
    """Take out of a config what names files that only training needs."""
    config = Config().from_disk(path, interpolate=False)
    for block in config["components"].values():
        if "resources" in block.get("model", {}):
            block["model"]["resources"] = None
    config.to_disk(path)


def folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def make(
    name: str, data: Path, *, limit: int, is_quick: bool, is_trained: bool
) -> None:
    package = PACKAGES[name]
    work = WORK / name
    fix_random_seed(0)
    if not is_trained:
        splits = texts.MAKERS[package.lang](data, Vocab())
        for split, docs in zip(("train", "dev", "test"), splits, strict=True):
            shutil.rmtree(work / split, ignore_errors=True)
            texts.write(docs, work / split, limit)
        if package.clusters:
            texts.write_clusters(package.lang, work / CLUSTERS)
        train(package, work, is_quick=is_quick)
    nlp = finish(package, work / "pipeline" / "model-last", work)
    found = measure(nlp, work / "test")
    found["cost"] = measure_cost(srsly.read_json(work / "cost.json"))
    print(f"Package written: {write_package(package, nlp, found)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="+", choices=PACKAGES)
    parser.add_argument("--corpora", type=Path, default=os.environ.get("DYNSEL_DATA"))
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--skip-training", action="store_true")
    args = parser.parse_args()
    if args.corpora is None or not args.corpora.is_dir():
        raise SystemExit("Name the folder of the corpora by --corpora or DYNSEL_DATA.")
    for name in args.names:
        make(
            name,
            args.corpora,
            limit=args.limit,
            is_quick=args.quick,
            is_trained=args.skip_training,
        )


if __name__ == "__main__":
    main()
