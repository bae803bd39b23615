"""The scores of a package on test data, and what its training cost."""

from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.training import Corpus

from spacy_dynsel.registry.readers import GoldWordsCorpus

# What is written into the card, and its name there.
SHOWN = {
    "token_acc": "tokens",
    "sents_f": "sentences, F1",
    "tag_acc": "tags",
    "pos_acc": "parts of speech",
    "morph_acc": "features",
    "lemma_acc": "lemmas",
    "dep_uas": "heads, UAS",
    "dep_las": "heads and relations, LAS",
    "ents_f": "entities, F1",
}
# Watts of one core of a server with its share of the rest, and grams of CO2 for a
# kilowatt-hour (world mean of 2023).
WATTS = 15
GRAMS = 480


def measure(nlp: Language, folder: Path) -> dict[str, Any]:
    """Measure a pipeline on all DocBins of a folder: on plain text, and on the words and
    sentences of the annotation. Entities are measured on whole documents.

    RETURNS (dict): By "text" and "gold" the scores in points; by "entities" those of each
        corpus of entities on its own words; "performance", as spaCy's packages have it.
    """
    trees = folder / "trees.spacy"
    text = nlp.evaluate(list(Corpus(trees, gold_preproc=False)(nlp)))
    gold = nlp.evaluate(list(Corpus(trees, gold_preproc=True)(nlp)))
    entities = {}
    for path in sorted(folder.glob("*.spacy")):
        if path.stem != "trees":
            found = nlp.evaluate(list(GoldWordsCorpus(path)(nlp)))
            entities[path.stem] = {
                "all": found["ents_f"],
                **{k: v["f"] for k, v in sorted(found["ents_per_type"].items())},
            }
    names = [name for name in SHOWN if text.get(name) is not None]
    return {
        "text": {name: text[name] for name in names},
        "gold": {name: gold[name] for name in names if name != "ents_f"},
        "entities": entities,
        "performance": {name: round(text[name], 4) for name in names},
    }


def measure_cost(usage: dict[str, float]) -> dict[str, float]:
    """What training took: minutes of one core, the peak of memory in GB, and an estimate
    of the CO2 in grams."""
    hours = usage["cpu_seconds"] / 3600
    return {
        "minutes": hours * 60,
        "memory": usage["peak_mb"] / 1024,
        "grams": hours * WATTS / 1000 * GRAMS,
    }
