"""One training from two corpora, of which each has what the other lacks."""

import spacy
from spacy.cli.evaluate import evaluate
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin

from helpers.cli import QUICK, SMALL
from helpers.paths import CONFIGS

NAMES = ("London", "Berlin", "Lisbon")


def make_doc(vocab, name, verb, **annotation):
    return Doc(vocab, words=["the", "band", verb, "in", name], **annotation)


def make_treebank(vocab):
    return [
        make_doc(
            vocab,
            name,
            verb,
            tags=["DT", "NN", "VBZ", "IN", "NNP"],
            pos=["DET", "NOUN", "VERB", "ADP", "PROPN"],
            morphs=["", "Number=Sing", "Number=Sing", "", "Number=Sing"],
            lemmas=["the", "band", verb[:-1], "in", name],
            heads=[1, 2, 2, 4, 2],
            deps=["det", "nsubj", "ROOT", "case", "obl"],
        )
        for name in NAMES
        for verb in ("plays", "sings")
    ]


def make_entities(vocab):
    return [
        make_doc(vocab, name, verb, ents=["O", "O", "O", "O", "B-LOC"])
        for name in NAMES
        for verb in ("lives", "works")
    ]


def test_two_corpora(tmp_path):
    vocab = spacy.blank("en").vocab
    treebank, entities = make_treebank(vocab), make_entities(vocab)
    # What is not annotated is missing, and not "no entity".
    assert not any(doc.has_annotation("ENT_IOB") for doc in treebank)
    assert not any(doc.has_annotation("TAG") for doc in entities)
    for split, n in (("train", 10), ("dev", 1)):
        (tmp_path / split).mkdir()
        DocBin(docs=treebank * n).to_disk(tmp_path / split / "treebank.spacy")
        DocBin(docs=entities * n).to_disk(tmp_path / split / "entities.spacy")
    paths = {f"paths.{split}": str(tmp_path / split) for split in ("train", "dev")}
    train(
        CONFIGS / "pipeline.cfg",
        tmp_path / "out",
        overrides={**paths, **QUICK, **SMALL},
    )
    best = tmp_path / "out" / "model-best"
    scores = evaluate(best, tmp_path / "dev", gold_preproc=True, silent=True)
    for name in ("tag_acc", "pos_acc", "morph_acc", "dep_las", "lemma_acc", "ents_f"):
        assert scores[name] == 1.0, name
    # Each component knows its task in the other corpus as well: docs without entity
    # annotation have not taught that there are no entities.
    nlp = spacy.load(best)
    for verb in ("plays", "lives"):
        doc = nlp(make_doc(nlp.vocab, "Berlin", verb))
        assert [token.tag_ for token in doc] == ["DT", "NN", "VBZ", "IN", "NNP"]
        assert [token.head.i for token in doc] == [1, 2, 2, 4, 2]
        assert [ent.text for ent in doc.ents] == ["Berlin"]
