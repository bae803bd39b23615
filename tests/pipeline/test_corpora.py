"""Real corpora, where there are any: that components learn, not how fast they are."""

import random

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from helpers.corpora import read_sentences

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


def make_examples(nlp, sentences):
    return [
        Example(
            Doc(nlp.vocab, words=words),
            Doc(nlp.vocab, words=words, tags=tags),
        )
        for words, tags in sentences
    ]


def train(nlp, factory, examples, drop=0.0, **config):
    pipe = nlp.add_pipe(factory, config=config)
    nlp.initialize(lambda: examples)
    rng = random.Random(0)
    for _ in range(3):
        rng.shuffle(examples)
        for start in range(0, len(examples), 100):
            pipe.update(examples[start : start + 100], drop=drop)
    return pipe


def find_corpus(corpora, name):
    if not (corpora / name).is_dir():
        pytest.skip(f"{name} is not in DYNSEL_DATA")
    return corpora / name


@pytest.mark.parametrize(
    ("corpus", "lang", "column", "bound"),
    [("ud_en_ewt", "en", 4, 0.89), ("ud_pt_bosque", "pt", 3, 0.93)],
)
def test_learns_a_corpus(corpora, corpus, lang, column, bound):
    """3,000 sentences, 3 epochs: well above a tagger that knows only words."""
    folder = find_corpus(corpora, corpus)
    nlp = spacy.blank(lang)
    examples = make_examples(nlp, read_sentences(folder / "train.conllu", column, 3000))
    dev = make_examples(nlp, read_sentences(folder / "dev.conllu", column, 500))
    tagger = train(nlp, "dynsel_tagger", examples, drop=0.1)
    scores = nlp.evaluate(dev)
    assert scores["tag_acc"] > bound
    tagger.margin = float("inf")
    assert scores["tag_acc"] > nlp.evaluate(dev)["tag_acc"] - 0.002
    assert len(tagger.engine.to_bytes()) < 8_000_000


def read_tweets(nlp, path, n_sentences):
    examples, words, tags = [], [], []
    for line in path.read_text("utf8").split("\n"):
        if line.strip():
            word, tag = line.split("\t")
            words.append(word or "\ufffd")
            tags.append(tag)
        elif words:
            gold = Doc(nlp.vocab, words=words, ents=tags)
            examples.append(Example(Doc(nlp.vocab, words=words), gold))
            words, tags = [], []
        if len(examples) == n_sentences:
            break
    return examples


def test_learns_entities(corpora):
    folder = find_corpus(corpora, "ner_en_btc")
    nlp = spacy.blank("en")
    examples = read_tweets(nlp, folder / "train.conll", 6000)
    dev = read_tweets(nlp, folder / "dev.conll", 1000)
    ner = train(nlp, "dynsel_ner", examples, model={"direction": "rtl"})
    score = nlp.evaluate(dev)["ents_f"]
    assert score > 0.69
    for example in dev:
        example.predicted.set_ents([], default="missing")
    ner.margin = float("inf")
    assert score > nlp.evaluate(dev)["ents_f"] - 0.005
    assert len(ner.engine.to_bytes()) < 4_000_000


def read_trees(nlp, path, n_sentences):
    """Examples with gold words, tags and sentences."""
    examples, rows = [], []
    with path.open(encoding="utf8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if fields[0].isdigit():
                rows.append(fields)
            elif rows and not line.strip():
                words = [row[1] for row in rows]
                heads = [int(row[6]) - 1 for row in rows]
                gold = Doc(
                    nlp.vocab,
                    words=words,
                    tags=[row[4] for row in rows],
                    pos=[row[3] for row in rows],
                    heads=[i if head < 0 else head for i, head in enumerate(heads)],
                    deps=["ROOT" if row[6] == "0" else row[7] for row in rows],
                )
                bare = Doc(
                    nlp.vocab,
                    words=words,
                    tags=[row[4] for row in rows],
                    sent_starts=[i == 0 for i in range(len(words))],
                )
                examples.append(Example(bare, gold))
                rows = []
            if len(examples) == n_sentences:
                break
    return examples


def test_learns_trees(corpora):
    folder = find_corpus(corpora, "ud_en_ewt")
    nlp = spacy.blank("en")
    examples = read_trees(nlp, folder / "train.conllu", 2000)
    dev = read_trees(nlp, folder / "dev.conllu", 300)
    parser = train(nlp, "dynsel_parser", examples, drop=0.1, min_label_freq=3)
    assert any("||" in label for label in parser.label_data)
    scores = nlp.evaluate(dev)
    assert scores["dep_uas"] > 0.80
    assert scores["dep_las"] > 0.75
    assert scores["sents_f"] == 1.0
    parser.margin = parser.label_margin = float("inf")
    assert scores["dep_las"] > nlp.evaluate(dev)["dep_las"] - 0.005
    assert len(parser.engine.to_bytes()) < 10_000_000
